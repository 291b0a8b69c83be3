/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Compares the recurrence with the paper's equation 1, which is a sum over all later steps with a product of
 * weights in each term, and with the n-step return if both policies are the same. */
#include <glib.h>
#include <math.h>

#include "include/slot.h"
#include "learner/algorithm/advantage.h"

enum { STEPS = 40, ENVS = 3, ROWS = STEPS * ENVS };

typedef struct Sequence {
        float rewards[ROWS], values[ROWS + ENVS], finals[ROWS], now[ROWS], behaviour[ROWS];
        uint8_t ends[ROWS];
        StepsIn in;
        VtraceIn policies;
} Sequence;

static void sequence_fill(Sequence *s, GRand *rand, double apart) {
        s->in = (StepsIn){
                .steps = STEPS,
                .envs = ENVS,
                .rewards = s->rewards,
                .ends = s->ends,
                .values = s->values,
                .final_values = s->finals,
                .gamma = g_rand_double(rand),
        };
        s->policies = (VtraceIn){
                .log_probability = s->now,
                .behaviour_log_probability = s->behaviour,
                .rho_bar = g_rand_double_range(rand, 0.5, 2),
                .c_bar = g_rand_double_range(rand, 0.5, 1.5),
        };

        for (unsigned i = 0; i < ROWS; i++) {
                s->rewards[i] = (float) g_rand_double_range(rand, -1, 1);
                s->now[i] = (float) g_rand_double_range(rand, -3, 0);
                s->behaviour[i] = s->now[i] + (float) (apart * g_rand_double_range(rand, -1, 1));
                s->ends[i] = g_rand_int_range(rand, 0, 20) < 18 ? END_NOT
                                                                : (uint8_t) g_rand_int_range(rand, 0, 3);
                s->in.n_finals += s->ends[i] == END_TRUNCATED;
                s->finals[i] = (float) g_rand_double_range(rand, -3, 3);
        }
        for (unsigned i = 0; i < ROWS + ENVS; i++)
                s->values[i] = (float) g_rand_double_range(rand, -3, 3);
}

/* The value of the observation after this row, without V-trace's corrections; 0 if the episode
 * terminated. */
static double next_value(const StepsIn *in, uint32_t row) {
        uint32_t final = 0;

        if (in->ends[row] == END_TERMINATED)
                return 0;
        if (in->ends[row] == END_NOT)
                return (double) in->values[row + in->envs];
        for (uint32_t i = 0; i < row; i++)
                final += in->ends[i] == END_TRUNCATED;
        return (double) in->final_values[final];
}

static double ratio(const VtraceIn *in, uint32_t row) {
        return exp((double) in->log_probability[row] - (double) in->behaviour_log_probability[row]);
}

/* Equation 1 of the paper: v_s = V(x_s) + sum over t of gamma^(t - s) (product over s <= i < t of c_i) rho_t
 * (r_t + gamma V(x_t+1) - V(x_t)) */
static double target_defined(const Sequence *s, uint32_t t, uint32_t e) {
        const StepsIn *in = &s->in;
        double v = (double) in->values[t * ENVS + e];

        for (uint32_t k = t; k < STEPS; k++) {
                uint32_t row = k * ENVS + e;
                double weight = pow(in->gamma, k - t);

                for (uint32_t i = t; i < k; i++)
                        weight *= fmin(s->policies.c_bar, ratio(&s->policies, i * ENVS + e));
                v += weight * fmin(s->policies.rho_bar, ratio(&s->policies, row)) *
                     ((double) in->rewards[row] + in->gamma * next_value(in, row) -
                                     (double) in->values[row]);
                if (in->ends[row] != END_NOT)
                        break;
        }
        return v;
}

static void test_definition(void) {
        g_autoptr(GRand) rand = g_rand_new_with_seed(5);
        double greatest = 0;
        Sequence s;

        for (unsigned round = 0; round < 334; round++) { /* of three sequences each */
                float advantage[ROWS], target[ROWS];

                sequence_fill(&s, rand, 1.5);
                vtrace_estimate(&s.in, &s.policies, advantage, target);
                for (uint32_t row = 0; row < ROWS; row++) {
                        uint32_t t = row / ENVS, e = row % ENVS;
                        double next = next_value(&s.in, row), expected;

                        if (s.ends[row] == END_NOT && t + 1 < STEPS)
                                next = target_defined(&s, t + 1, e);
                        expected = fmin(s.policies.rho_bar, ratio(&s.policies, row)) *
                                   ((double) s.rewards[row] + s.in.gamma * next - (double) s.values[row]);

                        greatest = fmax(greatest, fabs(target_defined(&s, t, e) - (double) target[row]));
                        greatest = fmax(greatest, fabs(expected - (double) advantage[row]));
                }
        }
        g_test_message("greatest difference %g", greatest);
        g_assert_cmpfloat(greatest, <, 1e-5);
}

/* If both policies are the same, all weights are 1. Then the target is the n-step return, which advantage
 * estimation with lambda = 1 also gives. */
static void test_on_policy(void) {
        g_autoptr(GRand) rand = g_rand_new_with_seed(6);
        Sequence s;

        for (unsigned round = 0; round < 100; round++) {
                float advantage[ROWS], target[ROWS], advantage_n[ROWS], target_n[ROWS];

                sequence_fill(&s, rand, 0);
                s.policies.rho_bar = s.policies.c_bar = 1;
                vtrace_estimate(&s.in, &s.policies, advantage, target);
                advantage_estimate(&s.in, 1, advantage_n, target_n);
                for (uint32_t row = 0; row < ROWS; row++) {
                        g_assert_cmpfloat(fabsf(target[row] - target_n[row]), <, 1e-5f);
                        g_assert_cmpfloat(fabsf(advantage[row] - advantage_n[row]), <, 1e-5f);
                }
        }
}

/* Actors report log-probabilities. Whichever finite numbers they report, the results are finite. */
static void test_hostile(void) {
        g_autoptr(GRand) rand = g_rand_new_with_seed(7);
        float advantage[ROWS], target[ROWS];
        Sequence s;

        sequence_fill(&s, rand, 1);
        for (uint32_t row = 0; row < ROWS; row++)
                s.behaviour[row] = row % 2 ? 3e38f : -3e38f;
        vtrace_estimate(&s.in, &s.policies, advantage, target);
        for (uint32_t row = 0; row < ROWS; row++) {
                g_assert_true(isfinite(target[row]) && isfinite(advantage[row]));
                if (row % 2)
                        g_assert_cmpfloat(target[row], ==, s.values[row]);
        }
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/vtrace/definition", test_definition);
        g_test_add_func("/vtrace/on-policy", test_on_policy);
        g_test_add_func("/vtrace/hostile", test_hostile);
        return g_test_run();
}
