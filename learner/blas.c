/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* OpenBLAS behind three names. Which kernels it takes is decided when it is loaded, from OPENBLAS_CORETYPE, so by whoever starts us. */
#include "learner/blas.h"

#include <cblas.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "include/sandbox.h"
#include "lib/cleanup.h"

/* Debian's cblas.h of the serial flavour does not declare it in every version. */
extern char *openblas_get_corename(void);
/* Of the LAPACK inside of it, whose C header is another package. */
extern void dsterf_(const int *n, double *d, double *e, int *info);

/* The serial library hands out its scratch buffers without a lock, so that two threads may get the same one. The two functions below
 * take the place of its own (the dynamic linker resolves its calls to the program's first): each thread has a buffer to itself, as
 * large as the library's own are (BUFFER_SIZE in OpenBLAS's common_x86_64.h), of which only what is used becomes memory. */
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

void blas_forward(const float *weight, const float *x, uint32_t n_out, uint32_t n_in, uint32_t rows,
                float *ret_y) {
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (blasint) n_out, (blasint) rows,
                        (blasint) n_in, 1.0f, weight, (blasint) n_in, x, (blasint) rows, 0.0f, ret_y,
                        (blasint) rows);
}

void blas_backward_input(const float *weight, const float *dy, uint32_t n_out, uint32_t n_in, uint32_t rows,
                bool accumulate, float *ret_dx) {
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (blasint) n_in, (blasint) rows, (blasint) n_out,
                        1.0f, weight, (blasint) n_in, dy, (blasint) rows, accumulate ? 1.0f : 0.0f, ret_dx,
                        (blasint) rows);
}

void blas_backward_weight(const float *dy, const float *x, uint32_t n_out, uint32_t n_in, uint32_t rows,
                bool accumulate, float *ret_dweight) {
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (blasint) n_out, (blasint) n_in, (blasint) rows,
                        1.0f, dy, (blasint) rows, x, (blasint) rows, accumulate ? 1.0f : 0.0f, ret_dweight,
                        (blasint) n_in);
}

void blas_backward_weight_transposed(const float *dy, const float *xt, uint32_t n_out, uint32_t n_in,
                uint32_t rows, bool accumulate, float *ret_dweight) {
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (blasint) n_out, (blasint) n_in,
                        (blasint) rows, 1.0f, dy, (blasint) rows, xt, (blasint) n_in,
                        accumulate ? 1.0f : 0.0f, ret_dweight, (blasint) n_in);
}

/* OpenBLAS multiplies small matrices without copying them first, up to 100^3, but not by a transposed one; transposing it ourselves
 * costs less than its copies. */
bool blas_prefers_transposed(uint32_t n_out, uint32_t n_in, uint32_t rows) {
        return n_in % 16 == 0 && n_out > 2 && (uint64_t) n_out * n_in * rows <= 1000000;
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

const char *blas_kernel_name(void) {
        return openblas_get_corename();
}

bool blas_kernels_fuse(void) {
        static const char *const names[] = { "Haswell", "Zen", "SkylakeX", "Cooperlake", "SapphireRapids" };

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (strcmp(blas_kernel_name(), names[i]) == 0)
                        return true;
        return false;
}
