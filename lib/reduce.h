/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shared memory in which several learners add up their gradients: one memfd that only learners map. A
 * minibatch's gradient is a sum of 16 partial sums (lanes). Each learner writes some of the lanes into this
 * memory. Then each learner adds up all lanes for some blocks of parameters, and updates these
 * (reduce-scatter). Then all learners read all blocks (all-gather). The sums and their tree are the same as
 * with a single learner, and so is the result. After "Bandwidth Optimal All-reduce Algorithms for Clusters
 * of Workstations" (Patarasuk, Yuan, 2009), in shared memory, where gathering is just reading. Each learner
 * updates only some parameters, so no other learner needs Adam's state for them ("ZeRO: Memory Optimizations
 * Toward Training Trillion Parameter Models", Rajbhandari et al., SC'20). If one learner updates all
 * parameters, the other learners are done when they have written their lanes. This is a parameter server. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include "include/fragment.h"
#include "include/slot.h"

#define REDUCE_BLOCK    16384u /* parameters that one learner adds up at a time */
#define REDUCE_SUMS_MAX 16u    /* the most sums that a lane has besides its gradient */

typedef struct ReduceHead {
        _Atomic uint32_t arrived;
        uint8_t pad0[60];
        _Atomic uint32_t generation; /* grows by one each time that all learners have arrived */
        uint8_t pad1[60];
} ReduceHead;

/* Offsets in bytes from the mapping's start. */
typedef struct ReduceLayout {
        uint64_t lane_bytes;    /* the size of one lane's gradient */
        uint64_t lanes_at;      /* float [GRADIENT_PARTS][parameters of the largest network] */
        uint64_t sums_at;       /* double [GRADIENT_PARTS][REDUCE_SUMS_MAX] */
        uint64_t block_sums_at; /* double [blocks]: the sums of squares of the reduced gradient */
        uint64_t parameters_at; /* float [parameters], then Adam's state for them */
        uint64_t m_at, v_at;
        uint64_t n_rows; /* the most rows of a round's batch */
        /* two banks of float [2][n_rows]: each row's value and log-probability. The banks are used in turn:
         * a learner that goes on to the next pass must not write into a bank that another learner still
         * reads. */
        uint64_t outputs_at[2];
        uint64_t bytes;
} ReduceLayout;

void reduce_layout(const JobSettings *settings, const JobPage *page, ReduceLayout *ret);

/* Waits until all n learners have arrived. 0; -ETIMEDOUT: a learner has not arrived, and the memory must not
 * be used any more. */
int reduce_wait(ReduceHead *head, uint32_t n, uint64_t timeout_nsec);
