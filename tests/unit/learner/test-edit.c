/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Edited networks: what a tape makes of the numbers that it is given, against the same in double precision,
 * and that an input which is masked has a gradient of exactly 0. */
#include <glib.h>
#include <string.h>

#include "learner/tape/tape.h"

enum { ROWS = 32, REAL = 29 };

typedef struct Bench {
        float weight[ROWS] __attribute__((aligned(64)));
        float terms[_TERM_MAX][ROWS] __attribute__((aligned(64)));
        float d_terms[_TERM_MAX][ROWS] __attribute__((aligned(64)));
        float values[TAPE_NODES_MAX][ROWS] __attribute__((aligned(64)));
        float d[TAPE_NODES_MAX][ROWS] __attribute__((aligned(64)));
        double sums[1];
} Bench;

/* The last rows only fill up the shard. */
static void bench_fill(Bench *bench) {
        g_autoptr(GRand) rand = g_rand_new_with_seed(1);

        memset(bench, 0, sizeof(*bench));
        for (unsigned i = 0; i < REAL; i++) {
                bench->weight[i] = 1.0f / REAL;
                for (unsigned k = 0; k < _TERM_MAX; k++)
                        bench->terms[k][i] = (float) g_rand_double_range(rand, -1, 1);
        }
        memset(bench->d_terms, 0xff, sizeof(bench->d_terms));
        memset(bench->d, 0xff, sizeof(bench->d));
}

static void bench_execute(Bench *bench, const Tape *tape) {
        TapePlace place = {
                .stride = ROWS,
                .weight = bench->weight,
                .values = bench->values[0],
                .d = bench->d[0],
                .sums = bench->sums,
        };

        for (unsigned k = 0; k < _TERM_MAX; k++) {
                place.terms[k] = bench->terms[k];
                place.d_terms[k] = bench->d_terms[k];
        }
        tape_execute(tape, &place);
}

/* An edited network reads x2, x0 x0 and x0 x2 of three numbers. */
static void test_gradient(void) {
        static const Network network = {
                .n_given = 3,
                .n_observation = 3,
                .monomials = { { 2, MONOMIAL_LINEAR }, { 0, 0 }, { 0, 2 } },
        };
        static const Network plain = { .n_observation = 3 };
        const TapeShape shape = { .networks = { &network, &plain } };
        static Bench bench;
        Node joined;
        Tape tape;

        bench_fill(&bench);
        tape_begin_with(&tape, &shape);
        joined = tape_join(&tape, tape_term(&tape, 0),
                        tape_join(&tape, tape_term(&tape, 1), tape_term(&tape, 2)));
        g_assert_cmpuint(tape_edit(&tape, 1, joined), ==, joined);
        tape_loss(&tape, tape_half_square(&tape, tape_total(&tape, tape_edit(&tape, 0, joined))), 1);
        bench_execute(&bench, &tape);

        for (unsigned i = 0; i < REAL; i++) {
                double x = (double) bench.terms[0][i], z = (double) bench.terms[2][i];
                double y = z + x * x + x * z;

                g_assert_cmpfloat_with_epsilon((double) bench.d_terms[0][i], y * (2 * x + z) / REAL, 1e-6);
                g_assert_cmpfloat((double) bench.d_terms[1][i], ==, 0);
                g_assert_cmpfloat_with_epsilon((double) bench.d_terms[2][i], y * (1 + x) / REAL, 1e-6);
        }
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);

        g_test_add_func("/edit/gradient", test_gradient);
        return g_test_run();
}
