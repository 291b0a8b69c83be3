/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Products of vectors with the Hessian of a loss over some rows. They are exact, and each costs as much as a
 * few gradients. As in "Fast Exact Multiplication by the Hessian" (Pearlmutter 1994), the derivative along
 * the vector is carried through the forward and the backward pass. Everything is in double precision.
 * Numbers that do not depend on the vector are computed once. */
#pragma once

#include <stdbool.h>

#include "include/policy.h"
#include "learner/store/batch.h"
#include "learner/kernel/kernels.h"
#include "learner/runtime.h"
#include "learner/threads.h"

enum {
        HESSIAN_ROWS = 64,      /* rows of a shard */
        HESSIAN_LANES_MAX = 16, /* the most partial sums (lanes), with any number of threads */
};

/* What a layer computes, [shards][n_out][HESSIAN_ROWS] each. */
typedef struct HessianLayer {
        double *y;     /* outputs; in the layer of the logits: log-probabilities */
        double *d;     /* gradient of the loss before the activation */
        double *slope; /* derivative of the activation */
        double *bend;  /* d(slope) / d(y), times the gradient of the loss after the activation */
} HessianLayer;

typedef struct Hessian {
        const Network *network;
        Threads *threads;
        size_t n; /* parameters */
        uint32_t layer_action, layer_log_sd, layer_value;

        /* set by hessian_load(): the loss, and the rows over which its mean is taken */
        const Tape *loss;
        const Batch *batch;
        Rows rows;
        double mean, scale; /* advantages become (a - mean) * scale */
        uint32_t n_shards, n_lanes;
        bool wanted[LAYERS_MAX]; /* the layers on which the loss depends */
        size_t n_wanted;         /* how many parameters: up to the last one that the loss depends on */
        double *parameters;      /* [n] */
        double *input, *actions; /* [shards][n_observation or n_action][HESSIAN_ROWS] */
        int32_t *choices;        /* [shards][n_choices, at least 1][HESSIAN_ROWS] */
        LossJet *jets;           /* of each row's loss, weighted; 0 for the unused rows of the last shard */
        HessianLayer layers[LAYERS_MAX];

        /* For the product that hessian_times() computes: */
        const double *vector;
        double *ret;
        double *lanes; /* [lanes for rows_max rows, at most HESSIAN_LANES_MAX][n] */
        /* [threads][2][n_units][HESSIAN_ROWS]: the derivatives of all layers' y (HessianLayer), then of
         * their d, in the direction of `vector` */
        double *scratch;
        size_t n_units;
        double *memory;
} Hessian;

/* Makes room for products over at most rows_max rows. 0 or -ENOMEM. */
int hessian_new(const Network *network, Threads *threads, uint32_t rows_max, Hessian **ret);
Hessian *hessian_free(Hessian *hessian);

typedef struct HessianOf {
        const Tape *loss;
        /* whether the loss depends on values; if not, layers that only compute values do not affect it */
        bool value;
        const float *parameters;
        const Batch *batch;
        Rows rows;
        double mean, scale; /* of advantages */
} HessianOf;

/* Prepares products with the Hessian of a loss, which is a mean over rows, at these parameters. */
void hessian_load(Hessian *hessian, const HessianOf *of);
/* ret [n_wanted] = Hessian times vector. For a parameter that does not affect the loss, the vector is taken
 * as 0, and the product is 0. */
void hessian_times(Hessian *hessian, const double *vector, double *ret);

/* learner/curvature/hessian-head.c: derivatives between the network's outputs and the terms of a loss, for
 * the rows of one shard. */

/* Computes the terms of the loss (Term) from the network's outputs: of the action that was taken, its
 * log-probability and the entropy; and the value. */
void head_terms(const Hessian *hessian, uint32_t shard, double ret[_TERM_MAX][HESSIAN_ROWS]);
/* Computes the gradients of the outputs from hessian->jets, the derivatives of the loss by its terms. */
void head_gradient(const Hessian *hessian, uint32_t shard);
/* Computes how much the gradients of the outputs change in the direction of a vector. along_y: how much the
 * outputs change in this direction. Both arrays have [layers][n_out][HESSIAN_ROWS]. */
void head_along(const Hessian *hessian, uint32_t shard, double *const *along_y, double *const *ret_along_d);

/* How many choices an action has, but at least 1, since arrays have this size. */
static inline uint32_t hessian_choices(const Network *network) {
        return network->n_choices > 0 ? network->n_choices : 1;
}

/* These two functions return where the data of a shard begin in an array. */
static inline int32_t *shard_choices(const Hessian *h, uint32_t shard) {
        return h->choices + (size_t) shard * hessian_choices(h->network) * HESSIAN_ROWS;
}

static inline double *shard_columns(double *all, uint32_t n, uint32_t shard) {
        return all + (size_t) shard * n * HESSIAN_ROWS;
}
