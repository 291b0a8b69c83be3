/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The law of daemon/scheduler/response.h: fitted to rounds of few and of many actors, it predicts the
 * progress with other numbers of actors. */
#include <glib.h>
#include <math.h>

#include "daemon/scheduler/response.h"

#define ACTORS_MOST 64u

/* A round's progress as a learner measures it: under the sharp law the square root of response_of(). */
static double seen(uint32_t n_actors, Law truth) {
        return truth.sharp ? sqrt(response_of(n_actors, truth)) : response_of(n_actors, truth);
}

/* Adds stays of eight rounds. Their progress follows the law `truth`, times a random factor that differs
 * from 1 by at most `noise`. The progress becomes less from round to round, as in a real training. */
static void train(Response *response, Law truth, double noise, GRand *rand) {
        static const uint32_t stays[] = { 1, 16, 2, 32, 1, 16, 2, 8 };

        for (uint32_t i = 0; i < 8 * G_N_ELEMENTS(stays); i++)
                response_add(response, stays[i / 8],
                                0.02 * pow(0.99, i) * seen(stays[i / 8], truth) *
                                                g_rand_double_range(rand, 1 - noise, 1 + noise));
}

/* The cost of training with the number of actors that is best by the law `taken`, divided by the least
 * possible cost, where `truth` is the true law. A round of A actors costs 1 + A. */
static double loss(Law taken, Law truth) {
        double least = INFINITY, least_taken = INFINITY, costs = 0;

        for (uint32_t n = 1; n <= ACTORS_MOST; n++) {
                double cost = (1 + n) / response_of(n, truth), by_taken = (1 + n) / response_of(n, taken);

                least = fmin(least, cost);
                if (by_taken < least_taken) {
                        least_taken = by_taken;
                        costs = cost;
                }
        }
        return costs / least;
}

/* The b from theory (daemon/scheduler/response.h) is eight times too large or too small. The fitted b is
 * nearer to the true one, if the rounds so far can tell the two apart, and decisions by the fitted b cost
 * less. */
static void test_fit(void) {
        static const double truths[] = { 4, 16, 64 };
        enum { SEEDS = 100 };

        for (uint32_t k = 0; k < 4 * G_N_ELEMENTS(truths); k++) {
                bool sharp = k & 1, above = k & 2;
                Law truth = { truths[k / 4], sharp }, theory = { above ? truth.b * 8 : truth.b / 8, sharp };
                g_autoptr(GRand) rand = g_rand_new_with_seed(k);
                double lost = 0, lost_by_theory = loss(theory, truth);
                uint32_t nearer = 0;

                for (uint32_t seed = 0; seed < SEEDS; seed++) {
                        double best, hopeful;
                        Response r = {};

                        train(&r, truth, 0.5, rand);
                        response_fit(&r, theory, &best, &hopeful);
                        g_assert_cmpfloat(hopeful, >=, best);
                        nearer += above ? best < theory.b : best > theory.b;
                        lost += loss((Law){ best, sharp }, truth) / SEEDS;
                }
                g_test_message("b %g, sharp %d, theory %g: nearer in %u of %u, %.3f lost, by theory %.3f",
                                truth.b, sharp, theory.b, nearer, SEEDS, lost, lost_by_theory);
                g_assert_cmpfloat(lost, <=, lost_by_theory + 1e-9);
                /* With at most 32 actors, a law whose b is above 100 is nearly a straight line, so rounds do
                 * not show its b. */
                if (theory.b > 100)
                        continue;
                g_assert_cmpuint(nearer, >=, SEEDS * 9 / 10);
                g_assert_cmpfloat(lost - 1, <, 0.9 * (lost_by_theory - 1));
        }
}

static void test_nothing(void) {
        double best, hopeful, change;
        Response r = {};
        uint32_t before;

        /* daemon/scheduler/response.h explains b, `hopeful` and the laws. Without rounds, the best b is the
         * b from theory. The hopeful b is four times that under the law of noise, twice under the sharp
         * law. */
        response_fit(&r, (Law){ .b = 3 }, &best, &hopeful);
        g_assert_cmpfloat(best, ==, 3);
        g_assert_cmpfloat(hopeful, ==, 12);
        response_fit(&r, (Law){ .b = 3, .sharp = true }, &best, &hopeful);
        g_assert_cmpfloat(best, ==, 3);
        g_assert_cmpfloat(hopeful, ==, 6);
        response_fit(&r, (Law){}, &best, &hopeful);
        g_assert_cmpfloat(best, ==, 0.125);
        response_fit(&r, (Law){ .b = 1e9 }, &best, &hopeful);
        g_assert_true(best == 1e9 && isfinite(hopeful));
        g_assert_cmpuint(response_rounds(&r), ==, 0);
        g_assert_true(isnan(response_change(&r, false, &before)));

        /* A round whose progress is not a number is not counted. */
        response_add(&r, 3, NAN);
        g_assert_cmpuint(response_rounds(&r), ==, 0);
        response_add(&r, 12, 1e-300);
        response_add(&r, 3, 1e300);
        response_fit(&r, (Law){ .b = 3 }, &best, &hopeful);
        g_assert_true(best >= 0.125 && isfinite(hopeful));
        /* The ratio of two stays' progress is cut at 1000. */
        g_assert_cmpfloat(response_change(&r, false, &before), ==, 1000);
        g_assert_cmpfloat(response_change(&r, true, &before), ==, 1000);

        r = (Response){};
        for (uint32_t i = 0; i < 100; i++)
                response_add(&r, 1 + i / 50, 1 + i / 50);
        change = response_change(&r, false, &before);
        g_assert_cmpfloat(change, ==, 2);
        g_assert_cmpfloat(response_change(&r, true, &before), ==, 4);
        g_assert_cmpuint(before, ==, 1);
        g_assert_cmpuint(response_rounds(&r), ==, 50);
}

/* A stay (successive rounds with one number of actors) without progress says nothing about the effect of
 * that number, whether it is the stay before a change of the number or the one after. */
static void test_zero(void) {
        for (uint32_t i = 0; i < 4; i++) {
                Law theory = { .b = 3, .sharp = i & 1 };
                double best, hopeful;
                Response r = {};
                uint32_t before;

                response_add(&r, 3, i & 2 ? 0.01 : 0);
                response_add(&r, 6, i & 2 ? 0 : 0.01);
                response_fit(&r, theory, &best, &hopeful);
                g_assert_cmpfloat(best, ==, 3);
                g_assert_true(isnan(response_change(&r, theory.sharp, &before)));
        }
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/scheduler/response/fit", test_fit);
        g_test_add_func("/scheduler/response/nothing", test_nothing);
        g_test_add_func("/scheduler/response/zero", test_zero);
        return g_test_run();
}
