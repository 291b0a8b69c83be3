/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Includes the file that KERNEL_TEMPLATE names once for each width of vectors (lib/width.h), with these:
 *
 *   KERNEL(name): name_scalar, name_avx2 or name_avx512
 *   KERNEL_TARGET: the target attribute, which stands before each function
 *   KERNEL_WIDTH: 4, 8 or 16 floats
 *   KERNEL_FUSED(a, b, c): a * b + c, rounded once
 *   KERNEL_HOLD(x, bound): x, clamped to [-bound, bound]; a NaN stays a NaN
 *   KERNEL_LOW(a, b): interleaves the first halves of a and b; KERNEL_HIGH(a, b): the last halves
 *
 * lib/one-width.h adds more, made from these. The template ends with KERNEL(table), a `static const
 * Kernels`; the type Kernels is the including file's own. This file has no include guard, on purpose. */
#define KERNEL(name) name##_scalar
#define KERNEL_TARGET
#define KERNEL_WIDTH          4
#define KERNEL_FUSED(a, b, c) quad_fused(a, b, c)
#define KERNEL_HOLD(x, bound) quad_hold(x, bound)
#define KERNEL_LOW(a, b)      __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define KERNEL_HIGH(a, b)     __builtin_shufflevector(a, b, 2, 6, 3, 7)
#include "lib/one-width.h"

/* If one of two numbers is a NaN, x86's minimum and maximum return the second number. So x stands second in
 * KERNEL_HOLD(), and a NaN stays a NaN. */
#if defined(__x86_64__)
#define KERNEL(name)          name##_avx2
#define KERNEL_TARGET         __attribute__((target("avx2,fma")))
#define KERNEL_WIDTH          8
#define KERNEL_FUSED(a, b, c) _mm256_fmadd_ps(a, b, c)
#define KERNEL_HOLD(x, bound) _mm256_max_ps(-(bound), _mm256_min_ps(bound, x))
#define KERNEL_LOW(a, b)      __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define KERNEL_HIGH(a, b)     __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#include "lib/one-width.h"

#define KERNEL(name)          name##_avx512
#define KERNEL_TARGET         __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")))
#define KERNEL_WIDTH          16
#define KERNEL_FUSED(a, b, c) _mm512_fmadd_ps(a, b, c)
#define KERNEL_HOLD(x, bound) _mm512_max_ps(-(bound), _mm512_min_ps(bound, x))
#define KERNEL_LOW(a, b) \
        __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define KERNEL_HIGH(a, b) \
        __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#include "lib/one-width.h"
#endif

/* The kernels of the width that this process has chosen. */
static const Kernels *kernels_chosen(void) {
#if defined(__x86_64__)
        static const Kernels *const tables[_WIDTH_MAX] = { &table_scalar, &table_avx2, &table_avx512 };

        return tables[width_chosen()];
#else
        return &table_scalar;
#endif
}

#undef KERNEL_TEMPLATE
