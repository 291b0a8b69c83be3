/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Jobs and checkpoints in the ledger. They have few rows, so each function here makes its change durable
 * before it returns. */
#include "daemon/ledger/private.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "lib/cleanup.h"

/* X(kind, column, member): the columns of a job's row, except for id and life. kind: how the value of the
 * struct's member is written and read. These columns are written with the row. */
#define COLUMNS_ONCE(X)                           \
        X(number, uid, uid)                       \
        X(number, purpose, purpose)               \
        X(number, n_episodes, n_episodes)         \
        X(number, submitted_usec, submitted_usec) \
        X(text, text, text)                       \
        X(text, file_name, file_name)             \
        X(text, overrides, overrides)             \
        X(text, sheet, sheet)                     \
        X(text, files, files)                     \
        X(blob, scheduler_data, scheduler_data)   \
        X(text, tag, tag)

/* These are written with the row, and by ledger_job_update(). */
#define COLUMNS_CHANGING(X)                                       \
        X(number, started_usec, started_usec)                     \
        X(number, ended_usec, ended_usec)                         \
        X(text, state, state)                                     \
        X(text, result, result)                                   \
        X(text_or_null, fault, fault)                             \
        X(hash, policy_sha256, policy_sha256)                     \
        X(text_or_null, distribution, distribution)               \
        X(text_or_null, distribution_reason, distribution_reason) \
        X(number, distribution_life, distribution_life)           \
        X(number, learners, n_learners)                           \
        X(number, preempted, n_preempted)                         \
        X(number, back_usec, back_usec)                           \
        X(number, paused_usec, paused_usec)                       \
        X(number, frozen_usec, frozen_usec)                       \
        X(number, end_wanted, end_wanted)

/* These are written by other functions, after the row. */
#define COLUMNS_ELSEWHERE(X)                  \
        X(text_or_null, summary, summary)     \
        X(number, trimmed_usec, trimmed_usec) \
        X(number, alerts, n_alerts)

/* These are written with the row, and only lists read them. */
#define COLUMNS_SHOWN(X)                          \
        X(text_or_null, environment, environment) \
        X(text_or_null, description, description) \
        X(text_or_null, currency, currency)

#define COLUMNS_READ(X) COLUMNS_ONCE(X) COLUMNS_CHANGING(X) COLUMNS_ELSEWHERE(X)
#define COLUMNS_NEW(X)  COLUMNS_ONCE(X) COLUMNS_CHANGING(X) COLUMNS_SHOWN(X)

#define X_NAME(kind, column, member) ", " #column
#define X_MARK(kind, column, member) ", ?"
#define X_SET(kind, column, member)  ", " #column " = ?"
#define X_OF(kind, column, member)   , OF_##kind(member)

#define OF_number(member)       of_u64(job->member)
#define OF_text(member)         of_text(job->member)
#define OF_text_or_null(member) of_text_or_null(job->member)
#define OF_hash(member)         of_hash(job->member, job->has_policy)
#define OF_blob(member)         of_blob(job->member, job->n_##member)

#define FREE_number(member)
#define FREE_hash(member)
#define FREE_text(member)         free(job->member);
#define FREE_text_or_null(member) free(job->member);
#define FREE_blob(member)         free(job->member);

void ledger_job_done(LedgerJob *job) {
        if (!job)
                return;
#define X(kind, column, member) FREE_##kind(member)
        COLUMNS_READ(X)
        COLUMNS_SHOWN(X)
#undef X
        *job = (LedgerJob){};
}

static int column_text(sqlite3_stmt *statement, int at, char **ret) {
        const unsigned char *text = sqlite3_column_text(statement, at);
        char *copy;

        if (!text) {
                *ret = NULL;
                return 0;
        }
        copy = strdup((const char *) text);
        if (!copy)
                return -ENOMEM;
        *ret = copy;
        return 0;
}

static bool column_hash(sqlite3_stmt *statement, int at, uint8_t ret[32]) {
        if (sqlite3_column_bytes(statement, at) != 32)
                return false;
        memcpy(ret, sqlite3_column_blob(statement, at), 32);
        return true;
}

