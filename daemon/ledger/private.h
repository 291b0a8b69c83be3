/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shared by the files of the ledger: the open database, the columns of a record, errors. No other file
 * includes this one. */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <sys/types.h>
#include "daemon/ledger/ledger.h"
#include "lib/cleanup.h"

#define LEDGER_APPLICATION_ID 0x61637431 /* "act1": file(1) and ledger_open() recognise a ledger by it */

/* A spool holds SPOOL_RECORDS, and the daemon commits at least once for each full spool. Two full spools may
 * wait for space on a full disk. */
#define LEDGER_PENDING_MAX     (2u * SPOOL_RECORDS)
#define LEDGER_CHECKPOINTS_MAX 256u
#define LEDGER_ENDS_MAX        4096u /* ends of jobs that may wait for a commit; as many costs, too */

/* The columns that lists show, in the order of LedgerListed. An index holds all of them. */
#define LIST_COLUMNS                                                                                        \
        "id, uid, state, result, submitted_usec, started_usec, ended_usec, environment, description, tag, " \
        "currency, rounds, env_steps, return_mean, cost_full"

/* X(column, field of Record, comment): quantities that are integers. Each has a column of its own, so that
 * users can query them without actord's programs. Unsigned 64-bit values keep their bits, which matters only
 * above 2^63. `actor` and `sha256` are separate, since they may be NULL. */
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

/* Like RECORD_COLUMNS_1(), for the columns of schema 4. */
#define RECORD_COLUMNS_4(X)               \
        X(scope_cpu_nsec, scope_cpu_nsec, \
                        "kinds ended and lost: what the cgroup of the life counted; 0: there was none")

/* Like RECORD_COLUMNS_1(), for the columns of schema 7. */
#define RECORD_COLUMNS_7(X)                                                            \
        X(node, node, "of the cluster, where the actor ran; 0: on the job's own host") \
        X(n_cpus, n_cpus, "kind node: CPUs that were allocated")

#define RECORD_COLUMNS_8(X)                                                                   \
        X(idle_nsec, use.idle_nsec, "kind node: of emulated_nsec, nothing was ordered there") \
        X(waited_nsec, use.waited_nsec,                                                       \
                        "kind node: from asking for it to its start; kind round: of "         \
                        "emulated_round_nsec, rollouts waited for nodes")                     \
        X(sent_bytes, use.sent_bytes, "kind node: by the job's own host")                     \
        X(received_bytes, use.received_bytes, "kind node: by the job's own host")             \
        X(billing_milli, use.billing_milli, "kind node: thousandths of the cluster's billing unit")

#define RECORD_COLUMNS(X) RECORD_COLUMNS_1(X) RECORD_COLUMNS_4(X) RECORD_COLUMNS_7(X) RECORD_COLUMNS_8(X)

/* If a job's processes died and were started again, the next life repeats their work after the last
 * checkpoint. Then this work is waste, from the start of that life on. Views and queries derive this from
 * the checkpoints; no column holds it. r: the record, j: the row of its job */
#define REPEATED                                                                      \
        "(r.life < j.life AND r.seq > coalesce((SELECT max(c.seq) FROM checkpoints c" \
        " WHERE c.job = r.job AND c.life = r.life), 0))"

struct Ledger {
        sqlite3 *db;
        char *path; /* NULL: in memory */
        dev_t device;
        ino_t inode;
        off_t bytes;  /* the file's size as last seen */
        bool full;    /* ledger_is_full() */
        int index_fd; /* the index of the write-ahead file; -EBADF: it has not been needed yet */
        void (*written)(void *userdata);
        void *written_userdata;
        int lock_fd; /* keeps out other daemons and ledger_open_to_read(), but not sqlite3 */
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
        LedgerCheckpoint *checkpoints; /* they wait for a commit, like records */
        size_t n_checkpoints, n_checkpoints_allocated;
        LedgerEnd *ends;
        size_t n_ends, n_ends_allocated;
        LedgerSpent *spent;
        size_t n_spent, n_spent_allocated;
};

/* An SQL expression for a sum in a total. The sum stops at the highest integer, since SQLite would turn a
 * larger sum into a real number. */
#define LEDGER_SUM(column) #column " = min(" #column " + excluded." #column ", 9223372036854775807)"
#define LEDGER_TOTALS                                                           \
        LEDGER_SUM(n_jobs)                                                      \
        ", " LEDGER_SUM(full_nano) ", " LEDGER_SUM(paper_nano) ", " LEDGER_SUM( \
                        n_env_steps) ", " LEDGER_SUM(cpu_nsec)

enum { LEDGER_BUSY_MSEC = 2000 }; /* how long to wait for a write of another program */

/* Watches the write-ahead file. After each commit, calls the function that ledger_on_written() set, and
 * then, if the file is long, copies it into the ledger, as SQLite does by default. */
void ledger_watch_wal(Ledger *ledger);

/* A negative errno for a result of SQLite; 0 for SQLITE_OK, ROW and DONE. */
int ledger_error(Ledger *ledger, int rc);
/* Call this before each write outside of a transaction. -ESTALE: the ledger's name leads to another file, or
 * to none; -EUCLEAN: the file was cut short. */
