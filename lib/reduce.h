/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where several learners add their gradients up: one memfd that they alone map. Each learner computes
 * some of a minibatch's lanes into it, then each adds up all lanes of some blocks of parameters and moves
 * them (reduce-scatter), then all read all blocks (all-gather): the same sums in the same tree as one
 * learner's, so that the result is its result. After "Bandwidth Optimal All-reduce Algorithms for
 * Clusters of Workstations" (Patarasuk, Yuan, 2009), in shared memory, where to gather is to read; and as
 * each moves only some parameters, only it needs what Adam remembers of them ("ZeRO: Memory Optimizations
 * Toward Training Trillion Parameter Models", Rajbhandari et al., SC'20). Where one learner moves all of
 * them, the others' part ends with their lanes: a parameter server. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include "include/fragment.h"
#include "include/slot.h"

#define REDUCE_BLOCK    16384u /* parameters that are added up by one learner */
#define REDUCE_SUMS_MAX 16u    /* of a lane, beside its gradient */

typedef struct ReduceHead {
        _Atomic uint32_t arrived;
        uint8_t pad0[60];
        _Atomic uint32_t generation; /* of the barrier */
        uint8_t pad1[60];
} ReduceHead;

/* Bytes from the mapping's start. */
typedef struct ReduceLayout {
        uint64_t lane_bytes;    /* of one lane's gradient */
        uint64_t lanes_at;      /* float [GRADIENT_PARTS][parameters of the largest network] */
        uint64_t sums_at;       /* double [GRADIENT_PARTS][REDUCE_SUMS_MAX] */
        uint64_t block_sums_at; /* double [blocks]: squares of the reduced gradient */
        uint64_t parameters_at; /* float [parameters], and what Adam remembers of them: */
        uint64_t m_at, v_at;
        uint64_t n_rows; /* of a round's batch, at most */
        /* float [2][n_rows]: what the network says of each row; in turn, as who goes on to the next must
         * not write where another still reads these. */
        uint64_t outputs_at[2];
        uint64_t bytes;
} ReduceLayout;

void reduce_layout(const JobSettings *settings, const JobPage *page, ReduceLayout *ret);

/* Waits until all n learners have come. 0; -ETIMEDOUT: one has not come, and the memory must not be used
 * any more. */
int reduce_wait(ReduceHead *head, uint32_t n, uint64_t timeout_nsec);
