/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A job: queued → starting → running → ending → ended. It has lives: when anything but an actor dies, the
 * next life goes on from the newest checkpoint that the ledger knows. The ledger's row is what lasts;
 * everything else here is found again after a restart. */
#pragma once

#include "daemon/hold.h"
#include "daemon/launch.h"
#include "daemon/log.h"
#include "daemon/manager.h"
#include "daemon/plan.h"
#include "daemon/bill/price.h"
#include "daemon/progress.h"
#include "daemon/scheduler/scheduler.h"
#include "include/launch.h"
#include "lib/environments.h"

#define LIVES_MAX             5u /* without a new checkpoint */
#define START_TIMEOUT_USEC    (60ull * 1000 * 1000)
#define STOP_TIMEOUT_USEC     (5ull * 1000 * 1000)
#define EXIT_TIMEOUT_USEC     (10ull * 1000 * 1000)
#define CHANGES_INTERVAL_USEC (100ull * 1000)

#define JOB_STATES(X)       \
        X(QUEUED, "queued") \
        X(STARTING, "starting") X(RUNNING, "running") X(ENDING, "ending") X(ENDED, "ended")

typedef enum JobState {
#define X(name, word) JOB_##name,
        JOB_STATES(X)
#undef X
                        _JOB_STATE_MAX,
        _JOB_STATE_INVALID = -EINVAL,
} JobState;

/* What is to be said of it on the bus: soon, or, with NOW, before anything else happens. */
typedef enum JobChange {
        JOB_CHANGE_STATE = 1,
        JOB_CHANGE_ROUND = 2,
        JOB_CHANGE_REMOVED = 4,
        JOB_CHANGE_NOW = 8,
} JobChange;

/* What became known of it, for job_step(). */
typedef enum JobNews {
        JOB_NEWS_LIFE = 1,   /* its life may be over, or what it waits for at its end be there */
        JOB_NEWS_COMMIT = 2, /* what was queued is durable */
} JobNews;

typedef struct CheckpointSearch CheckpointSearch;

struct Job {
        Manager *manager;
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
        bool decision_unsaved;   /* not in the ledger's hands yet */
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
        uint64_t silent_usec; /* for how long it did not answer, of one that is given up; 0: it does */
        bool link_over, exited, adopting, kill_tried;
        struct JobBooks {
                bool asked, known,
                                /* what its cgroup counted, of the spawner; its last record is made */
                                closed;
                unsigned n_tries;
                int error; /* why it is not known */
                uint64_t nsec;
                sd_event_source *retry;
        } books;
        bool clearing;      /* the job is over: its cgroup is being removed */
        bool launch_failed; /* the life's */
        bool life_hopeless; /* another life would fail the same */
        bool disbelieved;   /* its invoker said what cannot be: no more of its records is read */
        char *life_error;   /* why the daemon gave this life up; NULL: it did not */
        /* what the life is given up for when the deadline passes; NULL: something else says why */
        const char *deadline_what;
        unsigned n_delays; /* how often the next life could not begin for lack of something */
        uint64_t resume_round;
        Record held; /* read from the spool, not yet in the ledger's hands */
        bool has_held;
        uint64_t acknowledged;
        Plan plan;           /* as sent */
        uint32_t end_wanted; /* PlanEnd */
        uint64_t stop_deadline_nsec;
        uint64_t turn_usec;      /* CLOCK_BOOTTIME: when it last left the queue, or was adopted */
        const char *back_reason; /* why it is to go back to the queue; NULL: it is not */
        int stderr_fd;           /* run mode: the caller's */
        /* of Python= or of a model, as its submitter opened it; -EBADF: nobody kept it over a restart */
        int directory_fd;

        /* How the job is over, from when that is known on; nothing of it is said before it is durable. */
        struct JobEnd {
                bool noted, queued, durable; /* in the ledger's hands; in the ledger */
                bool has_policy;
                uint32_t end;   /* PlanEnd */
                char *sentence; /* NULL: nothing failed */
                uint64_t usec;
                uint8_t policy_sha256[32];
        } end;
        /* why the last checkpoint could not be written, and is tried again; 0: it could */
        int waits_checkpoint;
        bool disk_said;         /* that its user is at MaxDiskPerUser= */
        bool files_counted;     /* what its files take, in this life */
        uint64_t prune_round;   /* the newest checkpoint that waits for its row; 0: none */
        uint64_t durable_round; /* that has it, and replaces others; 0: none */

        bool uncounted; /* what it has cost may be more than the ledger has counted for its user's day */
        uint64_t counted_usec; /* CLOCK_BOOTTIME: when it was told, as far as this daemon knows */

