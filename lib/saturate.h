/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Arithmetic that stops at the largest number, so that an overflow never wraps to a small one. */
#pragma once

#include <stdint.h>

static inline uint64_t saturate_u64(unsigned __int128 x) {
        return x > UINT64_MAX ? UINT64_MAX : (uint64_t) x;
}

/* 0 for a negative number and for NaN; fractions are cut off. */
static inline uint64_t saturate_double(double x) {
        if (!(x > 0))
                return 0;
        return x >= 0x1p64 ? UINT64_MAX : (uint64_t) x;
}

static inline uint64_t saturating_add(uint64_t a, uint64_t b) {
        return saturate_u64((unsigned __int128) a + b);
}
