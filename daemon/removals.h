/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The files of jobs that have ended go when a user asks for it, or by themselves when KeepFilesSec= is
 * over. */
#pragma once

#include "daemon/manager.h"

/* Whether the files of a job that ended at ended_usec are to be removed. keep_usec 0: files are kept for
 * ever. */
bool files_are_over(uint64_t ended_usec, uint64_t now_usec, uint64_t keep_usec);

/* From now on they cannot be found; they are removed in portions. 0 also when there are none. The job must
 * have ended. */
int files_remove(Manager *manager, uint64_t job, const char *reason);

/* Continues removals that an earlier daemon began, and looks from now on for files that are old enough. */
void removals_start(Manager *manager);
void removals_done(Manager *manager);
