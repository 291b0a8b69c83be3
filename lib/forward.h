/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The only inference: actor, evaluation, and whoever serves actions call it. A row's result never depends on its neighbours, on
 * the batch's size or on a thread; sums run in one fixed order. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include "include/actord/env.h"
#include "include/policy.h"

#define FORWARD_SCRATCH_MAX 65536u

typedef struct Forward Forward;                         /* scratch for one caller; made once, no allocation afterwards */
int forward_new(const Network *network, const ActordEnvSpec *spec, Forward **ret);
Forward *forward_free(Forward *forward);

/* One raw observation -> the action's parameters (logits, or means followed by log standard deviations). `bank`: a bank of the
 * policy segment. value may be NULL. */
void forward_row(Forward *forward, const PolicyHead *bank, const PolicyLayout *layout, const void *observation,
        float *ret_parameters, float *ret_value);

/* Samples (or, deterministic, takes the mode). DISCRETE: int32_t[1]; BOX: float[n], unclipped. */
void action_sample(const Network *network, const float *parameters, bool deterministic, ActordRandom *random, void *ret_action,
        float *ret_log_probability);
float action_log_probability(const Network *network, const float *parameters, const void *action);

/* What the environment's step() gets: BOX clipped to the space's bounds. */
void action_clip(const ActordEnvSpec *spec, const void *action, void *ret_action);
