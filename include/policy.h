/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the learner publishes: the network as data, the normalisation, versions. lib/network.c derives
 * Network from settings and spec, once; lib/forward.c (row by row, batch-size invariant) and learner/
 * (batches, gradients) both walk it, and neither knows a layer by name. */
#pragma once

/* Tables and layouts are aligned by hand. */
/* clang-format off */

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>
#include "include/actord/env.h"

#define LAYERS_MAX 48u
#define EDITED_MAX 36u                  /* inputs of an edited network */
#define PASSES_MAX 5u                   /* of an iterative policy's network, for one action */
#define TIME_EMBEDDING 16u              /* numbers that a time is to a network */
#define POLICY_BANKS 4u                 /* where all actors act with the newest version; lib/fragment.h */

/* PARAMETER: reads nothing; n_out numbers */
typedef enum LayerKind { LAYER_DENSE, LAYER_PARAMETER, LAYER_CONVOLUTION } LayerKind;
typedef enum LayerActivation {
        LAYER_NONE,
        LAYER_TANH,
        LAYER_RELU,
        LAYER_SILU,                             /* x / (1 + exp(-x)) */
        LAYER_MISH,                             /* x tanh(log(1 + exp(x))) */
} LayerActivation;
typedef enum LayerOutput { OUTPUT_HIDDEN, OUTPUT_ACTION, OUTPUT_LOG_STD, OUTPUT_VALUE } LayerOutput;
/* how an output row becomes an action */
typedef enum ActKind {
        ACT_CATEGORICAL,                        /* one choice, or several that do not depend on each other */
        ACT_GAUSSIAN,
        ACT_EPSILON_GREEDY,
        ACT_DETERMINISTIC,                      /* the output, scaled to the bounds, and noise */
        ACT_SQUASHED,                           /* tanh() of a normal number, scaled to the bounds */
        ACT_CONSISTENCY,                        /* what several passes make of noise: lib/sampler.h */
        ACT_DIFFUSION,                          /* the same, by passes of another kind */
} ActKind;

/* Whether an action is made of noise, by passes. */
static inline int act_passes(uint32_t act) {
        return act == ACT_CONSISTENCY || act == ACT_DIFFUSION;
}

/* Squares of `kernel` numbers a side, `stride` apart, in an image with `padding` zeros around it. What a
 * convolution writes has its channels first, rows of columns in each. A square that would reach
 * beyond the padded image is left out. */
typedef struct Convolution {
        uint32_t channels, height, width;       /* of the image that it reads */
        /* numbers from one to the next: observations may have their channels last */
        uint32_t channel_step, row_step, column_step;
        uint32_t kernel, stride, padding;
        uint32_t out_height, out_width;
} Convolution;

typedef struct Layer {
        /* of the tensor in a checkpoint: actor.0, critic.2, log_std */
        char name[32];
        uint32_t kind, activation, output;
        uint32_t input;                         /* index of the layer it reads; own index: the
                                                 * first n_in numbers of the observation */
        uint32_t n_in, n_out;                   /* numbers that it reads and writes, of one row */
        /* DENSE: n_out, n_in; CONVOLUTION: channels, and the numbers of a square in all channels read */
        uint32_t n_units, n_reads;
        /* elements into the flat parameters; weight [n_units][n_reads], row-major; bias [n_units] */
        uint64_t weight_at, bias_at;
        double init_gain;
        /* of a CONVOLUTION, whose weight is [channels][channels read][kernel][kernel] */
        Convolution convolution;
} Layer;

/* An input of an edited network: a number that it is given, or the product of two. */
#define MONOMIAL_LINEAR UINT16_MAX
typedef struct Monomial { uint16_t first, second; } Monomial;   /* second: or MONOMIAL_LINEAR */

typedef struct Network {
        uint32_t n_layers, act;
        /* numbers in an observation; choices, those of all numbers of an action together, or dimensions of a
         * continuous action */
        uint32_t n_observation, n_action;
        /* numbers of an action that are choices, and how many each of them has; 0: they are of a BOX */
        uint32_t n_choices, choices[ACTORD_CHOICES_MAX];
        /* pixels: observations are bytes, stored as such everywhere and read as 1/255 of them */
        uint32_t pixels;
        uint32_t passes;                        /* of the network, for one action out of noise; else 0 */
        /* 1: noise is a process that each slot carries (lib/noise.h), not drawn anew for each action */
        uint32_t noise_carried;
        /* 0, or how many monomials of the observation layers read in its place: "network editing" (Cao et
         * al., ICLR 2024) */
        uint32_t n_edited;
        Monomial monomials[EDITED_MAX];
        uint64_t n_parameters;
        /* of each number of an action, but of ACT_GAUSSIAN */
        double action_low, action_high;
        /* ACT_DETERMINISTIC: the noise's standard deviation, as a share of half of high - low */
        double action_noise;
        Layer layers[LAYERS_MAX];
} Network;

/* The numbers that layers read: the observation, or what an edit makes of it; where a network acts by
 * passes, behind it the action with noise, and the time. */
static inline uint64_t network_inputs(const Network *network) {
        uint64_t beside = network->passes > 0 ? network->n_action + TIME_EMBEDDING : 0;

        return (network->n_edited > 0 ? network->n_edited : network->n_observation) + beside;
}

/* The policy segment: banks, each with one version. The learner alone writes; the others map it read-only
 * (the learner maps it before the invoker seals it FUTURE_WRITE). Orders name the version to use and the
 * bank that it lies in. A bank is not rewritten while it has the newest version, nor while an order under
 * way names it. */
typedef struct PolicyHead {                     /* one bank; float parameters[] lie at parameters_at */
        uint64_t policy_version, n_env_steps;
        /* of normalised observations; 0: observations are taken raw */
        double observation_clip;
        double epsilon;                         /* chance of a uniformly random action */
        uint64_t reserved[4];
} PolicyHead;
static_assert(sizeof(PolicyHead) == 64, "ABI");

/* bytes from a bank's start; computed by lib/slot.c, sealed in the job page */
typedef struct PolicyLayout {
        /* float [n_observation] each: scaled = clip((o - mean) * inverse_sd) */
        uint64_t mean_at, inverse_sd_at;
        uint64_t parameters_at;                 /* float [n_parameters] */
        uint64_t bank_bytes, segment_bytes;
        uint32_t n_banks, reserved;
} PolicyLayout;
