/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A scheduler decides how many actors the next round gets. It is pure: settings, figures of the closed
 * rounds and its own state go in, a count comes out. It uses no clock, no file, and no random numbers except
 * the job's keyed streams. Its state is plain data of a fixed size, and is simply copied into a checkpoint's
 * row. So a restored job decides as it would have decided without the interruption.
 *
 * A decision is made once for each round, when the round before has ended; without TRAIT_DECIDES, once for
 * the whole job. All times are by the emulated clock. A row of include/schedulers.h holds the other facts
 * that programs need about each scheduler. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "daemon/bill/price.h"
#include "include/record.h"
#include "include/settings.h"
#include "lib/rng.h"

#define SCHEDULER_ABI 3u

#define SCHEDULER_DATA_MAX (1u << 20) /* the most bytes that a submission may pass to its scheduler */

/* X(name, comment): facts of a closed round, beside the learner's statistics. One list for the scheduler,
 * SQLite, D-Bus and JSON. */
#define ROUND_FACTS(X)                                                                                 \
        X(n_actors, "that the round had")                                                              \
        X(learner_nsec, "of its update, on the emulated clock")                                        \
        X(actor_mean_nsec, "of its accepted rollouts, on the emulated clock")                          \
        X(actor_slowest_nsec, "on the emulated clock")                                                 \
        X(round_nsec, "the whole round, on the emulated clock")                                        \
        X(cost_nano, "its part of the full total, without evaluations, in billionths of the currency") \
        X(budget_left_nano, "of Budget= after it; without one all bits are set")

typedef struct RoundFacts {
#define X(name, comment) uint64_t name;
        ROUND_FACTS(X)
#undef X
} RoundFacts;

/* X(name, comment): the reasons for a decision, as numbers; clients put them into words. All are 0 for
 * schedulers that give no reasons. One list for the scheduler, SQLite, D-Bus and JSON. */
#define DECISION_WHY(X)                                                                                 \
        X(reason, "of DECISION_REASONS in include/schedulers.h")                                        \
        X(charge, "the dearest of a round: its number in CHARGES of include/charges.h")                 \
        X(share_permille, "that it has in the price of a round of as many actors as before")            \
        X(wanted, "a better number of actors whose start would cost too much, or 0")                    \
        X(progress_permille, "of a round, expected of the change: 1000 as far as before; 0: no change") \
        X(money_permille, "of a round, expected of the change")                                         \
        X(seen_before, "actors before the newest change that was measured, or 0")                       \
        X(seen_progress_permille, "that it brought")                                                    \
        X(seen_money_permille, "that it brought")                                                       \
        X(expected_nsec, "under Objective=deadline: when training ends, on the emulated clock, or 0")

typedef struct DecisionWhy {
#define X(name, comment) uint64_t name;
        DECISION_WHY(X)
#undef X
} DecisionWhy;

typedef struct SchedulerState {
        uint32_t abi, policy;   /* Scheduler_ */
        uint64_t n_decisions;   /* also the number of the newest decision */
        uint64_t decided_round; /* the first round for which the newest decision was made */
        uint32_t n_actors;      /* how many actors it decided */
        uint32_t taken;         /* Decision.taken of the newest decision (include/record.h) */
        DecisionWhy why;
        uint8_t own[912]; /* the scheduler's own struct, copied in and out */
} SchedulerState;

/* What follows from a job's settings and data alone, and takes long to compute. A scheduler fills it when it
 * is first needed. Begin with {}. */
typedef struct SchedulerCache {
        uint32_t *order; /* PERMUTED: of the numbers in the data */
} SchedulerCache;
void scheduler_cache_done(SchedulerCache *cache);

typedef struct SchedulerView { /* everything that a scheduler may see */
        const JobSettings *settings;
        const Statistics *statistics; /* of the newest closed round; NULL before the first */
        const RoundFacts *facts;      /* of the newest closed round; NULL before the first */
        uint64_t round;               /* the newest closed round; 0: there is none */
        const void *data;             /* the data that came with the job for its scheduler; NULL: none */
        size_t n_data;
        const PriceSheet *sheet; /* for price_round(), which only schedulers that weigh money call */
        SchedulerCache *cache;   /* NULL: everything is computed for each decision, with the same result */
} SchedulerView;

typedef struct Scheduler {
        /* Returns the number of actors for the next round, which the caller clamps to the job's limits.
         * Called once for each round, in order. A scheduler without TRAIT_DECIDES (include/schedulers.h) is
         * called only once, for the whole job. */
        uint32_t (*count)(const SchedulerView *view, SchedulerState *state);
        /* Whether a job with these settings and data can be scheduled: 0, or -EINVAL with a sentence
         * (g_free()). NULL: any job without data can be scheduled. */
        int (*check)(const JobSettings *settings, const void *data, size_t n_data, char **ret_message);
} Scheduler;

/* scheduler_NAME: one for each row of include/schedulers.h. */
#define X(name, word, traits) extern const Scheduler scheduler_##name;
SCHEDULERS(X)
#undef X

/* Call this before a job is accepted: 0, or -EINVAL with a sentence (g_free()). */
int scheduler_check(const JobSettings *settings, const void *data, size_t n_data, char **ret_message);

void scheduler_init(SchedulerState *state, uint32_t policy);

/* Restores the state from a checkpoint's row. -EBADMSG: it is not a state of this scheduler. */
int scheduler_restore(SchedulerState *state, uint32_t policy, const void *data, size_t n);

/* The most and the fewest actors that a job allows. */
static inline uint32_t scheduler_highest(const JobSettings *settings) {
        return settings_actors_max(settings);
}
static inline uint32_t scheduler_lowest(const JobSettings *settings) {
        return MIN(settings->n_actors_min, scheduler_highest(settings));
}
/* Rounds the result of a scheduler's equation down to a whole number between lowest and highest; NaN becomes
 * the lowest. */
static inline uint32_t scheduler_clip(const JobSettings *settings, double n) {
        double lowest = scheduler_lowest(settings), highest = scheduler_highest(settings);

        return (uint32_t) (n > lowest ? MIN(n, highest) : lowest);
}

/* Streams of the job's seed for schedulers that draw numbers. They are keyed by the round for which a
 * decision is made (PERMUTED: by a place in the list of numbers), so they have no state to keep. */
typedef enum SchedulerStream {
        SCHEDULER_STREAM_RANDOM,
        SCHEDULER_STREAM_NOISE,
        SCHEDULER_STREAM_PERMUTED,
} SchedulerStream;
static inline void scheduler_random_begin(
                ActordRandom *ret, const SchedulerView *view, SchedulerStream stream) {
        random_begin(ret, view->settings->seed, RANDOM_SCALING, stream,
                        (view->round + 1) & RANDOM_ORDINAL_MAX, 0);
}

/* Decides for the round after view->round, unless that has been decided already. 1: there is a new decision;
 * otherwise 0. */
int scheduler_decide(const SchedulerView *view, SchedulerState *state);

/* The newest decision. */
static inline Decision scheduler_decision(const SchedulerState *state) {
        return (Decision){ .id = state->n_decisions, .n_actors = state->n_actors, .taken = state->taken };
}
