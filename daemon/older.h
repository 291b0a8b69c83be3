/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rows of jobs that an older actord wrote: the columns that lists show are empty until they have been filled
 * from the jobs' texts. */
#pragma once

#include "daemon/manager.h"

/* Fills the newest KeepJobs= rows at once and the others in the background; then sums up the records, job by
 * job. Lists show 0 until a job's records are read. */
void older_start(Manager *manager);
void older_done(Manager *manager);
