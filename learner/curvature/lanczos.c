/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Products of the matrix with vectors build an orthonormal basis in which the matrix is tridiagonal. The
 * ends of the spectrum converge first. From then on, rounding destroys orthogonality. So from each vector
 * the parts along all earlier vectors are subtracted twice, which is enough ("The Symmetric Eigenvalue
 * Problem", Parlett). */
#include "learner/curvature/lanczos.h"

#include <assert.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "learner/kernel/kernels.h"
#include "lib/cleanup.h"

/* A new direction is only rounding if its length is at most this share of the largest number in the
 * tridiagonal matrix. */
#define BREAKDOWN 1e-10

DEFINE_CLEANUP(Lanczos *, lanczos_free)

Lanczos *lanczos_free(Lanczos *lanczos) {
        if (!lanczos)
                return NULL;

        free(lanczos->basis);
        free(lanczos->diagonal);
        free(lanczos->beside);
        free(lanczos->along);
        free(lanczos);
        return NULL;
}

int lanczos_new(size_t n_max, uint32_t steps_max, Lanczos **ret) {
        _cleanup_(lanczos_freep) Lanczos *l = NULL;

        assert(n_max > 0);
        assert(steps_max > 0);
        assert(ret);

        l = calloc(1, sizeof(*l));
        if (!l)
                return -ENOMEM;
        l->n = n_max;
        l->steps_max = steps_max;
        l->basis = calloc((size_t) steps_max + 1, n_max * sizeof(double));
        l->diagonal = calloc(steps_max, sizeof(double));
        l->beside = calloc(steps_max, sizeof(double));
        l->along = calloc(steps_max, sizeof(double));
        if (!l->basis || !l->diagonal || !l->beside || !l->along)
                return -ENOMEM;

        *ret = TAKE_PTR(l);
        return 0;
}

static double vector_length(const double *x, size_t n) {
        double square;

        kernel_double_dots(x, 1, n, x, &square);
        return sqrt(square);
}

static void vector_scale(double *x, double factor, size_t n) {
        for (size_t i = 0; i < n; i++)
                x[i] *= factor;
}

/* Subtracts from the product of step k its parts along all vectors of the basis. The part along vector k
 * becomes entry k of the diagonal. Returns the length of the rest. */
static double step_clear(Lanczos *l, uint32_t k) {
        double *product = l->basis + (k + 1) * l->n;

        l->diagonal[k] = 0.0;
        for (unsigned pass = 0; pass < 2; pass++) {
                kernel_double_dots(l->basis, k + 1, l->n, product, l->along);
                kernel_double_take(l->basis, k + 1, l->n, l->along, product);
                l->diagonal[k] += l->along[k];
        }
        return vector_length(product, l->n);
}

/* The number of eigenvalues of the tridiagonal matrix below x: the number of negative pivots after x is
 * subtracted (Sylvester's law of inertia). A pivot of 0 counts as slightly positive. */
static uint32_t eigenvalues_below(const Lanczos *l, uint32_t n, double little, double x) {
        double pivot = 1.0;
        uint32_t below = 0;

        for (uint32_t i = 0; i < n; i++) {
                pivot = l->diagonal[i] - x - (i > 0 ? l->beside[i - 1] * l->beside[i - 1] / pivot : 0.0);
                if (pivot == 0.0)
                        pivot = little;
                if (pivot < 0.0)
                        below++;
        }
        return below;
}

/* The smallest number, apart from rounding, that exceeds at least `wanted` eigenvalues. */
static double eigenvalue_find(const Lanczos *l, uint32_t n, double scale, uint32_t wanted) {
        /* The magnitudes in a row of the matrix add up to at most 3 * scale, so all eigenvalues are between
         * low and high (Gershgorin). */
        double low = -3.0 * scale, high = 3.0 * scale;
        /* The precision must not be 0, even for a tiny scale: the loop would not end when low and high are
         * neighbouring numbers. */
        double precision = fmax(4.0 * DBL_EPSILON * scale, DBL_TRUE_MIN);

        while (high - low > precision) {
                double middle = 0.5 * (low + high);

                if (eigenvalues_below(l, n, precision, middle) >= wanted)
                        high = middle;
                else
                        low = middle;
        }
        return 0.5 * (low + high);
}

int lanczos_extremes(Lanczos *l, LanczosProduct product, void *arg, double *ret_min, double *ret_max) {
        double length = vector_length(l->basis, l->n), scale = 0.0;
        uint32_t n = 0;

        assert(product);
        assert(ret_min);
        assert(ret_max);

        if (!isfinite(length) || !(length > 0.0))
                return -ERANGE;
        vector_scale(l->basis, 1.0 / length, l->n);

        while (n < l->steps_max) {
                double *next = l->basis + (n + 1) * l->n;

                product(arg, l->basis + n * l->n, next);
                length = step_clear(l, n);
                if (!isfinite(length) || !isfinite(l->diagonal[n]))
                        return -ERANGE;
                l->beside[n] = length;
                scale = fmax(scale, fmax(length, fabs(l->diagonal[n])));
                n++;
                if (length <= BREAKDOWN * scale)
                        break;
                vector_scale(next, 1.0 / length, l->n);
        }

        *ret_min = eigenvalue_find(l, n, scale, 1);
        *ret_max = eigenvalue_find(l, n, scale, n);
        return (int) n;
}
