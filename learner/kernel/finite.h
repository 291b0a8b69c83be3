/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Numbers of a file, before sums rely on them. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/* Whether all n are finite, and none is below the least. */
static inline bool floats_finite(const float *x, size_t n, float least) {
        for (size_t i = 0; i < n; i++)
                if (!isfinite(x[i]) || x[i] < least)
                        return false;
        return true;
}

static inline bool doubles_finite(const double *x, size_t n, double least) {
        for (size_t i = 0; i < n; i++)
                if (!isfinite(x[i]) || x[i] < least)
                        return false;
        return true;
}
