/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests the statistics of curvature and noise. They are measured only if the job asks for them, are the same
 * with any number of threads, and have no effect on the policy. */
#include "tests/unit/learner-fixture.h"

#include "learner/curvature/curvature.h"
#include "lib/rng.h"

enum { ACTORS = 3, ROUNDS = 3 };

static void start(Bed *bed, const char *learner, uint32_t n_choices) {
        g_autofree char *sections =
                        g_strdup_printf("[Scaling]\nActors=%d\n[Actor]\nEnvsPerActor=4\nRolloutSteps=50\n"
                                        "[Learner]\nHiddenLayers=16 16\nMinibatchSize=100\nEpochs=2\n%s\n",
                                        ACTORS, learner);
        ActordEnvSpec spec = bed_spec_box(5, 2, n_choices);

        spec.horizon_steps = 25;
        bed_start(bed, sections, &spec);
}

/* Learns from ROUNDS rounds. Returns the answer of the last one. */
static Answer learn(Bed *bed, const char *learner, uint32_t n_choices) {
        Answer learned = {};

        start(bed, learner, n_choices);
        for (uint32_t round = 0; round < ROUNDS; round++) {
                bed_take_all(bed, ACTORS, round & 1, round);
                learned = bed_learn(bed, round, ACTORS);
        }
        return learned;
}

static Answer learned_with(const char *learner, uint32_t n_choices) {
        Bed bed = {};
        Answer learned = learn(&bed, learner, n_choices);

        bed_close(&bed);
        return learned;
}

#define EVERYTHING "Curvature=both\nNoiseScale=yes\nCurvatureRows=300\n"

static void test_threads(void) {
        for (uint32_t n_choices = 0; n_choices < 4; n_choices += 3) {
                Answer one = learned_with(EVERYTHING "Threads=1", n_choices);

                g_assert_cmpfloat(one.statistics.curvature_min, <, 0);
                g_assert_cmpfloat(one.statistics.curvature_max, >, 0);
                g_assert_cmpfloat(one.statistics.curvature_ratio, >, 0);
                g_assert_true(isfinite(one.statistics.curvature_loss));
                g_assert_true(isfinite(one.statistics.noise_scale));
                for (uint32_t n = 2; n <= 3; n++) {
                        g_autofree char *text = g_strdup_printf(EVERYTHING "Threads=%u", n);
                        Answer other = learned_with(text, n_choices);

                        g_assert_cmpmem(&other.statistics, sizeof(other.statistics), &one.statistics,
                                        sizeof(one.statistics));
                }
        }
}

/* Measuring changes neither the policy nor the other statistics. */
static void test_traceless(void) {
        Answer plain = learned_with("", 3), measured = learned_with(EVERYTHING, 3);

        g_assert_cmpmem(plain.sha256, 32, measured.sha256, 32);
        g_assert_true(isnan(plain.statistics.curvature_min));
        g_assert_true(isnan(plain.statistics.curvature_ratio));
        g_assert_true(isnan(plain.statistics.curvature_loss));
        g_assert_true(isnan(plain.statistics.noise_scale));
        g_assert_cmpfloat(plain.statistics.kl, ==, measured.statistics.kl);
        g_assert_cmpfloat(plain.statistics.loss_value, ==, measured.statistics.loss_value);
}

static void test_choices(void) {
        Answer objective = learned_with("Curvature=objective", 0);
        Answer loss = learned_with("Curvature=loss", 0), both = learned_with("Curvature=both", 0);

        g_assert_true(isnan(objective.statistics.curvature_loss));
        g_assert_true(isnan(loss.statistics.curvature_min));
        g_assert_true(isnan(loss.statistics.curvature_max));
        g_assert_true(isnan(loss.statistics.curvature_ratio));
        g_assert_cmpfloat(objective.statistics.curvature_ratio, ==, both.statistics.curvature_ratio);
        g_assert_cmpfloat(loss.statistics.curvature_loss, ==, both.statistics.curvature_loss);
}

static double products_of(const char *learner) {
        return learned_with(learner, 0).statistics.curvature_products;
}

/* The learner reports how many products of a Hessian with a vector it computed, times the rows of each.
 * With both Hessians the number is twice that of one. */
static void test_products(void) {
        g_assert_true(isnan(products_of("")));
        g_assert_cmpfloat(products_of("CurvatureSteps=7\nCurvatureRows=300\nCurvature=objective"), ==,
                        7 * 300);
        g_assert_cmpfloat(products_of("CurvatureSteps=7\nCurvatureRows=300\nCurvature=loss"), ==, 7 * 300);
        g_assert_cmpfloat(
                        products_of("CurvatureSteps=7\nCurvatureRows=300\nCurvature=both"), ==, 2 * 7 * 300);
        /* CurvatureRows= above the rows of a round means all of its rows. */
        g_assert_cmpfloat(products_of("CurvatureSteps=7\nCurvatureRows=5000\nCurvature=loss"), ==,
                        7 * ACTORS * 4 * 50);
}

/* If a round has more rows than CurvatureRows=, only a sample of them is measured. Its numbers differ from
 * those of all rows, but are near them. */
