/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The bootstrap. A resample is stored as a count for each value. The values are sorted once. Then the
 * interquartile mean of a resample takes one pass over the counts. So ten thousand resamples of forty seeds
 * take milliseconds. */
#include "actorctl/experiment/statistics.h"

#include <glib.h>
#include <math.h>
#include <string.h>

#include "lib/rng.h"

/* A fixed stream, so that resamples are the same in every run. */
#define RESAMPLE_SEED UINT64_C(0x6163746f7264) /* "actord" */

int compare_doubles(const void *a, const void *b) {
        double x = *(const double *) a, y = *(const double *) b;

        return (x > y) - (x < y);
}

static double *sorted(const double *values, size_t n) {
        double *copy = g_memdup2(values, n * sizeof(double));

        qsort(copy, n, sizeof(double), compare_doubles);
        return copy;
}

double mean(const double *values, size_t n) {
        double sum = 0;

        for (size_t i = 0; i < n; i++)
                sum += values[i];
        return n > 0 ? sum / (double) n : NAN;
}

static double quantile_sorted(const double *values, size_t n, double q) {
        double at = q * (double) (n - 1);
        size_t below = (size_t) at;

        return below + 1 < n ? values[below] + (at - (double) below) * (values[below + 1] - values[below])
                             : values[n - 1];
}

double quantile(const double *values, size_t n, double q) {
        g_autofree double *copy = NULL;

        g_assert(q >= 0 && q <= 1);

        if (n == 0)
                return NAN;
        copy = sorted(values, n);
        return quantile_sorted(copy, n, q);
}

/* The interquartile mean (the mean of the middle half) of n values: counts[i] copies of values[i],
 * ascending. */
static double trimmed(const double *values, const unsigned *counts, size_t n_values, size_t n) {
        size_t first = n / 4, end = n - n / 4, at = 0;
        double sum = 0;

        for (size_t i = 0; i < n_values && at < end; i++) {
                size_t from = MAX(at, first), to = MIN(at + counts[i], end);

                if (to > from)
                        sum += (double) (to - from) * values[i];
                at += counts[i];
        }
        return sum / (double) (end - first);
}

double interquartile_mean(const double *values, size_t n) {
        g_autofree double *copy = NULL;

        if (n == 0)
                return NAN;
        copy = sorted(values, n);
        return mean(copy + n / 4, n - 2 * (n / 4));
}

/* One side of a comparison: its sorted values, and the rank of each value. */
typedef struct Side {
        double *values;
        size_t *places;
        unsigned *counts;
} Side;

static void side_init(Side *side, const double *values, size_t n) {
        side->values = sorted(values, n);
        side->places = g_new(size_t, n);
        side->counts = g_new(unsigned, n);
        for (size_t i = 0; i < n; i++) {
                const double *at = bsearch(&values[i], side->values, n, sizeof(double), compare_doubles);

                g_assert(at);
                side->places[i] = (size_t) (at - side->values);
        }
}

static void side_done(Side *side) {
        g_free(side->values);
        g_free(side->places);
        g_free(side->counts);
}

static Interval bootstrap(const double *values, const double *others, size_t n) {
        g_autofree double *found = g_new(double, RESAMPLES);
        Side sides[2] = {};
        size_t n_sides = others ? 2 : 1;
        ActordRandom random;

        side_init(&sides[0], values, n);
        if (others)
                side_init(&sides[1], others, n);
        random_begin(&random, RESAMPLE_SEED, RANDOM_RESAMPLE, 0, n, 0);
        for (size_t k = 0; k < RESAMPLES; k++) {
                for (size_t s = 0; s < n_sides; s++)
                        memset(sides[s].counts, 0, n * sizeof(unsigned));
                for (size_t i = 0; i < n; i++) {
                        uint32_t drawn = random_below(&random, (uint32_t) n);

                        for (size_t s = 0; s < n_sides; s++)
                                sides[s].counts[sides[s].places[drawn]]++;
                }
                found[k] = trimmed(sides[0].values, sides[0].counts, n, n);
                if (others)
                        found[k] -= trimmed(sides[1].values, sides[1].counts, n, n);
        }
        for (size_t s = 0; s < n_sides; s++)
                side_done(&sides[s]);
        qsort(found, RESAMPLES, sizeof(double), compare_doubles);
        return (Interval){ quantile_sorted(found, RESAMPLES, 0.025),
                quantile_sorted(found, RESAMPLES, 0.975) };
}

Interval bootstrap_interval(const double *values, size_t n) {
        return n < 2 ? (Interval){ NAN, NAN } : bootstrap(values, NULL, n);
}

Interval bootstrap_paired(const double *values, const double *others, size_t n) {
        return n < 2 ? (Interval){ NAN, NAN } : bootstrap(values, others, n);
}
