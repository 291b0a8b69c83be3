/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Requests about a job's cgroup that come after the launch. One writes the weight of a running job and reads
 * it back. The others settle a life of the job (one start of its processes) that is over.
 *
 * The life's invoker may have died before it reported its use, but a cgroup keeps its counters until it is
 * removed. One request reads the cgroup. Another request removes it; the daemon makes this request when the
 * reading is in the ledger. If the daemon or the spawner is killed in between, the cgroup can be read
 * again. */
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

static int weigh(const Launch *launch, LaunchAnswer *answer) {
        uint64_t weight;
        int r = launch->manager == LAUNCH_MANAGER_NONE ? own_cgroup_weigh(launch, &weight)
                                                       : scope_weigh(launch, &weight, answer);

        if (r >= 0)
                answer->cpu_weight = (uint32_t) weight;
        return r;
}

int settle(const Launch *launch, LaunchAnswer *answer) {
        const char *what = "the counters of the job's cgroup cannot be read";
        int r;

        if (launch->purpose == LAUNCH_WEIGH) {
                what = "the weight of the job's cgroup cannot be set";
                r = weigh(launch, answer);
        } else if (launch->purpose == LAUNCH_REMOVE) {
                what = "the job's cgroup cannot be removed";
                r = clear(launch, answer);
        } else
                r = read_usage(launch, answer);
        if (r >= 0 || answer->error < 0)
                return r;
        return answer_fail(answer, LAUNCH_STEP_SCOPE, r, "%s: %s", what, strerror(-r));
}