static void test_rows(void) {
        double all = learned_with("Curvature=objective\nCurvatureRows=600", 3).statistics.curvature_max;
        double more = learned_with("Curvature=objective\nCurvatureRows=5000", 3).statistics.curvature_max;
        double some = learned_with("Curvature=objective\nCurvatureRows=400", 3).statistics.curvature_max;

        g_assert_cmpfloat(all, ==, more);
        g_assert_cmpfloat(all, !=, some);
        g_assert_cmpfloat_with_epsilon(some / all, 1, 0.5);
}

static void test_ratio(void) {
        g_assert_cmpfloat(curvature_ratio(-2, 3), ==, 1.5);
        g_assert_cmpfloat(curvature_ratio_loss(-2, 3), ==, 3.01 / 2.01);
        /* NaN: no eigenvalue is clearly negative, or none is clearly positive. */
        g_assert_true(isnan(curvature_ratio(0, 3)));
        g_assert_true(isnan(curvature_ratio(1, 3)));
        g_assert_true(isnan(curvature_ratio(-1e-17, 3)));
        g_assert_true(isnan(curvature_ratio(-3, 1e-17)));
        g_assert_true(isnan(curvature_ratio(-3, -1)));
        g_assert_true(isnan(curvature_ratio(0, 0)));
        g_assert_true(isnan(curvature_ratio(NAN, 1)));
        /* curvature_ratio_loss() moves both eigenvalues by 0.01. So the ratio is finite at 0, and may be
         * negative. */
        g_assert_cmpfloat(curvature_ratio_loss(0, 0), ==, 1);
        g_assert_cmpfloat(curvature_ratio_loss(0.51, 0.99), ==, -2);
        g_assert_true(isnan(curvature_ratio_loss(0.01, 1)));
        g_assert_true(isnan(curvature_ratio_loss(NAN, 1)));
}

/* Nothing was better or worse than expected: the objective is flat. */
static void test_flat(void) {
        Bed bed = {};
        Answer learned;

        start(&bed, "Curvature=both\nGamma=0\nValueWeight=0\nLearningRate=0.01", 3);
        for (uint32_t a = 0; a < ACTORS; a++) {
                double *rewards = segment_rewards(bed.segments[a], &bed.page.segment);

                bed_fill(&bed, a, 0, 1);
                for (uint32_t i = 0; i < 4 * 50; i++)
                        rewards[i] = 0;
                bed_take(&bed, a, 0);
        }
        for (uint64_t i = 0; i < bed.page.network.n_parameters; i++)
                bed.learner->runtime->nets[NET_POLICY]->parameters[i] = 0;
        learned = bed_learn(&bed, 0, ACTORS);
        g_assert_cmpfloat(learned.statistics.curvature_min, ==, 0);
        g_assert_cmpfloat(learned.statistics.curvature_max, ==, 0);
        g_assert_true(isnan(learned.statistics.curvature_ratio));
        g_assert_cmpfloat(learned.statistics.curvature_loss, ==, 1);
        /* One product with each Hessian is enough to see that it is zero. */
        g_assert_cmpfloat(learned.statistics.curvature_products, ==, 2 * 512);
        bed_close(&bed);
}

/* Noise */

/* Tests the estimate. The squared norm of a gradient from n rows is |G|² + tr(covariance) / n on average,
 * where G is the true gradient. */
static void test_estimate(void) {
        const double gradient = 3, trace = 700;

        g_assert_cmpfloat_with_epsilon(
                        noise_scale_estimate(10, gradient + trace / 10, 640, gradient + trace / 640),
                        trace / gradient, 1e-9);
        g_assert_true(isnan(noise_scale_estimate(10, 64, 640, 1)));
        g_assert_true(isnan(noise_scale_estimate(10, 0, 640, 0)));
        g_assert_true(isnan(noise_scale_estimate(10, NAN, 640, 1)));
}

/* Compares the estimated noise scale with the true one, for random gradients. */
static void test_drawn(void) {
        enum { DIMENSIONS = 200, SHARES = 64, SHARE = 20 };
        const double mean = 0.25, sd = 1.5;
        double big[DIMENSIONS] = {}, small = 0, norm = 0;
        ActordRandom random;

        random_begin(&random, 1, RANDOM_CURVATURE, 0, 0, 0);
        for (unsigned a = 0; a < SHARES; a++)
                for (unsigned k = 0; k < DIMENSIONS; k++) {
                        double sum = 0;

                        for (unsigned i = 0; i < SHARE; i++)
                                sum += (mean + sd * actord_random_normal(&random)) / SHARE;
                        small += sum * sum / SHARES;
                        big[k] += sum / SHARES;
                }
        for (unsigned k = 0; k < DIMENSIONS; k++)
                norm += big[k] * big[k];
        g_assert_cmpfloat_with_epsilon(
                        noise_scale_estimate(SHARE, small, SHARE * SHARES, norm) / (sd * sd / (mean * mean)),
                        1, 0.1);
}

/* PPO's loss for the policy that acted, where each ratio is 1: the mean of advantages, and half the squared
 * error. */
