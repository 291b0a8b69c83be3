/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Measures a matrix product that is so large that its edges do not matter, and small enough for the
 * second-level cache. The best run counts, since the other runs were disturbed. */
#include "learner/limit.h"

#include <stdlib.h>

#include "learner/kernel/kernels.h"
#include "lib/boottime.h"
#include "lib/cleanup.h"

enum { M = 96, N = 256, K = 256, RUNS = 40, PRODUCTS = 8 };

static uint64_t run_nsec(const Product *p) {
        uint64_t begun_nsec = clock_boottime();

        for (unsigned i = 0; i < PRODUCTS; i++)
                kernel_product(p);
        return clock_boottime() - begun_nsec;
}

double limit_measure(void) {
        _cleanup_free_ float *numbers = aligned_alloc(64, ((size_t) M * K + K * N + M * N) * sizeof(float));
        uint64_t best_nsec = UINT64_MAX;
        Product p;

        if (!numbers)
                return 0.0;
        for (size_t i = 0; i < (size_t) M * K + K * N; i++)
                numbers[i] = (float) (i % 7) - 3.0f;
        p = (Product){
                .m = M,
                .n = N,
                .k = K,
                .a = numbers,
                .a_m = K,
                .a_k = 1,
                .b = numbers + (size_t) M * K,
                .b_k = N,
                .c = numbers + (size_t) M * K + K * N,
                .c_m = N,
        };
        for (unsigned i = 0; i < RUNS; i++) {
                uint64_t nsec = run_nsec(&p);

                if (nsec < best_nsec)
                        best_nsec = nsec;
        }
        return 2.0 * M * N * K * PRODUCTS / ((double) best_nsec * 1e-9);
}