        Hold hold; /* queued: why it does not start though a place may be free */

        bool unsaved; /* the row is newer than the ledger's */

        /* the bus */
        unsigned changes; /* JobChange */
        sd_event_source *changes_timer;

        unsigned news; /* JobNews */
        GList work;    /* in the manager's list; its data is NULL: it is not in there */
};

/* jobs.c. Something of it has changed, and is said on the bus. */
void job_changed(Job *job, unsigned changes);
/* job_step() follows soon. */
void job_news(Job *job, unsigned news);
static inline void job_look(Job *job) {
        job_news(job, JOB_NEWS_LIFE);
}
/* Out of the list of what is to be done. */
void job_forget_work(Job *job);

/* job-state.c */
const char *job_state_to_string(JobState state);
static inline bool job_active(const Job *job) {
        return job->state == JOB_STARTING || job->state == JOB_RUNNING || job->state == JOB_ENDING;
}
/* Whether the newest life has records that were not read yet; they stay when their writer dies. */
bool job_has_unread(const Job *job);
void job_set_state(Job *job, JobState state);
void job_set_fault(Job *job, const char *sentence);
/* Writes the row; a failure is said and tried again at the next change. */
int job_save(Job *job);
void job_log_begin(LogEntry *entry, const Job *job, Message message);
void job_say_leftover(const Job *job, const char *reason);
char **job_limits_missing(const Job *job); /* words; g_strfreev() */

/* job.c. row is taken, and left empty, on success. -EINVAL: its text or sheet does not parse any more. */
int job_new(Manager *manager, LedgerJob *row, Job **ret);
/* The job of a row of the ledger. -ENOENT: there is none; -EINVAL: no job can be made of it any more. */
int job_of_row(Manager *manager, uint64_t id, Job **ret);
/* A row that no job can be made of: it has failed, and is not tried again. */
void job_row_end(Manager *manager, LedgerJob *row);
/* Nothing of its life is left. */
void job_life_clear(Job *job);
Job *job_free(Job *job);
/* Records of the ledger → progress; only once, unless asked to do it anew (when a life ended, its tail
 * became waste). */
int job_load_progress(Job *job, bool anew);
/* The same in portions of at most so many records: 1: there are more. */
JobReplay *job_replay_new(Job *job);
JobReplay *job_replay_free(JobReplay *replay);
int job_replay_some(JobReplay *replay, unsigned most);
/* The same, but each record goes to add(), with repeated work marked as wasted. */
JobReplay *job_replay_for(Job *job, void (*add)(const Record *record, void *userdata), void *userdata);
/* The properties and the bill of an ended job, out of its row if it can be: a long job has a million
 * records. */
int job_load_summary(Job *job);
/* Also what is in records alone: what had accrued at each round, estimates, faults. */
int job_load_records(Job *job);

/* job-step.c. What follows from what became known of it (job_news()): the only place where a life or a
 * job is found to be over. */
void job_step(Job *job);
/* Nothing more is waited for: what there is of the job by now is all of it. */
void job_leave(Job *job);

/* job-life.c */
void job_start(Job *job);
/* After a restart of the daemon: connects to what runs, or begins the next life. */
void job_adopt(Job *job);

/* job-turn.c */
void job_turn_begin(Job *job); /* it leaves the queue, or a daemon that was restarted finds it running */
/* Whether it can go back to the queue and lose nothing: an evaluation or verification writes no
 * checkpoint, and a directory that only the submitter can open again is not given up. */
static inline bool job_may_go_back(const Job *job) {
        return (job->state == JOB_STARTING || job->state == JOB_RUNNING) &&
               job->row.purpose == LAUNCH_TRAIN && job->end_wanted == PLAN_END_NOT && !job->backoff &&
               (!environment_directory(&job->settings) || job->directory_fd >= 0);
}
/* After the round in flight. reason: a sentence that lasts. */
void job_go_back(Job *job, const char *reason);
/* Its life has ended for that: it waits for its next turn. */
void job_requeue(Job *job);
/* 0; -ESRCH: it has ended. */
int job_stop(Job *job, uint32_t end, const char *reason);

/* job-end.c. The job is over. It is `ended` when that is durable, and until then `ending`: the commit is
 * tried again by itself, and job_step() follows. */
void job_finish(Job *job, uint32_t end, const char *sentence);
/* The same of a queued job. */
void job_end_queued(Job *job, uint32_t end, const char *sentence);
/* Not worth another try: nothing that could change has failed. */
void job_give_up(Job *job, const char *sentence);
/* If the last record of a life was the job's last, the job is over, and this is queued behind it. */
bool job_end_by_records(Job *job);
/* Behind everything that the job has had recorded; they are one transaction. */
void job_queue_end(Job *job);
/* What its records have come to, into its row and the totals: of a job that an older program ended. Queued
 * as an end is. */
