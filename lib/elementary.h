/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Elementary functions as arithmetic without branches, so that the compiler turns a loop over them into
 * vector code. Each function does the same operations in the same order with any width of vectors, and every
 * fused multiply-add is written out. So a result depends neither on the other numbers of its vector nor on
 * the machine. exp() and log() use the polynomials of the Cephes library (Moshier); their error is at most 2
 * units in the last place.
 *
 * A loop over them belongs in a function that is compiled for CPUs with fma(). Elsewhere each fma() becomes
 * a call of the C library, which rounds in the same way. */
#pragma once

#include <stdint.h>
#include <string.h>

#define ELEMENTARY static inline __attribute__((always_inline))

ELEMENTARY float float_of_bits(uint32_t bits) {
        float x;

        memcpy(&x, &bits, sizeof(x));
        return x;
}

ELEMENTARY uint32_t bits_of_float(float x) {
        uint32_t bits;

        memcpy(&bits, &x, sizeof(bits));
        return bits;
}

/* a * b + c, rounded once. */
ELEMENTARY float fused(float a, float b, float c) {
        return __builtin_fmaf(a, b, c);
}

/* tanh(x) / x as P(x^2) / Q(x^2), a minimax fit on [0, 9.02] (relative error 2e-8). All coefficients are
 * positive, so nothing cancels. From 9.02 on the nearest float is 1. The error is at most
 * ELEMENTARY_TANH_ULP units in the last place. The function is odd and never exceeds 1; a NaN stays a
 * NaN. */
#define ELEMENTARY_TANH_ULP 7
ELEMENTARY float elementary_tanh(float x) {
        float u, p, q, y;

        x = x > 9.02f ? 9.02f : x;
        x = x < -9.02f ? -9.02f : x;
        u = x * x;

        p = fused(1.3317613105259e-08f, u, 2.0582436746910e-05f);
        p = fused(p, u, 3.4939723676539e-03f);
        p = fused(p, u, 1.3379666368905e-01f);
        p = fused(p, u, 1.0f);

        q = fused(7.7614234280697e-07f, u, 3.2829900190218e-04f);
        q = fused(q, u, 2.5870838825164e-02f);
        q = fused(q, u, 4.6712981684973e-01f);
        q = fused(q, u, 1.0f);

        y = x * p / q;
        y = y > 1.0f ? 1.0f : y;
        return y < -1.0f ? -1.0f : y;
}

/* The result is clamped to [2^-125, 2^127]: a ratio of probabilities beyond these bounds is clipped later in
 * any case. A NaN stays a NaN. */
ELEMENTARY float elementary_exp(float x) {
        const float round = 12582912.0f; /* 1.5 * 2^23: adding it leaves a whole number in the low bits */
        float t, n, f, p;

        x = x > 88.0f ? 88.0f : x;
        x = x < -86.6f ? -86.6f : x;

        t = fused(x, 1.44269504088896341f, round);
        n = t - round;
        f = fused(n, -0.693359375f, x);
        f = fused(n, 2.12194440e-4f, f);

        p = fused(1.9875691500e-4f, f, 1.3981999507e-3f);
        p = fused(p, f, 8.3334519073e-3f);
        p = fused(p, f, 4.1665795894e-2f);
        p = fused(p, f, 1.6666665459e-1f);
        p = fused(p, f, 5.0000001201e-1f);
        p = fused(p, f * f, f) + 1.0f;

        return p * float_of_bits((bits_of_float(t) - 0x4B400000u + 127u) << 23);
}

/* log(x), for a normal positive number. */
ELEMENTARY float elementary_log(float x) {
        uint32_t bits = bits_of_float(x);
        /* x = 2^e * (1 + m), with 1 + m in [sqrt(1/2), sqrt(2)) */
        int32_t e = (int32_t) (bits - 0x3F3504F3u) >> 23;
        float m = float_of_bits(bits - ((uint32_t) e << 23)) - 1.0f;
        float n = (float) e, z = m * m, p;

        p = fused(7.0376836292e-2f, m, -1.1514610310e-1f);
        p = fused(p, m, 1.1676998740e-1f);
        p = fused(p, m, -1.2420140846e-1f);
        p = fused(p, m, 1.4249322787e-1f);
        p = fused(p, m, -1.6668057665e-1f);
        p = fused(p, m, 2.0000714765e-1f);
        p = fused(p, m, -2.4999993993e-1f);
        p = fused(p, m, 3.3333331174e-1f);
        p = p * m * z;
        p = fused(n, -2.12194440e-4f, p);
        p = fused(-0.5f, z, p);
        return fused(n, 0.693359375f, m + p);
}

/* SiLU, x s with s = 1 / (1 + e^-x): "Sigmoid-Weighted Linear Units for Neural Network Function
 * Approximation in Reinforcement Learning" (Elfwing et al. 2018). */
ELEMENTARY float elementary_silu(float x) {
        return x / (1.0f + elementary_exp(-x));
}

/* elementary_silu() and its slope, from one e^-x. */
ELEMENTARY float elementary_silu_sloped(float x, float *ret_slope) {
        float d = 1.0f + elementary_exp(-x), s = 1.0f / d;

        *ret_slope = s * fused(x, 1.0f - s, 1.0f);
        return x / d;
}

/* Mish, x t with t = tanh(log(1 + e^x)): "Mish: A Self Regularized Non-Monotonic Activation Function" (Misra
 * 2019), (1). With e = e^x and n = e (e + 2), t = n / (n + 2): nothing cancels. From 40 on t is 1. */
ELEMENTARY float mish_exp(float x) {
        return elementary_exp(x > 40.0f ? 40.0f : x);
}

ELEMENTARY float elementary_mish(float x) {
        float e = mish_exp(x), n = e * (e + 2.0f);

        return x * (n / (n + 2.0f));
}

/* elementary_mish() and its slope, from one e^x. The slope is t + x (1 - t^2) e / (1 + e), where
 * 1 - t = 2 / (n + 2). */
ELEMENTARY float elementary_mish_sloped(float x, float *ret_slope) {
        float e = mish_exp(x), n = e * (e + 2.0f), t = n / (n + 2.0f);
        float rest = 2.0f / (n + 2.0f) * (1.0f + t) * (e / (1.0f + e));

        *ret_slope = fused(x, rest, t);
        return x * t;
}

/* A vector of four numbers, for CPUs without wider ones. */

typedef float Quad __attribute__((vector_size(16)));
typedef float LooseQuad __attribute__((vector_size(16), aligned(4), may_alias));

ELEMENTARY Quad quad_fused(Quad a, Quad b, Quad c) {
        return (Quad){ fused(a[0], b[0], c[0]), fused(a[1], b[1], c[1]), fused(a[2], b[2], c[2]),
                fused(a[3], b[3], c[3]) };
}

/* Clamps x to [-bound, bound]; a NaN stays a NaN. */
ELEMENTARY Quad quad_hold(Quad x, Quad bound) {
        for (unsigned i = 0; i < 4; i++) {
                x[i] = x[i] > bound[i] ? bound[i] : x[i];
                x[i] = x[i] < -bound[i] ? -bound[i] : x[i];
        }
        return x;
}
