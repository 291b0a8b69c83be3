/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Settles a life that is over. Its invoker may have died before it reported what it used, but a cgroup
 * keeps counting until it is removed. Reading it is one request; removing it is another, which the daemon
 * makes when the reading is in the ledger. If daemon or spawner is killed in between, it can be read
 * again. */
#include "spawner/spawner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/cleanup.h"
#include "lib/fd.h"

/* Dead processes leave their cgroup within a moment; the bill does not wait for one that hangs in the
 * kernel. */
enum { EMPTY_PATIENCE = 100, EMPTY_ATTEMPTS = 400, EMPTY_WAIT_USEC = 5000 };

int cgroup_usage(int fd, uint64_t *ret_nsec) {
        static const char key[] = "usage_usec ";
        char text[1024];
        int r;

        r = file_read_at(fd, "cpu.stat", text, sizeof(text));
        if (r < 0)
                return r;
        if (strncmp(text, key, strlen(key)) != 0)
                return -EBADMSG;
        *ret_nsec = strtoull(text + strlen(key), NULL, 10) * 1000;
        return 0;
}

int cgroup_empty(int fd) {
        _cleanup_close_ int kill_fd = openat(fd, "cgroup.kill", O_WRONLY | O_CLOEXEC);
        char text[256];

        for (unsigned i = 0; i < EMPTY_ATTEMPTS; i++) {
                int r = file_read_at(fd, "cgroup.events", text, sizeof(text));

                if (r < 0)
                        return r;
                if (strstr(text, "populated 0\n"))
                        return 0;
                if (i >= EMPTY_PATIENCE && kill_fd >= 0)
                        (void) !write(kill_fd, "1", 1);
                (void) usleep(EMPTY_WAIT_USEC);
        }
        return -ETIMEDOUT;
}

static int read_usage(const Launch *launch, LaunchAnswer *answer) {
        return launch->manager == LAUNCH_MANAGER_NONE ? own_cgroup_settle(launch, &answer->cpu_nsec)
                                                      : scope_settle(launch, &answer->cpu_nsec, answer);
}

static int clear(const Launch *launch, LaunchAnswer *answer) {
        int r = launch->manager == LAUNCH_MANAGER_NONE ? own_cgroup_clear(launch)
                                                       : scope_clear(launch, answer);

        return r == -ENOENT ? 0 : r;
}

int settle(const Launch *launch, LaunchAnswer *answer) {
        bool removes = launch->purpose == LAUNCH_REMOVE;
        int r = removes ? clear(launch, answer) : read_usage(launch, answer);

        if (r >= 0 || answer->error < 0)
                return r;
        return answer_fail(answer, LAUNCH_STEP_SCOPE, r, "%s: %s",
                        removes ? "the job's cgroup cannot be removed"
                                : "the counters of the job's cgroup cannot be read",
                        strerror(-r));
}
