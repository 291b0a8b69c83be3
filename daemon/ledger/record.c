/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records: queued in memory, written in groups, read back in order. The columns come from lists:
 * RECORD_COLUMNS (daemon/ledger/private.h) and STATISTICS (include/record.h). */
#include "daemon/ledger/private.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "lib/cleanup.h"

int ledger_append(Ledger *ledger, uint64_t job, const Record *record) {
        int r;

        assert(ledger);
        assert(record);

        if (ledger->n_pending >= LEDGER_PENDING_MAX)
                return -ENOBUFS;
        r = ledger_rows_grow(
                        &ledger->pending, &ledger->n_allocated, ledger->n_pending, sizeof(*ledger->pending));
        if (r < 0)
                return r;
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

/* Whether any statistic was measured, as in each round and each evaluation episode. Otherwise no row of
 * statistics is written. */
static bool statistics_said(const Statistics *s) {
#define X(name, unit)                        \
        if (!isnan(s->name) && s->name != 0) \
                return true;
        STATISTICS(X)
#undef X
        return s->n_env_steps || s->n_episodes || s->policy_version;
}

static int record_insert(Ledger *ledger, uint64_t job, const Record *record) {
        bool has_policy = !is_zero(record->sha256, sizeof(record->sha256));
        Value actor = record->actor != UINT32_MAX ? of_u64(record->actor) : (Value){};

#define X(column, field, comment) , of_u64((uint64_t) record->field)
        return ledger_run(ledger, ledger->insert_record,
                        VALUES(of_u64(job), of_u64(record->life), of_u64(record->seq), actor,
                                        of_hash(record->sha256, has_policy) RECORD_COLUMNS(X)));
#undef X
}

static int statistics_insert(Ledger *ledger, uint64_t job, const Record *record) {
        const Statistics *s = &record->statistics;

        if (record->kind != RECORD_ROUND && !statistics_said(s))
                return 0;

#define X(name, unit) , of_double(s->name)
        return ledger_run(ledger, ledger->insert_statistics,
                        VALUES(of_u64(job), of_u64(record->life), of_u64(record->seq),
                                        of_u64(s->n_env_steps), of_u64(s->n_episodes),
                                        of_u64(s->policy_version) STATISTICS(X)));
#undef X
}

/* An evaluation may end after its round. Its result is then written into the row of the round, so readers of
 * rounds find it there. */
static int round_complete(Ledger *ledger, uint64_t job, const Record *record) {
        if (record->kind != RECORD_EVALUATED)
                return 0;

#define X(name, unit) of_double(record->statistics.name),
        return ledger_run(ledger, ledger->complete_round,
                        VALUES(of_double(record->statistics.evaluation_mean),
                                        of_double(record->statistics.evaluation_sd),
                                        EVALUATION_METRIC_STATISTICS(X) of_u64(job), of_u64(record->life),
                                        of_u64(record->ordinal)));
#undef X
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
        assert(ledger);
        assert(ret);

        return ledger_number(ledger, "SELECT coalesce(max(seq), 0) FROM records WHERE job = ? AND life = ?",
                        VALUES(of_u64(job), of_u64(life)), ret);
}

/* Reads three counts and then the columns of STATISTICS, from column `at` on. */
static void statistics_read(sqlite3_stmt *s, int at, Statistics *ret) {
        *ret = (Statistics){
                .n_env_steps = column_u64(s, at),
                .n_episodes = column_u64(s, at + 1),
                .policy_version = column_u64(s, at + 2),
        };
        at += 3;
#define X(name, unit) ret->name = column_double(s, at++);
        STATISTICS(X)
#undef X
}

static void record_read(sqlite3_stmt *s, Record *ret) {
        Record record = {
                .life = column_u64(s, 0),
                .seq = column_u64(s, 1),
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

int ledger_records_some(Ledger *ledger, uint64_t job, const LedgerPosition *after, unsigned most,
                int (*each)(const Record *record, void *userdata), void *userdata) {
        _cleanup_statement_ sqlite3_stmt *statement = NULL;
        int r;

        assert(ledger);
        assert(after);
        assert(each);

#define X(column, field, comment) ", r." #column
#define S(name, unit)             ", s." #name
        r = ledger_query(ledger,
                        /* clang-format off */
                        "SELECT r.life, r.seq, r.actor, r.sha256, " REPEATED
                        RECORD_COLUMNS(X) ", s.n_env_steps, s.n_episodes, s.policy_version" STATISTICS(S)
                        " FROM records r JOIN jobs j ON j.id = r.job "
                        "LEFT JOIN statistics s USING (job, life, seq) "
                        "WHERE r.job = ? AND (r.life, r.seq) > (?, ?) ORDER BY r.life, r.seq LIMIT ?",
                        /* clang-format on */
                        VALUES(of_u64(job), of_u64(after->life), of_u64(after->seq), of_u64(most)),
                        &statement);
#undef S
#undef X
        if (r < 0)
                return r;
        while ((r = ledger_next(ledger, statement)) > 0) {
                Record record;

                record_read(statement, &record);
                r = each(&record, userdata);
                if (r != 0)
                        return r;
        }
        return r;
}

static LedgerRound round_read(sqlite3_stmt *statement) {
        LedgerRound round = {
                .round = column_u64(statement, 0),
                .n_actors = (uint32_t) sqlite3_column_int64(statement, 1),
                .emulated_nsec = column_u64(statement, 2),
        };

        statistics_read(statement, 3, &round.statistics);
        return round;
}

/* Only rounds that count: those after the checkpoint at which a later life began are left out, whether that
 * life has repeated them or not. */
#define S(name, unit) ", s." #name
static const char rounds_sql[] =
                "WITH counting AS (SELECT r.round, r.life, r.seq, r.decision_n_actors, "
                "r.emulated_round_nsec "
                "  FROM records r JOIN jobs j ON j.id = r.job "
                "  WHERE r.job = ?1 AND r.kind = 6 AND r.round > ?2 AND NOT " REPEATED "), "
                "numbered AS (SELECT *, row_number() OVER (ORDER BY round) AS i, count(*) OVER () AS n "
                "FROM counting) "
                "SELECT r.round, r.decision_n_actors, r.emulated_round_nsec, "
                "  s.n_env_steps, s.n_episodes, s.policy_version" STATISTICS(
                                S) " FROM numbered r LEFT JOIN statistics s ON s.job = ?1 "
                                   "AND s.life = r.life AND s.seq = r.seq "
                                   "WHERE r.n <= ?3 OR r.i * ?3 / r.n <> (r.i - 1) * ?3 / r.n "
                                   "ORDER BY r.round";
#undef S

int ledger_rounds(Ledger *ledger, uint64_t job, uint64_t after, unsigned most, LedgerRound **ret,
                size_t *ret_n) {
        _cleanup_statement_ sqlite3_stmt *statement = NULL;
        _cleanup_free_ LedgerRound *rows = NULL;
        size_t n = 0, n_allocated = 0;
        int r;

        assert(ledger);
        assert(ret);
        assert(ret_n);

        r = ledger_query(ledger, rounds_sql, VALUES(of_u64(job), of_u64(after), of_u64(most)), &statement);
        if (r < 0)
                return r;
        while ((r = ledger_next(ledger, statement)) > 0) {
                r = ledger_rows_grow(&rows, &n_allocated, n, sizeof(*rows));
                if (r < 0)
                        return r;
                rows[n++] = round_read(statement);
        }
        if (r < 0)
                return r;

        *ret_n = n;
        *ret = TAKE_PTR(rows);
        return 0;
}
