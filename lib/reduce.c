/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lays out the shared memory of several learners, and makes them wait for each other. A barrier is a counter
 * and a generation: the last learner to arrive begins the next generation. The others spin for a moment,
 * since learners have equal work, and then sleep. */
#include "lib/reduce.h"

#include <assert.h>
#include <errno.h>

#include "lib/algorithm-traits.h"
#include "lib/futex.h"
#include "lib/network.h"

enum { SPIN_NSEC = 50000, ALIGN = 4096 };

static uint64_t append(uint64_t *at, uint64_t bytes) {
        uint64_t begin = *at;

        *at = (begin + bytes + ALIGN - 1) & ~(uint64_t) (ALIGN - 1);
        return begin;
}

/* The rows of a batch (learner/store/batch.h). Each actor has its steps, the observations after the last
 * step, and the observations after steps that truncated an episode. */
static uint64_t batch_rows(const JobSettings *settings, const SegmentLayout *l) {
        return settings_actors_max(settings) * ((uint64_t) l->steps * l->envs + l->envs + l->finals_max);
}

/* The number of parameters of the largest network that has a gradient: the learners add up the gradients of
 * all networks. Only the policy's parameters are shared; of other networks each learner has its own copy. */
static uint64_t gradient_numbers(const JobSettings *settings, const Network *policy) {
        const AlgorithmRow *row = algorithm_row(settings->algorithm);
        uint64_t most = policy->n_parameters;
        Network network;

        for (uint32_t k = 1; k < NETWORKS_MAX && row->networks[k].name; k++)
                if (network_derive_beside(settings, policy, &row->networks[k], &network) >= 0 &&
                                network.n_parameters > most)
                        most = network.n_parameters;
        return most;
}

void reduce_layout(const JobSettings *settings, const JobPage *page, ReduceLayout *ret) {
        uint64_t at = 0, n_parameters = page->network.n_parameters;
        uint64_t n_largest = gradient_numbers(settings, &page->network);
        uint64_t n_blocks = (n_largest + REDUCE_BLOCK - 1) / REDUCE_BLOCK;
        ReduceLayout l = {
                .lane_bytes = (n_largest * sizeof(float) + 63) & ~UINT64_C(63),
                .n_rows = batch_rows(settings, &page->segment),
        };

        assert(n_parameters > 0);
        assert(ret);

        (void) append(&at, sizeof(ReduceHead));
        l.lanes_at = append(&at, GRADIENT_PARTS * l.lane_bytes);
        l.sums_at = append(&at, GRADIENT_PARTS * REDUCE_SUMS_MAX * sizeof(double));
        l.block_sums_at = append(&at, n_blocks * sizeof(double));
        for (unsigned bank = 0; bank < 2; bank++)
                l.outputs_at[bank] = append(&at, 2 * l.n_rows * sizeof(float));
        l.parameters_at = append(&at, n_parameters * sizeof(float));
        l.m_at = append(&at, n_parameters * sizeof(float));
        l.v_at = append(&at, n_parameters * sizeof(float));
        l.bytes = at;
        *ret = l;
}

static int generation_wait(_Atomic uint32_t *generation, uint32_t while_value, uint64_t timeout_nsec) {
        uint64_t now = now_nsec(), spin_end = now + SPIN_NSEC, end = now + timeout_nsec;

        for (;;) {
                if (atomic_load_explicit(generation, memory_order_acquire) != while_value)
                        return 0;
                if (now < spin_end)
                        for (unsigned i = 0; i < SPINS_PER_LOOK; i++)
                                spin_pause();
                else if (now < end)
                        futex_wait_for(generation, while_value, end - now);
                else
                        return -ETIMEDOUT;
                now = now_nsec();
        }
}

int reduce_wait(ReduceHead *head, uint32_t n, uint64_t timeout_nsec) {
        uint32_t generation;

        assert(head);

        if (n <= 1)
                return 0;
        generation = atomic_load_explicit(&head->generation, memory_order_acquire);
        /* acq_rel: the last learner to arrive sees what the others wrote before they arrived, and its store
         * below publishes this to all. */
        if (atomic_fetch_add_explicit(&head->arrived, 1, memory_order_acq_rel) + 1 < n)
                return generation_wait(&head->generation, generation, timeout_nsec);

        atomic_store_explicit(&head->arrived, 0, memory_order_relaxed);
        atomic_store_explicit(&head->generation, generation + 1, memory_order_release);
        futex_wake(&head->generation);
        return 0;
}
