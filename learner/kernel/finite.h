/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks numbers from a file or an actor, before sums rely on them. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/* Bounds are doubles and observations often floats, so an observation may exceed a bound by a rounding error
 * relative to its size. */
static const double BOUND_TOLERANCE = 1e-5;

/* Whether all n are finite, and at least `least`. */
static inline bool floats_finite(const float *x, size_t n, float least) {
        for (size_t i = 0; i < n; i++)
                if (!isfinite(x[i]) || x[i] < least)
                        return false;
        return true;
}

static inline double bound_slack(double bound) {
        return isfinite(bound) ? BOUND_TOLERANCE * fmax(1.0, fabs(bound)) : 0.0;
}

/* Whether all n numbers are finite and in [low, high]. There are no branches, so a rollout is checked at the
 * speed of memory. */
static inline bool floats_within(const float *x, size_t n, double low, double high) {
        double least = low - bound_slack(low), greatest = high + bound_slack(high);
        size_t n_bad = 0;

        for (size_t i = 0; i < n; i++) {
                double y = (double) x[i];

                n_bad += !(isfinite(y) && y >= least && y <= greatest);
        }
        return n_bad == 0;
}

static inline bool doubles_finite(const double *x, size_t n, double least) {
        for (size_t i = 0; i < n; i++)
                if (!isfinite(x[i]) || x[i] < least)
                        return false;
        return true;
}
