/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* All schedulers: all words of [Scaling] Policy=. A row has all the facts about a scheduler that other
 * programs need. The `Scheduler` of the same name in daemon/scheduler/ makes its decisions. A new scheduler
 * needs a row here, a `Scheduler`, and a paragraph in job.conf(5). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Tables and layouts are aligned by hand. */
/* clang-format off */

enum {
        /* it decides each round from the round before, so a plan (include/plan.h) has one round */
        TRAIT_DECIDES = 1 << 0,
        TRAIT_TAKES_JOB = 1 << 1,       /* after a colon comes a job, whose decisions are repeated */
        TRAIT_TAKES_TRAINED = 1 << 2,   /* after a colon comes a trained scheduler */
        /* it uses the curvature of the objective, which the learner measures */
        TRAIT_OBJECTIVE = 1 << 3,
        TRAIT_LOSS = 1 << 4,            /* it uses the curvature of the whole loss */
        TRAIT_NOISE = 1 << 5,           /* it uses the gradient's noise scale */
        TRAIT_RETURNS = 1 << 6,         /* it uses returns, so a round waits for the evaluation before it */
        TRAIT_TARGET = 1 << 7,          /* it needs a target return */
        TRAIT_WEIGHS = 1 << 8,          /* it weighs money against time, as Objective= says */
};

/* X(NAME, word, traits) */
#define SCHEDULERS(X)                                                              \
        X(FIXED, "fixed", 0)                                                       \
        X(SCHEDULE, "schedule", TRAIT_DECIDES)                                     \
        X(MAX, "max", 0)                                                           \
        X(ADAPT, "adapt", TRAIT_DECIDES | TRAIT_RETURNS | TRAIT_TARGET)            \
        X(NITRO, "nitro", TRAIT_DECIDES | TRAIT_OBJECTIVE)                         \
        X(NITRO_CODE, "nitro-code", TRAIT_DECIDES | TRAIT_LOSS)                    \
        X(KUNGFU, "kungfu", TRAIT_DECIDES | TRAIT_NOISE)                           \
        X(HYDROZOA, "hydrozoa", TRAIT_DECIDES)                                     \
        X(RANDOM, "random", TRAIT_DECIDES)                                         \
        X(PERMUTED, "permuted", TRAIT_DECIDES | TRAIT_TAKES_JOB)                   \
        X(DECAY_ONLY, "decay-only", TRAIT_DECIDES)                                 \
        X(NOISE, "noise", TRAIT_DECIDES)                                           \
        X(REPLAY, "replay", TRAIT_DECIDES | TRAIT_TAKES_JOB)                       \
        X(MINIONS, "minions", TRAIT_DECIDES | TRAIT_TAKES_TRAINED | TRAIT_RETURNS) \
        X(AUTO, "auto", TRAIT_DECIDES | TRAIT_NOISE | TRAIT_WEIGHS)

/* X(NAME, comment): the reasons that a scheduler can give for its number of actors. Only append rows:
 * ledgers store positions in this list. */
#define DECISION_REASONS(X)                                                        \
        X(NONE, "it gives none")                                                   \
        X(FIRST, "nothing is measured yet: MinActors=")                            \
        X(SETTLED, "a round costs the same with any number of actors: MaxActors=") \
        X(LOOKS, "this number of actors is still being measured")                  \
        X(STAYS, "no other number of actors is better by enough")                  \
        X(STARTS, "more would be better, but starting them would not pay")         \
        X(GROWS, "more are better")                                                \
        X(SHRINKS, "fewer are better")                                             \
        X(TAKES_BACK, "the actors that were added last did not pay")               \
        X(LATE, "Objective=deadline: no number is done in time; this is the fastest")

enum Reason_ {
#define X(name, comment) REASON_##name,
        DECISION_REASONS(X)
#undef X
        _REASON_MAX,
};

enum Scheduler_ {
#define X(name, word, traits) SCHEDULER_##name,
        SCHEDULERS(X)
#undef X
        _SCHEDULER_MAX,
};

/* Whether the scheduler has all of these traits. */
static inline bool scheduler_has(uint32_t kind, uint32_t traits) {
        static const uint32_t rows[_SCHEDULER_MAX] = {
#define X(name, word, traits_) traits_,
                SCHEDULERS(X)
#undef X
        };

        return kind < _SCHEDULER_MAX && (rows[kind] & traits) == traits;
}
