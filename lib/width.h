/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The width of vectors: how many numbers a vector has. The kernels (the files that include lib/each-width.h)
 * are compiled once as plain C, and once for each kind of vector below. All of them do the same operations
 * in the same order. So the width changes the time of a job, but no bit of its policy. */
#pragma once

#include <stdbool.h>

#include "include/settings.h"

typedef enum Width {
        WIDTH_SCALAR, /* plain C; fma() is the C library's if the CPU has none */
        WIDTH_AVX2,   /* 8 floats, and fused multiply-add: x86-64-v3 */
        WIDTH_AVX512, /* 16 floats: x86-64-v4 */
        _WIDTH_MAX,
} Width;

/* Whether this CPU has vectors of this width. */
bool width_present(Width width);
/* The words of KernelClass= that this CPU has, separated by spaces: "scalar avx2". */
const char *width_words_present(void);

/* The width that KernelClass= asks for; AUTO: the widest that is present. kernel_class: a KernelClass */
Width width_of_class(unsigned kernel_class);

/* The width of this process: the widest that the CPU has, unless width_choose() has set another one. Call
 * width_choose() before kernels are used and threads start. */
Width width_chosen(void);
void width_choose(Width width);
