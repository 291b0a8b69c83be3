/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Elementary functions in double precision, for numbers that a policy depends on. The C library's functions
 * may round differently in the next release, or on a CPU with fused multiply-add. The functions here use
 * only additions, multiplications and divisions in one order. None of them is fused, so a CPU without fused
 * multiply-add is no slower. The polynomials are Taylor's, and a test checks the error bound of each. sqrt()
 * is the C library's, which is exact everywhere.
 *
 * Environments use the C library's functions, in order to equal Gymnasium's environments. */
#pragma once

#include <stdint.h>

/* The error bounds, in units in the last place. */
#define DOUBLE_EXP_ULP   1.0
#define DOUBLE_EXPM1_ULP 4.0
#define DOUBLE_LOG_ULP   1.0
#define DOUBLE_TANH_ULP  5.0
#define DOUBLE_COS_ULP   2.0

/* exp(x): infinity on overflow, 0 on underflow. The first four functions return a NaN for a NaN. */
double double_exp(double x);
/* exp(x) - 1 */
double double_expm1(double x);
/* log(x): minus infinity for 0, a NaN for negative numbers. */
double double_log(double x);
double double_tanh(double x);
/* cos(2 pi turn), for a turn between 0 and 1. */
double double_cos_turn(double turn);
/* x to the power of n, by squaring. The error is at most n units in the last place. */
double double_power(double x, uint64_t n);
