/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Each member of a job's row comes back as it was written, and an update changes only what may change. */
#include <glib.h>
#include <string.h>

#include "daemon/ledger/ledger.h"
#include "tests/unit/ledger-fixture.h"

/* n: each number differs from the others of the same row, and from those of a row with another n. */
static LedgerJob row_of(uint64_t n) {
        return (LedgerJob){
                .life = n + 1,
                .uid = (uint32_t) n + 2,
                .purpose = (uint32_t) n + 3,
                .n_episodes = n + 4,
                .submitted_usec = n + 5,
                .started_usec = n + 6,
                .ended_usec = UINT64_MAX - n,
                .state = g_strdup_printf("state %d", (int) n),
                .result = g_strdup_printf("result %d", (int) n),
                .fault = g_strdup_printf("fault %d", (int) n),
                .text = g_strdup_printf("text %d", (int) n),
                .file_name = g_strdup_printf("file %d", (int) n),
                .overrides = g_strdup_printf("overrides %d", (int) n),
                .sheet = g_strdup_printf("sheet %d", (int) n),
                .files = g_strdup_printf("files %d", (int) n),
                .policy_sha256 = { (uint8_t) n, 1, 2, [31] = 3 },
                .has_policy = true,
                .scheduler_data = g_strdup_printf("data %d", (int) n),
                .n_scheduler_data = 6,
                .distribution = g_strdup_printf("distribution %d", (int) n),
                .distribution_reason = g_strdup_printf("reason %d", (int) n),
                .distribution_life = n + 7,
                .n_learners = n + 8,
                .tag = g_strdup_printf("tag %d", (int) n),
                .n_preempted = n + 9,
                .back_usec = n + 10,
                .paused_usec = n + 11,
                .frozen_usec = n + 12,
                .end_wanted = (uint32_t) n + 13,
        };
}

/* What ledger_job_add() writes alone. */
static void assert_once(const LedgerJob *a, const LedgerJob *b) {
        g_assert_true(a->uid == b->uid && a->purpose == b->purpose);
        g_assert_true(a->n_episodes == b->n_episodes && a->submitted_usec == b->submitted_usec);
        g_assert_cmpstr(a->text, ==, b->text);
        g_assert_cmpstr(a->file_name, ==, b->file_name);
        g_assert_cmpstr(a->overrides, ==, b->overrides);
        g_assert_cmpstr(a->sheet, ==, b->sheet);
        g_assert_cmpstr(a->files, ==, b->files);
        g_assert_cmpmem(a->scheduler_data, a->n_scheduler_data, b->scheduler_data, b->n_scheduler_data);
        g_assert_cmpstr(a->tag, ==, b->tag);
}

/* What ledger_job_update() writes, too. */
static void assert_changing(const LedgerJob *a, const LedgerJob *b) {
        g_assert_true(a->life == b->life);
        g_assert_true(a->started_usec == b->started_usec && a->ended_usec == b->ended_usec);
        g_assert_cmpstr(a->state, ==, b->state);
        g_assert_cmpstr(a->result, ==, b->result);
        g_assert_cmpstr(a->fault, ==, b->fault);
        g_assert_true(a->has_policy && b->has_policy);
        g_assert_cmpmem(a->policy_sha256, 32, b->policy_sha256, 32);
        g_assert_cmpstr(a->distribution, ==, b->distribution);
        g_assert_cmpstr(a->distribution_reason, ==, b->distribution_reason);
        g_assert_true(a->distribution_life == b->distribution_life && a->n_learners == b->n_learners);
        g_assert_true(a->n_preempted == b->n_preempted && a->back_usec == b->back_usec);
        g_assert_true(a->paused_usec == b->paused_usec && a->frozen_usec == b->frozen_usec);
        g_assert_true(a->end_wanted == b->end_wanted);
}

static void test_whole(void) {
        LedgerJob first = row_of(100), second = row_of(200), read = {};
        Ledger *ledger = NULL;

        assert_ok(ledger_open(":memory:", &ledger));
        assert_ok(ledger_job_add(ledger, &first));
        assert_ok(ledger_job_get(ledger, first.id, &read));
        assert_once(&read, &first);
        assert_changing(&read, &first);
        g_assert_true(!read.summary && read.trimmed_usec == 0 && read.n_alerts == 0);
        ledger_job_done(&read);

        second.id = first.id;
        assert_ok(ledger_job_update(ledger, &second));
        assert_ok(ledger_job_alerted(ledger, first.id, 7));
        assert_ok(ledger_job_get(ledger, first.id, &read));
        assert_once(&read, &first);
        assert_changing(&read, &second);
        g_assert_cmpuint(read.n_alerts, ==, 7);

        ledger_job_done(&read);
        ledger_job_done(&first);
        ledger_job_done(&second);
        ledger_close(ledger);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/ledger-job/whole", test_whole);
        return g_test_run();
}
