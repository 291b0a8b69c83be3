/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rows of jobs that an older actord wrote: what lists show of them stands in their texts only, until it
 * has been written down. */
#pragma once

#include "daemon/manager.h"

/* The newest KeepJobs= of them at once, the others in the background; then what their
 * records came to, job by job: until that is done lists show 0 for it. */
void older_start(Manager *manager);
void older_done(Manager *manager);
