/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The fused loop: acting and learning as one fragment, one round at a time, in one process and on plain
 * memory. It has no meter, no socket and no sandbox. With the same numbers of actors, the job learns the
 * same policy as with an invoker. */
#pragma once

#include "include/actord/env.h"
#include "include/record.h"
#include "include/settings.h"

typedef struct Fused Fused;

/* One round's times, on the emulated clock (lib/clock.h). */
typedef struct FusedTimes {
        uint64_t learner_nsec, slowest_actor_nsec;
        uint64_t actors_nsec; /* the sum of the times of the round's actors */
        /* learner + slowest actor; if rounds overlap, the time since the end of the last round */
        uint64_t round_nsec;
} FusedTimes;

typedef struct FusedFault {
        uint32_t fault, actor; /* Fault; actor UINT32_MAX: the learner, or an evaluation */
        int32_t detail;
} FusedFault;

/* env is not trusted: its spec is checked. The settings are copied. 0; an error of spec(), of
 * job_page_make() (lib/slot.h), of learner_new() or of host_new(); -EIO: the learner could not begin. */
int fused_new(const JobSettings *settings, const ActordEnv *env, Fused **ret);
Fused *fused_free(Fused *fused);

/* Plays one round of actors 0 .. n_actors - 1; n_actors is between 1 and MaxActors=. If rounds overlap, the
 * round learns from only one of these actors. 0; -EIO: the loop has failed and cannot go on, and
 * fused_fault() says why. */
int fused_round(Fused *fused, uint32_t n_actors, Statistics *ret_statistics, FusedTimes *ret_times);

/* The mean return of the evaluation episodes first .. first + n - 1 under the newest policy; n is at least
 * 1. The slots stay as they are. 0, -EIO. */
int fused_evaluate(Fused *fused, uint64_t first, uint32_t n, double *ret_mean);

/* For figures and tests, which have no checkpoint: makes `fused` evaluate the newest policy of `from`, which
 * may have another environment. Do not call fused_round() after this: the learner of `fused` still has its
 * own policy. 0; -EINVAL: that policy has another shape. */
int fused_take_policy(Fused *fused, const Fused *from);

const FusedFault *fused_fault(const Fused *fused);

/* For figures and tests: the hash of the newest policy, as records have it. */
void fused_hash_policy(const Fused *fused, uint8_t ret_sha256[32]);
