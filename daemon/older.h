/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rows of jobs that an older actord wrote: what lists show of them stands in their texts only, until it
 * has been written down. */
#pragma once

#include "daemon/manager.h"

/* The newest KeepJobs= of them at once, the others in the background; then the sums of their records, job
 * by job: lists show 0 until these are read. */
void older_start(Manager *manager);
void older_done(Manager *manager);
