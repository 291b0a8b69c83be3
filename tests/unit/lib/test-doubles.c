/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Compares elementary functions in double precision with the C library's in long double. */
#include <float.h>
#include <glib.h>
#include <math.h>

#include "lib/doubles.h"
#include "lib/rng.h"

enum { DRAWS = 200000 };

/* The error in units of the last place of the exact number. */
static double error_of(double got, long double exact) {
        double nearest = (double) exact, unit;

        if (!isfinite(nearest) || !isfinite(got))
                return got == nearest ? 0.0 : INFINITY;
        unit = nextafter(fabs(nearest), INFINITY) - fabs(nearest);
        return (double) (fabsl((long double) got - exact) / (long double) unit);
}

typedef struct Function {
        const char *name;
        double (*own)(double);
        long double (*exact)(long double);
        double low, high, bound;
} Function;

static long double cos_turn(long double turn) {
        long double eighths = 8.0L * turn, of = 2.0L * acosl(-1.0L);

        /* Where the cosine is small, 2 pi times the turn would lose the cosine's digits by rounding. */
        if (eighths > 1.0L && eighths < 3.0L)
                return -sinl(of * (turn - 0.25L));
        if (eighths > 5.0L && eighths < 7.0L)
                return sinl(of * (turn - 0.75L));
        return cosl(of * turn);
}

static void test_bounds(void) {
        static const Function functions[] = {
                { "exp", double_exp, expl, -745.0, 709.7, DOUBLE_EXP_ULP },
                { "exp near 0", double_exp, expl, -1.0, 1.0, DOUBLE_EXP_ULP },
                { "expm1", double_expm1, expm1l, -40.0, 700.0, DOUBLE_EXPM1_ULP },
                { "expm1 near 0", double_expm1, expm1l, -1.0, 1.0, DOUBLE_EXPM1_ULP },
                { "log", double_log, logl, 0.0, 1e300, DOUBLE_LOG_ULP },
                { "log near 1", double_log, logl, 0.0, 2.0, DOUBLE_LOG_ULP },
                { "log nearer 1", double_log, logl, 0.99, 1.01, DOUBLE_LOG_ULP },
                { "log of little", double_log, logl, 0.0, 1e-307, DOUBLE_LOG_ULP },
                { "tanh", double_tanh, tanhl, -25.0, 25.0, DOUBLE_TANH_ULP },
                { "tanh near 0", double_tanh, tanhl, -1.0, 1.0, DOUBLE_TANH_ULP },
                { "cos", double_cos_turn, cos_turn, 0.0, 1.0, DOUBLE_COS_ULP },
                { "cos near a quarter", double_cos_turn, cos_turn, 0.2499, 0.2501, DOUBLE_COS_ULP },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(functions); i++) {
                const Function *f = &functions[i];
                double worst = 0.0, at = NAN;
                ActordRandom random;

                random_begin(&random, 1, RANDOM_ACTION, (uint32_t) i, 0, 0);
                for (unsigned k = 0; k < DRAWS; k++) {
                        double x = actord_random_uniform(&random, f->low, f->high);
                        double error = error_of(f->own(x), f->exact((long double) x));

                        if (!(error <= worst)) {
                                worst = error;
                                at = x;
                        }
                }
                g_test_message("%s: at most %.3f units in the last place, at %a", f->name, worst, at);
                g_assert_cmpfloat(worst, <=, f->bound);
        }
}

static void test_special(void) {
        const struct {
                double got, expected;
        } cases[] = {
                { double_exp(0.0), 1.0 },
                { double_exp(-INFINITY), 0.0 },
                { double_exp(INFINITY), INFINITY },
                { double_exp(710.0), INFINITY },
                { double_exp(-746.0), 0.0 },
                { double_exp(-DBL_MAX), 0.0 },
                { double_expm1(0.0), 0.0 },
                { double_expm1(-INFINITY), -1.0 },
                { double_expm1(INFINITY), INFINITY },
                { double_expm1(1e-300), 1e-300 },
                { double_log(0.0), -INFINITY },
                { double_log(1.0), 0.0 },
                { double_log(INFINITY), INFINITY },
                { double_tanh(0.0), 0.0 },
                { double_tanh(INFINITY), 1.0 },
                { double_tanh(-INFINITY), -1.0 },
                { double_tanh(1e-300), 1e-300 },
                { double_cos_turn(0.0), 1.0 },
                { double_cos_turn(0.25), 0.0 },
                { double_cos_turn(0.5), -1.0 },
                { double_cos_turn(0.75), 0.0 },
                { double_cos_turn(1.0), 1.0 },
                { double_power(0.0, 0), 1.0 },
                { double_power(0.5, 1074), 0x1p-1074 },
                { double_power(-3.0, 5), -243.0 },
                { double_power(0.9, UINT64_MAX), 0.0 },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
                g_assert_true(cases[i].got == cases[i].expected);
        g_assert_true(signbit(double_tanh(-0.0)));
        g_assert_true(isnan(double_exp(NAN)) && isnan(double_expm1(NAN)) && isnan(double_log(NAN)) &&
                        isnan(double_tanh(NAN)) && isnan(double_log(-1.0)) && isnan(double_power(NAN, 2)));
}

/* The error of powers of bases near 1, which Adam needs, is within the bound. */
static void test_power(void) {
        const double bases[] = { 0.9, 0.99, 0.999, 1.0 - 1e-6 };

        for (size_t i = 0; i < G_N_ELEMENTS(bases); i++)
                for (uint64_t n = 1; n < 100000; n += 1 + n / 7) {
                        long double exact = powl((long double) bases[i], (long double) n);

                        if (exact > 1e-300L)
                                g_assert_cmpfloat(
                                                error_of(double_power(bases[i], n), exact), <=, (double) n);
                }
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/doubles/bounds", test_bounds);
        g_test_add_func("/doubles/special", test_special);
        g_test_add_func("/doubles/power", test_power);
        return g_test_run();
}
