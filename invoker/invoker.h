/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One job. Everything the invoker knows about it, and what its files call of one another:
 *
 *   setup.c     takes over what the spawner left     prepare.c  makes what is made once
 *   probe.c     environment → spec → the job page    invoker.c  the loop
 *   pool.c      containers: fork, park, end         learner.c  the learner's process
 *   fused.c     the same, where it also acts
 *   conduct.c   rounds, and verifications            overlap.c  rounds that do not wait for all
 *   evaluate.c  evaluations, by the rules of evaluation.c
 *   report.c    records                             finish.c   how a job ends
 *   storm.c     bells that ring without an answer
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "include/actord/env.h"
#include "include/fragment.h"
#include "include/launch.h"
#include "include/sandbox.h"
#include "include/slot.h"
#include "invoker/cgroup.h"
#include "invoker/divide.h"
#include "invoker/link.h"
#include "invoker/meter.h"
#include "invoker/round.h"
#include "invoker/spool.h"
#include "invoker/worker.h"
#include "lib/arrival.h"
#include "lib/warm.h"

typedef struct Sandbox Sandbox;

#define ACTOR_LEARNER   UINT32_MAX
#define LEARNERS_MAX    GRADIENT_PARTS
#define ACTOR_SPIN_NSEC 20000u /* for the learner's actions, where each process has a CPU to itself */
#define LEARNER_UID     65533u /* and downwards: tasks are counted by user */
#define LEARNER_PATIENCE_NSEC \
        (300ull * 1000000000u) /* at least: an update may be much longer than those before */
#define NEVER_NSEC            (UINT64_MAX / 2)
#define ABSENT_NSEC           (2ull * 1000000000u) /* who hears its timer so late was stopped */
#define END_MISSED_NSEC       (5ull * 1000000000u) /* in run mode, for a daemon that has not come yet */
#define END_ALONE_NSEC        (24ull * 3600u * 1000000000u) /* for a daemon that is down to come back for it */
#define CHECKPOINT_RETRY_NSEC (1ull * 1000000000u)          /* the last one: there may be space again */
#define FALSE_RINGS_MAX       8u /* within an order: one that is honest rings late once, or twice */
#define STORM_LOOK_NSEC       (1000u * 1000u)
#define FIRST_CONNECTION_NSEC (30ull * 1000000000u) /* in run mode */

typedef enum ContainerState {
        CONTAINER_ABSENT,
        CONTAINER_STARTING, /* its first order is out: say that you are ready */
        CONTAINER_READY,
        CONTAINER_PARKED, /* frozen */
        CONTAINER_ENDING, /* killed, not reaped yet */
} ContainerState;

typedef struct Container {
        Worker worker;
        int ask_fd;   /* the bell that its actors ring when the learner acts for them; -EBADF */
        Cgroup scope; /* ActorScope=each: its own; fd -EBADF: a leaf of the job's */
        uint32_t index, state;
        bool has_worker;   /* pages and leaf are made when it is first needed */
        bool fresh;        /* has carried out nothing yet: the next invocation is a cold one */
        Imagined imagined; /* there is no process, and a fleet would have one: fused.c */
        uint32_t doing; /* OrderKind that is not over: until it has succeeded, or the process that failed is reaped */
        Attempts starts;
        uint32_t unread; /* the actor whose last invocation's use was not read yet; ACTOR_NONE */
        uint32_t fault;  /* why it was killed by us; FAULT_NONE: it ends by itself, or nothing was wrong */
        int32_t detail;
        uint64_t spare_nsec;                        /* CPU that no record has yet */
        uint64_t parked_nsec, parked_emulated_nsec; /* since when it is billed as idle */
        uint64_t idle_emulated_nsec;                /* since when it is idle */
        bool has_episode;                           /* that is being evaluated */
        uint64_t episode;
        Attempts plays;
} Container;

typedef enum Phase {
        PHASE_STARTING, /* the learner restores or initialises; containers may start already */
        PHASE_IDLE,     /* between rounds */
        PHASE_ROLLING,
        PHASE_LEARNING,
        PHASE_CHECKPOINT,
        PHASE_EVALUATING, /* nothing else goes on until the evaluation is over, but for actors of rounds that overlap */
        PHASE_VERIFYING,
        PHASE_ENDING, /* until the learner has answered what it was asked, and kept a last checkpoint */
        PHASE_ENDED,  /* until the daemon knows */
} Phase;

/* The evaluation that is played, if one is. */
typedef struct Evaluation {
        bool goes_on;
        uint64_t round, policy_version, policy_bank; /* what is evaluated */
        Statistics statistics;                       /* of that round */
        uint64_t closed_seq; /* of the record that has closed it already; 0: it is still open */
        uint64_t started_nsec, started_emulated_nsec;
        uint64_t next_episode, n_done;
} Evaluation;

