/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A job: queued → starting → running → ending → ended. It has lives: when anything but an actor dies, the next life goes on from the newest checkpoint that the ledger
 * knows. The ledger's row is what lasts; everything else here is found again after a restart. */
#pragma once

#include "daemon/launch.h"
#include "daemon/log.h"
#include "daemon/manager.h"
#include "daemon/plan.h"
#include "daemon/price.h"
#include "daemon/progress.h"
#include "daemon/scheduler/scheduler.h"

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

typedef enum JobChange { JOB_CHANGE_STATE = 1, JOB_CHANGE_ROUND = 2 } JobChange;

typedef struct DecisionsCheck DecisionsCheck;

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
        DecisionsCheck *check;   /* the one that goes on; NULL: none */

        /* the life that runs */
        LaunchCall *launch;
        LaunchAnswer answer;
        PlanLink *link;
        int pid_fd;
        sd_event_source *pid_source, *deadline, *runtime_timer, *backoff, *watch;
        uint64_t watch_asked_usec,
                        watch_slowest_usec; /* when its invoker was asked for a word (0: it has answered), and its slowest answer */
        bool link_over, exited, adopting, kill_tried;
        bool settling, settled; /* its books: the spawner is asked what its cgroup counted, and has answered */
        bool life_hopeless;     /* another life would fail the same */
        char *life_error;       /* why the daemon gave this life up; NULL: it did not */
        const char *deadline_what; /* what the life is given up for when the deadline passes; NULL: something else says why */
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
        int directory_fd; /* of Python= or of a model, as its submitter opened it; -EBADF: nobody kept it over a restart */

        /* How the job is over, from when that is known on; nothing of it is said before it is durable. */
        struct JobEnd {
                bool noted, queued, durable; /* in the ledger's hands; in the ledger */
                bool has_policy;
                uint32_t end;   /* PlanEnd */
                char *sentence; /* NULL: nothing failed */
                uint64_t usec;
                uint8_t policy_sha256[32];
        } end;
        int waits_checkpoint; /* why the last checkpoint could not be written, and is tried again; 0: it could */
        bool disk_said;       /* that its user is at MaxDiskPerUser= */
        uint64_t prune_round; /* the newest checkpoint that waits for its row; 0: none */

        bool unsaved; /* the row is newer than the ledger's */

        /* the bus */
        unsigned changes;
        sd_event_source *changes_timer;
};

const char *job_state_to_string(JobState state);

/* job.c. row is taken, and left empty, on success. -EINVAL: its text or sheet does not parse any more. */
int job_new(Manager *manager, LedgerJob *row, Job **ret);
Job *job_free(Job *job);
static inline bool job_active(const Job *job) {
        return job->state == JOB_STARTING || job->state == JOB_RUNNING || job->state == JOB_ENDING;
}
void job_set_state(Job *job, JobState state);
void job_set_fault(Job *job, const char *sentence);
/* Records of the ledger → progress; only once, unless asked to do it anew (when a life ended, its tail became waste). */
int job_load_progress(Job *job, bool anew);
/* The properties and the bill of an ended job, out of its row if it can be: a long job has a million
 * records. */
int job_load_summary(Job *job);
/* Also what is in records alone: what had accrued at each round, estimates, faults. */
int job_load_records(Job *job);
/* Writes the row; a failure is said and tried again at the next change. */
int job_save(Job *job);
void job_log_begin(LogEntry *entry, const Job *job, Message message);
char **job_limits_missing(const Job *job); /* words; g_strfreev() */

/* job-life.c */
void job_start(Job *job);
/* After a restart of the daemon: connects to what runs, or begins the next life. */
void job_adopt(Job *job);
/* 0; -ESRCH: it has ended. */
int job_stop(Job *job, uint32_t end, const char *reason);
/* After it the invoker is killed. what: a sentence that lasts, or NULL. */
void job_arm_deadline(Job *job, uint64_t usec, const char *what);

/* job-turn.c */
void job_turn_begin(Job *job); /* it leaves the queue, or a daemon that was restarted finds it running */
/* Whether it can go back to the queue and lose nothing. */
bool job_may_go_back(const Job *job);
/* After the round in flight. reason: a sentence that lasts. */
void job_go_back(Job *job, const char *reason);
/* Its life has ended for that: it waits for its next turn. */
void job_requeue(Job *job);

/* job-end.c */
/* If the last record of a life was the job's last, the job is over, and this is queued behind it. */
bool job_end_by_records(Job *job);
/* What was queued is durable. */
void job_end_committed(Job *job);
/* A daemon was killed after the end was durable and before its invoker knew: that is made up for. */
void job_take_up_end(Job *job);
/* "12 records and the job's row wait for space in /var/lib/actord (No space left on device)"; empty: it
 * waits for nothing. Into ret, returns ret. */
#define JOB_WAITING_MAX 512u
const char *job_waiting(const Job *job, char ret[JOB_WAITING_MAX]);
/* Nothing more is waited for: what there is of the job by now is all of it. */
void job_leave(Job *job);
void job_life_check(Job *job);
void job_life_failed(Job *job, const char *sentence);
void job_give_up(Job *job, const char *sentence);
void job_life_clear(Job *job);
void job_say_leftover(const Job *job, const char *reason);

/* job-watch.c. The invoker has started, or was found again; it has said something. */
void job_watch_start(Job *job);
void job_watch_heard(Job *job);

/* job-settle.c. Whether the books of the life that is over are closed, but for a record that the ledger
 * may not take yet; if not, job_life_check() is called when they are. */
bool job_settle(Job *job);

/* job-records.c. 0, also when the ledger is blocked; negative: the spool is nonsense. */
int job_read(Job *job);
/* What the ledger would not take is offered again. Negative: it is still blocked. */
int job_offer_held(Job *job);
/* Everything that was read has been committed. */
void job_committed(Job *job);
void job_send_plan(Job *job);

/* job-schedule.c. closed: the record of the newest closed round; NULL: there is none yet. Decides for the round after it, unless that is done. */
void job_decide(Job *job, const Record *closed);
void job_schedule_anew(Job *job); /* the first round's decision */
/* The checkpoint that this life begins with, opened and compared, and its round (0: it is none of this
 * job's); whatever is newer is damaged, was journalled, and counts no more. -ENOENT: it begins with
 * nothing; a negative errno. */
int job_checkpoint_choose(Job *job, uint64_t *ret_round);

/* As of the newest checkpoint, or anew; *ret: the records after it are still to be decided on. */
void job_schedule_restore(Job *job, LedgerPosition *ret);
/* Into the ledger's hands: no round may start under a decision that is not there. Negative: it is blocked. */
int job_decision_save(Job *job);
/* job-distribution.c. Where the fragments of the newest life run; *ret_why: a clause to follow "since", NULL: the settings say it. */
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
DecisionsCheck *decisions_check_free(DecisionsCheck *check);

/* bill-bus.c */
int method_get_bill(sd_bus_message *m, void *userdata, sd_bus_error *error);
int method_get_estimates(sd_bus_message *m, void *userdata, sd_bus_error *error);
int method_get_fleets(sd_bus_message *m, void *userdata, sd_bus_error *error);

/* trained-bus.c */
int method_get_scheduler_bill(sd_bus_message *m, void *userdata, sd_bus_error *error);

/* job-bus.c */
extern const sd_bus_vtable job_vtable[];
void job_changed(Job *job, unsigned changes);
void job_emit_now(Job *job);
