/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The only inference: actors, evaluations and a learner that serves actions call it. The result of a row
 * depends neither on other rows nor on the size of the batch nor on a thread; sums run in one fixed
 * order. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include "include/actord/env.h"
#include "include/policy.h"

#define FORWARD_SCRATCH_MAX 65536u /* the most numbers for one row: observation and outputs of all layers */
#define FORWARD_ROWS_MAX    16u    /* at once */

/* The value of one step of a byte of an image, for a network that reads bytes (Network.pixels). */
#define FORWARD_PIXEL (1.0f / 255.0f)

typedef struct Forward Forward; /* scratch memory of one caller; made once, no allocation afterwards */

/* 0, -ENOMEM, -E2BIG; -EINVAL: the network is not one that network_derive() makes.
 * forward_new() leaves out the layers that only the value needs, and their memory: it tells no values. */
int forward_new(const Network *network, const ActordEnvSpec *spec, Forward **ret);
int forward_new_with_values(const Network *network, const ActordEnvSpec *spec, Forward **ret);
Forward *forward_free(Forward *forward);

/* Takes the policy that lies in `bank`, a bank of the policy segment, all of it readable, until it is given
 * another one: the bank stays as it is for so long. */
void forward_load(Forward *forward, const PolicyHead *bank, const PolicyLayout *layout);

/* How many numbers the parameters of one action have room in. */
static inline size_t forward_parameters(const Network *network) {
        return 2 * (size_t) network->n_action + (network->act == ACT_SQUASHED);
}

/* One raw observation -> the parameters of the action: logits, of all
 * numbers of choices in order; or means, then log standard deviations; or
 * the values of the choices, then the chance of a random one; or of ACT_DETERMINISTIC shares of the bounds,
 * then that chance; or of ACT_SQUASHED means, then shares of the log standard deviations' bounds, then that
 * chance; or of passes shares of the bounds, then that chance. value may be NULL: then layers that only the
 * value needs are left out; it is untouched if the network has none. Not NULL: after
 * forward_new_with_values() alone. */
void forward_row(Forward *forward, const void *observation, float *ret_parameters, float *ret_value);

/* The same for n_rows observations, between 1 and FORWARD_ROWS_MAX, `stride` bytes apart. The bits are
 * the same as for each row alone; it is faster, since the weights come out of memory once for all rows.
 * ret_parameters: [n_rows][forward_parameters()]; ret_values, unless NULL: [n_rows]. */
void forward_rows(Forward *forward, const void *observations, size_t stride, size_t n_rows,
                float *ret_parameters, float *ret_values);

/* Draws the noise of all passes of the row, which the next forward_rows() takes out of its action. Of a
 * policy that acts by passes; no other draws any. */
void forward_draw(Forward *forward, size_t row, ActordRandom *random);

/* Turns a raw observation into the network's input, in two steps that learners share: [n_observation]
 * floats (a DISCRETE one is a 1 among zeros), then clip((x - mean) * inverse_sd) unless clip is 0. */
void observation_read(const ActordSpace *space, const void *observation, float *ret);
void observation_normalise(const float *mean, const float *inverse_sd, double clip, size_t n, float *x);
/* And, of an edited network, into what its layers read: [n_edited], with the bits that a tape gives it. */
void observation_edit(const Network *network, const float *observation, float *ret);

/* The logarithms of the standard deviations of ACT_SQUASHED lie between these, as in CleanRL's
 * sac_continuous_action; a layer says where, from -1 to 1. */
#define SQUASHED_LOG_SD_LOW  (-5.0)
#define SQUASHED_LOG_SD_HIGH 2.0
double squashed_log_sd(float share);

/* log(1 - tanh(x)^2), which stays exact where tanh(x) is 1 but for rounding. */
double log_squash_slope(double x);

/* The middle of the bounds of actions, and how far it is from there to each. */
static inline double action_middle(const Network *network) {
        return 0.5 * network->action_low + 0.5 * network->action_high;
}

static inline double action_reach(const Network *network) {
        return 0.5 * network->action_high - 0.5 * network->action_low;
}

/* Samples an action (or, deterministic, takes the mode). Choices: int32_t[n_choices]; BOX: float[n],
 * unclipped by ACT_GAUSSIAN and within the bounds by the others. A deterministic policy has no
 * log-probability: 0. exp(), log() and tanh() are those of lib/doubles.h. */
void action_sample(const Network *network, const float *parameters, bool deterministic, ActordRandom *random,
                void *ret_action, float *ret_log_probability);
float action_log_probability(const Network *network, const float *parameters, const void *action);

/* The action as the environment's step() gets it: BOX clipped to the space's bounds. */
void action_clip(const ActordEnvSpec *spec, const void *action, void *ret_action);
