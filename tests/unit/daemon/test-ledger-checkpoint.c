/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests that the ledger lists checkpoints from the newest to the oldest, and that records become waste when
 * the checkpoints after them are forgotten. */
#include <errno.h>
#include <glib.h>
#include <stdlib.h>

#include "daemon/ledger/private.h"
#include "tests/unit/ledger-fixture.h"

static uint64_t job_of_life(Ledger *ledger, uint64_t life) {
        LedgerJob job = ledger_row_running();

        job.life = life;
        assert_ok(ledger_job_add(ledger, &job));
        assert_ok(ledger_job_update(ledger, &job));
        return job.id;
}

/* Adds four rounds of this life, with a checkpoint after the second and the fourth. */
static void add_life(Ledger *ledger, uint64_t job, uint64_t life, uint64_t first) {
        for (uint64_t i = 1; i <= 4; i++) {
                LedgerCheckpoint checkpoint = { .job = job, .life = life, .seq = i, .round = first + i - 1 };
                Record record = { .life = life,
                        .seq = i,
                        .kind = RECORD_ROUND,
                        .round = first + i - 1,
                        .actor = UINT32_MAX };

                assert_ok(ledger_append(ledger, job, &record));
                (void) g_snprintf(checkpoint.name, sizeof(checkpoint.name), "%" G_GUINT64_FORMAT,
                                checkpoint.round);
                if (i % 2 == 0)
                        assert_ok(ledger_checkpoint_append(ledger, &checkpoint));
        }
}

/* The names of all checkpoints that are not forgotten, the newest first. */
static char *names_of(Ledger *ledger, uint64_t job) {
        LedgerPosition at = { INT64_MAX, INT64_MAX };
        GString *names = g_string_new(NULL);
        LedgerCheckpoint checkpoint;
        int r;

        while ((r = ledger_checkpoint_before(ledger, job, &at, &checkpoint)) >= 0) {
                g_string_append_printf(names, "%s ", checkpoint.name);
                at = (LedgerPosition){ checkpoint.life, checkpoint.seq };
                free(checkpoint.scheduler);
        }
        g_assert_cmpint(r, ==, -ENOENT);
        return g_string_free(names, FALSE);
}

static int count_waste(const Record *record, void *userdata) {
        *(unsigned *) userdata += record->wasted;
        return 0;
}

static void check(Ledger *ledger, uint64_t job, const char *names, unsigned n_wasted) {
        g_autofree char *are = names_of(ledger, job);
        unsigned n = 0;

        g_assert_cmpstr(are, ==, names);
        assert_ok(ledger_records_some(ledger, job, &(LedgerPosition){}, UINT32_MAX, count_waste, &n));
        g_assert_cmpuint(n, ==, n_wasted);
}

static void test_forget(void) {
        Ledger *ledger = NULL;
        uint64_t job, other;

        assert_ok(ledger_open(":memory:", &ledger));
        job = job_of_life(ledger, 3);
        other = job_of_life(ledger, 3);
        add_life(ledger, job, 1, 1);
        add_life(ledger, job, 2, 5);
        add_life(ledger, other, 1, 1);
        assert_ok(ledger_commit(ledger));
        check(ledger, job, "8 6 4 2 ", 0);

        assert_ok(ledger_checkpoints_forget(ledger, job, &(LedgerPosition){ 2, 2 }));
        check(ledger, job, "6 4 2 ", 2);
        assert_ok(ledger_checkpoints_forget(ledger, job, &(LedgerPosition){ 1, 2 }));
        check(ledger, job, "2 ", 6);
        assert_ok(ledger_checkpoints_forget(ledger, job, &(LedgerPosition){}));
        check(ledger, job, "", 8);
        check(ledger, other, "4 2 ", 0);
        ledger_close(ledger);
}

/* The size of a user's files is the sum over jobs of the size that was last counted. */
static void test_disk(void) {
        Ledger *ledger = NULL;
        uint64_t first, second, bytes = 1;

        assert_ok(ledger_open(":memory:", &ledger));
        first = job_of_life(ledger, 1);
        second = job_of_life(ledger, 1);
        assert_ok(ledger_disk(ledger, 1000, 0, &bytes));
        g_assert_cmpuint(bytes, ==, 0);

        assert_ok(ledger_job_disk(ledger, first, 8192));
        assert_ok(ledger_job_disk(ledger, second, 4096));
        assert_ok(ledger_job_disk(ledger, second, 12288));
        assert_ok(ledger_job_disk(ledger, second, 12288));
        assert_ok(ledger_job_disk(ledger, 99, 4096)); /* no job */
        assert_ok(ledger_disk(ledger, 1000, 0, &bytes));
        g_assert_cmpuint(bytes, ==, 20480);
        assert_ok(ledger_disk(ledger, 1000, first, &bytes));
        g_assert_cmpuint(bytes, ==, 12288);
        assert_ok(ledger_disk(ledger, 1000 + 1, first, &bytes)); /* the job belongs to another user */
        g_assert_cmpuint(bytes, ==, 0);

        assert_ok(ledger_job_disk(ledger, first, 0));
        assert_ok(ledger_disk(ledger, 1000, 0, &bytes));
        g_assert_cmpuint(bytes, ==, 12288);
        ledger_close(ledger);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/ledger-checkpoint/forget", test_forget);
        g_test_add_func("/ledger-checkpoint/disk", test_disk);
        return g_test_run();
}
