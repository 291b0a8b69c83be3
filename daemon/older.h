/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rows of jobs that an older actord wrote lack some columns that lists of jobs show. This file fills the
 * columns from the jobs' texts. */
#pragma once

#include "daemon/manager.h"

/* Fills the columns that lack a value: in the newest KeepJobs= rows at once, in all other rows in the
 * background. Then, except in run mode, sums up each job's records, job after job. Until a job's turn, lists
 * show 0 for its sums. */
void older_start(Manager *manager);
void older_done(Manager *manager);
