/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Jobs and checkpoints in the ledger. They have few rows, so each function here makes its change durable
 * before it returns. */
#include "daemon/ledger/private.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "lib/cleanup.h"

#define JOB_COLUMNS                                                                             \
        "id, life, uid, purpose, n_episodes, submitted_usec, started_usec, ended_usec, "        \
        "state, result, fault, text, file_name, overrides, sheet, files, policy_sha256, "       \
        "scheduler_data, distribution, distribution_reason, distribution_life, learners, tag, " \
        "summary, trimmed_usec, preempted, back_usec, paused_usec, frozen_usec, alerts, end_wanted"

void ledger_job_done(LedgerJob *job) {
        if (!job)
                return;
        free(job->state);
        free(job->result);
        free(job->fault);
        free(job->text);
        free(job->file_name);
        free(job->overrides);
        free(job->sheet);
        free(job->files);
        free(job->environment);
        free(job->description);
        free(job->currency);
        free(job->scheduler_data);
        free(job->distribution);
        free(job->distribution_reason);
        free(job->tag);
        free(job->summary);
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

static int job_read(sqlite3_stmt *statement, LedgerJob *ret) {
        LedgerJob job = {
                .id = column_u64(statement, 0),
                .life = column_u64(statement, 1),
                .uid = (uint32_t) sqlite3_column_int64(statement, 2),
                .purpose = (uint32_t) sqlite3_column_int64(statement, 3),
                .n_episodes = column_u64(statement, 4),
                .submitted_usec = column_u64(statement, 5),
                .started_usec = column_u64(statement, 6),
                .ended_usec = column_u64(statement, 7),
                .distribution_life = column_u64(statement, 20),
                .n_learners = column_u64(statement, 21),
                .trimmed_usec = column_u64(statement, 24),
                .n_preempted = column_u64(statement, 25),
                .back_usec = column_u64(statement, 26),
                .paused_usec = column_u64(statement, 27),
                .frozen_usec = column_u64(statement, 28),
                .n_alerts = column_u64(statement, 29),
                .end_wanted = (uint32_t) sqlite3_column_int64(statement, 30),
        };
        const struct {
                char **to;
                int at;
        } strings[] = { { &job.state, 8 }, { &job.result, 9 }, { &job.fault, 10 }, { &job.text, 11 },
                { &job.file_name, 12 }, { &job.overrides, 13 }, { &job.sheet, 14 }, { &job.files, 15 },
                { &job.distribution, 18 }, { &job.distribution_reason, 19 }, { &job.tag, 22 },
                { &job.summary, 23 } };
        int r;

        for (size_t i = 0; i < ELEMENTSOF(strings); i++) {
                r = column_text(statement, strings[i].at, strings[i].to);
                if (r < 0) {
                        ledger_job_done(&job);
                        return r;
                }
        }
        job.has_policy = column_hash(statement, 16, job.policy_sha256);
        r = column_blob(statement, 17, &job.scheduler_data, &job.n_scheduler_data);
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
                        "INSERT INTO jobs (" JOB_COLUMNS ", environment, description, currency) "
                        "VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL, 0, "
                        "0, ?, NULL, 0, 0, 0, 0, 0, 0, 0, ?, ?, ?)",
                        VALUES(of_u64(job->life), of_u64(job->uid), of_u64(job->purpose),
                                        of_u64(job->n_episodes), of_u64(job->submitted_usec),
                                        of_u64(job->started_usec), of_u64(job->ended_usec),
                                        of_text(job->state), of_text(job->result),
                                        of_text_or_null(job->fault), of_text(job->text),
                                        of_text(job->file_name), of_text(job->overrides),
                                        of_text(job->sheet), of_text(job->files),
                                        of_hash(job->policy_sha256, job->has_policy),
                                        of_blob(job->scheduler_data, job->n_scheduler_data),
                                        of_text(job->tag), of_text_or_null(job->environment),
                                        of_text_or_null(job->description), of_text_or_null(job->currency)));
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
        r = ledger_write(ledger,
                        "UPDATE jobs SET life = ?, started_usec = ?, ended_usec = ?, state = ?, "
                        "result = ?, fault = ?, "
                        "policy_sha256 = ?, distribution = ?, distribution_reason = ?, "
                        "distribution_life = ?, learners = ?, "
                        "preempted = ?, back_usec = ?, paused_usec = ?, frozen_usec = ?, end_wanted = ? "
                        "WHERE id = ?",
                        VALUES(of_u64(job->life), of_u64(job->started_usec), of_u64(job->ended_usec),
                                        of_text(job->state), of_text(job->result),
                                        of_text_or_null(job->fault),
                                        of_hash(job->policy_sha256, job->has_policy),
                                        of_text_or_null(job->distribution),
                                        of_text_or_null(job->distribution_reason),
                                        of_u64(job->distribution_life), of_u64(job->n_learners),
                                        of_u64(job->n_preempted), of_u64(job->back_usec),
                                        of_u64(job->paused_usec), of_u64(job->frozen_usec),
                                        of_u64(job->end_wanted), of_u64(job->id)));
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

        r = ledger_first(ledger, "SELECT " JOB_COLUMNS " FROM jobs WHERE id = ?", VALUES(of_u64(id)),
                        &statement);
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
