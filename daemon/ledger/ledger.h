/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The ledger: the SQLite database (WAL, synchronous=FULL) in which jobs, records and checkpoints are kept.
 * Records are committed in groups, so short rounds share a commit. A call that commits blocks for one
 * fsync. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "daemon/scheduler/scheduler.h"
#include "include/record.h"

#define LEDGER_SCHEMA 9

typedef struct Ledger Ledger;

typedef struct LedgerJob {     /* the struct owns the strings: ledger_job_done() */
        uint64_t id, life;     /* life: the newest one that was started */
        uint32_t uid, purpose; /* LaunchPurpose */
        uint64_t n_episodes;   /* of an evaluation */
        uint64_t submitted_usec, started_usec, ended_usec; /* CLOCK_REALTIME; 0: not yet */
        char *state;                                       /* queued, running or ended */
        char *result;                                      /* a word of PLAN_ENDS */
        char *fault;                                       /* a sentence, or NULL */
        char *text, *file_name, *overrides; /* as submitted; overrides: one "Section.Key=VALUE" a line */
        char *sheet; /* the price sheet's text at submission, so that a bill never changes afterwards */
        char *files; /* "key=path below the job's directory", one a line */
        uint8_t policy_sha256[32];
        bool has_policy;
        char *environment, *description,
                        *currency; /* for lists; written once, with the row, and not read back with it */
        /* the input of the job's scheduler (a trained one, or decisions to repeat), as submitted; NULL:
         * none */
        void *scheduler_data;
        size_t n_scheduler_data;
        /* The distribution that Policy=auto chose, the reason, and the first life that runs with it; NULL:
         * Policy=auto has not chosen yet */
        char *distribution, *distribution_reason;
        uint64_t distribution_life, n_learners;
        char *tag;             /* [Job] Tag=; written at submission and at the end */
        char *summary;         /* the sums of all records, written at the end; NULL: not yet */
        uint64_t trimmed_usec; /* when the removal of its records began; 0: all are there */
        /* how often the job went back to the queue; since when it is there again; 0: it is not there */
        uint64_t n_preempted, back_usec;
        uint64_t paused_usec; /* how long the job waited in the queue after earlier returns, in sum */
        uint64_t frozen_usec; /* when a user froze the job; 0: it is not frozen */
        uint32_t end_wanted;  /* PlanEnd: how the job was asked to end; PLAN_END_NOT: it was not */
        uint64_t n_alerts;    /* how many amounts of CostAlert= were reached and announced */
} LedgerJob;
void ledger_job_done(LedgerJob *job);

typedef struct LedgerPosition {
        uint64_t life, seq;
} LedgerPosition;

typedef struct LedgerCheckpoint {
        uint64_t job, life, seq, round;
        char name[64]; /* a file below the job's state directory */
        uint8_t sha256[32];
        void *scheduler; /* the scheduler's state, serialised; NULL: it has none */
        size_t scheduler_bytes;
} LedgerCheckpoint;

/* Opens or makes a ledger. path: a file, or ":memory:". 0; -EBUSY: another daemon has it; -ETXTBSY: another
 * program has been writing to it for some seconds; -EUCLEAN: the file is damaged, is not a ledger, or has a
 * newer schema; else -errno. */
int ledger_open(const char *path, Ledger **ret);
/* Like ledger_open(). If the last daemon was killed, the whole file is read; before that, `checking` gets
 * its size. */
int ledger_open_checked(const char *path, void (*checking)(uint64_t bytes), Ledger **ret);
/* Opens the ledger for reading only. Nothing is written to the ledger or beside it, with one exception: the
 * index (-shm) of a write-ahead file that was left behind. The index has the readers' locks, and no record.
 * Any number of readers may open the ledger. A ledger of an older schema is copied into memory; -EFBIG: it
 * is too large for that. -EBUSY: a daemon has it. */
