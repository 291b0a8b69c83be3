/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records: queued in memory, written in groups, read back in order. The rows are driven by the same lists
 * as the struct. */
#include "daemon/ledger/private.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "lib/cleanup.h"

int ledger_append(Ledger *ledger, uint64_t job, const Record *record) {
        assert(ledger);
        assert(record);

        if (ledger->n_pending >= LEDGER_PENDING_MAX)
                return -ENOBUFS;
        if (ledger->n_pending == ledger->n_allocated) {
                size_t n = ledger->n_allocated ? ledger->n_allocated * 2 : 64;
                struct Pending *pending = reallocarray(ledger->pending, n, sizeof(*pending));

                if (!pending)
                        return -ENOMEM;
                ledger->pending = pending;
                ledger->n_allocated = n;
        }

        ledger->pending[ledger->n_pending++] = (struct Pending){ .job = job, .record = *record };
        return 0;
}

size_t ledger_n_pending(const Ledger *ledger) {
        assert(ledger);
        return ledger->n_pending + ledger->n_decisions + ledger->n_checkpoints + ledger->n_ends +
               ledger->n_spent;
}

size_t ledger_n_pending_of(const Ledger *ledger, uint64_t job) {
        size_t n = 0;

        assert(ledger);

        for (size_t i = 0; i < ledger->n_pending; i++)
                n += ledger->pending[i].job == job;
        for (size_t i = 0; i < ledger->n_decisions; i++)
                n += ledger->decisions[i].job == job;
        return n;
}

static bool is_zero(const uint8_t *bytes, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (bytes[i])
                        return false;
        return true;
}

/* Rounds bring them always, evaluation episodes theirs; a row of nothing but "not measured" is not kept. */
static bool statistics_said(const Statistics *s) {
#define X(name, unit)                        \
        if (!isnan(s->name) && s->name != 0) \
                return true;
        STATISTICS(X)
#undef X
        return s->n_env_steps || s->n_episodes || s->policy_version;
}

static int record_insert(Ledger *ledger, uint64_t job, const Record *record) {
        sqlite3_stmt *s = ledger->insert_record;
        int at = 6;

        bind_u64(s, 1, job);
        bind_u64(s, 2, record->life);
        bind_u64(s, 3, record->seq);
        if (record->actor == UINT32_MAX)
                (void) sqlite3_bind_null(s, 4);
        else
                bind_u64(s, 4, record->actor);
        if (is_zero(record->sha256, sizeof(record->sha256)))
                (void) sqlite3_bind_null(s, 5);
        else
                (void) sqlite3_bind_blob(s, 5, record->sha256, sizeof(record->sha256), SQLITE_STATIC);
#define X(column, field, comment) bind_u64(s, at++, (uint64_t) record->field);
        RECORD_COLUMNS(X)
#undef X
        return ledger_step_done(ledger, s);
}

static int statistics_insert(Ledger *ledger, uint64_t job, const Record *record) {
        sqlite3_stmt *s = ledger->insert_statistics;
        int at = 7;

        if (record->kind != RECORD_ROUND && !statistics_said(&record->statistics))
                return 0;

        bind_u64(s, 1, job);
        bind_u64(s, 2, record->life);
        bind_u64(s, 3, record->seq);
        bind_u64(s, 4, record->statistics.n_env_steps);
        bind_u64(s, 5, record->statistics.n_episodes);
        bind_u64(s, 6, record->statistics.policy_version);
/* SQLite stores NaN as NULL: not measured. */
#define X(name, unit) (void) sqlite3_bind_double(s, at++, record->statistics.name);
        STATISTICS(X)
#undef X
        return ledger_step_done(ledger, s);
}

/* The round's row gets what its evaluation came to after it had closed, so that a reader of rounds need
 * not know when that was. */
static int round_complete(Ledger *ledger, uint64_t job, const Record *record) {
        sqlite3_stmt *s = ledger->complete_round;

        if (record->kind != RECORD_EVALUATED)
                return 0;

        (void) sqlite3_bind_double(s, 1, record->statistics.evaluation_mean);
        (void) sqlite3_bind_double(s, 2, record->statistics.evaluation_sd);
        bind_u64(s, 3, job);
        bind_u64(s, 4, record->life);
        bind_u64(s, 5, record->ordinal);
        return ledger_step_done(ledger, s);
}

