/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests evaluations that end after their round has closed. A later commit adds the result to the round's
 * row, if the row is of the same life. */
#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>
#include <stdlib.h>

#include "tests/unit/ledger-fixture.h"

typedef struct Said {
        uint64_t life, seq, round;
        RecordKind kind;
        uint64_t completes;
        double mean;
} Said;

static void append(Ledger *ledger, uint64_t job, const Said *said) {
        Record record = {
                .life = said->life,
                .seq = said->seq,
                .round = said->round,
                .kind = said->kind,
                .actor = UINT32_MAX,
                .ordinal = said->completes,
                .statistics = { .policy_version = said->round, .kl = (double) said->round / 2 },
        };

        record.statistics.evaluation_mean = said->mean;
        record.statistics.evaluation_sd = said->mean / 4;
        assert_ok(ledger_append(ledger, job, &record));
}

static void check_rounds(Ledger *ledger, uint64_t job, const double *means, size_t n) {
        g_autofree LedgerRound *rounds = NULL;
        size_t n_rounds;

        assert_ok(ledger_rounds(ledger, job, 0, 100, &rounds, &n_rounds));
        g_assert_cmpuint(n_rounds, ==, n);
        for (size_t i = 0; i < n; i++) {
                const Statistics *s = &rounds[i].statistics;

                g_assert_cmpuint(rounds[i].round, ==, i + 1);
                g_assert_cmpfloat(s->kl, ==, (double) (i + 1) / 2);
                g_assert_true(isnan(means[i]) ? isnan(s->evaluation_mean) && isnan(s->evaluation_sd)
                                              : s->evaluation_mean == means[i] &&
                                                                s->evaluation_sd == means[i] / 4);
        }
}

static int keep_rounds(const Record *record, void *userdata) {
        if (record->kind == RECORD_ROUND)
                g_array_append_vals(userdata, record, 1);
        return 0;
}

static void test_completed(void) {
        static const Said first[] = { { 1, 1, 1, RECORD_ROUND, 0, NAN },
                { 1, 2, 1, RECORD_EVALUATION, 0, 80 }, { 1, 3, 1, RECORD_EVALUATED, 1, 80 },
                { 1, 4, 2, RECORD_ROUND, 0, NAN } },
                          second[] = { { 1, 5, 2, RECORD_EVALUATED, 4, 120 },
                                  { 1, 6, 3, RECORD_ROUND, 0, NAN } },
                          third[] = { { 2, 1, 2, RECORD_ROUND, 0, NAN },
                                  { 2, 2, 2, RECORD_EVALUATED, 1, 160 } };
        g_autofree char *path = g_strdup_printf("%s/ledger-evaluation-%d", g_get_tmp_dir(), (int) getpid());
        g_autoptr(GArray) rounds = g_array_new(FALSE, FALSE, sizeof(Record));
        LedgerJob row = ledger_row_running();
        LedgerCheckpoint checkpoint = { .life = 1, .seq = 3, .round = 1, .name = "one" };
        Ledger *ledger = NULL;

        assert_ok(ledger_open(path, &ledger));
        assert_ok(ledger_job_add(ledger, &row));
        checkpoint.job = row.id;
        for (size_t i = 0; i < G_N_ELEMENTS(first); i++)
                append(ledger, row.id, &first[i]);
        assert_ok(ledger_commit(ledger));
        check_rounds(ledger, row.id, (double[]){ 80, NAN }, 2);
        for (size_t i = 0; i < G_N_ELEMENTS(second); i++)
                append(ledger, row.id, &second[i]);
        assert_ok(ledger_commit(ledger));
        check_rounds(ledger, row.id, (double[]){ 80, 120, NAN }, 3);

        /* The next life begins after round 1, at a checkpoint. It repeats round 2, and its evaluation
         * counts. The round's record of the earlier life stays as it is. */
        assert_ok(ledger_checkpoint_append(ledger, &checkpoint));
        assert_ok(ledger_commit(ledger));
        row.life = 2;
        assert_ok(ledger_job_update(ledger, &row));
        for (size_t i = 0; i < G_N_ELEMENTS(third); i++)
                append(ledger, row.id, &third[i]);
        assert_ok(ledger_commit(ledger));
        check_rounds(ledger, row.id, (double[]){ 80, 160 }, 2);
        assert_ok(ledger_records_some(ledger, row.id, &(LedgerPosition){}, UINT32_MAX, keep_rounds, rounds));
        g_assert_cmpfloat(g_array_index(rounds, Record, 1).statistics.evaluation_mean, ==, 120);
        g_assert_cmpfloat(g_array_index(rounds, Record, 3).statistics.evaluation_mean, ==, 160);
        ledger_close(ledger);
        (void) g_unlink(path);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/ledger-evaluation/completed", test_completed);
        return g_test_run();
}