typedef struct Invoker {
        const Invoked *invoked;
        const JobSettings *settings;
        const JobSettings *inner; /* of Environment=job:FILE; NULL: of no other */
        const JobPage *page;
        uint32_t n_actors, n_containers;
        uint32_t n_evaluators; /* containers after those, which only play the evaluations of a job that trains */
        uint32_t n_cpus;
        uint32_t level, missing; /* SandboxLevel; bits of Limit */

        int epoll_fd, signal_fd, timer_fd, proc_fd;
        uint64_t timer_nsec;     /* when it rings; UINT64_MAX: never */
        uint64_t suspended_nsec; /* as of the last look: how long the host has slept */
        Cgroup cgroup;
        Meter control;
        Ourselves ourselves;
        uint64_t storm_nsec;       /* of it: charged to actors, and not yet left out of a record */
        uint64_t storm_since_nsec; /* CPU as of the last false ring; 0: something else was served since */
        Spool spool;
        Link link;

        const ActordEnv *env;    /* NULL: a plugin, loaded inside the sandbox */
        const char *plugin_path; /* inside the root */
        bool asked;              /* an actor says what the environment is, since what it loads is a user's */
        Sandbox *actor_sandbox, *learner_sandbox;
        int page_fd, policy_fd;
        int policy_read_fd; /* the same, but nobody can write through it; -EBADF: not before it is sealed */
        int *segment_fds;
        const Distribution *distribution;
        bool overlaps;       /* rounds learn from whoever is ready, and the others act on */
        bool fused;          /* the learner's process acts, too: no container trains */
        FusedRun fused_run;  /* its program */
        uint64_t fused_nsec; /* that it was seen to use, and no record has yet */
        bool threads_tried;  /* whether they can be metered one by one is known */
        ThreadMeters threads;
        int asks_fd, stop_fd; /* epoll of the actors' bells, and ours beside them; -EBADF: actors act by themselves */

        Container *containers;
        Worker learner; /* the first, which publishes and keeps checkpoints */
        Worker replicas[LEARNERS_MAX - 1];
        uint32_t n_learners;
        int reduce_fd;          /* what several learners share; -EBADF */
        Answer learners_answer; /* of those that have answered: the first one's words, and anybody's fault */
        uint32_t n_learners_answered;
        bool learner_lost; /* one has ended by itself */
        Round *round;

        uint32_t phase;
        uint64_t started_nsec;
        uint64_t number; /* of the last closed round */
        Decision decision;
        Statistics statistics;
        uint8_t policy_sha256[32];
        uint64_t policy_version;
        Arrival arrival;      /* where the newest version lies; and who acts, where rounds overlap */
        uint32_t taken;       /* there: whom the last round learned from */
        uint64_t round_nsec;  /* when the round began */
        uint64_t update_nsec; /* when its first TAKE was given */
        uint64_t learner_credit_nsec
                        [LEARNERS_MAX]; /* what its updates were seen to use, and have not claimed */
        uint64_t learner_slowest_nsec[LEARNERS_MAX]; /* what it claims for its last order */
        uint64_t learner_longest_nsec
                        [_ORDER_KIND_MAX]; /* that an order took on this host; of LEARN: for each rollout */
        bool was_restored;                 /* the learner has a state worth keeping */
        bool has_checkpoint;
        bool no_last_checkpoint;        /* there is nothing to keep, or no learner to keep it */
        uint64_t checkpoint_retry_nsec; /* a last one that failed is tried again from then on */
        int32_t checkpoint_error;       /* as said; 0: none was */
        uint64_t checkpoint_round, checkpoint_nsec;
        bool round_open;              /* learned from, and not recorded: an evaluation is waited for */
        uint64_t emulated_round_nsec; /* of that round */
        uint64_t emulated_nsec;       /* of all rounds of this life: what a fleet's clock shows */
        uint64_t n_episodes;
        Evaluation evaluation;
        double *returns; /* [n_episodes] of an evaluation of a job that trains */

        bool end_waits; /* for the update to be over */
        uint32_t end;   /* PlanEnd, from PHASE_ENDING on, or while it waits */
        uint32_t end_fault, end_actor;
        int32_t end_detail;
        uint64_t ended_nsec;
        uint64_t spare_nsec; /* CPU of processes that ended, which no record has yet */
        bool stop;           /* leave the loop */
} Invoker;

