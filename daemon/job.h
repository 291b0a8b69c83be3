/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A job: queued → starting → running → ending → ended. It has lives: when a process other than an actor
 * dies, the next life continues from the newest checkpoint in the ledger. Only the ledger's row is stored;
 * everything else here is restored after a restart. */
#pragma once

#include "daemon/hold.h"
#include "daemon/job-context.h"
#include "daemon/launch.h"
#include "daemon/log.h"
#include "daemon/plan.h"
#include "daemon/bill/price.h"
#include "daemon/progress.h"
#include "daemon/scheduler/scheduler.h"
#include "daemon/trade.h"
#include "include/launch.h"
#include "lib/environments.h"

#define JOB_STATES(X)       \
        X(QUEUED, "queued") \
        X(STARTING, "starting") X(RUNNING, "running") X(ENDING, "ending") X(ENDED, "ended")

#define JOB_FROZEN_WORD "frozen"

typedef enum JobState {
#define X(name, word) JOB_##name,
        JOB_STATES(X)
#undef X
                        _JOB_STATE_MAX,
        _JOB_STATE_INVALID = -EINVAL,
} JobState;

typedef struct CheckpointSearch CheckpointSearch;
typedef struct JobReplay JobReplay;

struct Job {
        JobContext *context;
        LedgerJob row;
        JobState state;
        char *path; /* the object's path on the bus */
        JobSettings settings;
        PriceSheet *sheet;

        Progress progress;
        bool progress_loaded; /* `progress` has the sums that the properties show */
        bool records_loaded;  /* data that only records have are loaded, too: curve, estimates, faults */
        int records_error;    /* the errno with which the records could not be read; 0: they could */
        SchedulerState scheduler;
        SchedulerCache scheduler_cache;
        LedgerDecision decision; /* the newest one */
        bool decision_unsaved;   /* `decision` has not been passed to the ledger yet */
        unsigned n_long_calls;   /* long calls about the job that are not answered yet */

        /* the running life */
        CheckpointSearch *search; /* for the life's checkpoint; NULL: no search is under way */
        LaunchCall *launch;
        LaunchAnswer answer;
        PlanLink *link;
        int pid_fd;
        sd_event_source *pid_source, *deadline, *runtime_timer, *backoff, *watch;
        uint64_t watch_asked_usec,
                        /* when the invoker was asked for an answer (0: no answer is due), and the slowest
                         * answer so far */
                        watch_slowest_usec;
        /* how long the invoker of a given-up life did not answer; 0: it did answer */
        uint64_t silent_usec;
        bool link_over, exited, adopting, kill_tried;
        bool was_kept; /* at its last deadline the invoker waited for the ledger, the disk or its learner */
        struct JobSettling {
                /* asked: the spawner has to read or remove the cgroup, and has not answered; known: it
                 * has answered, or the daemon has given up */
                bool asked, known;
                bool closed; /* the life has its last record, or needs none */
                unsigned n_tries;
                int error;     /* why there is no reading */
                uint64_t nsec; /* the reading of the cgroup's CPU time */
                sd_event_source *retry;
        } settling;
        /* with Shares=simppo:NAME (trading.c) */
        struct JobTrade {
                TradeState state;
                TradePolicy *policy;
                LaunchCall *call; /* a question to the spawner about the weight; NULL: none */
                uint32_t bid;     /* 0: none yet */
                int last;         /* the action of the last trade, or TRADE_NO_ACTION */
                TradeSpeed speed;
        } trade;
        bool clearing;      /* the job is over, and its cgroup is being removed */
        bool launch_failed; /* the launch of the life failed */
        bool life_hopeless; /* another life would fail in the same way */
        /* the invoker reported something impossible, so no more of its records are read */
        bool disbelieved;
        char *life_error;      /* why the daemon gave this life up; NULL: it did not */
        int life_error_number; /* the positive errno for which the life did not begin; 0: none is known */
        /* why the life is given up when the deadline passes; NULL: the reason is given elsewhere */
        const char *deadline_what;
        unsigned n_delays; /* how often the next life could not begin and was put off */
        uint64_t resume_round;
        Record held; /* a record from the spool that is not in the ledger yet */
        bool has_held;
        uint64_t acknowledged;
        Plan plan; /* the plan as it was sent */
        uint64_t stop_deadline_nsec;
        uint64_t turn_usec;      /* CLOCK_BOOTTIME: when it left the queue, was adopted, or began to run */
        const char *back_reason; /* why the job is sent back to the queue; NULL: it is not */
        int stderr_fd;           /* in run mode: the caller's standard error */
        Directories directories; /* as the submitter opened them; a restart may lose some */

