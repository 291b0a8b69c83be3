/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Prepares the request to the spawner to start a job's processes. They run for one life of the job, which
 * ends when they end. The request has the job's settings, the user ids of its sandbox, and the descriptors
 * that the invoker gets. */
#pragma once

#include "daemon/job.h"

/* The name of the socket, in the daemon's directory of sockets, on which the job's invoker accepts the
 * daemon. */
void job_socket_name(const Job *job, char ret[32]);
/* Prepares the request. checkpoint_fd: from job_checkpoint_choose(). *ret_what: on failure, the thing that
 * the job lacks, such as "its directory". The request becomes the owner of the descriptors, even on
 * failure. */
int job_launch_prepare(Job *job, int checkpoint_fd, LaunchRequest *request, const char **ret_what);