int ledger_open_to_read(const char *path, void (*checking)(uint64_t bytes), Ledger **ret);
Ledger *ledger_close(Ledger *ledger);
/* Whether the ledger was opened while the disk had no space. Until it is opened again, no other program can
 * read it, and a write may fail. */
bool ledger_is_full(const Ledger *ledger);
/* Sets a function that is called after each commit. */
void ledger_on_written(Ledger *ledger, void (*written)(void *userdata), void *userdata);
/* The size of the write-ahead file. */
uint64_t ledger_wal_bytes(const Ledger *ledger);
/* Copies the write-ahead file into the ledger's file, and cuts it. 0: done; 1: an open transaction of a
 * reader prevents it. */
int ledger_fold(Ledger *ledger);
/* A process that reads the ledger in an open transaction; 0: not known. */
pid_t ledger_reader(Ledger *ledger);
/* The meaning of a negative errno of the functions below, as a part of a sentence. */
const char *ledger_error_words(int error);

int ledger_job_add(Ledger *ledger, LedgerJob *job); /* sets job->id; durable when it returns */
/* Sets how many amounts of CostAlert= have been announced; durable when it returns. */
int ledger_job_alerted(Ledger *ledger, uint64_t id, uint64_t n_alerts);
/* Updates all columns that may change until the job has ended, except those that another ledger_job_…()
 * writes; durable when it returns. -ENOENT: there is no such job. */
int ledger_job_update(Ledger *ledger, const LedgerJob *job);
int ledger_job_get(Ledger *ledger, uint64_t id, LedgerJob *ret); /* -ENOENT */
/* The job's user, and when it ended; 0: it has not ended. -ENOENT: there is no such job. */
int ledger_job_ended(Ledger *ledger, uint64_t id, uint32_t *ret_uid, uint64_t *ret_ended_usec);
/* Sets the disk space of a job's files; written only if the number has changed. */
int ledger_job_disk(Ledger *ledger, uint64_t id, uint64_t bytes);
/* The disk space of the files of a user's jobs. but_job: a job that does not count; 0: all count. */
int ledger_disk(Ledger *ledger, uint32_t uid, uint64_t but_job, uint64_t *ret_bytes);
/* Adds the ids (uint64_t) of all jobs that have not ended, the oldest first. */
int ledger_jobs_live(Ledger *ledger, GArray *ids);

/* A job as lists show it. The strings are valid until `each` returns. */
typedef struct LedgerListed {
        uint64_t id;
        uint32_t uid;
        const char *state, *result;
        uint64_t submitted_usec, started_usec, ended_usec;
        /* environment NULL: an older actord wrote the row, and all fields below are unknown */
        const char *environment, *description, *tag, *currency;
        /* as of the job's end */
        uint64_t round, n_env_steps;
        double return_mean, cost_full;
} LedgerListed;
/* Lists jobs with numbers below `before` (0: all), the newest first, from an index with all columns of a
 * list. each: returns 0 to go on; any other value ends the list and is returned. 0: there are no more. */
int ledger_list(Ledger *ledger, uint64_t before, int (*each)(const LedgerListed *job, void *userdata),
                void *userdata);
/* Finds at most `most` jobs, the newest first, whose rows an older actord wrote without some columns.
 * ledger_job_describe() fills in these columns. */
int ledger_older(Ledger *ledger, uint64_t *ret, size_t most, size_t *ret_n);
int ledger_job_describe(Ledger *ledger, uint64_t id, const char *environment, const char *description,
                const char *currency);

/* The newest ended job without a summary, except the jobs of ledger_trim_never(). -ENOENT: there is none. */
int ledger_unsummed(Ledger *ledger, uint64_t *ret);

/* Records are only queued here; ledger_commit() makes them durable in one transaction. A record that exists
 * already (same job, life, seq) is ignored, so reading a spool twice changes nothing. -ENOBUFS: commit
 * first. */