int ledger_insert_pending(Ledger *ledger) {
        int r;

        for (size_t i = 0; i < ledger->n_pending; i++) {
                const struct Pending *p = &ledger->pending[i];

                r = record_insert(ledger, p->job, &p->record);
                if (r < 0)
                        return r;
                r = statistics_insert(ledger, p->job, &p->record);
                if (r < 0)
                        return r;
                r = round_complete(ledger, p->job, &p->record);
                if (r < 0)
                        return r;
        }
        r = ledger_insert_decisions(ledger);
        if (r < 0)
                return r;
        r = ledger_insert_spent(ledger);
        return r < 0 ? r : ledger_insert_ends(ledger);
}

int ledger_commit(Ledger *ledger) {
        int r;

        assert(ledger);

        if (ledger_n_pending(ledger) == 0)
                return 0;
        r = ledger_look(ledger);
        if (r < 0)
                return r;
        r = ledger_begin(ledger);
        if (r < 0)
                return r;
        r = ledger_end(ledger, ledger_insert_pending(ledger));
        if (r < 0)
                return r;

        ledger->n_pending = ledger->n_decisions = ledger->n_spent = 0;
        ledger_ends_clear(ledger);
        return 0;
}

int ledger_last_seq(Ledger *ledger, uint64_t job, uint64_t life, uint64_t *ret) {
        _cleanup_statement_ sqlite3_stmt *statement = NULL;
        int r;

        assert(ledger);
        assert(ret);

        r = ledger_prepare(ledger, "SELECT coalesce(max(seq), 0) FROM records WHERE job = ? AND life = ?",
                        &statement);
        if (r < 0)
                return r;
        bind_u64(statement, 1, job);
        bind_u64(statement, 2, life);
        r = ledger_row(ledger, statement);
        if (r < 0)
                return r;
        *ret = (uint64_t) sqlite3_column_int64(statement, 0);
        return 0;
}

/* Three counts and the list, from column `at` on. */
static void statistics_read(sqlite3_stmt *s, int at, Statistics *ret) {
        *ret = (Statistics){
                .n_env_steps = (uint64_t) sqlite3_column_int64(s, at),
                .n_episodes = (uint64_t) sqlite3_column_int64(s, at + 1),
                .policy_version = (uint64_t) sqlite3_column_int64(s, at + 2),
        };
        at += 3;
#define X(name, unit) ret->name = column_double(s, at++);
        STATISTICS(X)
#undef X
}

static void record_read(sqlite3_stmt *s, Record *ret) {
        Record record = {
                .life = (uint64_t) sqlite3_column_int64(s, 0),
                .seq = (uint64_t) sqlite3_column_int64(s, 1),
                .actor = sqlite3_column_type(s, 2) == SQLITE_NULL ? UINT32_MAX
                                                                  : (uint32_t) sqlite3_column_int64(s, 2),
        };
        bool repeated = sqlite3_column_int(s, 4);
        int at = 5;

        if (sqlite3_column_bytes(s, 3) == sizeof(record.sha256))
                memcpy(record.sha256, sqlite3_column_blob(s, 3), sizeof(record.sha256));
#define X(column, field, comment) record.field = (__typeof__(record.field)) sqlite3_column_int64(s, at++);
        RECORD_COLUMNS(X)
#undef X
        statistics_read(s, at, &record.statistics);
        if (repeated)
                record.wasted = 1;

        *ret = record;
}

typedef struct RecordsReader {
        int (*each)(const Record *record, void *userdata);
        void *userdata;
} RecordsReader;

static int record_tell(sqlite3_stmt *statement, void *userdata) {
        const RecordsReader *reader = userdata;
        Record record;

        record_read(statement, &record);
        return reader->each(&record, reader->userdata);
}

