/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* OpenBLAS behind a few names. Which kernels it takes is decided when it is loaded, from
 * OPENBLAS_CORETYPE, so by the process that starts us. */
#include "learner/kernel/blas.h"

#include <cblas.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "include/sandbox.h"
#include "lib/cleanup.h"

/* Of the LAPACK inside of it, whose C header is another package. */
extern void dsterf_(const int *n, double *d, double *e, int *info);

/* The serial library hands out its scratch buffers without a lock, so that two threads may get the same
 * one. The two functions below take the place of its own (the dynamic linker resolves its calls to the
 * program's first): each thread has a buffer to itself, as large as the library's own are (BUFFER_SIZE in
 * OpenBLAS's common_x86_64.h), of which only what is used becomes memory. */
#define BLAS_BUFFER_BYTES ((128ul << 20) + (64ul << 10))
#define BLAS_BUFFER_ALIGN 4096ul
#define PUBLIC            __attribute__((visibility("default")))

PUBLIC void *blas_memory_alloc(int kind);
PUBLIC void blas_memory_free(void *buffer);

static pthread_key_t buffer_key;

static void buffer_key_make(void) {
        if (pthread_key_create(&buffer_key, free) != 0)
                abort();
}

void *blas_memory_alloc(int kind) {
        static pthread_once_t once = PTHREAD_ONCE_INIT;
        void *buffer;

        (void) pthread_once(&once, buffer_key_make);
        buffer = pthread_getspecific(buffer_key);
        if (buffer)
                return buffer;

        buffer = aligned_alloc(BLAS_BUFFER_ALIGN, BLAS_BUFFER_BYTES);
        if (!buffer || pthread_setspecific(buffer_key, buffer) != 0) {
                /* The library has no way to hear of it. */
                (void) fprintf(stderr, "actord-learner: no memory for a thread's scratch buffer: "
                                       "raise MemoryMax= in [Learner], or lower Threads=\n");
                _exit(EXIT_LEARNER_SETUP);
        }
        return buffer;
}

void blas_memory_free(void *buffer) {
}

void blas_product(const double *a, bool transpose_a, const double *b, bool transpose_b, bool accumulate,
                uint32_t m, uint32_t n, uint32_t k, double *c) {
        cblas_dgemm(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans,
                        transpose_b ? CblasTrans : CblasNoTrans, (blasint) m, (blasint) n, (blasint) k, 1.0,
                        a, (blasint) (transpose_a ? m : k), b, (blasint) (transpose_b ? k : n),
                        accumulate ? 1.0 : 0.0, c, (blasint) n);
}

void blas_dots(const double *a, uint32_t n_rows, size_t n, const double *x, double *ret) {
        cblas_dgemv(CblasRowMajor, CblasNoTrans, (blasint) n_rows, (blasint) n, 1.0, a, (blasint) n, x, 1,
                        0.0, ret, 1);
}

void blas_clear(const double *a, uint32_t n_rows, size_t n, const double *x, double *y) {
        cblas_dgemv(CblasRowMajor, CblasTrans, (blasint) n_rows, (blasint) n, -1.0, a, (blasint) n, x, 1,
                        1.0, y, 1);
}

int blas_tridiagonal(double *diagonal, double *beside, uint32_t n) {
        int order = (int) n, failed = 0;

        dsterf_(&order, diagonal, beside, &failed);
        return failed == 0 ? 0 : -EDOM;
}
