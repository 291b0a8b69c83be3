/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The ledger: SQLite (WAL, synchronous=FULL), the one place where jobs, records and checkpoints last.
 * Committed in groups. Blocking, but only for one fsync a group; never called once a round. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "daemon/scheduler/scheduler.h"
#include "include/record.h"

#define LEDGER_SCHEMA 8

typedef struct Ledger Ledger;

typedef struct LedgerJob {     /* strings are owned by the struct: ledger_job_done() */
        uint64_t id, life;     /* life: the newest that was started */
        uint32_t uid, purpose; /* LaunchPurpose */
        uint64_t n_episodes;   /* of an evaluation */
        uint64_t submitted_usec, started_usec, ended_usec; /* CLOCK_REALTIME; 0: not yet */
        char *state;                                       /* queued, running, ended */
        char *result;                                      /* a word of PLAN_ENDS */
        char *fault;                                       /* a sentence, or NULL */
        char *text, *file_name, *overrides; /* as submitted; overrides: one "Section.Key=VALUE" a line */
        char *sheet; /* the price sheet's text as of the submission: a bill never changes afterwards */
        char *files; /* one "key=path below the job's directory" a line */
        uint8_t policy_sha256[32];
        bool has_policy;
        char *environment, *description,
                        *currency; /* for lists; written once, with the row, and not read with it */
        void *scheduler_data;      /* as submitted; NULL: none */
        size_t n_scheduler_data;
        /* The distribution that Policy=auto chose, why, and the first life that runs with it; NULL: none
         * yet */
        char *distribution, *distribution_reason;
        uint64_t distribution_life, n_learners;
        char *tag;             /* [Job] Tag=; written when it is submitted and when it ends */
        char *summary;         /* of all its records, as of its end; NULL: it has none yet */
        uint64_t trimmed_usec; /* when its records began to be removed; 0: all are there */
        uint64_t n_preempted,
                        back_usec; /* times back to the queue; when the last one began, 0: it is not there */
        uint64_t paused_usec;      /* there, of the times that are over */
        uint64_t frozen_usec;      /* when a user froze it; 0: it is not frozen */
        uint64_t n_alerts;         /* amounts of CostAlert= that were reached, and told */
} LedgerJob;
void ledger_job_done(LedgerJob *job);

typedef struct LedgerPosition {
        uint64_t life, seq;
} LedgerPosition;

typedef struct LedgerCheckpoint {
        uint64_t job, life, seq, round;
        char name[64]; /* file below the job's state directory */
        uint8_t sha256[32];
        void *scheduler; /* its state, serialised; NULL if it has none */
        size_t scheduler_bytes;
} LedgerCheckpoint;

/* path: a file, or ":memory:". 0; -EBUSY: another daemon has it; -EUCLEAN: not a ledger, or of a newer
 * schema; else -errno. */
int ledger_open(const char *path, Ledger **ret);
/* The same. After an end that was not clean the whole file is read: before that `checking` hears of how
 * many bytes. */
int ledger_open_checked(const char *path, void (*checking)(uint64_t bytes), Ledger **ret);
/* The same for reading only. Nothing is written, neither to the ledger nor beside it, but for the index of
 * a write-ahead file that was left behind (-shm), which has the readers' locks and no record. Any number of
 * readers may have it. One of an older schema is copied into memory: -EFBIG if it is too large for that.
 * -EBUSY: a daemon has it. */
int ledger_open_to_read(const char *path, void (*checking)(uint64_t bytes), Ledger **ret);
Ledger *ledger_close(Ledger *ledger);
/* It was opened where there was no space: it can be read, and not written before it is opened again where
 * there is. */
bool ledger_is_full(const Ledger *ledger);
/* Called after each commit. */
void ledger_on_written(Ledger *ledger, void (*written)(void *userdata), void *userdata);
/* The size of the write-ahead file. */
uint64_t ledger_wal_bytes(const Ledger *ledger);
/* Copies the write-ahead file into the ledger's file, and cuts it. 0: done; 1: an open transaction of a
 * reader prevents it. */
int ledger_fold(Ledger *ledger);
/* A process that has such a transaction open; 0: it cannot be known. */
pid_t ledger_reader(Ledger *ledger);
/* Says in part of a sentence what a negative errno of the functions below means. */
const char *ledger_error_words(int error);

int ledger_job_add(Ledger *ledger, LedgerJob *job); /* sets job->id; durable on return */
/* How many amounts of CostAlert= are told; durable at once. */
int ledger_job_alerted(Ledger *ledger, uint64_t id, uint64_t n_alerts);
int ledger_job_update(Ledger *ledger,
                const LedgerJob *job); /* state, result, fault, life, times, policy, distribution; durable */
