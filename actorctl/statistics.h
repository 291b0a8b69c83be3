/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a handful of runs tells: interquartile means and bootstrap intervals, as "Deep Reinforcement Learning at the Edge of the
 * Statistical Precipice" (Agarwal et al., NeurIPS 2021) recommends. Pure. */
#pragma once

#include <stddef.h>

#define RESAMPLES 10000u

typedef struct Interval {
        double low, high;
} Interval;

double mean(const double *values, size_t n);
/* Of values in any order, interpolated between neighbours; q in [0, 1]. NaN of none. */
double quantile(const double *values, size_t n, double q);

/* The mean of what is left when a quarter of the values (rounded down) is cut off at each end. NaN of none. */
double interquartile_mean(const double *values, size_t n);

/* 95 % percentile bootstrap of the interquartile mean, RESAMPLES times. The random stream is a fixed one, so equal values have
 * equal intervals. NaN, NaN of fewer than two values. */
Interval bootstrap_interval(const double *values, size_t n);

/* The same of interquartile_mean(values) - interquartile_mean(others), where values[i] and others[i] are of one seed: a resample
 * draws pairs. */
Interval bootstrap_paired(const double *values, const double *others, size_t n);
