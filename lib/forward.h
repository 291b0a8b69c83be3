/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The only inference code: actors, evaluations and learners that serve actions all call it. The result of a
 * row does not depend on other rows, the size of a batch or the number of threads. Sums run in one fixed
 * order. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include "include/actord/env.h"
#include "include/policy.h"

#define FORWARD_SCRATCH_MAX 65536u /* the most numbers for one row: its observation and all outputs */
#define FORWARD_ROWS_MAX    16u    /* the most rows in one call */

/* A network that reads bytes (Network.pixels) multiplies each by this. */
#define FORWARD_PIXEL (1.0f / 255.0f)

typedef struct Forward Forward; /* one caller's scratch memory; after it is made, nothing is allocated */

/* 0; -ENOMEM; -E2BIG: the network needs more scratch memory than is allowed; -EINVAL: network_derive() never
 * makes such a network. The layers that only the value needs are left out: no actor computes a value. */
int forward_new(const Network *network, const ActordEnvSpec *spec, Forward **ret);
/* Like forward_new(), also for a policy with several candidates. judge: the network of the critics that
 * judge them (JobPage); with one candidate it is not read. */
int forward_new_judged(
                const Network *network, const Network *judge, const ActordEnvSpec *spec, Forward **ret);
Forward *forward_free(Forward *forward);

/* Loads the policy in `bank`, a bank of the policy segment. All of the bank must be readable. It must not
 * change until another one is loaded. */
void forward_load(Forward *forward, const PolicyHead *bank, const PolicyLayout *layout);

/* The most floats that forward_row() writes for one action: the parameters of its distribution. */
static inline size_t forward_parameters(const Network *network) {
        if (network->candidates > 1)
                return network->candidates * ((size_t) network->n_action + 1) + 1;
        return 2 * (size_t) network->n_action + (network->act == ACT_SQUASHED);
}

/* How many normal numbers an action is made of, if the policy acts in passes. */
static inline size_t forward_noise(const Network *network) {
        return (size_t) network->candidates * network->passes * network->n_action;
}

/* Computes the parameters of the action's distribution from one raw observation. c is the chance of a random
 * action. A share, -1 to 1, is a place between the bounds.
 *
 *   choices             the logits of all numbers, in order; or the value of each choice, then c
 *   BOX                 means, then log standard deviations
 *   ACT_DETERMINISTIC   shares, then c; also for policies that act by passes, and these have the shares of
 *                       all candidates; if there are several, their values by the critics follow c
 *   ACT_SQUASHED        means, then the log standard deviations as shares of their bounds, then c */
void forward_row(Forward *forward, const void *observation, float *ret_parameters);

/* Like forward_row(), for 1 to FORWARD_ROWS_MAX observations, `stride` bytes apart. Each row gets the bits
 * that forward_row() gives, but faster, since the weights are read from memory once for all rows.
 * ret_parameters: [n_rows][forward_parameters()]. */
void forward_rows(Forward *forward, const void *observations, size_t stride, size_t n_rows,
                float *ret_parameters);

/* Draws the noise for all candidates and passes of the row, from a stream from which only normal numbers
 * have been drawn. The next forward_rows() removes it from the row's action. Only policies that act by
 * passes draw noise. */
void forward_draw(Forward *forward, size_t row, ActordRandom *random);

/* These two steps turn a raw observation into the network's input, for learners, too. The first makes
 * [n_observation] floats (a choice becomes a 1 among zeros). The second computes clip((x - mean) *
 * inverse_sd), unless clip is 0. */
void observation_read(const ActordSpace *space, const void *observation, float *ret);
void observation_normalise(const float *mean, const float *inverse_sd, double clip, size_t n, float *x);
/* For an edited network: computes the numbers [n_edited] that its layers read, with the same bits as on a
 * tape. */
void observation_edit(const Network *network, const float *observation, float *ret);

/* The bounds of the log standard deviations of ACT_SQUASHED, as in CleanRL's sac_continuous_action. A
 * layer's output is the position between them, from -1 to 1. */
#define SQUASHED_LOG_SD_LOW  (-5.0)
#define SQUASHED_LOG_SD_HIGH 2.0
double squashed_log_sd(float share);

/* log(1 - tanh(x)^2). It stays exact even where rounding would make tanh(x) equal to 1. */
double log_squash_slope(double x);

/* The middle of the bounds of actions, and the distance from there to each bound. */
static inline double action_middle(const Network *network) {
        return 0.5 * network->action_low + 0.5 * network->action_high;
}

static inline double action_reach(const Network *network) {
        return 0.5 * network->action_high - 0.5 * network->action_low;
}

/* The number of an action at a share of the bounds, for policies that act in passes. */
float action_at_share(const Network *network, float share);

/* Samples an action or, if `deterministic`, takes the mode; of several candidates, the one that the critics
 * judge best. *ret_action is an int32_t[n_choices] or, for a
 * BOX, a float[n_action]; ACT_GAUSSIAN does not clip it to the bounds, and the other kinds do not exceed
 * them. The log-probability is 0 for ACT_DETERMINISTIC, ACT_CONSISTENCY and ACT_DIFFUSION. exp(), log() and
 * tanh() are those of lib/doubles.h. */
void action_sample(const Network *network, const float *parameters, bool deterministic, ActordRandom *random,
                void *ret_action, float *ret_log_probability);
float action_log_probability(const Network *network, const float *parameters, const void *action);

/* The action as the environment's step() gets it: a BOX is clipped to the space's bounds. */
void action_clip(const ActordEnvSpec *spec, const void *action, void *ret_action);