int ledger_append(Ledger *ledger, uint64_t job, const Record *record);
size_t ledger_n_pending(const Ledger *ledger);
int ledger_commit(Ledger *ledger); /* -ENOSPC, -EIO: nothing is lost, call again later */
/* Tests whether the ledger can be written, by writing existing data again. Call this while nothing is
 * pending. 0 or -errno. */
int ledger_probe(Ledger *ledger);
int ledger_last_seq(Ledger *ledger, uint64_t job, uint64_t life, uint64_t *ret); /* 0: no record */

/* Reads the first `most` committed records of a job after a position, in (life, seq) order. A position of
 * zeros: from the first record. each: returns 0 to go on. Work of an earlier life after its last checkpoint
 * was repeated, so its records have `wasted` set. */
int ledger_records_some(Ledger *ledger, uint64_t job, const LedgerPosition *after, unsigned most,
                int (*each)(const Record *record, void *userdata), void *userdata);

/* Queues a checkpoint like a record. It is committed with the records that were queued before it, and counts
 * from then on. -ENOBUFS: commit first. */
int ledger_checkpoint_append(Ledger *ledger, const LedgerCheckpoint *checkpoint);
int ledger_checkpoint_newest(
                Ledger *ledger, uint64_t job, LedgerCheckpoint *ret); /* -ENOENT; free ret->scheduler */
/* Reads the newest checkpoint before a position; -ENOENT: there is none. Free ret->scheduler. */
int ledger_checkpoint_before(
                Ledger *ledger, uint64_t job, const LedgerPosition *position, LedgerCheckpoint *ret);
/* Checkpoints after this position do not count any more, so the work of earlier lives after it becomes
 * waste. A position of zeros: no checkpoint counts. */
int ledger_checkpoints_forget(Ledger *ledger, uint64_t job, const LedgerPosition *after);

/* A decision, and the figures from which it was made. life and record: the last record of the round before,
 * whose statistics the scheduler saw; record 0: there was no round before. */
typedef struct LedgerDecision {
        uint64_t life, round, id, record;
        uint32_t n_actors;
        uint32_t taken; /* whose rollout the round took, as in Decision; only set on reading */
        /* set on reading: the decision was made for an earlier round and is still in force, and only `taken`
         * is of this round */
        bool carried;
        RoundFacts facts;
        DecisionWhy why;
        Statistics statistics; /* of the record `record`; only set on reading */
} LedgerDecision;

/* Queues a decision like a record; it is committed with the records around it. A decision that exists
 * already is ignored. -ENOBUFS: commit first. */
int ledger_decision_append(Ledger *ledger, uint64_t job, const LedgerDecision *decision);
/* Reads the decisions for the rounds after `after`, in the order of the rounds; at most the first `most`. If
 * several lives completed a round, the newest one counts. A decision is listed for the round for which it
 * was made. Where rounds overlap, it is listed again for each later round that took one actor's rollout
 * under it. */
int ledger_decisions(Ledger *ledger, uint64_t job, uint64_t after, unsigned most, LedgerDecision **ret,
                size_t *ret_n);

/* A row for GetRounds and GetSeries. ledger_rounds() reads the rounds that have ended and whose number is
 * above `after`, but not those that a later life repeats. If there are more than `most`, it leaves out some
 * at even distances. */
typedef struct LedgerRound {
        uint64_t round;
        uint32_t n_actors;
        Statistics statistics;
        uint64_t emulated_nsec; /* of this round */
} LedgerRound;
int ledger_rounds(Ledger *ledger, uint64_t job, uint64_t after, unsigned most, LedgerRound **ret,
                size_t *ret_n);

/* Finds the next job whose rows can be removed: it has ended and has a summary. A job whose removal has
 * begun comes first. Otherwise it is the job that ended first, if it ended before the given time. -ENOENT:
 * there is none. */
