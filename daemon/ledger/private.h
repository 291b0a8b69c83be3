/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files of the ledger share, and no other file includes: the open database, the columns of a
 * record, errors. */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <sys/types.h>
#include "daemon/ledger/ledger.h"

#define LEDGER_APPLICATION_ID \
        0x61637431 /* "act1": file(1) and a second look at open tell our database from another */

/* A spool holds SPOOL_RECORDS and the daemon commits at least once each; two of them may wait for a full
 * disk. */
#define LEDGER_PENDING_MAX     (2u * SPOOL_RECORDS)
#define LEDGER_CHECKPOINTS_MAX 256u
#define LEDGER_ENDS_MAX        4096u /* an end for each job that has not ended */

/* What lists show, in the order of LedgerListed; an index holds all of it. */
#define LIST_COLUMNS                                                                                        \
        "id, uid, state, result, submitted_usec, started_usec, ended_usec, environment, description, tag, " \
        "currency, rounds, env_steps, return_mean, cost_full"

/* X(column, field of Record, comment): quantities that are integers. One column per quantity, so that
 * anyone can ask without our programs; unsigned 64-bit values keep their bits, which matters above 2^63
 * only. `actor` and `sha256` stand apart: they may be NULL. */
#define RECORD_COLUMNS_1(X)                                                                         \
        X(kind, kind, "see table kinds")                                                            \
        X(round, round, "from 1; 0: before the first")                                              \
        X(ordinal, ordinal, "of the actor's invocations, or of the learner's updates")              \
        X(attempt, attempt, "above 0: a retry")                                                     \
        X(cold, cold, "the container was started for this invocation")                              \
        X(wasted, wasted, "its result was thrown away")                                             \
        X(fault, fault, "see table faults; 0: none")                                                \
        X(detail, detail, "of the fault: a signal, a row, an errno")                                \
        X(level, level, "kind started: sandbox level 0 none, 1 process, 2 userns, 3 full")          \
        X(limits_missing, limits_missing, "kind started: bits of the limits that are not enforced") \
        X(end, end, "why no further round starts; 0: it does")                                      \
        X(start_nsec, metered.start_nsec, "since boot, suspend included")                           \
        X(end_nsec, metered.end_nsec, "since boot, suspend included")                               \
        X(cpu_nsec, metered.cpu_nsec, "CPU time since the reading before")                          \
        X(memory_peak_bytes, metered.memory_peak_bytes, "0: not measured")                          \
        X(memory_reserved_bytes, metered.memory_reserved_bytes, "allocated, and billed")            \
        X(emulated_nsec, metered.emulated_nsec, "on the emulated clock")                            \
        X(n_steps, metered.n_steps, "environment steps")                                            \
        X(emulated_round_nsec, emulated_round_nsec, "kind round: the whole round")                  \
        X(decision_id, decision.id, "kind round: the decision it ran under")                        \
        X(decision_n_actors, decision.n_actors, "kind round: its number of actors")

/* The same, of what schema 4 added. */
#define RECORD_COLUMNS_4(X)               \
        X(scope_cpu_nsec, scope_cpu_nsec, \
                        "kinds ended and lost: what the cgroup of the life counted; 0: there was none")

#define RECORD_COLUMNS(X) RECORD_COLUMNS_1(X) RECORD_COLUMNS_4(X)

struct Ledger {
        sqlite3 *db;
        char *path; /* NULL: in memory */
        dev_t device;
        ino_t inode;
        off_t bytes;  /* as last seen: it only grows */
        bool full;    /* as of its opening: it can be read */
        int index_fd; /* of the write-ahead file's index; -EBADF: it was not asked for */
        void (*written)(void *userdata);
        void *written_userdata;
        int lock_fd; /* a second daemon is refused by it; readers are not */
        sqlite3_stmt *insert_record, *insert_statistics, *complete_round, *insert_decision;
        struct Pending {
                uint64_t job;
                Record record;
        } * pending;
        size_t n_pending, n_allocated;
        struct PendingDecision {
                uint64_t job;
                LedgerDecision decision;
        } * decisions;
        size_t n_decisions, n_decisions_allocated;
        LedgerCheckpoint *checkpoints; /* pending, as records are */
        size_t n_checkpoints, n_checkpoints_allocated;
        LedgerEnd *ends;
        size_t n_ends, n_ends_allocated;
        LedgerSpent *spent;
        size_t n_spent, n_spent_allocated;
};

