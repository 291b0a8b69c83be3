/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Storms and tides as numbers, and as text for SWMM. */
#include "actor/envs/swmm/storm.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#define GOLDEN         0.6180339887498949
#define TIDE_HOURS     12.42
#define TIDE_MEAN      1.2
#define TIDE_AMPLITUDE 1.6

static double fraction(double x) {
        return x - floor(x);
}

static void scale(const double profile[STORM_HOURS], const double factors[STORM_HOURS], double by,
                double *ret) {
        double total = 0, weights = 0;

        for (int h = 0; h < STORM_HOURS; h++) {
                total += profile[h];
                weights += profile[h] * factors[h];
        }
        for (int h = 0; h < STORM_HOURS; h++)
                ret[h] = by * total * profile[h] * factors[h] / weights;
}

void storm_draw(const StormFamily *family, ActordRandom *random, Storm *ret) {
        double by = actord_random_uniform(random, family->least, family->most), factors[STORM_HOURS];

        for (int h = 0; h < STORM_HOURS; h++)
                factors[h] = actord_random_uniform(random, 0.5, 1.5);
        scale(family->profile, factors, by, ret->rain);
        ret->tide = actord_random_uniform(random, 0, 1);
}

void storm_held_out(const StormFamily *family, uint32_t k, Storm *ret) {
        double factors[STORM_HOURS];

        assert(k >= 1 && k <= N_HELD_OUT);

        for (int h = 0; h < STORM_HOURS; h++)
                factors[h] = 0.5 + fraction((10.0 * k + h) * GOLDEN);
        scale(family->profile, factors,
                        family->least + (family->most - family->least) * (k - 1) / (N_HELD_OUT - 1),
                        ret->rain);
        ret->tide = fraction(k * GOLDEN);
}

void storm_published(const StormFamily *family, Storm *ret) {
        for (int h = 0; h < STORM_HOURS; h++)
                ret->rain[h] = family->profile[h];
        ret->tide = 0;
}

static double rate(const Storm *storm, double hour) {
        return hour >= 0 && hour < STORM_HOURS ? storm->rain[(int) hour] : 0;
}

double storm_rain(const Storm *storm, double hour) {
        double late = fraction(hour);

        return rate(storm, floor(hour)) * (1 - late) + rate(storm, floor(hour) + 1) * late;
}

double storm_tide(const Storm *storm, double hour) {
        return TIDE_MEAN + TIDE_AMPLITUDE * sin(2 * M_PI * (hour / TIDE_HOURS + storm->tide));
}

size_t storm_write(const Storm *storm, uint32_t first_hour, uint32_t tide_hours, char *ret_text,
                size_t n_text) {
        size_t n = 0;

        /* An entry counts for an hour. After the last entry, SWMM assumes no rain. */
        for (uint32_t h = 0; h < STORM_HOURS; h++)
                n += (size_t) snprintf(ret_text + n, n_text - n, "rain %u:00 %.17g\n", first_hour + h,
                                storm->rain[h]);
        /* The tide has an entry for each quarter of an hour: SWMM interpolates between entries. */
        for (uint32_t i = 0; tide_hours > 0 && i <= 4 * tide_hours; i++)
                n += (size_t) snprintf(ret_text + n, n_text - n, "tide %u:%02u %.17g\n", i / 4, i % 4 * 15,
                                storm_tide(storm, i / 4.0));
        assert(n < n_text);
        return n;
}
