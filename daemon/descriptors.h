/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The directory of Python= or of a model is neither copied nor opened by path: all that a job has of it
 * is the descriptor that its submitter sent. While the daemon is away the service manager keeps it
 * (sd_pid_notify_with_fds(3), FileDescriptorStoreMax= of our units). */
#pragma once

#include "daemon/job.h"

/* Gives the job's directory to the service manager, too, if there is one that keeps descriptors. */
void directory_keep(const Job *job);
/* Closes a caller's directory; below 0: nothing. The last close of one may wait for its file system
 * (daemon/gate.h), so that a process of its own does it. */
void directory_fd_drop(int fd);
static inline void directory_fd_dropp(const int *fd) {
        directory_fd_drop(*fd);
}

/* Takes the directory back from the service manager, as the job has ended. */
void directory_forget(const Job *job);

/* To be called at the start, when the jobs are known: gives each job the directory that was kept for it. */
void directories_take(JobContext *context);