int ledger_trim_next(Ledger *ledger, uint64_t ended_before_usec, uint64_t *ret_job);
/* Durably removes a limited number of rows (records, statistics and decisions), and notes when the removal
 * began. *ret_done: no row is left. -EBUSY: the job has not ended. */
int ledger_trim_step(Ledger *ledger, uint64_t job, uint64_t now_usec, unsigned most, bool *ret_done);
/* Marks the job so that its records are never removed. */
int ledger_trim_never(Ledger *ledger, uint64_t job);
/* The bytes of the file's used pages, without free ones. */
int ledger_used_bytes(Ledger *ledger, uint64_t *ret);
/* Gives some free pages back to the file system, if the file supports this; otherwise SQLite uses them again
 * later. 1: there are more. */
int ledger_give_back(Ledger *ledger, unsigned most_pages);

/* The end of a job: the new columns of its row, and its part of the totals of its user, month, tag, currency
 * and price sheet. */
typedef struct LedgerEnd {
        LedgerJob row;
        char *currency, *sheet_name;
        uint64_t full_nano, paper_nano, n_env_steps, cpu_nsec;
        /* for lists */
        uint64_t round;
        double return_mean, cost_full;
} LedgerEnd;

/* Queues an end like a record. It is committed in one transaction with the records that were queued before.
 * The needed columns of the row are copied. An end may be queued a second time: the totals count the job
 * only once. -ENOBUFS: commit first. */
int ledger_end_append(Ledger *ledger, const LedgerEnd *end);
/* How many records and decisions of a job wait for a commit. */
size_t ledger_n_pending_of(const Ledger *ledger, uint64_t job);

/* The cost of a job so far, which all its records give, queued and committed ones. */
typedef struct LedgerSpent {
        uint64_t job;
        uint32_t uid;
        char day[11]; /* YYYY-MM-DD */
        char currency[24];
        uint64_t full_nano;
} LedgerSpent;
/* Queues a job's cost. It replaces a queued cost of the same job, and is committed in one transaction with
 * the queued records. If the cost has grown since the job's last committed cost, this transaction adds the
 * difference to the cost of `uid` on `day`. -ENOBUFS: commit first. */
int ledger_spent_note(Ledger *ledger, const LedgerSpent *spent);
/* The cost of a user's jobs on a day, as committed; 0 for a currency without a row. */
int ledger_spending(Ledger *ledger, uint32_t uid, const char *day, const char *currency, uint64_t *ret_nano);
/* Calls each() with a user's cost on a day in each currency; each() returns 0 to go on. */
int ledger_spending_foreach(Ledger *ledger, uint32_t uid, const char *day,
                int (*each)(const char *currency, uint64_t nano, void *userdata), void *userdata);

/* Writes a job's row, which keeps its number from another ledger. */
int ledger_job_put(Ledger *ledger, const LedgerJob *job);
/* Writes all records, decisions, checkpoints and ends that wait for a commit in one ledger into another
 * ledger, which must have the rows of the jobs. They also stay queued in the first ledger. */
int ledger_rest_write(Ledger *from, Ledger *to);
/* Adds all rows of the ledger at `path`, which ledger_rest_write() wrote, in one transaction.
 * *ret_n_records: how many records were new. */
int ledger_rest_take(Ledger *ledger, const char *path, uint64_t *ret_n_records);

/* Totals of ended jobs, by user, month of the end (YYYY-MM, UTC), tag, currency and price sheet. */
typedef struct LedgerTotal {
        uint32_t uid;
        const char *month, *tag, *currency, *sheet_name; /* valid while `each` runs */
        uint64_t n_jobs, full_nano, paper_nano, n_env_steps, cpu_nsec;
} LedgerTotal;
/* Reads totals in the order of months, then of users. each: returns 0 to go on. uid UINT32_MAX: the totals
 * of all users. */
int ledger_totals_foreach(Ledger *ledger, uint32_t uid,
                int (*each)(const LedgerTotal *total, void *userdata), void *userdata);
