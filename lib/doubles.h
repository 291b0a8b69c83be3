/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Elementary functions in double precision, for numbers that decide a policy: a C library's round another
 * way in its next release, or where a CPU has fused multiply-add. These are additions, multiplications and
 * divisions in one order, none of them fused, so that a CPU without that instruction is no slower. Their
 * polynomials are Taylor's; a test holds each to its bound. sqrt() is exact everywhere, and is the C
 * library's.
 *
 * Environments keep the C library's functions, by which they equal Gymnasium's. */
#pragma once

#include <stdint.h>

/* The greatest errors, in units in the last place. */
#define DOUBLE_EXP_ULP   1.0
#define DOUBLE_EXPM1_ULP 4.0
#define DOUBLE_LOG_ULP   1.0
#define DOUBLE_TANH_ULP  5.0
#define DOUBLE_COS_ULP   2.0

/* exp(x): infinity beyond the greatest number, 0 below the least. In all these functions a NaN stays a
 * NaN. */
double double_exp(double x);
/* exp(x) - 1 */
double double_expm1(double x);
/* log(x): minus infinity for 0, a NaN for negative numbers. */
double double_log(double x);
double double_tanh(double x);
/* The cosine of a part of a whole turn, which is between 0 and 1: cos(2 pi turn). */
double double_cos_turn(double turn);
/* x to the power of n, by squaring: at most n units in the last place off. */
double double_power(double x, uint64_t n);
