/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Includes the file that KERNEL_TEMPLATE names once for each width of vectors (lib/width.h), with these:
 *
 *   KERNEL(name): name_scalar, name_avx2 or name_avx512
 *   KERNEL_TARGET: the target attribute, which stands before each function
 *   KERNEL_WIDTH: 4, 8 or 16 floats
 *   KERNEL_FUSED(a, b, c): a * b + c, rounded once
 *   KERNEL_HOLD(x, bound): x, clamped to [-bound, bound]; a NaN stays a NaN
 *   KERNEL_PRODUCT(a, b): for lanes of 64 bits that hold numbers below 2^32, their products
 *   KERNEL_EVEN(a, b): of each four numbers, the even ones of a, then those of b; KERNEL_ODD(a, b): the odd
 *     ones
 *   KERNEL_EVEN_FOURS(a, b): the even fours of a, then those of b; KERNEL_ODD_FOURS(a, b): the odd ones.
 *     Vectors of one four have neither.
 *
 * lib/one-width.h adds more, made from these. The template ends with KERNEL(table), a `static const
 * Kernels`; the type Kernels is the including file's own. This file has no include guard, on purpose. */
#define KERNEL(name) name##_scalar
#define KERNEL_TARGET
#define KERNEL_WIDTH          4
#define KERNEL_FUSED(a, b, c) quad_fused(a, b, c)
#define KERNEL_HOLD(x, bound) quad_hold(x, bound)
#define KERNEL_PRODUCT(a, b)  ((a) * (b))
#define KERNEL_EVEN(a, b)     __builtin_shufflevector(a, b, 0, 2, 4, 6)
#define KERNEL_ODD(a, b)      __builtin_shufflevector(a, b, 1, 3, 5, 7)
#include "lib/one-width.h"

/* If one of two numbers is a NaN, x86's minimum and maximum return the second number. So x stands second in
 * KERNEL_HOLD(), and a NaN stays a NaN. */
#if defined(__x86_64__)
#define KERNEL(name)            name##_avx2
#define KERNEL_TARGET           __attribute__((target("avx2,fma")))
#define KERNEL_WIDTH            8
#define KERNEL_FUSED(a, b, c)   _mm256_fmadd_ps(a, b, c)
#define KERNEL_HOLD(x, bound)   _mm256_max_ps(-(bound), _mm256_min_ps(bound, x))
#define KERNEL_PRODUCT(a, b)    _mm256_mul_epu32((__m256i) (a), (__m256i) (b))
#define KERNEL_EVEN(a, b)       __builtin_shufflevector(a, b, 0, 2, 8, 10, 4, 6, 12, 14)
#define KERNEL_ODD(a, b)        __builtin_shufflevector(a, b, 1, 3, 9, 11, 5, 7, 13, 15)
#define KERNEL_EVEN_FOURS(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11)
#define KERNEL_ODD_FOURS(a, b)  __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15)
#include "lib/one-width.h"

#define KERNEL(name)          name##_avx512
#define KERNEL_TARGET         __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")))
#define KERNEL_WIDTH          16
#define KERNEL_FUSED(a, b, c) _mm512_fmadd_ps(a, b, c)
#define KERNEL_HOLD(x, bound) _mm512_max_ps(-(bound), _mm512_min_ps(bound, x))
#define KERNEL_PRODUCT(a, b)  _mm512_mul_epu32((__m512i) (a), (__m512i) (b))
#define KERNEL_EVEN(a, b) \
        __builtin_shufflevector(a, b, 0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28, 30)
#define KERNEL_ODD(a, b) \
        __builtin_shufflevector(a, b, 1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31)
#define KERNEL_EVEN_FOURS(a, b) \
        __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27)
#define KERNEL_ODD_FOURS(a, b) \
        __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31)
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
