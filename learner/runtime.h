/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The functions that algorithms call. They hide shards of rows, lanes, threads and the tree that adds
 * gradients. An algorithm says what to learn, never which process or thread learns it. */
#pragma once

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "include/record.h"
#include "include/settings.h"
#include "learner/tape/tape.h"
#include "lib/algorithm-traits.h"

typedef struct Runtime Runtime;

enum {
        SUMS_MAX = 8,
        ALGORITHM_STATE_MAX = 8,
};

static_assert((int) NETS_MAX <= (int) TAPE_NETS_MAX, "a tape has room for all");

typedef struct Rows {
        const uint32_t *order; /* row numbers */
        uint32_t n;
} Rows;

/* Facts for algorithms */
const JobSettings *runtime_settings(const Runtime *runtime);
/* The present value of a number with LearningRateSchedule= or ClipSchedule=. SCHEDULE_LINEAR: it falls to 0
 * with the share of StopSteps= that was done when the round began. */
double runtime_scheduled(const Runtime *runtime, double value, uint32_t schedule);
/* [ALGORITHM_STATE_MAX]: numbers that are kept from round to round, and in checkpoints */
double *runtime_state(Runtime *runtime);
Statistics *runtime_statistics(Runtime *runtime);
/* The policy's network, which also has the kind of its actions and their bounds. */
const Network *runtime_policy(const Runtime *runtime);

/* The whole batch */
void runtime_recompute(Runtime *runtime, Net net); /* sets old_value and old_log_probability of each row */
void runtime_advantage(Runtime *runtime, double gamma, double lambda);
/* V-trace; the target policy is the one with which old_log_probability was computed */
void runtime_vtrace(Runtime *runtime, double gamma, double rho_bar, double c_bar);
/* the share of the targets' variance that old_value explains */
double runtime_explained_variance(const Runtime *runtime);

/* runtime_rows() returns all rows in order, except those of absent agents. runtime_sample() returns
 * minibatches: for each epoch a permutation of these rows, divided as Updates= says. n == 0: the epoch has
 * ended. A result is valid until the next call. */
Rows runtime_rows(Runtime *runtime);
Rows runtime_sample(Runtime *runtime, uint32_t epoch, uint32_t minibatch);

/* Advantages become (a - mean) * scale, if NormalizeAdvantages= asks for it and there are at least two rows;
 * otherwise mean is 0 and scale is 1. */
typedef struct AdvantageScale {
        double mean, scale;
} AdvantageScale;

AdvantageScale runtime_advantage_scale(const Runtime *runtime, Rows rows);

/* runtime_gradient() computes the mean gradient of a recorded loss (learner/tape/tape.h), and its sums.
 * runtime_apply() takes one step of Adam; norm_max limits the gradient's norm, unless it is 0. 0; -ERANGE: a
 * gradient or a sum is not finite, or the squares of a gradient may not be; -ETIMEDOUT: another learner has
 * stopped. */
int runtime_gradient(Runtime *runtime, Net net, Rows rows, Loss loss, const void *arg, double *ret_sums,
                unsigned n_sums);
/* Computes the sums of a recording without a loss, so without a backward pass. Returns what
 * runtime_gradient() returns. */
int runtime_sums(Runtime *runtime, Rows rows, Loss record, const void *arg, double *ret_sums,
                unsigned n_sums);
int runtime_apply(Runtime *runtime, Net net, double rate, double norm_max, double *ret_norm);
/* Each target network follows its network as lib/algorithm-traits.c says: it becomes a copy, moves by the
 * share Tau=, or stays. */
void runtime_follow(Runtime *runtime);

/* Two rollouts that began in one state (lib/pair.h), for algorithms with pairs. */
typedef struct Pair {
        size_t row; /* of the first rollout's first step; the second one's is the next row */
        uint32_t n_steps[2];
        double reward; /* the first rollout's discounted return minus the second's */
        /* the log-probability of the first rollout's actions minus the second's, when the pair was found */
        double log_probability;
} Pair;

typedef struct Pairs {
        const Pair *pairs;
        uint32_t n;
        Rows rows; /* the rows of all pairs; rows that belong to no pair are left out */
} Pairs;

/* The pairs of the round. Call it after runtime_recompute(). The rows are valid until runtime_rows() or
 * runtime_sample() is called. */
Pairs runtime_pairs(Runtime *runtime, double gamma);
/* The `log_probability` of a pair, as computed by the last runtime_recompute(). */
double runtime_pair_log_probability(const Runtime *runtime, const Pair *pair);
/* Sets COLUMN_ADVANTAGE to `weight` in the first rollout's rows, and to -weight in the second's. */
void runtime_pair_weigh(Runtime *runtime, const Pair *pair, double weight);

/* Data of earlier rounds, STORE_BUFFER. runtime_push() adds this round's data to those of the last
 * BufferBatches= rounds. Then runtime_draw() chooses a stored round for each pass: the newest one for pass
 * 0, a random one for the other passes. All functions work on this round until the next draw. */
void runtime_push(Runtime *runtime);
void runtime_draw(Runtime *runtime, uint32_t pass);

/* Replay of single steps, STORE_REPLAY. runtime_store() adds this round's steps to those of earlier rounds,
 * and returns how many windows of NSteps= steps are stored. runtime_replay() draws MinibatchSize= windows by
 * the random stream `draw`. All functions work on these windows until the next draw. runtime_bootstrap()
 * then makes targets: a window's rewards, plus the value of the action after the window. `chooser` chooses
 * this action, and `net` gives its value. */
uint64_t runtime_store(Runtime *runtime);
Rows runtime_replay(Runtime *runtime, uint32_t draw, double gamma);
void runtime_bootstrap(Runtime *runtime, Net chooser, Net net);

/* For algorithms with critics. Makes a target for each row that runtime_replay() drew: the result of a tape
 * (tape_result()). The tape's observation is the one after the row's window. The tape also reads
 * COLUMN_REWARD and COLUMN_DISCOUNT of the window, and INPUT_NORMAL: numbers that each row draws from its
 * own random stream. */
void runtime_targets(Runtime *runtime, Rows rows, Loss record, const void *arg);

/* ACT_CONSISTENCY: sets the number of noise levels (sampler_boundary(), lib/sampler.h) from which
 * INPUT_MOMENTS of the next gradients are drawn. Each pair of neighbours is equally likely. */
void runtime_boundaries(Runtime *runtime, uint32_t n);

/* learner/curvature/noise.c: the gradient's noise scale in rows, for jobs that ask for it
 * (settings_noise_scale()). It is measured from the shares of the round's first actors; with one actor, from
 * parts of its share. NaN: not measured. */
double runtime_noise_scale(Runtime *runtime, Net net, Loss loss, const void *arg);
