/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests the memory in which learners add up gradients. Its parts must not overlap. No learner may pass a
 * barrier before all have come to it. A learner that waits for a dead one must give up. */
#include <errno.h>
#include <glib.h>
#include <pthread.h>

#include "lib/reduce.h"

#define SEC UINT64_C(1000000000)

enum { LEARNERS = 4, GENERATIONS = 5000 };

typedef struct Meeting {
        ReduceHead head;
        uint32_t progress[LEARNERS];
        _Atomic uint32_t n_wrong;
} Meeting;

typedef struct Member {
        Meeting *meeting;
        uint32_t index;
} Member;

static void test_layout(void) {
        for (uint64_t n = 1; n < 3 * REDUCE_BLOCK; n = n * 3 + 1) {
                const JobSettings settings = { .n_actors = 3 };
                JobPage page = { .network.n_parameters = n,
                        .segment = { .steps = 8, .envs = 2, .finals_max = 4 } };
                ReduceLayout l;
                uint64_t at;

                reduce_layout(&settings, &page, &l);
                g_assert_cmpuint(l.n_rows, ==, 3 * (16 + 2 + 4));
                g_assert_cmpuint(l.lane_bytes, >=, n * sizeof(float));
                g_assert_cmpuint(l.lane_bytes % 64, ==, 0);
                g_assert_cmpuint(l.lanes_at, >=, sizeof(ReduceHead));
                g_assert_cmpuint(l.lanes_at % 64, ==, 0);
                g_assert_cmpuint(l.sums_at, >=, l.lanes_at + GRADIENT_PARTS * l.lane_bytes);
                g_assert_cmpuint(l.block_sums_at, >=,
                                l.sums_at + GRADIENT_PARTS * REDUCE_SUMS_MAX * sizeof(double));
                at = l.block_sums_at + (n + REDUCE_BLOCK - 1) / REDUCE_BLOCK * sizeof(double);
                for (unsigned bank = 0; bank < 2; bank++) {
                        g_assert_cmpuint(l.outputs_at[bank], >=, at);
                        at = l.outputs_at[bank] + 2 * l.n_rows * sizeof(float);
                }
                g_assert_cmpuint(l.parameters_at, >=, at);
                g_assert_cmpuint(l.m_at, >=, l.parameters_at + n * sizeof(float));
                g_assert_cmpuint(l.v_at, >=, l.m_at + n * sizeof(float));
                g_assert_cmpuint(l.bytes, >=, l.v_at + n * sizeof(float));
        }
}

/* Acts as one learner. After each barrier it counts the learners whose progress is not the same as its
 * own. */
static void *member_main(void *arg) {
        Member *member = arg;
        Meeting *m = member->meeting;

        for (uint32_t g = 1; g <= GENERATIONS; g++) {
                m->progress[member->index] = g;
                if (reduce_wait(&m->head, LEARNERS, 60 * SEC) < 0)
                        m->n_wrong++;
                for (uint32_t k = 0; k < LEARNERS; k++)
                        m->n_wrong += m->progress[k] != g;
                if (reduce_wait(&m->head, LEARNERS, 60 * SEC) < 0)
                        m->n_wrong++;
        }
        return NULL;
}

static void test_barrier(void) {
        Meeting meeting = {};
        Member members[LEARNERS];
        pthread_t threads[LEARNERS];

        for (uint32_t k = 0; k < LEARNERS; k++) {
                members[k] = (Member){ &meeting, k };
                pthread_create(&threads[k], NULL, member_main, &members[k]);
        }
        for (uint32_t k = 0; k < LEARNERS; k++)
                pthread_join(threads[k], NULL);
        g_assert_cmpuint(meeting.n_wrong, ==, 0);
        g_assert_cmpuint(meeting.head.generation, ==, 2 * GENERATIONS);
}

static void test_alone(void) {
        ReduceHead head = {};

        g_assert_cmpint(reduce_wait(&head, 1, 0), ==, 0);
        g_assert_cmpint(reduce_wait(&head, 2, SEC / 50), ==, -ETIMEDOUT);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);

        g_test_add_func("/reduce/layout", test_layout);
        g_test_add_func("/reduce/barrier", test_barrier);
        g_test_add_func("/reduce/alone", test_alone);
        return g_test_run();
}