static void plain_loss(Tape *t, const void *arg) {
        const AdvantageScale *scale = arg;
        Node advantage = tape_scale(
                        t, tape_shift(t, tape_column(t, COLUMN_ADVANTAGE), -scale->mean), scale->scale);
        Node error = tape_subtract(t, tape_term(t, TERM_VALUE), tape_column(t, COLUMN_TARGET));

        tape_loss(t, tape_multiply(t, advantage, tape_term(t, TERM_LOG_PROBABILITY)), -1);
        tape_loss(t, tape_half_square(t, error), 0.5);
}

static double gradient_square(Bed *bed, Rows rows, const AdvantageScale *advantage) {
        Runtime *rt = bed->learner->runtime;
        double sum = 0, sums[1];

        g_assert_cmpint(runtime_gradient(rt, NET_POLICY, rows, plain_loss, advantage, sums, 1), ==, 0);
        for (uint64_t i = 0; i < bed->page.network.n_parameters; i++)
                sum += pow((double) rt->gradients[0][i], 2);
        return sum;
}

/* Computes the noise scale by its definition, from the first n_shares * share rows: the small batches have
 * `share` rows each, and the large batch has all. Advantages are normalised over all of `rows`. */
static double defined(Bed *bed, Rows rows, uint32_t share, uint32_t n_shares) {
        AdvantageScale advantage = runtime_advantage_scale(bed->learner->runtime, rows);
        double small = 0;

        rows.n = n_shares * share;
        for (uint32_t a = 0; a < n_shares; a++)
                small += gradient_square(bed, (Rows){ .order = rows.order + a * share, .n = share },
                                         &advantage) /
                         n_shares;
        return noise_scale_estimate(share, small, rows.n, gradient_square(bed, rows, &advantage));
}

/* Compares the measured noise scale with its definition. With LearningRate=0 the measurement and this check
 * have the same parameters. */
static void direct(const char *text, uint32_t n_actors) {
        Bed bed = {};
        Answer learned = learn(&bed, text, 3);
        Rows all = runtime_rows(bed.learner->runtime);
        double expected = defined(&bed, all, bed.learner->batch->step_rows, n_actors);

        g_assert_cmpfloat(learned.statistics.noise_scale, >, 0);
        g_assert_cmpfloat_with_epsilon(expected / learned.statistics.noise_scale, 1, 1e-3);
        bed_close(&bed);
}

static void test_direct(void) {
        direct("NoiseScale=yes\nLearningRate=0", ACTORS);
        direct("NoiseScale=yes\nLearningRate=0\nNoiseActors=1000", ACTORS);
        direct("NoiseScale=yes\nLearningRate=0\nNoiseActors=2", 2);
}

/* Tests the noise scale of a round of one actor. Its rows are sorted by environment and then by time, and
 * are cut into eight parts, which take the place of actors. */
static void test_alone(void) {
        g_autofree uint32_t *order = NULL;
        Bed bed = {};
        const Batch *batch;
        Answer learned;
        double expected;
        uint32_t k = 0;

        start(&bed, "NoiseScale=yes\nLearningRate=0", 3);
        batch = bed.learner->batch;
        bed_fill(&bed, 0, 0, 1);
        bed_take(&bed, 0, 0);
        learned = bed_learn(&bed, 0, 1);

        order = g_new(uint32_t, batch->step_rows);
        for (uint32_t e = 0; e < batch->envs; e++)
                for (uint32_t t = 0; t < batch->steps; t++)
                        order[k++] = t * batch->envs + e;
        g_assert_cmpuint(k / 8, >, 1);
        expected = defined(&bed, (Rows){ .order = order, .n = k }, k / 8, 8);
        g_assert_cmpfloat_with_epsilon(expected / learned.statistics.noise_scale, 1, 1e-3);
        bed_close(&bed);
}

/* If all actors have the same rollout, the noise scale is 0, but for rounding. */
static void test_equal(void) {
        Bed bed = {};
        Answer learned;

        start(&bed, "NoiseScale=yes", 3);
        bed_fill(&bed, 0, 0, 1);
        for (uint32_t a = 1; a < ACTORS; a++)
                memcpy(bed.segments[a], bed.segments[0], bed.page.segment.segment_bytes);
        for (uint32_t a = 0; a < ACTORS; a++)
                bed_take(&bed, a, 0);
        learned = bed_learn(&bed, 0, ACTORS);
        g_assert_cmpfloat(fabs(learned.statistics.noise_scale), <, 1e-2);
        bed_close(&bed);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/curvature/threads", test_threads);
        g_test_add_func("/curvature/traceless", test_traceless);
        g_test_add_func("/curvature/choices", test_choices);
        g_test_add_func("/curvature/products", test_products);
        g_test_add_func("/curvature/rows", test_rows);
        g_test_add_func("/curvature/ratio", test_ratio);
        g_test_add_func("/curvature/flat", test_flat);
        g_test_add_func("/noise/estimate", test_estimate);
        g_test_add_func("/noise/drawn", test_drawn);
        g_test_add_func("/noise/direct", test_direct);
        g_test_add_func("/noise/alone", test_alone);
        g_test_add_func("/noise/equal", test_equal);
        return g_test_run();
}
