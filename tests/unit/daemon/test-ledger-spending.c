/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The cost of a user's jobs for each day. It is committed with the records, or not at all, and no part
 * counts twice. */
#include <glib.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "tests/unit/ledger-fixture.h"

static void note(Ledger *ledger, uint64_t job, const char *day, const char *currency, uint64_t nano) {
        LedgerSpent spent = { .job = job, .uid = 1000, .full_nano = nano };

        (void) g_strlcpy(spent.day, day, sizeof(spent.day));
        (void) g_strlcpy(spent.currency, currency, sizeof(spent.currency));
        assert_ok(ledger_spent_note(ledger, &spent));
}

static void assert_spent(Ledger *ledger, const char *day, const char *currency, uint64_t expected) {
        uint64_t nano = 77;

        assert_ok(ledger_spending(ledger, 1000, day, currency, &nano));
        g_assert_cmpuint(nano, ==, expected);
}

static void test_difference(void) {
        uint64_t a, b, nano = 77;
        Ledger *ledger;

        assert_ok(ledger_open(":memory:", &ledger));
        a = ledger_add_running(ledger);
        b = ledger_add_running(ledger);
        note(ledger, a, "2026-11-23", "USD", 100);
        note(ledger, a, "2026-11-23", "USD", 150); /* replaces the 100 that wait for a commit */
        note(ledger, b, "2026-11-23", "EUR", 7);
        assert_spent(ledger, "2026-11-23", "USD", 0); /* not yet */
        assert_ok(ledger_commit(ledger));
        assert_spent(ledger, "2026-11-23", "USD", 150);
        assert_spent(ledger, "2026-11-23", "EUR", 7);
        assert_ok(ledger_commit(ledger));
        /* The same cost again, as after a restart, and a lower cost, as a bill may change in its last digit.
         * Neither changes the day's sum. */
        note(ledger, a, "2026-11-23", "USD", 150);
        assert_ok(ledger_commit(ledger));
        note(ledger, a, "2026-11-23", "USD", 149);
        assert_ok(ledger_commit(ledger));
        assert_spent(ledger, "2026-11-23", "USD", 150);
        /* The next day gets only the new part of the cost. */
        note(ledger, a, "2026-11-24", "USD", 160);
        note(ledger, b, "2026-11-24", "EUR", 7);
        assert_ok(ledger_commit(ledger));
        assert_spent(ledger, "2026-11-23", "USD", 150);
        assert_spent(ledger, "2026-11-24", "USD", 10);
        assert_spent(ledger, "2026-11-24", "EUR", 0);
        assert_ok(ledger_spending(ledger, 1001, "2026-11-24", "USD", &nano));
        g_assert_cmpuint(nano, ==, 0);
        note(ledger, a, "2026-11-25", "USD", UINT64_MAX);
        assert_ok(ledger_commit(ledger));
        assert_spent(ledger, "2026-11-25", "USD", INT64_MAX - 160);
        ledger_close(ledger);
}

/* The row of a job says `ended` before the daemon announces the end. A daemon that is killed in between
 * notes the job's cost again after its restart, but no cost counts twice. */
static void test_ended(void) {
        LedgerEnd end = { .row = ledger_row_running(),
                .currency = (char *) "USD",
                .sheet_name = (char *) "local",
                .full_nano = 100 };
        Ledger *ledger;

        assert_ok(ledger_open(":memory:", &ledger));
        end.row.id = ledger_add_running(ledger);
        end.row.result = (char *) "finished";
        end.row.summary = (char *) "";
        note(ledger, end.row.id, "2026-11-23", "USD", 100);
        assert_ok(ledger_end_append(ledger, &end));
        assert_ok(ledger_commit(ledger));
        note(ledger, end.row.id, "2026-11-24", "USD", 100);
        assert_ok(ledger_commit(ledger));
        assert_spent(ledger, "2026-11-23", "USD", 100);
        assert_spent(ledger, "2026-11-24", "USD", 0);
        ledger_close(ledger);
}

/* The ledger keeps the newest 400 days. It also keeps the day of a clock that was set back by years. */
static void test_days_kept(void) {
        Ledger *ledger;
        uint64_t job;

        assert_ok(ledger_open(":memory:", &ledger));
        job = ledger_add_running(ledger);
        for (unsigned i = 1; i <= 402; i++) {
                g_autofree char *day = g_strdup_printf("3%03u-01-01", i);

                note(ledger, job, day, "USD", i);
                assert_ok(ledger_commit(ledger));
        }
        assert_spent(ledger, "3002-01-01", "USD", 0);
        assert_spent(ledger, "3003-01-01", "USD", 1);
        note(ledger, job, "2026-01-01", "USD", 1000);
        assert_ok(ledger_commit(ledger));
        assert_spent(ledger, "2026-01-01", "USD", 1000 - 402);
        ledger_close(ledger);
}

/* A cost that cannot be written waits, together with its records. */
static void test_full_disk(void) {
        g_autofree char *directory = g_dir_make_tmp("actord-spending-XXXXXX", NULL),
                        *path = g_build_filename(directory, "ledger.sqlite", NULL);
        struct rlimit before, low;
        uint64_t job, seq = 0, kept = 0;
        Ledger *ledger;
        int r = 0;

        assert_ok(ledger_open(path, &ledger));
        job = ledger_add_running(ledger);
        (void) signal(SIGXFSZ, SIG_IGN);
        g_assert_cmpint(getrlimit(RLIMIT_FSIZE, &before), ==, 0);
        low = before;
        low.rlim_cur = 256 * 1024;
        g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &low), ==, 0);
        while (r >= 0) {
                Record record = { .kind = RECORD_ROLLOUT, .life = 1, .seq = ++seq };

                assert_ok(ledger_append(ledger, job, &record));
                note(ledger, job, "2026-11-23", "USD", 10 * seq);
                r = ledger_commit(ledger);
                g_assert_cmpuint(seq, <, 100000);
        }
        assert_ok(ledger_last_seq(ledger, job, 1, &kept));
        g_assert_cmpuint(kept, ==, seq - 1);
        assert_spent(ledger, "2026-11-23", "USD", 10 * kept);
        g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &before), ==, 0);
        assert_ok(ledger_commit(ledger));
        assert_spent(ledger, "2026-11-23", "USD", 10 * seq);
        ledger_close(ledger);
        for (unsigned i = 0; i < 2; i++) {
                g_autofree char *name = g_strconcat(path, i == 0 ? "" : "-lock", NULL);

                (void) g_unlink(name);
        }
        (void) g_rmdir(directory);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/spending/difference", test_difference);
        g_test_add_func("/spending/ended", test_ended);
        g_test_add_func("/spending/days-kept", test_days_kept);
        g_test_add_func("/spending/full-disk", test_full_disk);
        return g_test_run();
}
