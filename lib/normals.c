/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/normals.h"

#include <assert.h>
#include <math.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "lib/width.h"

typedef struct Kernels {
        void (*normals)(const ActordRandom *first, const uint32_t *slots, uint32_t n_rows, uint32_t n,
                        float *ret, size_t stride);
        void (*sequence)(const ActordRandom *random, uint32_t n, float *ret);
} Kernels;

#define KERNEL_TEMPLATE "lib/normals-wide.h"
#include "lib/each-width.h"

void random_normals(uint64_t seed, RandomPurpose purpose, const uint32_t *slots, uint32_t n_rows,
                uint64_t ordinal, uint32_t step, uint32_t n, float *ret, size_t stride) {
        ActordRandom first;

        assert(slots || n_rows == 0);
        assert(ret || n_rows == 0 || n == 0);

        random_begin(&first, seed, purpose, 0, ordinal, step);
        kernels_chosen()->normals(&first, slots, n_rows, n, ret, stride);
}

void random_draw_normals(ActordRandom *random, uint32_t n, float *ret) {
        assert(random->n_left == 0);
        assert(n <= UINT32_MAX - random->counter[0]);
        assert(ret || n == 0);

        /* a normal number takes the four words of a block */
        kernels_chosen()->sequence(random, n, ret);
        random->counter[0] += n;
}

void random_skip_normals(ActordRandom *random, uint32_t n) {
        assert(random->n_left == 0 && random->counter[0] == 0);

        /* a normal number takes the four words of a block */
        random->counter[0] = n;
}