int ledger_look(Ledger *ledger);
int ledger_exec(Ledger *ledger, const char *sql);
int ledger_exec_all(Ledger *ledger, const char *const *sql, size_t n);
int ledger_prepare(Ledger *ledger, const char *sql, sqlite3_stmt **ret);
/* A value for a `?` of a statement. The data of a text or a blob must last as long as the statement. */
typedef struct Value {
        enum { VALUE_NULL, VALUE_U64, VALUE_DOUBLE, VALUE_TEXT, VALUE_BLOB } type;
        union {
                uint64_t number;
                double real;
                struct {
                        const void *data;
                        size_t bytes;
                };
        };
} Value;
#define VALUES(...) (const Value[]){ __VA_ARGS__ }, ELEMENTSOF(((const Value[]){ __VA_ARGS__ }))
#define NO_VALUES   NULL, 0

/* Runs a statement that returns no rows; 0 or -errno. */
int ledger_write(Ledger *ledger, const char *sql, const Value *values, size_t n);
/* Like ledger_write(), for a prepared statement that is kept. */
int ledger_run(Ledger *ledger, sqlite3_stmt *statement, const Value *values, size_t n);
/* Starts a query, before its first row. */
int ledger_query(Ledger *ledger, const char *sql, const Value *values, size_t n, sqlite3_stmt **ret);
/* Goes to the next row of a query. 1: it is there; 0: there is none. */
int ledger_next(Ledger *ledger, sqlite3_stmt *statement);
/* Starts a query at its first row. -ENOENT: there is no row. */
int ledger_first(Ledger *ledger, const char *sql, const Value *values, size_t n, sqlite3_stmt **ret);
/* The only number that a query returns. -ENOENT: there is no row. */
int ledger_number(Ledger *ledger, const char *sql, const Value *values, size_t n, uint64_t *ret);

/* One transaction. ledger_begin() checks the file first. ledger_end() gets the result so far: it commits if
 * this is 0, otherwise rolls back, and returns the final result. */
int ledger_begin(Ledger *ledger);
int ledger_end(Ledger *ledger, int r);
int ledger_insert_pending(Ledger *ledger); /* inside a transaction; does not empty the queues */
int ledger_insert_decisions(Ledger *ledger);
int ledger_insert_ends(Ledger *ledger); /* also inserts the checkpoints */
int ledger_insert_spent(Ledger *ledger);
void ledger_ends_clear(Ledger *ledger);
int ledger_prepare_decisions(Ledger *ledger);

/* Makes room for one more after n rows of `size` bytes. rows: the address of the pointer to them. 0 or
 * -ENOMEM. */
int ledger_rows_grow(void *rows, size_t *n_allocated, size_t n, size_t size);

double column_double(sqlite3_stmt *statement, int at); /* NULL: NaN */

/* Makes the file of a new ledger, which must not exist yet. On failure no half-made file is left. */
int ledger_create(const char *path);
/* Lets a new ledger file give freed pages back to the file system. Does nothing if the file has pages
 * already: it would write at each start, even on a full disk. */
int ledger_make_room_returnable(Ledger *ledger);
int ledger_schema_apply(Ledger *ledger); /* creates or checks the schema; -EUCLEAN: it is foreign or newer */
/* Whether the schema is the newest. 1: this version's statements fit it; 0: the schema is older. */
int ledger_schema_is_newest(Ledger *ledger);

static inline void statement_finalizep(sqlite3_stmt **statement) {
        (void) sqlite3_finalize(*statement);
}
#define _cleanup_statement_ __attribute__((cleanup(statement_finalizep)))

static inline Value of_u64(uint64_t number) {
        return (Value){ .type = VALUE_U64, .number = number };
}

/* Integers of SQLite are signed: a larger sum or time is stored as the highest one. */
static inline Value of_capped(uint64_t number) {
        return of_u64(number < INT64_MAX ? number : INT64_MAX);
}

/* A number as a value. NaN becomes NULL: not measured. */
static inline Value of_double(double real) {
        return (Value){ .type = VALUE_DOUBLE, .real = real };
}

static inline Value of_text_or_null(const char *text) {
        return text ? (Value){ .type = VALUE_TEXT, .data = text } : (Value){};
}

static inline Value of_text(const char *text) {
        return of_text_or_null(text ?: "");
}

static inline Value of_blob(const void *data, size_t bytes) {
        return bytes > 0 ? (Value){ .type = VALUE_BLOB, .data = data, .bytes = bytes } : (Value){};
}

static inline Value of_hash(const uint8_t hash[32], bool has) {
        return of_blob(hash, has ? 32 : 0);
}

static inline uint64_t column_u64(sqlite3_stmt *statement, int at) {
        return (uint64_t) sqlite3_column_int64(statement, at);
}

static inline const char *column_string(sqlite3_stmt *statement, int at) {
        return (const char *) sqlite3_column_text(statement, at);
}