/* invoker.c */
int invoker_new(Invoker **ret);
int invoker_run(Invoker *i);
Invoker *invoker_free(Invoker *i);
int invoker_watch(Invoker *i, const Worker *worker, uint32_t index);         /* its bell */
int invoker_listen(Invoker *i, const Worker *worker, uint32_t index);        /* to its bell, again */
int invoker_watch_process(Invoker *i, const Worker *worker, uint32_t index); /* its end */
void invoker_want_timer(Invoker *i, uint64_t nsec);                          /* CLOCK_BOOTTIME */
/* Waits outside the loop, and serves the daemon and the signals meanwhile: until something happens, or until a time (UINT64_MAX:
 * for ever). With a worker also until it rings or, -ECHILD, ends. Without one it is what a full spool waits with. */
int invoker_wait_outside(Invoker *i, Worker *worker, uint64_t until_nsec);
int invoker_complain(int r, const char *what); /* on stderr; returns r */

/* setup.c */
int setup_contracts(Invoker *i);
int setup_streams(void);
int setup_signals(Invoker *i);
int setup_proc(void); /* a descriptor, or -EBADF */
void setup_cgroup(Invoker *i);

/* prepare.c. prepare_job(): *ret_fault says what the job ends with when it fails. */
int prepare_job(Invoker *i, uint32_t *ret_fault, int32_t *ret_detail);
int invoker_seal_policy(Invoker *i); /* the learner has mapped it: from now on nobody else can for writing */

/* probe.c. Negative: *ret_fault and *ret_detail say what is wrong with the environment. probe_load() loads what an administrator
 * installed; a plugin stays where it is. */
/* Whether actors run what a user wrote: it is asked what it is in one of them, and each brings the host's libraries. */
bool invoker_runs_foreign_code(const Invoker *i);
int probe_load(Invoker *i, uint32_t *ret_fault, int32_t *ret_detail);
int probe_environment(Invoker *i, uint32_t *ret_fault, int32_t *ret_detail);

/* pool.c: the only file that knows the rooms which share this program, actor/ and sandbox/. */
int pool_load_environment(Invoker *i);
int pool_make_sandboxes(Invoker *i);
void pool_free_sandboxes(Invoker *i);
int pool_confine_ourselves(void); /* new privileges and calls that this program never makes are given up */
int pool_leave_host(void);        /* its file system: nothing of it is needed after the sandboxes are made */
pid_t pool_fork_learner(Invoker *i, Worker *learner);
void pool_confine_learner(const Invoker *i, const Worker *learner, const int *keep_fds, size_t n_keep_fds,
                uint64_t mapped_bytes); /* in the child */
int pool_init(Invoker *i);
void pool_done(Invoker *i);
int pool_fork(Invoker *i, Container *c);
void pool_order(Invoker *i, Container *c, const Order *order);
void pool_arrange(Invoker *i, uint32_t n_needed);     /* parks and thaws those that train */
void pool_park(Container *c, uint64_t emulated_nsec); /* since when on the emulated clock */
void pool_thaw(Invoker *i, Container *c);
void pool_end(Container *c, uint32_t fault, int32_t detail);
void pool_end_all(Invoker *i);            /* and reaps */
uint64_t pool_take(Container *c);         /* CPU that no record has yet */
void pool_read(Invoker *i, Container *c); /* into the record of its last invocation */

/* learner.c */
int learner_start(Invoker *i);
/* "OPENBLAS_CORETYPE=...", for who loads the library: a literal. */
const char *learner_kernel_class(const JobSettings *settings);
uint64_t learner_memory_bytes(const Invoker *i); /* that its process may use */
void learner_order(Invoker *i, uint32_t kind, uint32_t actor);
int learner_make_bells(Invoker *i); /* that actors ring, if it is to act for them */
int learner_watch_bell(Invoker *i, Container *c);
void learner_stop_serving(Invoker *i);
void learner_answered(
                Invoker *i, uint32_t k, const Answer *answer); /* the last of them is heard by conduct.c */
void learner_forsake(Invoker *i); /* one has ended: the others would wait for it */
bool learners_busy(const Invoker *i);
void learner_end(Invoker *i); /* kills and reaps whatever there is of them */

/* fused.c */
int fused_load(Invoker *i); /* what it brings is shared by nobody else: before any fork */
_Noreturn void fused_child(const Invoker *i, const Worker *learner);
void fused_begin(Invoker *i);
void fused_feed(Invoker *i);
uint64_t fused_timeout_nsec(const Invoker *i);
void fused_meter(Invoker *i, uint32_t actor); /* what its invocation used, into its record */
void fused_answered(Invoker *i);
void fused_done(Invoker *i); /* its process has ended */

