/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests decisions in the ledger. A decision and the scheduler's inputs are committed with the round that
 * they led to. A decision is not read any more if a later life has repeated its round. Also tests the data
 * of a scheduler. */
#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>
#include <stdlib.h>

#include "daemon/ledger/private.h"
#include "lib/cleanup.h"
#include "tests/unit/ledger-fixture.h"

static LedgerDecision decision_new(uint64_t life, uint64_t round, uint64_t record, uint32_t n_actors) {
        return (LedgerDecision){
                .life = life,
                .round = round,
                .id = round,
                .record = record,
                .n_actors = n_actors,
                .facts = { .n_actors = n_actors + 1,
                                .round_nsec = 7 * round,
                                .budget_left_nano = UINT64_MAX },
        };
}

static void append_taken(
                Ledger *ledger, uint64_t job, uint64_t life, uint64_t seq, uint64_t round, uint32_t actor) {
        Record record = {
                .actor = actor,
                .decision = { .id = 1, .n_actors = 3 },
                .life = life,
                .seq = seq,
                .round = round,
                .kind = RECORD_ROUND,
                .statistics = { .kl = (double) round / 2 },
        };

        assert_ok(ledger_append(ledger, job, &record));
}

static void append_round(Ledger *ledger, uint64_t job, uint64_t life, uint64_t seq, uint64_t round) {
        append_taken(ledger, job, life, seq, round, UINT32_MAX);
}

/* A decision can be read once the round that it led to has closed. If several lives repeat a round, the
 * decision of the newest of these lives counts. */
static void test_decisions(void) {
        _cleanup_free_ LedgerDecision *decisions = NULL;
        Ledger *ledger = NULL;
        LedgerJob row;
        uint64_t job;
        size_t n;

        assert_ok(ledger_open(":memory:", &ledger));
        job = ledger_add_running(ledger);
        for (uint64_t round = 1; round <= 4; round++) {
                LedgerDecision d = decision_new(1, round, round - 1, (uint32_t) round + 10);

                assert_ok(ledger_decision_append(ledger, job, &d));
                assert_ok(ledger_decision_append(ledger, job, &d)); /* the second time changes nothing */
                if (round < 4)
                        append_round(ledger, job, 1, round, round);
        }
        g_assert_cmpuint(ledger_n_pending(ledger), >, 0);
        assert_ok(ledger_commit(ledger));
        g_assert_cmpuint(ledger_n_pending(ledger), ==, 0);
        assert_ok(ledger_decisions(ledger, job, 0, 100, &decisions, &n));
        g_assert_cmpuint(n, ==, 3); /* round 4 has not closed */
        g_assert_cmpuint(decisions[2].n_actors, ==, 13);
        g_assert_cmpuint(decisions[2].facts.n_actors, ==, 14);
        g_assert_cmpuint(decisions[2].facts.round_nsec, ==, 21);
        g_assert_true(decisions[2].facts.budget_left_nano == UINT64_MAX);
        g_assert_cmpfloat(decisions[2].statistics.kl, ==, 1); /* of round 2 */
        g_assert_true(isnan(decisions[0].statistics.kl));
        free(TAKE_PTR(decisions));

        /* The next life begins at the checkpoint of round 1: the decision for round 2 is that of the
         * first life. */
        LedgerCheckpoint checkpoint = { .job = job, .life = 1, .seq = 1, .round = 1, .name = "x" };
        assert_ok(ledger_checkpoint_append(ledger, &checkpoint));
        assert_ok(ledger_commit(ledger));
        assert_ok(ledger_job_get(ledger, job, &row));
        row.life = 2;
        assert_ok(ledger_job_update(ledger, &row));
        ledger_job_done(&row);
        append_round(ledger, job, 2, 1, 2);
        LedgerDecision d = decision_new(2, 3, 1, 33);
        assert_ok(ledger_decision_append(ledger, job, &d));
        assert_ok(ledger_commit(ledger));
        assert_ok(ledger_decisions(ledger, job, 0, 100, &decisions, &n));
        g_assert_cmpuint(n, ==, 2);
        g_assert_cmpuint(decisions[1].life, ==, 1);
        g_assert_cmpuint(decisions[1].n_actors, ==, 12);
        free(TAKE_PTR(decisions));

        append_round(ledger, job, 2, 2, 3);
        assert_ok(ledger_commit(ledger));
        assert_ok(ledger_decisions(ledger, job, 2, 100, &decisions, &n));
        g_assert_cmpuint(n, ==, 1);
        g_assert_cmpuint(decisions[0].n_actors, ==, 33);
        ledger = ledger_close(ledger);
}

/* If rounds overlap, the ledger has a row for each round: the decision that was in force, and the actor
 * whose rollout the round took. */
static void test_taken(void) {
        static const uint32_t taken[] = { 2, 0, 1 };
        LedgerDecision d = decision_new(1, 1, 0, 3);
        _cleanup_free_ LedgerDecision *decisions = NULL;
        Ledger *ledger = NULL;
        uint64_t job;
        size_t n;

        assert_ok(ledger_open(":memory:", &ledger));
        job = ledger_add_running(ledger);
        assert_ok(ledger_decision_append(ledger, job, &d));
        for (uint64_t round = 1; round <= 3; round++)
                append_taken(ledger, job, 1, round, round, taken[round - 1]);
        append_round(ledger, job, 1, 4, 4); /* learned from all actors, without a decision of its own */
        assert_ok(ledger_commit(ledger));
        assert_ok(ledger_decisions(ledger, job, 0, 100, &decisions, &n));
        g_assert_cmpuint(n, ==, 3);
        for (size_t i = 0; i < n; i++) {
                g_assert_cmpuint(decisions[i].round, ==, i + 1);
                g_assert_cmpuint(decisions[i].taken, ==, taken[i] + 1);
                g_assert_cmpuint(decisions[i].n_actors, ==, 3);
                g_assert_cmpuint(decisions[i].id, ==, 1);
                g_assert_true(decisions[i].carried == (i > 0));
        }
        ledger = ledger_close(ledger);
}

static void test_scheduler_data(void) {
        Ledger *ledger = NULL;
        LedgerJob job = { .state = (char *) "queued",
                .scheduler_data = (char *) "a\0b",
                .n_scheduler_data = 3 },
                  row;

        assert_ok(ledger_open(":memory:", &ledger));
        assert_ok(ledger_job_add(ledger, &job));
        assert_ok(ledger_job_get(ledger, job.id, &row));
        g_assert_cmpmem(row.scheduler_data, row.n_scheduler_data, "a\0b", 3);
        ledger_job_done(&row);
        ledger = ledger_close(ledger);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/ledger-decision/lives", test_decisions);
        g_test_add_func("/ledger-decision/taken", test_taken);
        g_test_add_func("/ledger-decision/data", test_scheduler_data);
        return g_test_run();
}
