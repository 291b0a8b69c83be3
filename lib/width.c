/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/width.h"

#include <assert.h>

static Width chosen = _WIDTH_MAX; /* not chosen yet */

bool width_present(Width width) {
        switch (width) {
        case WIDTH_SCALAR: return true;
#if defined(__x86_64__)
        case WIDTH_AVX2: return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
        case WIDTH_AVX512:
                return width_present(WIDTH_AVX2) && __builtin_cpu_supports("avx512f") &&
                       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                       __builtin_cpu_supports("avx512vl");
#else
        case WIDTH_AVX2: return false;
        case WIDTH_AVX512: return false;
#endif
        case _WIDTH_MAX: break;
        }
        return false;
}

const char *width_words_present(void) {
        if (width_present(WIDTH_AVX512))
                return "scalar avx2 avx512";
        return width_present(WIDTH_AVX2) ? "scalar avx2" : "scalar";
}

Width width_of_class(unsigned kernel_class) {
        switch (kernel_class) {
        case KERNEL_CLASS_SCALAR: return WIDTH_SCALAR;
        case KERNEL_CLASS_AVX2: return WIDTH_AVX2;
        case KERNEL_CLASS_AVX512: return WIDTH_AVX512;
        }
        if (width_present(WIDTH_AVX512))
                return WIDTH_AVX512;
        return width_present(WIDTH_AVX2) ? WIDTH_AVX2 : WIDTH_SCALAR;
}

Width width_chosen(void) {
        return chosen == _WIDTH_MAX ? width_of_class(KERNEL_CLASS_AUTO) : chosen;
}

void width_choose(Width width) {
        assert(width_present(width));

        chosen = width;
}