/* conduct.c */
void conduct_advance(Invoker *i); /* whatever can be done without waiting */
void conduct_container_answered(Invoker *i, Container *c, const Answer *answer);
void conduct_container_ended(Invoker *i, Container *c, const Ended *ended);
void conduct_learner_answered(Invoker *i, const Answer *answer);
void conduct_checkpoint(Invoker *i);
/* Its use is waste, and the same order goes out again, from the bank that was not written to. */
void conduct_attempt_failed(Invoker *i, uint32_t actor, uint32_t fault, int32_t detail);
void conduct_evaluate_round(Invoker *i); /* that was learned from; then it closes */
void conduct_close_round(Invoker *i);

/* overlap.c */
int overlap_begin(Invoker *i);           /* -ESRCH: the decision names an actor that does not act */
uint32_t overlap_next(const Invoker *i); /* whom the learner takes now; ACTOR_NONE: it waits */
void overlap_learned(Invoker *i, uint64_t update_nsec);
void overlap_resume(Invoker *i); /* those who acted when the checkpoint was written */
void overlap_name_policy(const Invoker *i, uint32_t actor,
                Order *order); /* that it acts with, if not with the newest */
/* Whether its invocation counts as a cold one: a model knows what a fleet would have done, and no accidents. */
bool overlap_is_cold(const Invoker *i, uint32_t actor, bool fresh);

/* evaluate.c */
uint32_t evaluate_actor(const Invoker *i, const Container *c); /* the number that it plays under */
void evaluate_begin(Invoker *i);                               /* of the newest policy */
void evaluate_rest(Invoker *i, Container *c);                  /* nothing is to be played any more */
void evaluate_serve(Invoker *i);
void evaluate_answered(Invoker *i, Container *c, const Answer *answer);
void evaluate_failed(Invoker *i, Container *c, uint64_t cpu_nsec, uint32_t fault, int32_t detail);

/* finish.c */
void finish_begin(Invoker *i, uint32_t end, uint32_t fault, int32_t detail, uint32_t actor);
void finish_advance(Invoker *i);
/* The last checkpoint: there will be another try, and whoever waits for it is told why. */
void finish_checkpoint_failed(Invoker *i, uint32_t fault, int32_t detail);
/* Before it was kept: then the life has failed, whatever it ended for, and the next one has what is
 * missing computed again. */
void finish_learner_lost(Invoker *i, uint32_t fault, int32_t detail);
void finish_kill(Invoker *i); /* at once, without records */

/* storm.c. c: the actor's container, which is charged; NULL: a learner. */
void storm_ring(Invoker *i, Worker *worker, Container *c); /* its bell rang, and there was no answer */
void storm_looked(Invoker *i, const Worker *worker, Container *c); /* the timer did, and there was none */
void storm_over(Invoker *i);                                       /* something else is served now */
void storm_listen(Invoker *i, Worker *worker, uint32_t index);     /* before an order */
uint64_t storm_take_control(
                Invoker *i); /* this process's CPU since the last time, but what actors were charged */

/* report.c */
void report_started(Invoker *i);
void report_worker(Invoker *i, Worker *worker, uint32_t index, uint64_t cpu_nsec, uint32_t fault,
                int32_t detail);
void report_rollout(Invoker *i, uint32_t actor, uint32_t fault, int32_t detail, bool wasted);
void report_fault(Invoker *i, uint32_t actor, uint32_t attempt, uint32_t fault, int32_t detail);
void report_pool(Invoker *i, Container *c); /* its idle time, and what follows begins anew */
void report_idle(Invoker *i);               /* the same of all that are parked */
void report_evaluation(Invoker *i, Container *c, const Answer *answer, uint64_t cpu_nsec, uint32_t fault,
                int32_t detail);
void report_learned(Invoker *i); /* every invocation of the round */
void report_round(Invoker *i, uint32_t end);
void report_evaluated(Invoker *i, double mean, double sd); /* after its round has closed */
void report_checkpoint(Invoker *i, const Answer *answer);
void report_ended(Invoker *i);

static inline uint32_t containers_all(const Invoker *i) {
        return i->n_containers + i->n_evaluators;
}

/* In records: containers that train are numbered by themselves, those that evaluate go on after the actors. */
static inline uint32_t container_number(const Invoker *i, const Container *c) {
        return c->index < i->n_containers ? c->index : i->n_actors + (c->index - i->n_containers);
}

static inline Worker *learner_at(Invoker *i, uint32_t k) {
        return k == 0 ? &i->learner : &i->replicas[k - 1];
}

static inline uint64_t timeout_nsec(const Invoker *i) {
        uint64_t nsec;

        return __builtin_mul_overflow(i->settings->timeout_usec, 1000u, &nsec) ? UINT64_MAX / 2 : nsec;
}