int ledger_records_some(Ledger *ledger, uint64_t job, const LedgerPosition *after, unsigned most,
                int (*each)(const Record *record, void *userdata), void *userdata) {
        _cleanup_statement_ sqlite3_stmt *statement = NULL;
        RecordsReader reader = { each, userdata };
        int r;

        assert(ledger);
        assert(after);
        assert(each);

#define X(column, field, comment) ", r." #column
#define S(name, unit)             ", s." #name
        r = ledger_prepare(ledger,
                        /* clang-format off */
                        "SELECT r.life, r.seq, r.actor, r.sha256, r.life < j.life AND r.seq > coalesce("
                        "(SELECT max(c.seq) FROM checkpoints c WHERE c.job = r.job AND c.life = r.life), 0)"
                        RECORD_COLUMNS(X) ", s.n_env_steps, s.n_episodes, s.policy_version" STATISTICS(S)
                        " FROM records r JOIN jobs j ON j.id = r.job "
                        "LEFT JOIN statistics s USING (job, life, seq) "
                        "WHERE r.job = ? AND (r.life, r.seq) > (?, ?) ORDER BY r.life, r.seq LIMIT ?",
                        /* clang-format on */
                        &statement);
#undef S
#undef X
        if (r < 0)
                return r;
        bind_u64(statement, 1, job);
        bind_u64(statement, 2, after->life);
        bind_u64(statement, 3, after->seq);
        bind_u64(statement, 4, most);
        return ledger_each(ledger, statement, record_tell, &reader);
}

int ledger_records_foreach(Ledger *ledger, uint64_t job, int (*each)(const Record *record, void *userdata),
                void *userdata) {
        static const LedgerPosition before_all = {};

        return ledger_records_some(ledger, job, &before_all, UINT32_MAX, each, userdata);
}

static LedgerRound round_read(sqlite3_stmt *statement) {
        LedgerRound round = {
                .round = (uint64_t) sqlite3_column_int64(statement, 0),
                .n_actors = (uint32_t) sqlite3_column_int64(statement, 1),
                .emulated_nsec = (uint64_t) sqlite3_column_int64(statement, 2),
        };

        statistics_read(statement, 3, &round.statistics);
        return round;
}

/* A round that a later life repeated stands in the ledger twice; the newest life's counts. */
#define S(name, unit) ", s." #name
static const char rounds_sql[] =
                "WITH newest AS (SELECT round, max(life) AS life, seq, decision_n_actors, "
                "emulated_round_nsec "
                "  FROM records WHERE job = ?1 AND kind = 6 AND round > ?2 GROUP BY round), "
                "numbered AS (SELECT *, row_number() OVER (ORDER BY round) AS i, count(*) OVER () AS n "
                "FROM newest) "
                "SELECT r.round, r.decision_n_actors, r.emulated_round_nsec, "
                "  s.n_env_steps, s.n_episodes, s.policy_version" STATISTICS(
                                S) " FROM numbered r LEFT JOIN statistics s ON s.job = ?1 "
                                   "AND s.life = r.life AND s.seq = r.seq "
                                   "WHERE r.n <= ?3 OR r.i * ?3 / r.n <> (r.i - 1) * ?3 / r.n "
                                   "ORDER BY r.round";
#undef S

typedef struct Rounds {
        LedgerRound *rows;
        size_t n, n_allocated;
} Rounds;

static void rounds_done(Rounds *rounds) {
        free(rounds->rows);
}

static int round_add(sqlite3_stmt *statement, void *userdata) {
        Rounds *rounds = userdata;
        int r;

        r = ledger_rows_grow(&rounds->rows, &rounds->n_allocated, rounds->n, sizeof(*rounds->rows));
        if (r < 0)
                return r;
        rounds->rows[rounds->n++] = round_read(statement);
        return 0;
}

int ledger_rounds(Ledger *ledger, uint64_t job, uint64_t after, unsigned most, LedgerRound **ret,
                size_t *ret_n) {
        _cleanup_statement_ sqlite3_stmt *statement = NULL;
        _cleanup_(rounds_done) Rounds rounds = {};
        int r;

        assert(ledger);
        assert(ret);
        assert(ret_n);

        r = ledger_prepare(ledger, rounds_sql, &statement);
        if (r < 0)
                return r;
        bind_u64(statement, 1, job);
        bind_u64(statement, 2, after);
        bind_u64(statement, 3, most);

        r = ledger_each(ledger, statement, round_add, &rounds);
        if (r < 0)
                return r;

        *ret_n = rounds.n;
        *ret = TAKE_PTR(rounds.rows);
        return 0;
}
