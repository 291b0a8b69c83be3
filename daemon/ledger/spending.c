/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The cost of users' jobs on each day. A job's cost is a function of its records, so the transaction that
 * writes records also writes the job's new cost, and adds the increase to the day. If the daemon is killed,
 * the next daemon finds all of these changes or none, and no cost counts twice. */
#include "daemon/ledger/private.h"

#include <assert.h>

int ledger_spent_note(Ledger *ledger, const LedgerSpent *spent) {
        int r;

        assert(ledger);
        assert(spent);

        for (size_t i = 0; i < ledger->n_spent; i++)
                if (ledger->spent[i].job == spent->job) {
                        ledger->spent[i] = *spent;
                        return 0;
                }
        if (ledger->n_spent >= LEDGER_ENDS_MAX)
                return -ENOBUFS;
        r = ledger_rows_grow(
                        &ledger->spent, &ledger->n_spent_allocated, ledger->n_spent, sizeof(*ledger->spent));
        if (r < 0)
                return r;
        ledger->spent[ledger->n_spent++] = *spent;
        return 0;
}

static int spending_add(Ledger *ledger, const LedgerSpent *spent, uint64_t nano) {
        return ledger_write(ledger,
                        "INSERT INTO spending (uid, day, currency, nano) "
                        "SELECT ?2, ?3, ?4, ?5 - nano FROM counted WHERE job = ?1 AND nano < ?5 "
                        "ON CONFLICT (uid, day, currency) DO UPDATE SET " LEDGER_SUM(nano),
                        VALUES(of_u64(spent->job), of_u64(spent->uid), of_text(spent->day),
                                        of_text(spent->currency), of_u64(nano)));
}

/* An earlier actord counted no daily costs. A job from that time has a row in `counted` without a cost, and
 * its cost until now belongs to no day. A job whose row says `ended` is left out: all of its cost was
 * counted. */
static int spent_insert(Ledger *ledger, const LedgerSpent *spent) {
        uint64_t nano = spent->full_nano < INT64_MAX ? spent->full_nano : INT64_MAX;
        int r;

        r = ledger_write(ledger,
                        "INSERT OR IGNORE INTO counted SELECT id, 0 FROM jobs WHERE id = ?1 "
                        "AND state <> 'ended'",
                        VALUES(of_u64(spent->job)));
        if (r < 0)
                return r;
        r = spending_add(ledger, spent, nano);
        if (r < 0)
                return r;
        return ledger_write(ledger, "UPDATE counted SET nano = max(coalesce(nano, 0), ?2) WHERE job = ?1",
                        VALUES(of_u64(spent->job), of_u64(nano)));
}

int ledger_insert_spent(Ledger *ledger) {
        int r;

        for (size_t i = 0; i < ledger->n_spent; i++) {
                r = spent_insert(ledger, &ledger->spent[i]);
                if (r < 0)
                        return r;
        }
        return 0;
}

int ledger_spending_foreach(Ledger *ledger, uint32_t uid, const char *day,
                int (*each)(const char *currency, uint64_t nano, void *userdata), void *userdata) {
        _cleanup_statement_ sqlite3_stmt *statement = NULL;
        int r;

        assert(ledger);
        assert(day);
        assert(each);

        r = ledger_query(ledger, "SELECT currency, nano FROM spending WHERE uid = ? AND day = ? ORDER BY 1",
                        VALUES(of_u64(uid), of_text(day)), &statement);
        if (r < 0)
                return r;
        while ((r = ledger_next(ledger, statement)) > 0) {
                r = each(column_string(statement, 0), column_u64(statement, 1), userdata);
                if (r != 0)
                        return r;
        }
        return r;
}

int ledger_spending(
                Ledger *ledger, uint32_t uid, const char *day, const char *currency, uint64_t *ret_nano) {
        assert(ledger);
        assert(day);
        assert(currency);
        assert(ret_nano);

        return ledger_number(ledger,
                        "SELECT coalesce(max(nano), 0) FROM spending WHERE uid = ? AND day = ? "
                        "AND currency = ?",
                        VALUES(of_u64(uid), of_text(day), of_text(currency)), ret_nano);
}
