/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A directory that a job brings (Python=, a model) is not copied, and the daemon never opens it by a path:
 * the job has only the descriptor that its submitter sent. While the daemon restarts, the service manager
 * keeps this descriptor (sd_pid_notify_with_fds(3), FileDescriptorStoreMax= of actord's units). */
#pragma once

#include "daemon/job.h"

/* Gives the job's directories also to the service manager, if it keeps descriptors. */
void directories_keep(const Job *job);
/* Closes a caller's directory; a negative fd is ignored. The last close may wait for the directory's file
 * system (daemon/gate.h), so a process of its own does it. */
void directory_fd_drop(int fd);
void directories_drop(Directories *directories);

/* Takes the directories back from the service manager when the job has ended. */
void directories_forget(const Job *job);

/* A sentence that says why the job's processes cannot be started again: one of its directories was lost;
 * g_free(). */
char *directories_lost_sentence(const Job *job);

/* Call this at the start, when the jobs are known: gives each job the directories that were kept for it. */
void directories_take(JobContext *context);
