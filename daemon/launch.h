/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The daemon's side of the protocol in include/launch.h. In system mode the spawner listens on a socket;
 * otherwise the daemon starts the spawner beside its own program, for one launch. The call never blocks: the
 * answer comes through the event loop, or a failure after a deadline. */
#pragma once

#include <stddef.h>
#include <systemd/sd-event.h>
#include "include/launch.h"

#define SPAWN_SOCKET "/run/actord/spawn.sock"

typedef struct LaunchCall LaunchCall;

typedef struct LaunchRequest {
        Launch launch;
        int fds[_LAUNCH_FD_FIXED + LAUNCH_MOUNTS_MAX]; /* the caller's */
} LaunchRequest;

/* Called once, at the end of the launch. The function owns pid_fd, the invoker's pidfd (-EBADF: there is
 * none), and frees the LaunchCall. */
typedef void (*launch_answered_t)(const LaunchAnswer *answer, int pid_fd, void *userdata);

/* Starts a launch. socket_path NULL: starts the spawner beside this program. */
int launch_call(sd_event *event, const char *socket_path, const LaunchRequest *request,
                launch_answered_t answered, void *userdata, LaunchCall **ret);
LaunchCall *launch_call_free(LaunchCall *call);
