/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The recurrence gives the same advantages as their definition: the sum over k of (gamma lambda)^k delta(t +
 * k), until the episode's end. */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "include/slot.h"
#include "learner/algorithm/advantage.h"

enum { STEPS = 40, ENVS = 3 };

static double delta(const StepsIn *in, uint32_t t, uint32_t e) {
        uint32_t row = t * in->envs + e, final = 0;
        double next = 0;

        for (uint32_t i = 0; i < row; i++)
                final += in->ends[i] == END_TRUNCATED;
        if (in->ends[row] == END_TRUNCATED)
                next = (double) in->final_values[final];
        else if (in->ends[row] == END_NOT)
                next = (double) in->values[row + in->envs];
        return (double) in->rewards[row] + in->gamma * next - (double) in->values[row];
}

static void test_definition(void) {
        g_autoptr(GRand) rand = g_rand_new_with_seed(5);

        for (unsigned round = 0; round < 200; round++) {
                float rewards[STEPS * ENVS], values[(STEPS + 1) * ENVS], finals[STEPS * ENVS],
                                advantage[STEPS * ENVS], target[STEPS * ENVS];
                uint8_t ends[STEPS * ENVS];
                StepsIn in = { STEPS, ENVS, rewards, ends, values, finals, 0, g_rand_double(rand) };
                double lambda = g_rand_double(rand);

                for (unsigned i = 0; i < STEPS * ENVS; i++) {
                        rewards[i] = (float) g_rand_double_range(rand, -1, 1);
                        ends[i] = g_rand_int_range(rand, 0, 8) < 6 ? END_NOT
                                                                   : (uint8_t) g_rand_int_range(rand, 0, 3);
                        in.n_finals += ends[i] == END_TRUNCATED;
                        finals[i] = (float) g_rand_double_range(rand, -5, 5);
                }
                for (unsigned i = 0; i < (STEPS + 1) * ENVS; i++)
                        values[i] = (float) g_rand_double_range(rand, -5, 5);

                advantage_estimate(&in, lambda, advantage, target);
                for (uint32_t t = 0; t < STEPS; t++)
                        for (uint32_t e = 0; e < ENVS; e++) {
                                double expected = 0, weight = 1;

                                for (uint32_t k = t; k < STEPS; k++, weight *= in.gamma * lambda) {
                                        expected += weight * delta(&in, k, e);
                                        if (ends[k * ENVS + e] != END_NOT)
                                                break;
                                }
                                g_assert_cmpfloat(
                                                fabs(expected - (double) advantage[t * ENVS + e]), <, 1e-5);
                                g_assert_cmpfloat(fabs(expected + (double) values[t * ENVS + e] -
                                                                  (double) target[t * ENVS + e]),
                                                <, 1e-5);
                        }
        }
}

/* An agent that has left gets no more rewards, as if its episode had terminated. The numbers in rows without
 * the agent change nothing. */
static void test_absent(void) {
        enum { N = 6 };
        uint8_t ends[N] = {}, active[N + 1] = { 1, 1, 0, 0, 1, 1, 1 }, ended[N] = {};
        float rewards[N] = { 1, 2, 50, 50, 3, 4 }, values[N + 1] = { 0.5f, 1, 99, 99, 2, 3, 4 };
        float advantage[N], target[N], of_ended[N], unused[N];
        StepsIn in = { N, 1, rewards, ends, values, NULL, 0, 0.9, active };
        StepsIn out = { N, 1, rewards, ended, values, NULL, 0, 0.9, NULL };
        VtraceIn policies = {
                .log_probability = unused, .behaviour_log_probability = unused, .rho_bar = 1, .c_bar = 1
        };

        memset(unused, 0, sizeof(unused));
        ended[1] = END_TERMINATED;
        for (int vtrace = 0; vtrace <= 1; vtrace++) {
                if (vtrace) {
                        vtrace_estimate(&in, &policies, advantage, target);
                        vtrace_estimate(&out, &policies, of_ended, target);
                } else {
                        advantage_estimate(&in, 0.8, advantage, target);
                        advantage_estimate(&out, 0.8, of_ended, target);
                }
                for (unsigned i = 0; i < N; i++)
                        g_assert_cmpfloat((double) advantage[i], ==, active[i] ? (double) of_ended[i] : 0);
        }
}

/* One step with a reward of 1, and a value of 10 behind it. If the episode was truncated, the value counts.
 * If it terminated, the value does not count. */
static void test_bootstrap(void) {
        static const double expected[] = {
                [END_NOT] = 1 + 0.9 * 4, [END_TERMINATED] = 1, [END_TRUNCATED] = 1 + 0.9 * 10
        };

        for (uint8_t end = END_NOT; end <= END_TRUNCATED; end++) {
                float reward = 1, values[2] = { 0, 4 }, final = 10, advantage, target;
                StepsIn in = { 1, 1, &reward, &end, values, &final, end == END_TRUNCATED, 0.9 };

                advantage_estimate(&in, 0.95, &advantage, &target);
                g_assert_cmpfloat_with_epsilon((double) advantage, expected[end], 1e-6);
        }
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/advantage/absent", test_absent);
        g_test_add_func("/advantage/definition", test_definition);
        g_test_add_func("/advantage/bootstrap", test_bootstrap);
        return g_test_run();
}
