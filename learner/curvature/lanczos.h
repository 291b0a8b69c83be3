/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds the smallest and the largest eigenvalue of a symmetric matrix that is known only by its products:
 * "An Iteration Method for the Solution of the Eigenvalue Problem" (Lanczos 1950), with each vector made
 * orthogonal to all earlier ones. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef void (*LanczosProduct)(void *arg, const double *vector, double *ret);

typedef struct Lanczos {
        size_t n; /* the length of vectors: n_max, until the caller lowers it */
        uint32_t steps_max;
        double *basis; /* [steps_max + 1][n]; the caller writes the first vector, with any norm */
        /* [steps_max]: the tridiagonal matrix's diagonal, the numbers beside it, and scratch */
        double *diagonal, *beside, *along;
} Lanczos;

/* 0 or -ENOMEM. */
int lanczos_new(size_t n_max, uint32_t steps_max, Lanczos **ret);
Lanczos *lanczos_free(Lanczos *lanczos);

/* Finds the smallest and the largest eigenvalue. If further products add nothing, it ends early, and the
 * result is exact. Returns the number of steps; -ERANGE: a number is not finite, or the first vector is
 * 0. */
int lanczos_extremes(Lanczos *lanczos, LanczosProduct product, void *arg, double *ret_min, double *ret_max);
