/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The data that the learner publishes: the network as data, the normalisation, versions. lib/network.c makes
 * the Network once, from settings and spec. lib/forward.c (row by row, independent of batches) and learner/
 * (batches, gradients) both read the Network, and know no layer by name. */
#pragma once

/* Tables and layouts are aligned by hand. */
/* clang-format off */

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>
#include "include/actord/env.h"

#define LAYERS_MAX 48u
#define EDITED_MAX 36u                  /* the most inputs of an edited network (n_edited) */
#define PASSES_MAX 5u                   /* the most passes of an iterative policy's network for one action */
#define TIME_EMBEDDING 16u              /* how many numbers represent a time in a network */
#define CANDIDATES_MAX 64u              /* the most actions from which a policy chooses one */
#define JUDGES 2u                       /* how many critics judge candidates */
/* the number of banks (copies of the policy); under `async`, distribution_banks() (lib/fragment.h) gives
 * another number */
#define POLICY_BANKS 4u

/* PARAMETER: n_out numbers that depend on no input */
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
        ACT_CATEGORICAL,                        /* one choice, or several independent ones */
        ACT_GAUSSIAN,
        ACT_EPSILON_GREEDY,
        ACT_DETERMINISTIC,                      /* the output, scaled to the bounds, plus noise */
        ACT_SQUASHED,                           /* tanh() of a normal number, scaled to the bounds */
        ACT_CONSISTENCY,                        /* made out of noise in several passes: lib/sampler.h */
        ACT_DIFFUSION,                          /* made out of noise, too, by passes of another kind */
} ActKind;

/* Whether an action is made out of noise, in passes. */
static inline int act_passes(uint32_t act) {
        return act == ACT_CONSISTENCY || act == ACT_DIFFUSION;
}

/* Squares of `kernel` by `kernel` numbers, `stride` apart, in an image with `padding` zeros around it.
 * Squares that would reach beyond the padded image are left out. The output's order is channels, then rows,
 * then columns. */
typedef struct Convolution {
        uint32_t channels, height, width;       /* the sizes of the input image */
        /* the distances between neighbouring channels, rows and columns, in numbers: some observations have
         * channels last */
        uint32_t channel_step, row_step, column_step;
        uint32_t kernel, stride, padding;
        uint32_t out_height, out_width;
} Convolution;

typedef struct Layer {
        /* its name in a checkpoint: actor.0, critic.2, log_std */
        char name[32];
        uint32_t kind, activation, output;
        uint32_t input;                         /* the index of the layer that it reads; its own index: the
                                                 * first n_in numbers of the observation */
        uint32_t n_in, n_out;                   /* how many numbers of one row it reads and writes */
        /* DENSE: n_out and n_in. CONVOLUTION: the output channels, and how many numbers one output reads: a
         * square of kernel x kernel in each input channel */
        uint32_t n_units, n_reads;
        /* places in the flat parameters; weight [n_units][n_reads], row-major; bias [n_units] */
        uint64_t weight_at, bias_at;
        double init_gain;
        /* for a CONVOLUTION, whose weight is [channels][input channels][kernel][kernel] */
        Convolution convolution;
} Layer;

/* An input of an edited network: number `first` of the observation, or the product of two numbers. */
#define MONOMIAL_LINEAR UINT16_MAX
typedef struct Monomial { uint16_t first, second; } Monomial;   /* second MONOMIAL_LINEAR: no product */

typedef struct Network {
        uint32_t n_layers, act;
        /* n_observation: how many numbers an observation has. n_action: how many continuous numbers an
         * action has or, if its numbers are choices, the sum of `choices` */
        uint32_t n_observation, n_action;
        /* how many choices an action has, and how many values each has; n_choices 0: the action is a BOX */
        uint32_t n_choices, choices[ACTORD_CHOICES_MAX];
        /* pixels: observations are bytes, stored as bytes everywhere and read as 1/255 of their values */
        uint32_t pixels;
        /* passes of the network for one action out of noise; otherwise 0 */
        uint32_t passes;
        /* how many actions the policy makes out of noise each time it acts, 1 to CANDIDATES_MAX; critics
         * choose one of them. A policy that does not act in passes has 0 */
        uint32_t candidates;
        /* 1: noise is a process, whose state each slot keeps (lib/noise.h), and not a separate draw for each
         * action */
        uint32_t noise_carried;
        /* how many monomials of the observation the layers read in place of the observation ("network
         * editing", Cao et al., ICLR 2024); 0: they read the observation itself */
        uint32_t n_edited;
        Monomial monomials[EDITED_MAX];
        uint64_t n_parameters;
        /* the bounds of each number of an action; ACT_GAUSSIAN has none */
        double action_low, action_high;
        /* ACT_DETERMINISTIC: the standard deviation of the noise, as a share of (high - low) / 2 */
        double action_noise;
        Layer layers[LAYERS_MAX];
} Network;

/* How many numbers layers read: those of the observation, or those that an edit makes from it. If the
 * network acts in passes, the noisy action and the time follow. */
static inline uint64_t network_inputs(const Network *network) {
        uint64_t beside = network->passes > 0 ? network->n_action + TIME_EMBEDDING : 0;

        return (network->n_edited > 0 ? network->n_edited : network->n_observation) + beside;
}

/* The policy segment: banks with one policy version each. Only the learner (on a node, its invoker) writes
 * the segment, which it has mapped before the invoker seals it with F_SEAL_FUTURE_WRITE. All others map it
 * read-only. Orders name the version to use and its bank. A bank is not written while it has the newest
 * version, or while an order in progress names it. */
typedef struct PolicyHead {                     /* one bank; float parameters[] lie at parameters_at */
        uint64_t policy_version, n_env_steps;
        /* for normalised observations; 0: observations are used raw */
        double observation_clip;
        double epsilon;                         /* the chance of a uniformly random action */
        uint64_t reserved[4];
} PolicyHead;
static_assert(sizeof(PolicyHead) == 64, "ABI");

/* bytes from a bank's start; lib/slot.c computes them, and the job page is sealed */
typedef struct PolicyLayout {
        /* float [n_observation] each: scaled = clip((o - mean) * inverse_sd) */
        uint64_t mean_at, inverse_sd_at;
        uint64_t parameters_at;                 /* float [n_parameters] */
        /* float [JUDGES][n_parameters of the critics' network]: the critics that choose among candidates; 0:
         * the policy has one candidate, and no critic is published */
        uint64_t judges_at;
        uint64_t bank_bytes, segment_bytes;
        uint32_t n_banks, reserved;
} PolicyLayout;
