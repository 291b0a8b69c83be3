/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <math.h>
#include <stdbool.h>

#include "include/record.h"

/* The return that a round showed to a scheduler: of its evaluation episodes in a job that evaluates, else of the episodes that ended in it. NaN:
 * it showed none, as a round between two evaluations does; a mean of both kinds would compare policies that draw with policies that do not. */
static inline double statistics_return(const Statistics *statistics, bool evaluates) {
        return evaluates ? statistics->evaluation_mean : statistics->return_round;
}
