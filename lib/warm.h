/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which idle containers stay warm for later rounds. The lowest ones stay, as many as WarmActors= says,
 * for as long as the job lasts (provisioned concurrency); any other stays until it has been idle for
 * KeepAliveSec= (keep-alive). Pure. The owners of containers ask: the invoker about those that exist, and
 * a process that acts for all actors about those that a fleet would have. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "include/settings.h"

typedef struct WarmRest {
        uint32_t n_provisioned; /* how many are still to be kept in any case */
        uint64_t keep_nsec;     /* on the emulated clock; UINT64_MAX: for ever */
} WarmRest;

/* How many containers one round keeps warm, and for how long. */
WarmRest warm_rest(const JobSettings *settings);

/* Whether an idle container is kept; to be asked once for each, from the lowest up. idle_nsec: since when
 * it is idle, on the emulated clock. */
bool warm_keeps(WarmRest *rest, uint64_t idle_nsec);

typedef struct Imagined { /* a container that a fleet would have */
        bool started, needed;
        uint64_t idle_nsec; /* the emulated clock when it was needed last */
} Imagined;

/* At the beginning of a round, from the lowest up. Returns whether its first invocation is a cold one. */
bool imagined_arrange(Imagined *container, bool needed, WarmRest *rest, uint64_t now_nsec);
