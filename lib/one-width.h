/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A part of lib/each-width.h: vectors of one width, and the template. No include guard, on purpose. */

typedef float KERNEL(Vector) __attribute__((vector_size(4 * KERNEL_WIDTH)));
/* Where it may lie anywhere. */
typedef float KERNEL(Loose) __attribute__((vector_size(4 * KERNEL_WIDTH), aligned(4), may_alias));
typedef int32_t KERNEL(Mask) __attribute__((vector_size(4 * KERNEL_WIDTH)));

/* elementary_tanh(), the same operations in the same order: tests hold them equal, bit for bit. A compiler
 * makes branches of its bounds and no vectors; here they are written as such. */
KERNEL_TARGET static inline __attribute__((always_inline)) void KERNEL(tanh)(float *x, size_t n) {
        const KERNEL(Vector) none = {}, one = none + 1.0f;

        for (size_t i = 0; i < n; i += KERNEL_WIDTH) {
                KERNEL(Vector) v = *(const KERNEL(Loose) *) (x + i), u, p, q;

                v = KERNEL_HOLD(v, none + 9.02f);
                u = v * v;
                p = KERNEL_FUSED(none + 1.3317613105259e-08f, u, none + 2.0582436746910e-05f);
                p = KERNEL_FUSED(p, u, none + 3.4939723676539e-03f);
                p = KERNEL_FUSED(p, u, none + 1.3379666368905e-01f);
                p = KERNEL_FUSED(p, u, one);
                q = KERNEL_FUSED(none + 7.7614234280697e-07f, u, none + 3.2829900190218e-04f);
                q = KERNEL_FUSED(q, u, none + 2.5870838825164e-02f);
                q = KERNEL_FUSED(q, u, none + 4.6712981684973e-01f);
                q = KERNEL_FUSED(q, u, one);
                *(KERNEL(Loose) *) (x + i) = KERNEL_HOLD(v * p / q, one);
        }
}

#include KERNEL_TEMPLATE

#undef KERNEL
#undef KERNEL_TARGET
#undef KERNEL_WIDTH
#undef KERNEL_FUSED
#undef KERNEL_HOLD
#undef KERNEL_LOW
#undef KERNEL_HIGH
