/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Storms: the published storm of each task, random storms for training, and twenty held-out storms for
 * tests. A storm is the rain of ten hours, and the phase of the tide if there is one.
 *
 *     rain_h = scale total w_h / (sum of w), w_h = profile_h f_h
 *
 * where h is the hour, `total` is the sum of the profile, and f_h are factors.
 *
 * For training, three things are drawn: scale in the family's [least, most), each f_h in [0.5, 1.5), and the
 * tide. Held-out storm k (1 to 20) has scale = least + (most - least) (k - 1) / 19 and f_h = 0.5 + frac((10
 * k + h) phi), where phi = 0.618... is from the golden ratio. Its tide begins at frac(k phi) of the tide's
 * period. The published storm is the profile itself. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "include/actord/env.h"

enum { STORM_HOURS = 10, N_HELD_OUT = 20 };

typedef struct Storm {
        double rain[STORM_HOURS]; /* for each hour, in the task's unit */
        double tide;              /* where in its period the tide begins, in [0, 1) */
} Storm;

typedef struct StormFamily {
        double profile[STORM_HOURS];
        double least, most; /* the bounds of `scale` in a random storm */
} StormFamily;

void storm_draw(const StormFamily *family, ActordRandom *random, Storm *ret);
void storm_held_out(const StormFamily *family, uint32_t k, Storm *ret);
void storm_published(const StormFamily *family, Storm *ret);

/* The rain in the hour that begins `hour` hours after the storm begins. `hour` is negative before the
 * storm. */
double storm_rain(const Storm *storm, double hour);

/* The height of the tide, in ft: its mean is 1.2 ft, and its period 12.42 hours. */
double storm_tide(const Storm *storm, double hour);

/* Writes the lines of SWMM's series "rain" and, if tide_hours is above 0, "tide". Returns the number of
 * bytes, less than n_text. */
size_t storm_write(
                const Storm *storm, uint32_t first_hour, uint32_t tide_hours, char *ret_text, size_t n_text);
