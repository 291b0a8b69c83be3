/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A directory that a job brings (Python=, a model) is neither copied nor opened by path: all that a job has
 * of it is the descriptor that its submitter sent. While the daemon is away the service manager keeps it
 * (sd_pid_notify_with_fds(3), FileDescriptorStoreMax= of our units). */
#pragma once

#include "daemon/job.h"

/* Gives the job's directories to the service manager, too, if there is one that keeps descriptors. */
void directories_keep(const Job *job);
/* Closes a caller's directory; below 0: nothing. The last close of one may wait for its file system
 * (daemon/gate.h), so that a process of its own does it. */
void directory_fd_drop(int fd);
void directories_drop(Directories *directories);

/* Takes the directories back from the service manager, as the job has ended. */
void directories_forget(const Job *job);

/* Why the job cannot begin another life, as one of them was lost; g_free(). */
char *directories_lost_sentence(const Job *job);

/* To be called at the start, when the jobs are known: gives each job the directories that were kept for
 * it. */
void directories_take(JobContext *context);
