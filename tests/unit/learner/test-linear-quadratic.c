/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* PI-FT's iterations on a problem whose optimum is known. Each iteration multiplies the error by the ratio
 * that the theory gives, down to 1e-8. If the weight of the divergences is too small, the error does not
 * shrink. */
#include <glib.h>

#include "tests/unit/linear-quadratic.h"

static LinearQuadratic five_passes(double beta) {
        LinearQuadratic lq = { .curvature = 1, .goal = 1, .beta = beta };

        lq_make(&lq, 5, 0, 0.5);
        return lq;
}

/* The mean reward minus the weighted divergences, from the mean and the variance of x in each pass. */
static double objective(const LinearQuadratic *lq, const LinearPolicy *policy) {
        double mean = 0, variance = 0, cost = 0;

        for (uint32_t k = 0; k < lq->n; k++) {
                Linear f = policy->f[k], before = lq->before[k];
                double away = f.slope - before.slope, by_x = lq->by_x[k] + lq->by_f[k] * f.slope;
                SamplerPass pass;

                sampler_pass(ACT_DIFFUSION, lq->n, k, &pass);
                variance += (double) pass.spread * (double) pass.spread;
                cost += lq->weight[k] *
                        (away * away * variance + pow(away * mean + f.start - before.start, 2));
                mean = by_x * mean + lq->by_f[k] * f.start;
                variance *= by_x * by_x;
        }
        return -0.5 * lq->curvature * (variance + pow(mean - lq->goal, 2)) - lq->beta * cost;
}

/* No neighbour of the optimum is better, and the passes before training are worse. */
static void test_optimum(void) {
        LinearQuadratic lq = five_passes(0.5);
        double ignored[LQ_PASSES_MAX], best;
        LinearPolicy optimum = {}, before = {};

        lq_optimum(&lq, &optimum, ignored);
        memcpy(before.f, lq.before, sizeof(before.f));
        best = objective(&lq, &optimum);
        g_assert_cmpfloat(objective(&lq, &before), <, best - 0.01);
        for (uint32_t k = 0; k < lq.n; k++)
                for (int sign = -1; sign <= 1; sign += 2) {
                        LinearPolicy slope = optimum, start = optimum;

                        slope.f[k].slope += sign * 0.01;
                        start.f[k].start += sign * 0.01;
                        g_assert_cmpfloat(objective(&lq, &slope), <, best);
                        g_assert_cmpfloat(objective(&lq, &start), <, best);
                }
}

/* Before training, the passes of the policy (LinearQuadratic.before) turn noise into actions of a given
 * normal distribution, here N(0.3, 0.5^2). So after the last pass the mean and the standard deviation of the
 * action x are nearly those of this distribution. */
static void test_before(void) {
        LinearQuadratic lq = { .n = 0 };
        double mean = 0, variance = 0;

        lq_make(&lq, LQ_PASSES_MAX, 0.3, 0.5);
        for (uint32_t k = 0; k < lq.n; k++) {
                double by_x = lq.by_x[k] + lq.by_f[k] * lq.before[k].slope;
                SamplerPass pass;

                sampler_pass(ACT_DIFFUSION, lq.n, k, &pass);
                variance = (variance + (double) pass.spread * (double) pass.spread) * by_x * by_x;
                mean = by_x * mean + lq.by_f[k] * lq.before[k].start;
        }
        g_assert_cmpfloat_with_epsilon(mean, 0.3, 0.01);
        g_assert_cmpfloat_with_epsilon(sqrt(variance), 0.5, 0.05);
}

static void test_descent(void) {
        static const double shares[] = { 100, 10, 2, 1.2, 1.05 };
        double least = lq_least_beta(five_passes(1), lq_comes_near);

        for (size_t i = 0; i < G_N_ELEMENTS(shares); i++) {
                LinearQuadratic lq = five_passes(shares[i] * least);
                Descent descent;

                lq_descend(&lq, &descent);
                g_assert_cmpuint(descent.n_to_goal, >, 0);
                g_assert_cmpfloat(descent.r_squared, >, 0.99);
                g_assert_cmpfloat_with_epsilon(descent.ratio, lq_ratio(&lq), 0.01);
                g_assert_cmpfloat_with_epsilon(descent.ratio, 1 / shares[i], 0.02);
        }
}

static void test_too_little_weight(void) {
        double near = lq_least_beta(five_passes(1), lq_comes_near);
        double least = lq_least_beta(five_passes(1), lq_comes_from_before);
        LinearQuadratic lq = five_passes(0.95 * near);
        Descent descent;

        g_assert_cmpfloat_with_epsilon(least / near, 1, 0.01);
        lq_descend(&lq, &descent);
        g_assert_cmpuint(descent.n_to_goal, ==, 0);
        g_assert_cmpfloat(descent.last, >, 1);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/linear-quadratic/before", test_before);
        g_test_add_func("/linear-quadratic/optimum", test_optimum);
        g_test_add_func("/linear-quadratic/descent", test_descent);
        g_test_add_func("/linear-quadratic/too-little-weight", test_too_little_weight);
        return g_test_run();
}
