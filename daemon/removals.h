/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Removes the files of ended jobs, when a user asks for it or when KeepFilesSec= has passed. */
#pragma once

#include "daemon/manager.h"

/* Whether the files of a job that ended at ended_usec must be removed. keep_usec 0: files are kept for
 * ever. */
bool files_are_over(uint64_t ended_usec, uint64_t now_usec, uint64_t keep_usec);

/* Renames the job's directory at once, so that no job number leads to its files, and removes the files in
 * portions later. 0: done, or there are none. The job must have ended. */
int files_remove(Manager *manager, uint64_t job, const char *reason);

/* Continues removals that an earlier daemon began. From now on the daemon also looks for files of jobs that
 * ended longer ago than KeepFilesSec= allows. */
void removals_start(Manager *manager);
void removals_done(Manager *manager);
