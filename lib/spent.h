/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A worker's own clock, for a job with Profile=yes (include/profile.h). */
#pragma once

#include <stddef.h>
#include "include/policy.h"
#include "include/profile.h"
#include "lib/boottime.h"

/* If spent is NULL, nothing is measured and no clock is read. */
static inline uint64_t spent_begin(const Spent *spent) {
        return spent ? clock_boottime() : 0;
}

static inline void spent_end(Spent *spent, ProfilePart part, uint64_t begun_nsec) {
        if (spent)
                spent->nsec[part] += clock_boottime() - begun_nsec;
}

void spent_add(Spent *sum, const Spent *spent);

/* n times the operations of one row's matrix products. */
static inline void spent_count(Spent *spent, ProfileProduct product, uint64_t n, uint64_t row_operations) {
        if (spent)
                spent->rates[product].operations += n * row_operations;
}

/* Multiplications and additions of the matrix products of one row through the network: to act, which leaves
 * out what only the value needs; for all outputs; and for the gradient with them, which has the weights' and
 * the inputs' besides, but for inputs that are observations. */
uint64_t network_acting_operations(const Network *network);
uint64_t network_forward_operations(const Network *network);
uint64_t network_gradient_operations(const Network *network);