        /* How the job ended, from the moment when this is known. It is announced only when it is durable. */
        struct JobEnd {
                bool noted, queued, durable; /* the end is known; passed to the ledger; committed */
                bool has_policy;
                uint32_t end;   /* PlanEnd */
                char *sentence; /* why the job ended so; NULL: its result says all */
                uint64_t usec;
                uint8_t policy_sha256[32];
        } end;
        /* the errno with which the last checkpoint failed; the invoker writes it again. 0: it has not
         * failed */
        int waits_checkpoint;
        bool disk_said;         /* it was logged that the user has reached MaxDiskPerUser= */
        bool files_counted;     /* the bytes of the job's files were counted in this life */
        uint64_t prune_round;   /* the newest checkpoint whose row is not committed yet; 0: none */
        uint64_t durable_round; /* the newest one with a committed row; older ones may be removed. 0: none */

        bool uncounted; /* the user's daily spending in the ledger may lack costs of the job */
        /* CLOCK_BOOTTIME: when the ledger last counted the job, as far as this daemon knows */
        uint64_t counted_usec;

        Hold hold; /* of a queued job: why it does not start although MaxJobs= may allow it */

        bool unsaved; /* `row` has changes that the ledger does not have yet */

        /* for the bus */
        unsigned changes; /* JobChange */
        sd_event_source *changes_timer;

        unsigned news; /* JobNews */
        GList work;    /* its link in the list of jobs with news; data is NULL while it is in no list */
};

/* job-state.c */
const char *job_state_to_string(JobState state);
static inline bool job_active(const Job *job) {
        return job->state == JOB_STARTING || job->state == JOB_RUNNING || job->state == JOB_ENDING;
}
/* The first of the job's directories that is not open any more. Only the job's submitter can open it again.
 * _DIRECTORY_KIND_MAX: all are open. */
static inline DirectoryKind job_lost_directory(const Job *job) {
        DirectoryKind kind = 0;

        while (kind < _DIRECTORY_KIND_MAX &&
                        (job->directories.fds[kind] >= 0 || !environment_directory(&job->settings, kind)))
                kind++;
        return kind;
}
/* Whether the job can continue in another life without loss. Evaluations and verifications cannot, since
 * they write no checkpoint; nor can a job that has lost a directory which only its submitter can open
 * again. */
static inline bool job_can_resume(const Job *job) {
        return job->row.purpose == LAUNCH_TRAIN && job_lost_directory(job) == _DIRECTORY_KIND_MAX;
}
static inline bool job_may_go_back(const Job *job) {
        return (job->state == JOB_STARTING || job->state == JOB_RUNNING) && job_can_resume(job) &&
               job->row.end_wanted == PLAN_END_NOT && !job->backoff;
}
/* The state that users see. A job in the queue that a user froze is "frozen". */
const char *job_state_word(const Job *job);
/* Whether the newest life has records that the daemon has not read yet. They outlive the invoker. */
bool job_has_unread(const Job *job);
/* The job's SchedulerKind: only training has a scheduler. */
uint32_t job_scheduler_kind(const Job *job);
void job_set_state(Job *job, JobState state);
void job_set_fault(Job *job, const char *sentence);
/* Writes the job's row into the ledger. A failure is logged, and the next change of the job tries again. */
int job_save(Job *job);
void job_log_begin(LogEntry *entry, const Job *job, Message message);
void job_say_leftover(const Job *job, const char *reason);
char **job_limits_missing(const Job *job); /* The names of missing limits; g_strfreev(). */

/* job.c. On success the job takes over the content of the row, and the row is empty. -ENOMEM: another try
 * may succeed. Any other error: the row's text or its price sheet cannot be parsed any more. */
int job_new(JobContext *context, LedgerJob *row, Job **ret);
/* The job of a row of the ledger. -ENOENT: there is no such row; -EINVAL: its text cannot be parsed any
 * more. */
int job_of_row(JobContext *context, uint64_t id, Job **ret);
/* Marks a job as failed in the ledger, since the daemon can make no Job of its row. On failure the ledger
 * still says that the job has not ended. */
int job_row_end(JobContext *context, LedgerJob *row);
/* Releases all resources of the job's present life. */
void job_life_clear(Job *job);
Job *job_free(Job *job);
/* Whether the job was told to end, and its learner still has an order: an update, or the last checkpoint. */
bool job_learner_ends(const Job *job);

/* Reads the job's records from the ledger into its progress, unless this was done before. anew: reads them
 * in any case, since the last records of an ended life have become waste. */
int job_load_progress(Job *job, bool anew);
/* Does the work of job_load_progress() in portions of at most `most` records. job_replay_some() returns 1 if
 * there are more. */
JobReplay *job_replay_new(Job *job);
JobReplay *job_replay_free(JobReplay *replay);
int job_replay_some(JobReplay *replay, unsigned most);
/* Makes a replay that passes each record to add() and not to the job's progress. Repeated work is marked as
 * wasted. */
JobReplay *job_replay_for(Job *job, void (*add)(const Record *record, void *userdata), void *userdata);
/* Loads the properties and the bill of an ended job. It uses the job's row if possible, since a long job has
 * a million records. */
int job_load_summary(Job *job);
/* Also loads the data that rows lack, from the records: totals at each round, estimates, faults. */
int job_load_records(Job *job);
/* Gives the job the figures that a replay (job_replay_new()) has made in `reader`, a Job of the same row. */
void job_take_records(Job *job, Job *reader);
