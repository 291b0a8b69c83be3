/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The loops of tape-wide.h for each width of vectors; and what goes once through a shard, row by row. */
#include "learner/tape/tape.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "learner/kernel/kernels.h"
#include "lib/doubles.h"
#include "lib/elementary.h"
#include "lib/width.h"

/* Exact where the exponential is near 1, and never beyond what a float holds. */
static void divergence(const float *x, uint32_t n, float *ret) {
        for (uint32_t i = 0; i < n; i++)
                ret[i] = (float) fmin(double_expm1((double) x[i]) - (double) x[i], (double) FLT_MAX);
}

static void divergence_backward(const float *x, const float *d, uint32_t n, float *ret) {
        for (uint32_t i = 0; i < n; i++)
                ret[i] += d[i] * (float) fmin(double_expm1((double) x[i]), (double) FLT_MAX);
}

ELEMENTARY float held(float x, float lowest, float most) {
        x = x < lowest ? lowest : x;
        return x > most ? most : x;
}

ELEMENTARY float huber(float x, float bound) {
        float size = fabsf(x), square = 0.5f * x * x, line = bound * (size - 0.5f * bound);

        return size <= bound ? square : line;
}

typedef struct Kernels {
        void (*forward)(const Tape *tape, const TapePlace *place);
        void (*backward)(const Tape *tape, const TapePlace *place);
} Kernels;

static const float *value_of(const Tape *tape, const TapePlace *place, Node node) {
        const TapeNode *n = &tape->nodes[node];

        if (n->op == TAPE_COLUMN)
                return place->columns[n->of];
        if (n->op == TAPE_TERM)
                return place->terms[n->of];
        return place->values + (size_t) node * place->stride;
}

static float *d_of(const Tape *tape, const TapePlace *place, Node node) {
        const TapeNode *n = &tape->nodes[node];

        return n->op == TAPE_TERM ? place->d_terms[n->of] : place->d + (size_t) node * place->stride;
}

#define KERNEL_TEMPLATE "learner/tape/tape-wide.h"
#include "lib/each-width.h"

/* In the order of the rows, so that a width changes nothing. */
static void sums_add(const Tape *tape, const TapePlace *place) {
        for (uint32_t k = 0; k < tape->n_sums; k++) {
                const TapeSum *s = &tape->sums[k];
                const float *x = value_of(tape, place, s->node);
                float coefficient = s->coefficient;
                double sum = 0.0;

                for (uint32_t i = 0; i < place->stride; i++)
                        sum += (double) (place->weight[i] * (coefficient * x[i]));
                place->sums[s->number] += sum;
        }
}

void tape_execute(const Tape *tape, const TapePlace *place) {
        const Kernels *kernels = kernels_chosen();

        assert(place->stride % KERNEL_LANES == 0 && place->stride <= SHARD_ROWS_MAX);

        kernels->forward(tape, place);
        kernels->backward(tape, place);
        sums_add(tape, place);
}
