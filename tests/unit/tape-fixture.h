/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Executes tapes without networks on one shard of random rows. */
#pragma once

#include <glib.h>
#include <string.h>

#include "learner/kernel/kernels.h"
#include "learner/tape/tape.h"

enum { ROWS = SHARD_ROWS_MAX, REAL = 50, SUMS = 2 };

typedef struct Bench {
        float weight[ROWS] __attribute__((aligned(64)));
        float columns[_COLUMN_MAX][ROWS] __attribute__((aligned(64)));
        float terms[_TERM_MAX][ROWS] __attribute__((aligned(64)));
        float d_terms[_TERM_MAX][ROWS] __attribute__((aligned(64)));
        float values[TAPE_NODES_MAX][ROWS] __attribute__((aligned(64)));
        float d[TAPE_NODES_MAX][ROWS] __attribute__((aligned(64)));
        double sums[SUMS];
} Bench;

/* Fills the first REAL rows with random numbers. The other rows only fill up the shard. */
static inline void bench_fill(Bench *bench) {
        g_autoptr(GRand) rand = g_rand_new_with_seed(1);

        memset(bench, 0, sizeof(*bench));
        for (unsigned i = 0; i < REAL; i++) {
                bench->weight[i] = 1.0f / REAL;
                for (unsigned c = 0; c < _COLUMN_MAX; c++)
                        bench->columns[c][i] = (float) g_rand_double_range(rand, -1, 1);
                for (unsigned k = 0; k < _TERM_MAX; k++)
                        bench->terms[k][i] = (float) g_rand_double_range(rand, -1, 1);
        }
        memset(bench->d_terms, 0xff, sizeof(bench->d_terms));
        memset(bench->d, 0xff, sizeof(bench->d));
}

static inline void bench_execute(Bench *bench, const Tape *tape, uint32_t stride) {
        TapePlace place = {
                .stride = stride,
                .weight = bench->weight,
                .values = bench->values[0],
                .d = bench->d[0],
                .sums = bench->sums,
        };

        for (unsigned c = 0; c < _COLUMN_MAX; c++)
                place.columns[c] = bench->columns[c];
        for (unsigned k = 0; k < _TERM_MAX; k++) {
                place.terms[k] = bench->terms[k];
                place.d_terms[k] = bench->d_terms[k];
        }
        tape_execute(tape, &place);
}
