/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "include/record.h"

/* The return of a round as a scheduler sees it. If the job evaluates, it is the mean of the round's
 * evaluation episodes; otherwise it is the mean of the episodes that ended in the round. NaN: the round has
 * no return, for example between two evaluations. The two are never mixed: policies sample in rounds, and do
 * not in evaluations. */
static inline double statistics_return(const Statistics *statistics, bool evaluates) {
        return evaluates ? statistics->evaluation_mean : statistics->return_round;
}

static_assert(offsetof(Statistics, metric_7) == offsetof(Statistics, metric_0) + 7 * sizeof(double) &&
                                offsetof(Statistics, evaluation_metric_7) ==
                                                offsetof(Statistics, evaluation_metric_0) +
                                                                7 * sizeof(double) &&
                                ACTORD_METRICS_MAX == 8,
                "both are arrays of eight");

/* The metrics as arrays, in the order of their names. */
static inline double *statistics_metrics(Statistics *statistics, bool evaluation) {
        return (double *) ((char *) statistics + (evaluation ? offsetof(Statistics, evaluation_metric_0)
                                                             : offsetof(Statistics, metric_0)));
}

/* Copies the figures of an evaluation. */
static inline void statistics_copy_evaluation(const Statistics *from, Statistics *to) {
        Statistics copy = *from;

        to->evaluation_mean = copy.evaluation_mean;
        to->evaluation_sd = copy.evaluation_sd;
        memcpy(statistics_metrics(to, true), statistics_metrics(&copy, true),
                        ACTORD_METRICS_MAX * sizeof(double));
}