int job_sum_up(Job *job);
/* A daemon was killed after the end was durable and before its invoker knew: that is made up for. */
void job_take_up_end(Job *job);

/* job-watch.c. The invoker has started, or was found again; it has said something. */
void job_watch_start(Job *job);
void job_watch_heard(Job *job);
/* After it the invoker is killed. what: a sentence that lasts, or NULL. */
void job_arm_deadline(Job *job, uint64_t usec, const char *what);

/* job-settle.c. Whether the books of the life that is over are closed, but for a record that the ledger
 * may not take yet; if not, job_look() follows when they are. */
bool job_settle(Job *job);
/* They are in the ledger: the next life begins from what was counted. */
void job_settle_note(Job *job);
/* Of a run that is left, or whose daemon was killed: nothing more is heard of the life, and its books say
 * that they do not know its end. */
void job_settle_blindly(Job *job);
/* Whether the cgroup of a job that is over has gone; as above. */
bool job_clear_away(Job *job);
/* Nothing of this job is left for the spawner to remove. */
void job_answer_forget(Job *job);
/* What the spawner said of the newest life, beside the job's socket: it lasts until the host restarts, as
 * the cgroup does. */
void job_answer_keep(const Job *job);
void job_answer_find(Job *job);

/* job-records.c. 0, also when the ledger is blocked; negative: the spool is nonsense. */
int job_read(Job *job);
/* What the ledger would not take is offered again. Negative: it is still blocked. */
int job_offer_held(Job *job);
void job_send_plan(Job *job);

/* job-schedule.c. closed: the record of the newest closed round; NULL: there is none yet. Decides for the
 * round after it, unless that is done. */
void job_decide(Job *job, const Record *closed);
void job_schedule_anew(Job *job); /* the first round's decision */
/* job-checkpoint.c. The checkpoint that the next life begins with, opened and compared, and its round (0: it
 * is none of this job's); whatever is newer is damaged, was journalled, and counts no more. fd -ENOENT: it
 * begins with nothing; a negative errno. Called at once, or when large files have been read. */
typedef void (*CheckpointChosen)(Job *job, int fd, uint64_t round);
void job_checkpoint_choose(Job *job, CheckpointChosen chosen);
CheckpointSearch *checkpoint_search_free(CheckpointSearch *search);

/* As of the newest checkpoint, or anew; *ret: the records after it are still to be decided on. */
void job_schedule_restore(Job *job, LedgerPosition *ret);
/* Into the ledger's hands: no round may start under a decision that is not there. Negative: it is
 * blocked. */
int job_decision_save(Job *job);
/* job-distribution.c. Where the fragments of the newest life run; *ret_why: a clause to follow "since",
 * NULL: the settings say it. */
uint32_t job_distribution(const Job *job, uint32_t *ret_n_learners, const char **ret_why);
/* Whether the rounds that are being measured are too few to choose by. */
bool job_measures(const Job *job);
/* Chooses when they are enough: into the ledger, and for the life that starts next. */
void job_distribute(Job *job);
/* The life that runs is to end, since the next one runs elsewhere. */
bool job_moves(const Job *job);

/* Scheduler_ of the job: only training scales. */
uint32_t job_scheduler_kind(const Job *job);

/* decisions-bus.c */
int method_get_decisions(sd_bus_message *m, void *userdata, sd_bus_error *error);
/* Also those that no commit had yet. */
int job_decisions(Job *job, uint64_t after, unsigned most, LedgerDecision **ret, size_t *ret_n);

/* decisions-check.c */
int method_check_decisions(sd_bus_message *m, void *userdata, sd_bus_error *error);

/* bill-bus.c */
int method_get_bill(sd_bus_message *m, void *userdata, sd_bus_error *error);
int method_get_bill_under(sd_bus_message *m, void *userdata, sd_bus_error *error);
int method_get_estimates(sd_bus_message *m, void *userdata, sd_bus_error *error);
int method_get_fleets(sd_bus_message *m, void *userdata, sd_bus_error *error);
int method_get_scheduler_bill(sd_bus_message *m, void *userdata, sd_bus_error *error);

/* job-bus.c */
extern const sd_bus_vtable job_vtable[];
/* What job_changed() noted: at once, or not more often than CHANGES_INTERVAL_USEC. */
void job_say_changes(Job *job);