static int column_blob(sqlite3_stmt *statement, int at, void **ret, size_t *ret_n) {
        size_t n = (size_t) sqlite3_column_bytes(statement, at);
        void *copy = NULL;

        if (n > 0) {
                copy = malloc(n);
                if (!copy)
                        return -ENOMEM;
                memcpy(copy, sqlite3_column_blob(statement, at), n);
        }
        *ret = copy;
        *ret_n = n;
        return 0;
}

/* On failure the caller frees what was read. */
static int columns_read(sqlite3_stmt *statement, LedgerJob *job) {
        int at = 0, r;

        job->id = column_u64(statement, at++);
        job->life = column_u64(statement, at++);
#define READ_number(member) job->member = (typeof(job->member)) column_u64(statement, at++);
#define READ_text(member)                               \
        r = column_text(statement, at++, &job->member); \
        if (r < 0)                                      \
                return r;
#define READ_text_or_null(member) READ_text(member)
#define READ_hash(member)         job->has_policy = column_hash(statement, at++, job->member);
#define READ_blob(member)                                                 \
        r = column_blob(statement, at++, &job->member, &job->n_##member); \
        if (r < 0)                                                        \
                return r;
#define X(kind, column, member) READ_##kind(member)
        COLUMNS_READ(X)
#undef X
        return 0;
}

static int job_read(sqlite3_stmt *statement, LedgerJob *ret) {
        LedgerJob job = {};
        int r;

        r = columns_read(statement, &job);
        if (r < 0) {
                ledger_job_done(&job);
                return r;
        }
        *ret = job;
        return 0;
}

int ledger_job_add(Ledger *ledger, LedgerJob *job) {
        int r;

        assert(ledger);
        assert(job);

        r = ledger_look(ledger);
        if (r < 0)
                return r;
        r = ledger_write(ledger,
                        "INSERT INTO jobs (life" COLUMNS_NEW(X_NAME) ") VALUES (?" COLUMNS_NEW(X_MARK) ")",
                        VALUES(of_u64(job->life) COLUMNS_NEW(X_OF)));
        if (r < 0)
                return r;
        job->id = (uint64_t) sqlite3_last_insert_rowid(ledger->db);
        return 0;
}

int ledger_job_update(Ledger *ledger, const LedgerJob *job) {
        int r;

        assert(ledger);
        assert(job);

        r = ledger_look(ledger);
        if (r < 0)
                return r;
        r = ledger_write(ledger, "UPDATE jobs SET life = ?" COLUMNS_CHANGING(X_SET) " WHERE id = ?",
                        VALUES(of_u64(job->life) COLUMNS_CHANGING(X_OF), of_u64(job->id)));
        if (r < 0)
                return r;
        return sqlite3_changes(ledger->db) == 1 ? 0 : -ENOENT;
}

int ledger_job_alerted(Ledger *ledger, uint64_t id, uint64_t n_alerts) {
        int r;

        assert(ledger);

        r = ledger_look(ledger);
        return r < 0 ? r
                     : ledger_write(ledger, "UPDATE jobs SET alerts = ? WHERE id = ?",
                                       VALUES(of_u64(n_alerts), of_u64(id)));
}

int ledger_job_get(Ledger *ledger, uint64_t id, LedgerJob *ret) {
        _cleanup_statement_ sqlite3_stmt *statement = NULL;
        int r;

        assert(ledger);
        assert(ret);

        r = ledger_first(ledger, "SELECT id, life" COLUMNS_READ(X_NAME) " FROM jobs WHERE id = ?",
                        VALUES(of_u64(id)), &statement);
        return r < 0 ? r : job_read(statement, ret);
}

int ledger_job_ended(Ledger *ledger, uint64_t id, uint32_t *ret_uid, uint64_t *ret_ended_usec) {
        _cleanup_statement_ sqlite3_stmt *statement = NULL;
        int r;

        assert(ledger);
        assert(ret_uid);
        assert(ret_ended_usec);

        /* If no daemon could read the job's row, the job has no end time, and the time of its submission
         * counts. */
        r = ledger_first(ledger,
                        "SELECT uid, iif(state = 'ended', max(ended_usec, submitted_usec), 0) FROM jobs "
                        "WHERE id = ?",
                        VALUES(of_u64(id)), &statement);
        if (r < 0)
                return r;
        *ret_uid = (uint32_t) sqlite3_column_int64(statement, 0);
        *ret_ended_usec = column_u64(statement, 1);
        return 0;
}

int ledger_job_disk(Ledger *ledger, uint64_t id, uint64_t bytes) {
        int r;

        assert(ledger);

        r = ledger_begin(ledger);
        if (r < 0)
                return r;
        r = ledger_write(ledger,
                        "INSERT OR IGNORE INTO files SELECT id, uid, 0 FROM jobs WHERE id = ?1 AND ?2 > 0",
                        VALUES(of_u64(id), of_u64(bytes)));
        if (r >= 0)
                r = ledger_write(ledger, "UPDATE files SET bytes = ?2 WHERE job = ?1 AND bytes <> ?2",
                                VALUES(of_u64(id), of_u64(bytes)));
        return ledger_end(ledger, r);
}

int ledger_disk(Ledger *ledger, uint32_t uid, uint64_t but_job, uint64_t *ret_bytes) {
        assert(ledger);
        assert(ret_bytes);

        return ledger_number(ledger,
                        "SELECT max(0, coalesce((SELECT bytes FROM disk WHERE uid = ?1), 0) "
                        "- coalesce((SELECT bytes FROM files WHERE job = ?2 AND uid = ?1), 0))",
                        VALUES(of_u64(uid), of_u64(but_job)), ret_bytes);
}

int ledger_jobs_live(Ledger *ledger, GArray *ids) {
        _cleanup_statement_ sqlite3_stmt *statement = NULL;
        int r;

        assert(ledger);
        assert(ids);

        r = ledger_query(ledger,
                        "SELECT id FROM jobs INDEXED BY jobs_live WHERE state <> 'ended' ORDER BY id",
                        NO_VALUES, &statement);
        if (r < 0)
                return r;
        while ((r = ledger_next(ledger, statement)) > 0) {
                uint64_t id = (uint64_t) sqlite3_column_int64(statement, 0);

                g_array_append_val(ids, id);
        }
        return r;
}

/* A position after every possible record. */
static const LedgerPosition position_end = { INT64_MAX, INT64_MAX };

int ledger_checkpoint_newest(Ledger *ledger, uint64_t job, LedgerCheckpoint *ret) {
        return ledger_checkpoint_before(ledger, job, &position_end, ret);
}

int ledger_checkpoint_before(
                Ledger *ledger, uint64_t job, const LedgerPosition *position, LedgerCheckpoint *ret) {
        _cleanup_statement_ sqlite3_stmt *statement = NULL;
        LedgerCheckpoint checkpoint = { .job = job };
        const char *name;
        int r;

        assert(ledger);
        assert(position);
        assert(ret);

        r = ledger_first(ledger,
                        "SELECT life, seq, round, name, sha256, scheduler FROM checkpoints "
                        "WHERE job = ? AND (life, seq) < (?, ?) ORDER BY life DESC, seq DESC LIMIT 1",
                        VALUES(of_u64(job), of_u64(position->life), of_u64(position->seq)), &statement);
        if (r < 0)
                return r;

        checkpoint.life = column_u64(statement, 0);
        checkpoint.seq = column_u64(statement, 1);
        checkpoint.round = column_u64(statement, 2);
        name = column_string(statement, 3);
        if (!name || strlen(name) >= sizeof(checkpoint.name) ||
                        !column_hash(statement, 4, checkpoint.sha256))
                return -EUCLEAN;
        strcpy(checkpoint.name, name);
        r = column_blob(statement, 5, &checkpoint.scheduler, &checkpoint.scheduler_bytes);
        if (r < 0)
                return r;

        *ret = checkpoint;
        return 0;
}

int ledger_checkpoints_forget(Ledger *ledger, uint64_t job, const LedgerPosition *after) {
        assert(ledger);
        assert(after);

        return ledger_write(ledger, "DELETE FROM checkpoints WHERE job = ? AND (life, seq) > (?, ?)",
                        VALUES(of_u64(job), of_u64(after->life), of_u64(after->seq)));
}
