/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lists of jobs. They come out of an index that holds all that a list shows: a hundred thousand jobs'
 * texts, price sheets and summaries stay where they are. */
#include "daemon/ledger/private.h"

#include <assert.h>
#include <math.h>

static const char *text_at(sqlite3_stmt *statement, int at) {
        return (const char *) sqlite3_column_text(statement, at);
}

static uint64_t number_at(sqlite3_stmt *statement, int at) {
        return (uint64_t) sqlite3_column_int64(statement, at);
}

static LedgerListed listed(sqlite3_stmt *statement) {
        bool measured = sqlite3_column_type(statement, 13) != SQLITE_NULL;

        return (LedgerListed){
                .id = number_at(statement, 0),
                .uid = (uint32_t) number_at(statement, 1),
                .state = text_at(statement, 2),
                .result = text_at(statement, 3),
                .submitted_usec = number_at(statement, 4),
                .started_usec = number_at(statement, 5),
                .ended_usec = number_at(statement, 6),
                .environment = text_at(statement, 7),
                .description = text_at(statement, 8),
                .tag = text_at(statement, 9),
                .currency = text_at(statement, 10),
                .round = number_at(statement, 11),
                .n_env_steps = number_at(statement, 12),
                .return_mean = measured ? sqlite3_column_double(statement, 13) : NAN,
                .cost_full = sqlite3_column_double(statement, 14),
        };
}

typedef struct ListReader {
        int (*each)(const LedgerListed *job, void *userdata);
        void *userdata;
} ListReader;

static int listed_tell(sqlite3_stmt *statement, void *userdata) {
        const ListReader *reader = userdata;
        const LedgerListed job = listed(statement);

        return reader->each(&job, reader->userdata);
}

int ledger_list(Ledger *ledger, uint64_t before, int (*each)(const LedgerListed *job, void *userdata),
                void *userdata) {
        _cleanup_statement_ sqlite3_stmt *statement = NULL;
        ListReader reader = { each, userdata };
        int r;

        assert(ledger);
        assert(each);

        r = ledger_prepare(ledger,
                        "SELECT " LIST_COLUMNS
                        " FROM jobs INDEXED BY jobs_list WHERE id < ? ORDER BY id DESC",
                        &statement);
        if (r < 0)
                return r;
        bind_u64(statement, 1, before == 0 || before > INT64_MAX ? INT64_MAX : before);
        return ledger_each(ledger, statement, listed_tell, &reader);
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
                ret[n++] = number_at(statement, 0);
        if (n < most && rc != SQLITE_DONE)
                return ledger_error(ledger, rc);
        *ret_n = n;
        return 0;
}

int ledger_unsummed(Ledger *ledger, uint64_t *ret) {
        int64_t id;
        int r;

        assert(ledger);
        assert(ret);

        r = ledger_integer(ledger,
                        "SELECT id FROM jobs INDEXED BY jobs_unsummed WHERE state = 'ended' "
                        "AND summary IS NULL AND trimmable "
                        "ORDER BY id DESC LIMIT 1",
                        &id);
        if (r < 0)
                return r;
        *ret = (uint64_t) id;
        return 0;
}

int ledger_job_describe(Ledger *ledger, uint64_t id, const char *environment, const char *description,
                const char *currency) {
        _cleanup_statement_ sqlite3_stmt *statement = NULL;
        int r;

        assert(ledger);

        r = ledger_prepare(ledger,
                        "UPDATE jobs SET environment = ?, description = ?, currency = ? WHERE id = ?",
                        &statement);
        if (r < 0)
                return r;
        (void) sqlite3_bind_text(statement, 1, environment, -1, SQLITE_STATIC);
        (void) sqlite3_bind_text(statement, 2, description, -1, SQLITE_STATIC);
        (void) sqlite3_bind_text(statement, 3, currency, -1, SQLITE_STATIC);
        bind_u64(statement, 4, id);
        return ledger_step_done(ledger, statement);
}
