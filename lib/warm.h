/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Decides which idle containers stay warm for later rounds. The WarmActors= containers with the lowest
 * numbers stay as long as the job lasts (provisioned concurrency). Others stay until they have been idle for
 * KeepAliveSec= (keep-alive). Pure. The invoker asks about containers that exist. A process that acts for
 * all actors asks about the containers that the emulated fleet would have. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "include/settings.h"

typedef struct WarmRest {
        uint32_t n_provisioned; /* how many more containers stay as long as the job lasts */
        uint64_t keep_nsec;     /* on the emulated clock; UINT64_MAX: for ever */
} WarmRest;

/* How many containers one round keeps warm, and for how long. */
WarmRest warm_rest(const JobSettings *settings);

/* Whether an idle container is kept. Call this once for each idle container, from the lowest number up.
 * idle_nsec: how long the container has been idle, on the emulated clock. */
bool warm_keeps(WarmRest *rest, uint64_t idle_nsec);

typedef struct Imagined { /* a container of the emulated fleet, which has no process here */
        bool started, needed;
        uint64_t idle_nsec; /* when it was last needed, on the emulated clock */
} Imagined;

/* Call this at the start of a round for each container, from the lowest number up. Returns whether the
 * container's first invocation in this round starts cold. */
bool imagined_arrange(Imagined *container, bool needed, WarmRest *rest, uint64_t now_nsec);
