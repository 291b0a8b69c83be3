/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A job: queued → starting → running → ending → ended. It has lives: when anything but an actor dies, the
 * next life goes on from the newest checkpoint that the ledger knows. The ledger's row is what lasts;
 * everything else here is found again after a restart. */
#pragma once

#include "daemon/hold.h"
#include "daemon/job-context.h"
#include "daemon/launch.h"
#include "daemon/log.h"
#include "daemon/plan.h"
#include "daemon/bill/price.h"
#include "daemon/progress.h"
#include "daemon/scheduler/scheduler.h"
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
        char *path; /* on the bus */
        JobSettings settings;
        PriceSheet *sheet;

        Progress progress;
        bool progress_loaded; /* what the properties say */
        bool records_loaded;  /* and the rest: curve, estimates, faults */
        SchedulerState scheduler;
        LedgerDecision decision; /* the newest one */
        bool decision_unsaved;   /* not passed to the ledger yet */
        unsigned n_long_calls;   /* that are being worked on */

        /* the life that runs */
        CheckpointSearch *search; /* for what it begins with; NULL: that is known */
        LaunchCall *launch;
        LaunchAnswer answer;
        PlanLink *link;
        int pid_fd;
        sd_event_source *pid_source, *deadline, *runtime_timer, *backoff, *watch;
        uint64_t watch_asked_usec,
                        /* when its invoker was asked for a word (0: it has answered), and its slowest
                         * answer */
                        watch_slowest_usec;
        /* of a life that is given up: for how long its invoker did not answer; 0: it did */
        uint64_t silent_usec;
        bool link_over, exited, adopting, kill_tried;
        bool was_kept; /* at the last look at its deadline it waited for the daemon */
        struct JobSettling {
                bool asked, known; /* the spawner: for the reading of the cgroup */
                bool closed;       /* the life's last record is made */
                unsigned n_tries;
                int error;     /* why the reading is unknown */
                uint64_t nsec; /* the reading */
                sd_event_source *retry;
        } settling;
        bool clearing;      /* the job is over: its cgroup is being removed */
        bool launch_failed; /* the life's */
        bool life_hopeless; /* another life would fail the same */
        /* its invoker reported something impossible: no more of its records is read */
        bool disbelieved;
        char *life_error;      /* why the daemon gave this life up; NULL: it did not */
        int life_error_number; /* that kept its invoker from beginning, positive; 0: it began */
        /* why the life is given up when the deadline passes; NULL: something else says why */
        const char *deadline_what;
        unsigned n_delays; /* how often the next life could not begin for lack of something */
        uint64_t resume_round;
        Record held; /* read from the spool, and not yet passed to the ledger */
        bool has_held;
        uint64_t acknowledged;
        Plan plan;           /* as sent */
        uint32_t end_wanted; /* PlanEnd */
        uint64_t stop_deadline_nsec;
        uint64_t turn_usec;      /* CLOCK_BOOTTIME: when it last left the queue, or was adopted */
        const char *back_reason; /* why it is to go back to the queue; NULL: it is not */
        int stderr_fd;           /* run mode: the caller's */
        Directories directories; /* as its submitter opened them; one may be lost at a restart */

        /* How the job ended, from the moment that it is known. It is announced only when it is durable. */
        struct JobEnd {
                bool noted, queued, durable; /* passed to the ledger; committed */
                bool has_policy;
                uint32_t end;   /* PlanEnd */
                char *sentence; /* NULL: nothing failed */
                uint64_t usec;
                uint8_t policy_sha256[32];
        } end;
        /* why the last checkpoint could not be written, and is tried again; 0: it could */
        int waits_checkpoint;
        bool disk_said;         /* logged that its user is at MaxDiskPerUser= */
        bool files_counted;     /* the bytes of its files were counted in this life */
        uint64_t prune_round;   /* the newest checkpoint that waits for its row; 0: none */
        uint64_t durable_round; /* that has it, and replaces others; 0: none */

        bool uncounted; /* it may have cost more than the ledger has counted for its user's day */
        /* CLOCK_BOOTTIME: when the ledger last counted it, as far as this daemon knows */
        uint64_t counted_usec;

        Hold hold; /* queued: why it does not start though a place may be free */

        bool unsaved; /* the row is newer than the ledger's */

        /* the bus */
        unsigned changes; /* JobChange */
        sd_event_source *changes_timer;

        unsigned news; /* JobNews */
        GList work;    /* in the context's list; its data is NULL: it is not in there */
};

