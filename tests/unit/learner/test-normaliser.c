/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Compares merged running statistics with two passes over all rows, and the statistics of episodes with
 * numbers computed by hand. */
#include "tests/unit/learner-fixture.h"

enum { N = 4, PARTS = 50 };

typedef struct Vector {
        double x[N];
} Vector;

static void test_chan(void) {
        g_autoptr(GRand) rand = g_rand_new_with_seed(8);
        g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(Vector));
        Normaliser *normaliser;

        g_assert_cmpint(normaliser_new(N, &normaliser), ==, 0);
        g_assert_cmpfloat(normaliser_variance(normaliser, 0), ==, 1);

        for (unsigned part = 0; part < PARTS; part++) {
                int count = g_rand_int_range(rand, 1, 30);
                double mean[N] = {}, m2[N] = {};
                guint first = all->len;

                for (int i = 0; i < count; i++) {
                        Vector v;

                        for (int k = 0; k < N; k++)
                                v.x[k] = 1e4 * k + g_rand_double_range(rand, -1, 1) * (part + 1);
                        g_array_append_val(all, v);
                }
                for (int k = 0; k < N; k++) {
                        for (guint i = first; i < all->len; i++)
                                mean[k] += g_array_index(all, Vector, i).x[k] / count;
                        for (guint i = first; i < all->len; i++)
                                m2[k] += pow(g_array_index(all, Vector, i).x[k] - mean[k], 2);
                }
                normaliser_merge(normaliser, count, mean, m2);
        }

        g_assert_cmpfloat(normaliser->count, ==, all->len);
        for (int k = 0; k < N; k++) {
                double mean = 0, variance = 0;

                for (guint i = 0; i < all->len; i++)
                        mean += g_array_index(all, Vector, i).x[k] / all->len;
                for (guint i = 0; i < all->len; i++)
                        variance += pow(g_array_index(all, Vector, i).x[k] - mean, 2) / all->len;
                g_assert_cmpfloat_with_epsilon(normaliser->mean[k], mean, 1e-7);
                g_assert_cmpfloat_with_epsilon(normaliser_variance(normaliser, k) / variance, 1, 1e-9);
        }
        normaliser_free(normaliser);
}

#define SECTIONS                                                                             \
        "[Scaling]\nActors=2\n[Actor]\nEnvsPerActor=2\nRolloutSteps=8\n"                     \
        "[Learner]\nHiddenLayers=4\nEpochs=1\nMinibatchSize=32\nNormalizeObservations=yes\n" \
        "NormalizeRewards=yes\nGamma=0.9\n"

/* After each round, the learner's statistics of observations are those of all rows so far. The batch was
 * scaled by the statistics as they were before its round. */
static void test_observations(void) {
        ActordEnvSpec spec = bed_spec_box(3, 2, 0);
        double sum = 0, squares = 0;
        Bed bed = {};
        uint32_t n = 0;

        bed_start(&bed, SECTIONS, &spec);
        for (uint32_t round = 0; round < 2; round++) {
                const PolicyHead *bank = policy_bank(bed.policy, &bed.page.policy, round);
                float before = policy_numbers(bank, bed.page.policy.mean_at)[1],
                      scale = policy_numbers(bank, bed.page.policy.inverse_sd_at)[1], raw = 0;

                for (uint32_t a = 0; a < 2; a++) {
                        bed_fill(&bed, a, round & 1, 30 + round);
                        for (uint32_t i = 0; i < 16; i++) {
                                double x = (double) ((float *) segment_observation(
                                                bed.segments[a], &bed.page.segment, i))[1];

                                sum += x;
                                squares += x * x;
                                n++;
                        }
                        bed_take(&bed, a, round & 1);
                        raw = ((float *) segment_observation(bed.segments[a], &bed.page.segment, 5))[1];
                }
                bed_learn(&bed, round, 2);
                g_assert_cmpfloat_with_epsilon(
                                (double) bed.learner->batch
                                                ->observations[(batch_block(bed.learner->batch, 1) + 5) * 3 +
                                                                1],
                                (double) ((raw - before) * scale), 1e-6);
                g_assert_cmpfloat(bed.learner->observation->count, ==, n);
                g_assert_cmpfloat_with_epsilon(bed.learner->observation->mean[1], sum / n, 1e-9);
                g_assert_cmpfloat_with_epsilon(normaliser_variance(bed.learner->observation, 1),
                                squares / n - sum * sum / n / n, 1e-9);
        }
        bed_close(&bed);
}

