/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Settles a life that is over. The life's invoker may have died before it reported its use, but a cgroup
 * keeps its counters until it is removed. One request reads the cgroup. Another request removes it; the
 * daemon makes this request when the reading is in the ledger. If the daemon or the spawner is killed in
 * between, the cgroup can be read again. */
#include "spawner/spawner.h"

#include <errno.h>
#include <string.h>

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
