/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Elementary functions as straight lines of arithmetic, so that a loop over them becomes vector code. Each compiles to the same
 * operations in the same order whatever the width of a vector: a number never depends on its neighbours, nor on the machine's kind.
 * The polynomials are those of the Cephes library (Moshier); the error is at most 2 units in the last place. */
#pragma once

#include <stdint.h>
#include <string.h>

static inline float vector_from_bits(uint32_t bits) {
        float x;

        memcpy(&x, &bits, sizeof(x));
        return x;
}

static inline uint32_t vector_to_bits(float x) {
        uint32_t bits;

        memcpy(&bits, &x, sizeof(bits));
        return bits;
}

/* Clamped to [2^-125, 2^127]: a ratio of probabilities beyond that is clipped anyway, and a NaN stays one. */
static inline float vector_exp(float x) {
        const float round = 12582912.0f; /* 1.5 * 2^23: adding it leaves a whole number in the low bits */
        float t, n, f, p;

        x = x > 88.0f ? 88.0f : x;
        x = x < -86.6f ? -86.6f : x;

        t = x * 1.44269504088896341f + round;
        n = t - round;
        f = x - n * 0.693359375f;
        f = f - n * -2.12194440e-4f;

        p = 1.9875691500e-4f;
        p = p * f + 1.3981999507e-3f;
        p = p * f + 8.3334519073e-3f;
        p = p * f + 4.1665795894e-2f;
        p = p * f + 1.6666665459e-1f;
        p = p * f + 5.0000001201e-1f;
        p = p * (f * f) + f + 1.0f;

        return p * vector_from_bits((vector_to_bits(t) - 0x4B400000u + 127u) << 23);
}

/* Of a normal positive number. */
static inline float vector_log(float x) {
        uint32_t bits = vector_to_bits(x);
        /* x = 2^e * m with m in [sqrt(1/2), sqrt(2)) */
        int32_t e = (int32_t) (bits - 0x3F3504F3u) >> 23;
        float m = vector_from_bits(bits - ((uint32_t) e << 23)) - 1.0f;
        float n = (float) e, z = m * m, p;

        p = 7.0376836292e-2f;
        p = p * m - 1.1514610310e-1f;
        p = p * m + 1.1676998740e-1f;
        p = p * m - 1.2420140846e-1f;
        p = p * m + 1.4249322787e-1f;
        p = p * m - 1.6668057665e-1f;
        p = p * m + 2.0000714765e-1f;
        p = p * m - 2.4999993993e-1f;
        p = p * m + 3.3333331174e-1f;
        p = p * m * z;
        p = p + n * -2.12194440e-4f;
        p = p - 0.5f * z;
        return m + p + n * 0.693359375f;
}
