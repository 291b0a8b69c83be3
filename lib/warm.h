/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which containers that a round does not need stay warm for later ones: the lowest, as many as WarmActors= says, for as long as the job lasts
 * (provisioned concurrency), and any other until it has been idle for KeepAliveSec= (keep-alive). Pure. Whoever has containers asks: the
 * invoker of those that exist, and, where one process acts for all, of those that a fleet would have. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "include/settings.h"

typedef struct WarmRest {
        uint32_t n_provisioned; /* that are still to be kept whatever happens */
        uint64_t keep_nsec;     /* on the emulated clock; UINT64_MAX: for ever */
} WarmRest;

/* Of one round. */
WarmRest warm_rest(const JobSettings *settings);

/* Asked once of each container that is idle, from the lowest up: whether it is kept. idle_nsec: since when, on the emulated clock. */
bool warm_keeps(WarmRest *rest, uint64_t idle_nsec);

typedef struct Imagined { /* a container that a fleet would have */
        bool started, needed;
        uint64_t idle_nsec; /* the emulated clock when it was needed last */
} Imagined;

/* At the beginning of a round, from the lowest up. Returns whether its first invocation is a cold one. */
bool imagined_arrange(Imagined *container, bool needed, WarmRest *rest, uint64_t now_nsec);
