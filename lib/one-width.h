/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A part of lib/each-width.h: defines vectors of one width, and includes the file KERNEL_TEMPLATE, which
 * uses them. It has no include guard, on purpose. */

typedef float KERNEL(Vector) __attribute__((vector_size(4 * KERNEL_WIDTH)));
/* A vector at any address. */
typedef float KERNEL(Loose) __attribute__((vector_size(4 * KERNEL_WIDTH), aligned(4), may_alias));
typedef int32_t KERNEL(Mask) __attribute__((vector_size(4 * KERNEL_WIDTH)));

#include KERNEL_TEMPLATE

#undef KERNEL
#undef KERNEL_TARGET
#undef KERNEL_WIDTH
#undef KERNEL_FUSED
#undef KERNEL_HOLD
#undef KERNEL_PRODUCT
#undef KERNEL_EVEN
#undef KERNEL_ODD
#undef KERNEL_EVEN_FOURS
#undef KERNEL_ODD_FOURS