/* job-state.c */
const char *job_state_to_string(JobState state);
static inline bool job_active(const Job *job) {
        return job->state == JOB_STARTING || job->state == JOB_RUNNING || job->state == JOB_ENDING;
}
/* The first of the directories that the job names which is not open any more: only its submitter can open
 * it again. _DIRECTORY_KIND_MAX: all are. */
static inline DirectoryKind job_lost_directory(const Job *job) {
        DirectoryKind kind = 0;

        while (kind < _DIRECTORY_KIND_MAX &&
                        (job->directories.fds[kind] >= 0 || !environment_directory(&job->settings, kind)))
                kind++;
        return kind;
}
/* Whether another life of the job loses nothing: an evaluation or verification writes no checkpoint, and a
 * directory that only the submitter can open again is not given up. */
static inline bool job_can_resume(const Job *job) {
        return job->row.purpose == LAUNCH_TRAIN && job_lost_directory(job) == _DIRECTORY_KIND_MAX;
}
static inline bool job_may_go_back(const Job *job) {
        return (job->state == JOB_STARTING || job->state == JOB_RUNNING) && job_can_resume(job) &&
               job->end_wanted == PLAN_END_NOT && !job->backoff;
}
/* The state as users see it: a job in the queue that a user froze is "frozen". */
const char *job_state_word(const Job *job);
/* Whether the newest life has records that were not read yet; they stay when their writer dies. */
bool job_has_unread(const Job *job);
/* SchedulerKind of the job: only training scales. */
uint32_t job_scheduler_kind(const Job *job);
void job_set_state(Job *job, JobState state);
void job_set_fault(Job *job, const char *sentence);
/* Writes the row; a failure is said and tried again at the next change. */
int job_save(Job *job);
void job_log_begin(LogEntry *entry, const Job *job, Message message);
void job_say_leftover(const Job *job, const char *reason);
char **job_limits_missing(const Job *job); /* words; g_strfreev() */

/* job.c. row is taken, and left empty, on success. -EINVAL: its text or sheet does not parse any more. */
int job_new(JobContext *context, LedgerJob *row, Job **ret);
/* The job of a row of the ledger. -ENOENT: there is none; -EINVAL: no job can be made of it any more. */
int job_of_row(JobContext *context, uint64_t id, Job **ret);
/* Ends a row of which no job can be made, as failed. */
void job_row_end(JobContext *context, LedgerJob *row);
/* Releases all that the job holds for its life. */
void job_life_clear(Job *job);
Job *job_free(Job *job);

/* Reads the job's records from the ledger into its progress, unless that was done before. anew: reads them
 * again, since the tail of a life that ended has become waste. */
int job_load_progress(Job *job, bool anew);
/* The same in portions of at most `most` records. job_replay_some() returns 1 if there are more. */
JobReplay *job_replay_new(Job *job);
JobReplay *job_replay_free(JobReplay *replay);
int job_replay_some(JobReplay *replay, unsigned most);
/* The same, but each record goes to add(), with repeated work marked as wasted. */
JobReplay *job_replay_for(Job *job, void (*add)(const Record *record, void *userdata), void *userdata);
/* The properties and the bill of an ended job, out of its row if it can be: a long job has a million
 * records. */
int job_load_summary(Job *job);
/* Loads from the records also what no row has: what had accrued at each round, estimates, faults. */
int job_load_records(Job *job);