int ledger_job_get(Ledger *ledger, uint64_t id, LedgerJob *ret); /* -ENOENT */
/* The job's user, and when it ended; 0: it has not ended. -ENOENT: there is no such job. */
int ledger_job_ended(Ledger *ledger, uint64_t id, uint32_t *ret_uid, uint64_t *ret_ended_usec);
/* The disk space of a job's files; written only if the number has changed. */
int ledger_job_disk(Ledger *ledger, uint64_t id, uint64_t bytes);
/* The disk space of a user's jobs' files without those of one job; 0: of all jobs. */
int ledger_disk(Ledger *ledger, uint32_t uid, uint64_t but_job, uint64_t *ret_bytes);
/* Every job that has not ended, oldest first. */
int ledger_jobs_foreach(Ledger *ledger, int (*each)(const LedgerJob *job, void *userdata), void *userdata);

/* A job as lists show it; strings are the statement's until `each` returns. */
typedef struct LedgerListed {
        uint64_t id;
        uint32_t uid;
        const char *state, *result;
        uint64_t submitted_usec, started_usec, ended_usec;
        /* environment NULL: an older actord wrote the row, and nothing below is known either */
        const char *environment, *description, *tag, *currency;
        /* as of its end */
        uint64_t round, n_env_steps;
        double return_mean, cost_full;
} LedgerListed;
/* Jobs with numbers below `before` (0: all), newest first, from an index that holds all that is read of a
 * row. each: 0 to go on, else it is returned. 0: there are no more. */
int ledger_list(Ledger *ledger, uint64_t before, int (*each)(const LedgerListed *job, void *userdata),
                void *userdata);
/* Numbers of jobs whose rows an older actord wrote, newest first, at most `most`; and what their rows
 * lack. */
int ledger_older(Ledger *ledger, uint64_t *ret, size_t most, size_t *ret_n);
int ledger_job_describe(Ledger *ledger, uint64_t id, const char *environment, const char *description,
                const char *currency);

/* The newest ended job that has no summary, and is not one whose records stay as they are. -ENOENT. */
int ledger_unsummed(Ledger *ledger, uint64_t *ret);

/* Records are only queued here; ledger_commit() makes them durable in one transaction. A record that is
 * there already (same job, life, seq) is ignored: reading a spool twice changes nothing. -ENOBUFS: commit
 * first. */
int ledger_append(Ledger *ledger, uint64_t job, const Record *record);
size_t ledger_n_pending(const Ledger *ledger);
int ledger_commit(Ledger *ledger); /* -ENOSPC, -EIO: nothing is lost, call again later */
/* Whether it can be written when nothing waits for it: writes what is there already. 0 or -errno. */
int ledger_probe(Ledger *ledger);
int ledger_last_seq(Ledger *ledger, uint64_t job, uint64_t life, uint64_t *ret); /* committed; 0: none */

/* The first `most` committed records of a job behind a position, in (life, seq) order; {}: from the first.
 * each returns 0 to go on. Work of an earlier life beyond its last checkpoint was repeated, so its records
 * come with `wasted` set. */
int ledger_records_some(Ledger *ledger, uint64_t job, const LedgerPosition *after, unsigned most,
                int (*each)(const Record *record, void *userdata), void *userdata);

/* Queued like a record, and committed with the records that were queued before it; it counts from then
 * on. -ENOBUFS: commit first. */
int ledger_checkpoint_append(Ledger *ledger, const LedgerCheckpoint *checkpoint);
int ledger_checkpoint_newest(
                Ledger *ledger, uint64_t job, LedgerCheckpoint *ret); /* -ENOENT; free ret->scheduler */
/* The newest one before a position; -ENOENT. free ret->scheduler. */
int ledger_checkpoint_before(
                Ledger *ledger, uint64_t job, const LedgerPosition *position, LedgerCheckpoint *ret);
/* Those after a position do not count any more: whatever earlier lives did behind it was waste. {}: none
 * counts. */
int ledger_checkpoints_forget(Ledger *ledger, uint64_t job, const LedgerPosition *after);

/* A decision and what it was made from. life and record name the record that closed the round before it
 * (record 0: none did), whose statistics it saw. */
typedef struct LedgerDecision {
        uint64_t life, round, id, record;
        uint32_t n_actors;
        uint32_t taken; /* as Decision has it, of the round; only when read */
        /* set on reading only: the decision was made for an earlier round and still held; only `taken` is
         * of this round */
        bool carried;
        RoundFacts facts;
        DecisionWhy why;
        Statistics statistics; /* of that record; only when read */
} LedgerDecision;

/* Queued like a record, and committed with the records that were queued before and after it; one that is
 * there already is ignored. -ENOBUFS: commit first. */
