/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A shard's columns have the numbers of its rows, for observations of any width, in any order of rows, and
 * zeros where there is no row. */
#include <glib.h>
#include <string.h>

#include "learner/runtime-internal.h"

enum { ROWS = 200, WIDEST = 376 };

/* Different for each number of each row. */
static float number_of(uint32_t n_observation, size_t row, uint32_t k) {
        return (float) (row * n_observation + k) + 0.5f;
}

static void check_columns(uint32_t n_observation, const Gathered *g) {
        static float observations[ROWS * WIDEST];
        static float input[(WIDEST + 1) * SHARD_ROWS_MAX] __attribute__((aligned(64)));
        static int32_t chosen[ROWS], choices[SHARD_ROWS_MAX];
        Pass pass = { .input = input };
        Bench bench = { .pass = &pass, .choices = choices };
        Batch batch = {
                .n_observation = n_observation,
                .act = ACT_CATEGORICAL,
                .n_choices = 1,
                .observations = observations,
                .choices = chosen,
        };

        for (size_t row = 0; row < ROWS; row++) {
                chosen[row] = (int32_t) row + 1;
                for (uint32_t k = 0; k < n_observation; k++)
                        observations[row * n_observation + k] = number_of(n_observation, row, k);
        }
        for (size_t i = 0; i < G_N_ELEMENTS(input); i++)
                input[i] = -1.0f;

        bench_gather(&bench, &batch, g);
        for (uint32_t i = 0; i < g->stride; i++) {
                size_t row = i < g->n ? gathered_row(g, i) : 0;

                g_assert_cmpint(choices[i], ==, i < g->n ? (int) row + 1 : 0);
                for (uint32_t k = 0; k < n_observation; k++)
                        g_assert_cmpfloat(input[k * g->stride + i], ==,
                                        i < g->n ? number_of(n_observation, row, k) : 0.0f);
        }
        for (size_t i = (size_t) n_observation * g->stride; i < G_N_ELEMENTS(input); i++)
                g_assert_cmpfloat(input[i], ==, -1.0f);
}

static void test_columns(void) {
        static const uint32_t widths[] = { 1, 4, 15, 16, 17, 63, 64, 65, 100, 376 };
        uint32_t order[SHARD_ROWS_MAX];

        for (uint32_t i = 0; i < SHARD_ROWS_MAX; i++)
                order[i] = i * 37 % ROWS;
        for (size_t i = 0; i < G_N_ELEMENTS(widths); i++)
                for (uint32_t stride = 16; stride <= SHARD_ROWS_MAX; stride *= 2)
                        for (uint32_t n = stride; n > 0; n /= 3) {
                                check_columns(widths[i], &(Gathered){ order, 0, n, stride });
                                check_columns(widths[i], &(Gathered){ NULL, 7, n, stride });
                        }
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/gather/columns", test_columns);
        return g_test_run();
}
