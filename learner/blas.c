/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* OpenBLAS behind three names. Which kernels it takes is decided when it is loaded, from OPENBLAS_CORETYPE, so by whoever starts us. */
#include "learner/blas.h"

#include <cblas.h>

/* Debian's cblas.h of the serial flavour does not declare it in every version. */
extern char *openblas_get_corename(void);

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

const char *blas_kernel_name(void) {
        return openblas_get_corename();
}
