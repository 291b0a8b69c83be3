/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The Hessian of a loss over some rows, as products with vectors: exact, and as cheap as a few gradients
 * each. "Fast Exact Multiplication by the Hessian" (Pearlmutter 1994): the derivative along the vector is
 * carried through the forward and the backward pass. All of it is in double precision; what does not
 * depend on the vector is computed once. */
#pragma once

#include <stdbool.h>

#include "include/policy.h"
#include "learner/store/batch.h"
#include "learner/kernel/kernels.h"
#include "learner/runtime.h"
#include "learner/threads.h"

enum {
        HESSIAN_ROWS = 64,      /* of a shard */
        HESSIAN_LANES_MAX = 16, /* in which shards are summed, whatever the number of threads */
};

/* A layer's numbers, [shards][n_out][HESSIAN_ROWS] each. */
typedef struct HessianLayer {
        double *y;     /* output; of the layer that acts by choices: log-probabilities */
        double *d;     /* gradient of the loss before the activation */
        double *slope; /* of the activation */
        double *bend;  /* how the slope changes with y, times the gradient after the activation */
} HessianLayer;

typedef struct Hessian {
        const Network *network;
        Threads *threads;
        size_t n; /* parameters */
        uint32_t layer_action, layer_log_sd, layer_value;

        /* What is loaded */
        const Tape *loss;
        const Batch *batch;
        Rows rows;
        double mean, scale; /* advantages become (a - mean) * scale */
        uint32_t n_shards, n_lanes;
        bool wanted[LAYERS_MAX]; /* what the loss depends on */
        size_t n_wanted;         /* parameters up to the last of them */
        double *parameters;      /* [n] */
        double *input, *actions; /* [shards][n_observation], [n_action], [HESSIAN_ROWS] */
        int32_t *choices;        /* [shards][n_choices, at least 1][HESSIAN_ROWS] */
        LossJet *jets;           /* the same: weighted, 0 for rows that fill a shard up */
        HessianLayer layers[LAYERS_MAX];

        /* The product in progress */
        const double *vector;
        double *ret;
        double *lanes; /* [HESSIAN_LANES_MAX][n] */
        /* [threads][2][units][HESSIAN_ROWS]: derivatives along the vector of y, and of gradients */
        double *scratch;
        size_t n_units;
        double *memory;
} Hessian;

/* For at most rows_max rows. 0 or -ENOMEM. */
int hessian_new(const Network *network, Threads *threads, uint32_t rows_max, Hessian **ret);
Hessian *hessian_free(Hessian *hessian);

typedef struct HessianOf {
        const Tape *loss;
        /* whether it depends on values; if not, the layers that only make values have no part in it */
        bool value;
        const float *parameters;
        const Batch *batch;
        Rows rows;
        double mean, scale; /* of the advantages */
} HessianOf;

/* The mean of a loss over rows, at these parameters. */
void hessian_load(Hessian *hessian, const HessianOf *of);
/* ret [n_wanted] = Hessian vector. The vector is taken to be 0 where a parameter has no part in the loss,
 * and the product is. */
void hessian_times(Hessian *hessian, const double *vector, double *ret);

/* learner/curvature/hessian-head.c: between the layers that are read from outside and the terms of a
 * loss. Numbers of one shard. */

/* The terms that the outputs give for the actions that were taken, and for values. */
void head_terms(const Hessian *hessian, uint32_t shard, double ret[_TERM_MAX][HESSIAN_ROWS]);
/* Jets -> gradients of the outputs. */
void head_gradient(const Hessian *hessian, uint32_t shard);
/* Derivatives of the outputs along a vector -> those of their gradients; [layers][n_out][HESSIAN_ROWS]
 * both. */
void head_along(const Hessian *hessian, uint32_t shard, double *const *along_y, double *const *ret_along_d);

/* Choices in an action: a number of memory, also where there are none. */
static inline uint32_t hessian_choices(const Network *network) {
        return network->n_choices > 0 ? network->n_choices : 1;
}

/* The numbers of one shard. */
static inline int32_t *shard_choices(const Hessian *h, uint32_t shard) {
        return h->choices + (size_t) shard * hessian_choices(h->network) * HESSIAN_ROWS;
}

static inline double *shard_columns(double *all, uint32_t n, uint32_t shard) {
        return all + (size_t) shard * n * HESSIAN_ROWS;
}
