/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Statistics of a handful of runs: interquartile means and bootstrap intervals, as "Deep Reinforcement
 * Learning at the Edge of the Statistical Precipice" (Agarwal et al., NeurIPS 2021) recommends. Pure. */
#pragma once

#include <stddef.h>

#define RESAMPLES 10000u

typedef struct Interval {
        double low, high;
} Interval;

/* Compares doubles for an ascending order: for qsort() and g_array_sort(). */
int compare_doubles(const void *a, const void *b);

double mean(const double *values, size_t n);
/* The q-quantile of values in any order, interpolated between neighbours; q is in [0, 1]. NaN: there are no
 * values. */
double quantile(const double *values, size_t n, double q);

/* The mean of the values that remain when a quarter of them (rounded down) is cut off at each end. NaN:
 * there are no values. */
double interquartile_mean(const double *values, size_t n);

/* The 95 % percentile bootstrap interval of the interquartile mean, from RESAMPLES resamples. The random
 * stream is fixed, so equal values give equal intervals. NaN, NaN: there are fewer than two values. */
Interval bootstrap_interval(const double *values, size_t n);

/* The interval of interquartile_mean(values) - interquartile_mean(others). values[i] and others[i] have the
 * same seed: a resample draws pairs. */
Interval bootstrap_paired(const double *values, const double *others, size_t n);