int ledger_decision_append(Ledger *ledger, uint64_t job, const LedgerDecision *decision);
/* The decisions that rounds after `after` ran under, of the lives that count, in the order of the rounds;
 * at most the first `most`. Each where it was made, and for each round that took one actor. */
int ledger_decisions(Ledger *ledger, uint64_t job, uint64_t after, unsigned most, LedgerDecision **ret,
                size_t *ret_n);

/* Rows of rounds (GetRounds, GetSeries): closed rounds after `after`, thinned evenly to `most`. */
typedef struct LedgerRound {
        uint64_t round;
        uint32_t n_actors;
        Statistics statistics;
        uint64_t emulated_nsec; /* of this round */
} LedgerRound;
int ledger_rounds(Ledger *ledger, uint64_t job, uint64_t after, unsigned most, LedgerRound **ret,
                size_t *ret_n);

/* Jobs that have ended and have a summary, of which rows can be removed: one of which some are, then the
 * one that ended first, if that was before a time. -ENOENT: there is none. */
int ledger_trim_next(Ledger *ledger, uint64_t ended_before_usec, uint64_t *ret_job);
/* Removes at most so many rows of records, statistics and decisions, durably, and writes down when that
 * began. *ret_done: none is left. -EBUSY: it has not ended. */
int ledger_trim_step(Ledger *ledger, uint64_t job, uint64_t now_usec, unsigned most, bool *ret_done);
/* Its records stay. */
int ledger_trim_never(Ledger *ledger, uint64_t job);
/* The bytes of the file's pages in use, free pages left out. */
int ledger_used_bytes(Ledger *ledger, uint64_t *ret);
/* Free pages go back to the file system, some at a time, where the file was made for that; else they are
 * used again. 1: there are more. */
int ledger_give_back(Ledger *ledger, unsigned most_pages);

/* The end of a job: what its row says from then on, and what it adds to the totals of its user, month,
 * tag, currency and sheet. */
typedef struct LedgerEnd {
        LedgerJob row;
        char *currency, *sheet_name;
        uint64_t full_nano, paper_nano, n_env_steps, cpu_nsec;
        /* for lists */
        uint64_t round;
        double return_mean, cost_full;
} LedgerEnd;

/* Queued like a record, and committed in one transaction with the records that were queued before it. The
 * needed members of the row are copied. A second end of the same job changes nothing. -ENOBUFS: commit
 * first. */
int ledger_end_append(Ledger *ledger, const LedgerEnd *end);
/* How many records and decisions of a job wait for a commit. */
size_t ledger_n_pending_of(const Ledger *ledger, uint64_t job);

/* The cost of a job by the records that are queued or committed. Queued like them, once for each job, and
 * committed in one transaction with them: the increase since the last count is added to the day.
 * -ENOBUFS: commit first. */
typedef struct LedgerSpent {
        uint64_t job;
        uint32_t uid;
        char day[11]; /* YYYY-MM-DD */
        char currency[24];
        uint64_t full_nano;
} LedgerSpent;
int ledger_spent_note(Ledger *ledger, const LedgerSpent *spent);
/* The cost of a user's jobs on a day, as committed; 0 for a currency without a row. */
int ledger_spending(Ledger *ledger, uint32_t uid, const char *day, const char *currency, uint64_t *ret_nano);
/* Each returns 0 to go on. */
int ledger_spending_foreach(Ledger *ledger, uint32_t uid, const char *day,
                int (*each)(const char *currency, uint64_t nano, void *userdata), void *userdata);

/* Writes a job's row, which keeps the number that it has in another ledger. */
int ledger_job_put(Ledger *ledger, const LedgerJob *job);
/* Writes all that waits for a commit in one ledger into another one, which has the jobs' rows. It also
 * goes on waiting in the first. */
int ledger_rest_write(Ledger *from, Ledger *to);
/* Takes in all of such a ledger, in one transaction; *ret: how many of its records were new. */
int ledger_rest_take(Ledger *ledger, const char *path, uint64_t *ret_n_records);

/* Totals of ended jobs, by user, month of the end (YYYY-MM, UTC), tag, currency and price sheet. */
typedef struct LedgerTotal {
        uint32_t uid;
        const char *month, *tag, *currency, *sheet_name; /* as long as `each` runs */
        uint64_t n_jobs, full_nano, paper_nano, n_env_steps, cpu_nsec;
} LedgerTotal;
/* In the order of months, then users; each returns 0 to go on. uid UINT32_MAX: those of all users. */
int ledger_totals_foreach(Ledger *ledger, uint32_t uid,
                int (*each)(const LedgerTotal *total, void *userdata), void *userdata);
