/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The verbs that an algorithm is written in. Row shards, lanes, threads and the tree that sums gradients
 * lie below them; an algorithm says what is learned, never by whom. */
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

/* Given */
const JobSettings *runtime_settings(const Runtime *runtime);
/* The value in this round of LearningRateSchedule= or ClipSchedule=. SCHEDULE_LINEAR: it falls to 0 with
 * the share of StopSteps= that was done when the round began. */
double runtime_scheduled(const Runtime *runtime, double value, uint32_t schedule);
double *runtime_state(
                Runtime *runtime); /* [ALGORITHM_STATE_MAX]: kept from round to round, and in checkpoints */
Statistics *runtime_statistics(Runtime *runtime);
/* The policy's network: its actions, and their bounds. */
const Network *runtime_policy(const Runtime *runtime);

/* The whole batch */
void runtime_recompute(Runtime *runtime, Net net); /* old_value and old_log_probability of each row */
void runtime_advantage(Runtime *runtime, double gamma, double lambda);
void runtime_vtrace(
                Runtime *runtime, double gamma, double rho_bar, double c_bar); /* by old_log_probability */
double runtime_explained_variance(const Runtime *runtime); /* of the targets, by the old values */

/* Every row in order, but for those of agents that are not there; or minibatches: a permutation of these
 * rows for each epoch, cut into pieces as Updates= says. n == 0: the epoch is over. What one of them returns
 * holds until the next is called. */
Rows runtime_rows(Runtime *runtime);
Rows runtime_sample(Runtime *runtime, uint32_t epoch, uint32_t minibatch);

/* Advantages become (a - mean) * scale, if NormalizeAdvantages= asks for it and there are two rows or more;
 * else mean is 0 and scale is 1. */
typedef struct AdvantageScale {
        double mean, scale;
} AdvantageScale;

AdvantageScale runtime_advantage_scale(const Runtime *runtime, Rows rows);

/* Mean gradient of a loss that is recorded (learner/tape/tape.h), and its sums. Then one step of Adam, with
 * the gradient cut to norm_max unless that is 0. 0; -ERANGE: a gradient or a sum is not finite; -ETIMEDOUT:
 * another learner has stopped. */
int runtime_gradient(Runtime *runtime, Net net, Rows rows, Loss loss, const void *arg, double *ret_sums,
                unsigned n_sums);
/* The sums of a recording without a loss; nothing goes backwards. As runtime_gradient(). */
int runtime_sums(Runtime *runtime, Rows rows, Loss record, const void *arg, double *ret_sums,
                unsigned n_sums);
int runtime_apply(Runtime *runtime, Net net, double rate, double norm_max, double *ret_norm);
/* Each target follows its network as the row says: it becomes a copy, or goes Tau= of the way. */
void runtime_follow(Runtime *runtime);

/* Two rollouts that began in one state (lib/pair.h), for algorithms with pairs. */
typedef struct Pair {
        size_t row; /* of the first one's first step; the second one's is the next row */
        uint32_t n_steps[2];
        double reward;          /* discounted return of the first less that of the second */
        double log_probability; /* of its actions, less that of the second's, when the pair was found */
} Pair;

typedef struct Pairs {
        const Pair *pairs;
        uint32_t n;
        Rows rows; /* all of theirs; rows of the round that belong to no pair are left out */
} Pairs;

/* Those of the round, after runtime_recompute(). They hold until rows are asked for in another way. */
Pairs runtime_pairs(Runtime *runtime, double gamma);
/* As it was recomputed last. */
double runtime_pair_log_probability(const Runtime *runtime, const Pair *pair);
/* COLUMN_ADVANTAGE of the first one's rows; of the second one's it is -weight. */
void runtime_pair_weigh(Runtime *runtime, const Pair *pair, double weight);

/* Data of earlier rounds, STORE_BUFFER: this round's become the newest of the last BufferBatches= rounds.
 * Then each pass draws one round that all verbs work on until the next is drawn: the newest for pass 0,
 * any of them for the others. */
void runtime_push(Runtime *runtime);
void runtime_draw(Runtime *runtime, uint32_t pass);

/* Single steps of earlier rounds, STORE_REPLAY. runtime_store() enters this round's, and returns how many
 * windows of NSteps= there are to draw from. runtime_replay() draws MinibatchSize= of them, one set for
 * each number `draw`: all verbs work on these until the next are drawn. runtime_choose() then finds the
 * action that a network takes after each window, and runtime_bootstrap() makes targets: the window's
 * rewards and the value of that action by runtime_recompute(). */
uint64_t runtime_store(Runtime *runtime);
Rows runtime_replay(Runtime *runtime, uint32_t draw, double gamma);
void runtime_choose(Runtime *runtime, Net net);
void runtime_bootstrap(Runtime *runtime);

/* A target for each row that runtime_replay() drew: the result of a tape (tape_result()) that reads what
 * followed the row's window as its observation, and COLUMN_REWARD and COLUMN_DISCOUNT of the window. For
 * algorithms with critics; so is INPUT_NORMAL, there and in a gradient: numbers that each row draws from a
 * random stream of its own. */
void runtime_targets(Runtime *runtime, Rows rows, Loss record, const void *arg);

/* ACT_CONSISTENCY: the number of boundaries that INPUT_MOMENTS of the next gradients are drawn from, each
 * pair of neighbours alike. */
void runtime_boundaries(Runtime *runtime, uint32_t n);

/* learner/curvature/noise.c: the gradient's noise scale in rows, from the shares of the round that its
 * first actors have, or from parts of an only actor's; NaN: not measured. For a job that asks for it
 * (settings_noise_scale()). */
double runtime_noise_scale(Runtime *runtime, Net net, Loss loss, const void *arg);
