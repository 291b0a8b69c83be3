/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "include/record.h"

/* The return of a round as a scheduler sees it: the mean of its evaluation episodes if the job evaluates,
 * otherwise the mean of the episodes that ended in the round. NaN: the round has none, as between two
 * evaluations. A mixture of both would compare policies that sample with policies that do not. */
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
