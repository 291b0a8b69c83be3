/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lists of jobs. They are read from an index that holds all columns of a list, so that the texts, price
 * sheets and summaries of a hundred thousand jobs are not read. */
#include "daemon/ledger/private.h"

#include <assert.h>
#include <math.h>

static LedgerListed listed(sqlite3_stmt *statement) {
        bool measured = sqlite3_column_type(statement, 13) != SQLITE_NULL;

        return (LedgerListed){
                .id = column_u64(statement, 0),
                .uid = (uint32_t) column_u64(statement, 1),
                .state = column_string(statement, 2),
                .result = column_string(statement, 3),
                .submitted_usec = column_u64(statement, 4),
                .started_usec = column_u64(statement, 5),
                .ended_usec = column_u64(statement, 6),
                .environment = column_string(statement, 7),
                .description = column_string(statement, 8),
                .tag = column_string(statement, 9),
                .currency = column_string(statement, 10),
                .round = column_u64(statement, 11),
                .n_env_steps = column_u64(statement, 12),
                .return_mean = measured ? sqlite3_column_double(statement, 13) : NAN,
                .cost_full = sqlite3_column_double(statement, 14),
        };
}

int ledger_list(Ledger *ledger, uint64_t before, int (*each)(const LedgerListed *job, void *userdata),
                void *userdata) {
        _cleanup_statement_ sqlite3_stmt *statement = NULL;
        int r;

        assert(ledger);
        assert(each);

        r = ledger_query(ledger,
                        "SELECT " LIST_COLUMNS
                        " FROM jobs INDEXED BY jobs_list WHERE id < ? ORDER BY id DESC",
                        VALUES(of_u64(before == 0 || before > INT64_MAX ? INT64_MAX : before)), &statement);
        if (r < 0)
                return r;
        while ((r = ledger_next(ledger, statement)) > 0) {
                LedgerListed job = listed(statement);

                r = each(&job, userdata);
                if (r != 0)
                        return r;
        }
        return r;
}

int ledger_older(Ledger *ledger, uint64_t *ret, size_t most, size_t *ret_n) {
        _cleanup_statement_ sqlite3_stmt *statement = NULL;
        size_t n = 0;
        int r, rc = SQLITE_DONE;

        assert(ledger);
        assert(ret);
        assert(ret_n);

        r = ledger_prepare(ledger,
                        "SELECT id FROM jobs INDEXED BY jobs_older WHERE environment IS NULL "
                        "ORDER BY id DESC",
                        &statement);
        if (r < 0)
                return r;
        while (n < most && (rc = sqlite3_step(statement)) == SQLITE_ROW)
                ret[n++] = column_u64(statement, 0);
        if (n < most && rc != SQLITE_DONE)
                return ledger_error(ledger, rc);
        *ret_n = n;
        return 0;
}

int ledger_unsummed(Ledger *ledger, uint64_t *ret) {
        assert(ledger);
        assert(ret);

        return ledger_number(ledger,
                        "SELECT id FROM jobs INDEXED BY jobs_unsummed WHERE state = 'ended' "
                        "AND summary IS NULL AND trimmable "
                        "ORDER BY id DESC LIMIT 1",
                        NO_VALUES, ret);
}

int ledger_job_describe(Ledger *ledger, uint64_t id, const char *environment, const char *description,
                const char *currency) {
        assert(ledger);

        return ledger_write(ledger,
                        "UPDATE jobs SET environment = ?, description = ?, currency = ? WHERE id = ?",
                        VALUES(of_text_or_null(environment), of_text_or_null(description),
                                        of_text_or_null(currency), of_u64(id)));
}
