/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Several learners answer one order. An actor may be hostile and change its rollout between their copies:
 * then they disagree about a rollout, and that invocation fails, not the learner. */
#include <errno.h>
#include <glib.h>

#include "invoker/learner.h"

enum { N_LEARNERS = 3 };

/* Lets the learners answer in this order; each answer has the fault and a digest of this one byte. */
static Answer answer_all(uint32_t kind, const uint32_t order[static N_LEARNERS],
                const uint32_t faults[static N_LEARNERS], const uint8_t digests[static N_LEARNERS]) {
        g_autofree Round *round = g_new0(Round, 1);
        g_autofree Learners *learners = g_new0(Learners, 1);
        Placement place = { .n_learners = N_LEARNERS };
        Progress progress = { .round = round };

        learners->place = &place;
        learners->progress = &progress;
        for (uint32_t k = 0; k < N_LEARNERS; k++) {
                learners->workers[k].order.kind = kind;
                learners->workers[k].busy = true;
        }
        for (uint32_t i = 0; i < N_LEARNERS; i++) {
                uint32_t k = order[i];
                Answer answer = { .fault = faults[k], .detail = 7, .round = k, .sha256 = { digests[k] } };

                g_assert_cmpint(learner_answered(learners, k, &answer), ==, i == N_LEARNERS - 1);
        }
        g_assert_cmpuint(learners->answer.round, ==, 0);
        return learners->answer;
}

static const uint32_t orders[][N_LEARNERS] = { { 0, 1, 2 }, { 1, 0, 2 }, { 2, 1, 0 } };
static const uint32_t good[N_LEARNERS] = { FAULT_NONE, FAULT_NONE, FAULT_NONE };

static void test_agree(void) {
        static const uint8_t same[N_LEARNERS] = { 5, 5, 5 };

        for (size_t i = 0; i < G_N_ELEMENTS(orders); i++) {
                g_assert_cmpuint(answer_all(ORDER_TAKE, orders[i], good, same).fault, ==, FAULT_NONE);
                g_assert_cmpuint(answer_all(ORDER_LEARN, orders[i], good, same).fault, ==, FAULT_NONE);
        }
}

static void test_disagree(void) {
        for (size_t i = 0; i < G_N_ELEMENTS(orders); i++)
                for (uint32_t k = 0; k < N_LEARNERS; k++) {
                        uint8_t digests[N_LEARNERS] = { 5, 5, 5 };
                        Answer answer;

                        digests[k] = 6;
                        answer = answer_all(ORDER_TAKE, orders[i], good, digests);
                        g_assert_cmpuint(answer.fault, ==, FAULT_CHANGED);
                        g_assert_cmpint(answer.detail, ==, 0);
                        answer = answer_all(ORDER_LEARN, orders[i], good, digests);
                        g_assert_cmpuint(answer.fault, ==, FAULT_INTERNAL);
                        g_assert_cmpint(answer.detail, ==, EBADMSG);
                }
}

/* If only one learner refuses the rollout, its reason counts. Its answer has no digest. */
static void test_refuse(void) {
        for (size_t i = 0; i < G_N_ELEMENTS(orders); i++)
                for (uint32_t k = 0; k < N_LEARNERS; k++) {
                        uint32_t faults[N_LEARNERS] = { FAULT_NONE, FAULT_NONE, FAULT_NONE };
                        uint8_t digests[N_LEARNERS] = { 5, 5, 5 };
                        Answer answer;

                        faults[k] = FAULT_REWARD;
                        digests[k] = 0;
                        answer = answer_all(ORDER_TAKE, orders[i], faults, digests);
                        g_assert_true(answer.fault == FAULT_REWARD || answer.fault == FAULT_CHANGED);
                }
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/learners/agree", test_agree);
        g_test_add_func("/learners/disagree", test_disagree);
        g_test_add_func("/learners/refuse", test_refuse);
        return g_test_run();
}
