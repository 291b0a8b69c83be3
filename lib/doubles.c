/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Each function reduces its argument to a number near 0, exactly or nearly so. There it evaluates a
 * polynomial by pairs, pairs of pairs and so on (Estrin's scheme). The chain of operations is half as long
 * as with Horner's scheme. */
#include "lib/doubles.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* ln 2 in two parts. The product of the first part and a whole number below 2^21 is exact. */
#define LN2_HIGH 0x1.62e42feep-1
#define LN2_LOW  0x1.a39ef35793c76p-33
#define LOG2_E   0x1.71547652b82fep+0
#define TURN     0x1.921fb54442d18p+2 /* 2 pi */
/* Adding this number leaves the nearest whole number in the low bits. */
#define ROUND 0x1.8p52

#define EXP_MAX   709.782712893384 /* exp() of a larger number overflows */
#define EXP_MIN   (-745.2)         /* exp() of a smaller number is 0 */
#define EXPM1_MAX 0.34             /* up to this size expm1() splits off no power of 2 */
#define TANH_MAX  20.0             /* from here on the result is 1 */

static double from_bits(uint64_t bits) {
        double x;

        memcpy(&x, &bits, sizeof(x));
        return x;
}

static uint64_t to_bits(double x) {
        uint64_t bits;

        memcpy(&bits, &x, sizeof(bits));
        return bits;
}

static double power_of_2(int64_t n) {
        assert(n >= -1022 && n <= 1023);

        return from_bits((uint64_t) (n + 1023) << 52);
}

/* exp(r) - 1 for |r| <= 0.35: r + r^2 / 2 + ... + r^13 / 13! */
static double near_expm1(double r) {
        double r2 = r * r, r4 = r2 * r2;
        double a = (1.0 / 2 + r * (1.0 / 6)) + r2 * (1.0 / 24 + r * (1.0 / 120));
        double b = (1.0 / 720 + r * (1.0 / 5040)) + r2 * (1.0 / 40320 + r * (1.0 / 362880));
        double c = (1.0 / 3628800 + r * (1.0 / 39916800)) + r2 * (1.0 / 479001600 + r * (1.0 / 6227020800));

        return r + r2 * (a + r4 * (b + r4 * c));
}

double double_exp(double x) {
        double n, r;
        int64_t half;

        if (isnan(x))
                return x;
        if (x > EXP_MAX)
                return INFINITY;
        if (x < EXP_MIN)
                return 0.0;

        n = (x * LOG2_E + ROUND) - ROUND;
        r = (x - n * LN2_HIGH) - n * LN2_LOW;
        /* Multiplies by 2^n in two factors, since 2^n itself may not be a normal number. */
        half = (int64_t) n / 2;
        return (1.0 + near_expm1(r)) * power_of_2(half) * power_of_2((int64_t) n - half);
}

double double_expm1(double x) {
        return fabs(x) <= EXPM1_MAX ? near_expm1(x) : double_exp(x) - 1.0;
}

/* x = 2^e (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)). With s = f / (2 + f), log(1 + f) is 2 (s + s^3 / 3 +
 * s^5 / 5 + ...) = f - s (f - R), where R = 2 (s^2 / 3 + s^4 / 5 + ...). */
double double_log(double x) {
        double e = 0.0, f, s, z, z2, z4, a, b, c, series;
        uint64_t bits;
        int64_t exponent;

        if (isnan(x) || x < 0.0)
                return NAN;
        if (x == 0.0)
                return -INFINITY;
        if (isinf(x))
                return x;
        if (x < 0x1p-1022) {
                x *= 0x1p54;
                e = -54.0;
        }

        bits = to_bits(x);
        exponent = (int64_t) (bits - UINT64_C(0x3FE6A09E667F3BCD)) >> 52;
        f = from_bits(bits - ((uint64_t) exponent << 52)) - 1.0;
        e += (double) exponent;

        s = f / (2.0 + f);
        z = s * s;
        z2 = z * z;
        z4 = z2 * z2;
        a = (2.0 / 3 + z * (2.0 / 5)) + z2 * (2.0 / 7 + z * (2.0 / 9));
        b = (2.0 / 11 + z * (2.0 / 13)) + z2 * (2.0 / 15 + z * (2.0 / 17));
        c = (2.0 / 19 + z * (2.0 / 21)) + z2 * (2.0 / 23);
        series = z * (a + z4 * (b + z4 * c));
        return e * LN2_HIGH + (f - (s * (f - series) - e * LN2_LOW));
}

double double_tanh(double x) {
        double y;

        if (isnan(x))
                return x;
        y = fabs(x) < TANH_MAX ? double_expm1(2.0 * fabs(x)) : INFINITY;
        return copysign(isinf(y) ? 1.0 : y / (y + 2.0), x);
}

/* Subtracts the nearest quarter of a turn, which is exact. The rest is at most an eighth of a turn, and its
 * sine or cosine is computed. */
double double_cos_turn(double turn) {
        double quarter, y, y2, y4, sine, sine3, sine7, sine11, cosine, cosine4, cosine8, cosine12;

        assert(turn >= 0.0 && turn <= 1.0);

        quarter = (4.0 * turn + ROUND) - ROUND;
        y = (turn - 0.25 * quarter) * TURN;
        y2 = y * y;
        y4 = y2 * y2;

        sine3 = 1.0 / 6 - y2 * (1.0 / 120);
        sine7 = 1.0 / 5040 - y2 * (1.0 / 362880);
        sine11 = 1.0 / 39916800 - y2 * (1.0 / 6227020800);
        sine = y - y * y2 * (sine3 + y4 * (sine7 + y4 * (sine11 + y4 * (1.0 / 1307674368000))));
        cosine4 = 1.0 / 24 - y2 * (1.0 / 720);
        cosine8 = 1.0 / 40320 - y2 * (1.0 / 3628800);
        cosine12 = 1.0 / 479001600 - y2 * (1.0 / 87178291200) + y4 * (1.0 / 20922789888000);
        cosine = 1.0 - (0.5 * y2 - y4 * (cosine4 + y4 * (cosine8 + y4 * cosine12)));
        switch ((unsigned) quarter % 4) {
        case 0: return cosine;
        case 1: return -sine;
        case 2: return -cosine;
        default: return sine;
        }
}

double double_power(double x, uint64_t n) {
        double ret = 1.0;

        for (; n > 0; n >>= 1, x *= x)
                if (n & 1)
                        ret *= x;
        return ret;
}