/* Compares the statistics of episodes with numbers computed by hand: rewards and ends of two rounds, with
 * and without Carry=reset. */
static void test_episode_statistics(gconstpointer reset) {
        ActordEnvSpec spec = bed_spec_box(3, 2, 0);
        double running[4] = {}, discounted[4] = {}, values[64], mean = 0, m2 = 0;
        g_autoptr(GArray) returns = g_array_new(FALSE, FALSE, sizeof(double));
        unsigned n_values = 0;
        Bed bed = {};
        Answer learned = {};

        bed_settings("CartPole-v1", reset ? SECTIONS "[Actor]\nCarry=reset\n" : SECTIONS, &bed.settings);
        bed_open(&bed, &spec, -1, -1);
        bed_restore(&bed);
        for (uint32_t round = 0; round < 2; round++) {
                guint first = returns->len;
                double sum = 0;

                for (uint32_t a = 0; a < 2; a++) {
                        if (reset)
                                memset(bed.segments[a], 0, bed.page.segment.segment_bytes);
                        bed_fill(&bed, a, round & 1, 40 + round);
                        bed_take(&bed, a, round & 1);
                }
                for (unsigned s = 0; reset && s < 4; s++)
                        running[s] = discounted[s] = 0;
                for (uint32_t t = 0; t < 8; t++)
                        for (unsigned s = 0; s < 4; s++) {
                                double reward = segment_rewards(
                                                bed.segments[s / 2], &bed.page.segment)[t * 2 + s % 2];

                                running[s] += reward;
                                values[n_values++] = discounted[s] = discounted[s] * 0.9 + reward;
                                if (segment_ends(bed.segments[s / 2], &bed.page.segment)[t * 2 + s % 2] !=
                                                END_NOT) {
                                        g_array_append_val(returns, running[s]);
                                        running[s] = discounted[s] = 0;
                                }
                        }
                learned = bed_learn(&bed, round, 2);
                for (guint i = first; i < returns->len; i++)
                        sum += g_array_index(returns, double, i);
                if (returns->len > first)
                        g_assert_cmpfloat_with_epsilon(
                                        learned.statistics.return_round, sum / (returns->len - first), 1e-9);
        }

        g_assert_cmpuint(returns->len, >, 0);
        g_assert_cmpuint(learned.statistics.n_episodes, ==, returns->len);
        g_assert_cmpuint(learned.statistics.n_env_steps, ==, 64);
        g_assert_true(isnan(learned.statistics.return_mean));
        for (guint i = 0; i < returns->len; i++)
                g_assert_cmpfloat(bed.learner->episodes->returns[i], ==, g_array_index(returns, double, i));
        for (unsigned i = 0; i < n_values; i++)
                mean += values[i] / n_values;
        for (unsigned i = 0; i < n_values; i++)
                m2 += pow(values[i] - mean, 2);
        g_assert_cmpfloat_with_epsilon(bed.learner->discounted->m2[0], m2, 1e-9);
        bed_close(&bed);
}

/* The mean return is over the newest hundred episodes; with fewer there is none. */
static void test_return_mean(void) {
        ActordEnvSpec spec = bed_spec_box(1, 1, 2);
        Bed bed = {};
        double next = 0;

        spec.horizon_steps = 1;
        bed_start(&bed,
                        "[Actor]\nEnvsPerActor=2\nRolloutSteps=30\n[Learner]\nHiddenLayers=2\nEpochs=1\n"
                        "MinibatchSize=60\n",
                        &spec);
        for (uint32_t round = 0; round < 4; round++) {
                Answer learned;

                bed_fill(&bed, 0, round & 1, round);
                for (uint32_t i = 0; i < 60; i++)
                        segment_rewards(bed.segments[0], &bed.page.segment)[i] = next++;
                bed_take(&bed, 0, round & 1);
                learned = bed_learn(&bed, round, 1);
                if (round == 0)
                        g_assert_true(isnan(learned.statistics.return_mean));
                else
                        g_assert_cmpfloat(learned.statistics.return_mean, ==, next - 50.5);
                g_assert_cmpfloat(learned.statistics.episode_steps, ==, 1);
        }
        bed_close(&bed);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/normaliser/chan", test_chan);
        g_test_add_func("/normaliser/observations", test_observations);
        g_test_add_data_func("/episode-statistics/carried", NULL, test_episode_statistics);
        g_test_add_data_func("/episode-statistics/reset", "reset", test_episode_statistics);
        g_test_add_func("/episode-statistics/return-mean", test_return_mean);
        return g_test_run();
}
