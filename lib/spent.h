/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where a worker's time goes, by the worker's own clock, for a job with Profile=yes (include/profile.h). */
#pragma once

#include <stddef.h>
#include "include/policy.h"
#include "include/profile.h"
#include "lib/boottime.h"

/* The time now. spent NULL: nothing is measured and no clock is read. */
static inline uint64_t spent_begin(const Spent *spent) {
        return spent ? clock_boottime() : 0;
}

static inline void spent_end(Spent *spent, ProfilePart part, uint64_t begun_nsec) {
        if (spent)
                spent->nsec[part] += clock_boottime() - begun_nsec;
}

void spent_add(Spent *sum, const Spent *spent);

/* Adds the operations of n rows to the count of this kind of matrix product; row_operations: those of one
 * row. */
static inline void spent_count(Spent *spent, ProfileProduct product, uint64_t n, uint64_t row_operations) {
        if (spent)
                spent->rates[product].operations += n * row_operations;
}

/* Each function counts the multiplications and additions of one row's matrix products in the network. The
 * first function counts those of acting, without the layers that only the value needs, but in all passes and
 * for all candidates, which the network `judge` judges (JobPage). The second counts
 * those of all outputs. The third counts those of all outputs and of the gradient: for the weights of each
 * layer, and for its inputs if these are not the observation. */
uint64_t network_acting_operations(const Network *network, const Network *judge);
uint64_t network_forward_operations(const Network *network);
uint64_t network_gradient_operations(const Network *network);