/* An SQL expression: the sum in a total, which stays at its highest rather than become no integer. */
#define LEDGER_SUM(column) #column " = min(" #column " + excluded." #column ", 9223372036854775807)"
#define LEDGER_TOTALS                                                           \
        LEDGER_SUM(n_jobs)                                                      \
        ", " LEDGER_SUM(full_nano) ", " LEDGER_SUM(paper_nano) ", " LEDGER_SUM( \
                        n_env_steps) ", " LEDGER_SUM(cpu_nsec)

enum { LEDGER_BUSY_MSEC = 2000 }; /* of a person's own write transaction; readers never block us */

/* After each commit: ledger_on_written(), and what SQLite does by itself otherwise. */
void ledger_watch_wal(Ledger *ledger);

/* A negative errno for what SQLite returned; for SQLITE_OK, ROW and DONE 0. */
int ledger_error(Ledger *ledger, int rc);
/* Before each write. -ESTALE: another file has its name, or none; -EUCLEAN: it was cut short. */
int ledger_look(Ledger *ledger);
int ledger_exec(Ledger *ledger, const char *sql);
int ledger_prepare(Ledger *ledger, const char *sql, sqlite3_stmt **ret);
/* The one number that this asks for. -ENOENT: there is no row. */
int ledger_integer(Ledger *ledger, const char *sql, int64_t *ret);
int ledger_step_done(Ledger *ledger, sqlite3_stmt *statement); /* runs, resets; 0 or -errno */
/* Brings a query to its first row. -ENOENT: it has none. */
int ledger_row(Ledger *ledger, sqlite3_stmt *statement);
/* Calls `row` for each row of a query; another answer than 0 ends it, and is returned. */
int ledger_each(Ledger *ledger, sqlite3_stmt *statement, int (*row)(sqlite3_stmt *statement, void *userdata),
                void *userdata);
/* A statement about a job: ?1 is its number, ?2, if there is one, another number. */
int ledger_exec_job(Ledger *ledger, const char *sql, uint64_t job, uint64_t number);

/* One transaction: end takes the result so far, commits at 0, else rolls back, and returns what became of
 * it. */
int ledger_begin(Ledger *ledger);
int ledger_end(Ledger *ledger, int r);
int ledger_insert_pending(Ledger *ledger); /* within a transaction; the queues themselves stay */
int ledger_insert_decisions(Ledger *ledger);
int ledger_insert_ends(Ledger *ledger); /* and checkpoints */
int ledger_insert_spent(Ledger *ledger);
void ledger_ends_clear(Ledger *ledger);
int ledger_prepare_decisions(Ledger *ledger);

/* Room for one more after n rows of `size` bytes; rows: where the pointer to them is. 0, -ENOMEM. */
int ledger_rows_grow(void *rows, size_t *n_allocated, size_t n, size_t size);

double column_double(sqlite3_stmt *statement, int at); /* NULL: NaN */

int ledger_schema_apply(Ledger *ledger); /* creates or checks; -EUCLEAN: not ours, or newer */

static inline void statement_finalizep(sqlite3_stmt **statement) {
        (void) sqlite3_finalize(*statement);
}
#define _cleanup_statement_ __attribute__((cleanup(statement_finalizep)))

static inline void bind_u64(sqlite3_stmt *statement, int at, uint64_t value) {
        (void) sqlite3_bind_int64(statement, at, (sqlite3_int64) value);
}

static inline void bind_text(sqlite3_stmt *statement, int at, const char *text) {
        (void) sqlite3_bind_text(statement, at, text ?: "", -1, SQLITE_STATIC);
}

static inline void bind_hash(sqlite3_stmt *statement, int at, const uint8_t hash[32], bool has) {
        if (has)
                (void) sqlite3_bind_blob(statement, at, hash, 32, SQLITE_STATIC);
        else
                (void) sqlite3_bind_null(statement, at);
}

static inline void bind_blob(sqlite3_stmt *statement, int at, const void *data, size_t n) {
        if (n > 0)
                (void) sqlite3_bind_blob64(statement, at, data, n, SQLITE_STATIC);
        else
                (void) sqlite3_bind_null(statement, at);
}
