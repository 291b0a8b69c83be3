/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/kernel.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "include/policy.h"
#include "lib/elementary.h"
#include "lib/width.h"

enum {
        TILE_ROWS = 6,    /* rows of sums that are computed at once */
        TILE_DEPTH = 256, /* terms that are added to each of these sums at a time */
        SIDE_MAX = 8,     /* the most vectors side by side */
};

typedef struct Kernels {
        void (*product)(const Product *p);
        void (*transpose)(const float *x, uint32_t n, uint32_t stride, float *ret);
        void (*activate)(float *y, size_t n, uint32_t activation);
} Kernels;

#define KERNEL_TEMPLATE "lib/kernel-wide.h"
#include "lib/each-width.h"

void kernel_product(const Product *p) {
        kernels_chosen()->product(p);
}

void kernel_transpose(const float *x, uint32_t n, uint32_t stride, float *ret) {
        kernels_chosen()->transpose(x, n, stride, ret);
}

void kernel_activate(float *y, size_t n, uint32_t activation) {
        kernels_chosen()->activate(y, n, activation);
}
