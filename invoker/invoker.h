/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One job, and those of its files that decide. They call the others, which know only what they are given,
 * and return what happened:
 *
 *   main.c invoker.c   the loop: which event came, and whose it is
 *   setup.c probe.c prepare.c   from what the spawner left to a learner that starts
 *   conduct.c          what follows from an event: orders, retries, rounds
 *   evaluate.c         evaluations, by the rules of evaluation.c
 *   finish.c           whether the job ends, and how
 *   trial.c            in the place of all these: an environment is tried, and there is no job
 *
 *   placement.h        what the job was given, and where it lies
 *   progress.h         how far it has come; overlap.c: where rounds do not wait for all
 *   pool.h fork.h      containers of actors, and what a child maps and gives up
 *   learner.h          the learner's processes; fused.c: one that also acts
 *   report.h           records; storm.c: bells that ring without an answer
 *   profile.h          where the time of rounds goes, for a job that asks
 *   loop.h link.h spool.h   what is slept on, the daemon, and what it is told
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "include/sandbox.h"
#include "invoker/fork.h"
#include "invoker/learner.h"
#include "invoker/link.h"
#include "invoker/loop.h"
#include "invoker/placement.h"
#include "invoker/pool.h"
#include "invoker/profile.h"
#include "invoker/progress.h"
#include "invoker/report.h"

#define END_MISSED_NSEC       (5ull * 1000000000u)  /* in run mode, for a daemon that has not come yet */
#define CHECKPOINT_RETRY_NSEC (1ull * 1000000000u)  /* the last one: there may be space again */
#define FIRST_CONNECTION_NSEC (30ull * 1000000000u) /* in run mode */

typedef struct Invoker {
        Placement place;
        Progress progress;
        Loop loop;
        Link link;
        Books books;
        Pool pool;
        Learners learners;
        Profile profile;

        bool stop; /* leave the loop */
        int signal_fd;
        uint64_t suspended_nsec; /* as of the last look: how long the host has slept */
        uint64_t alone_nsec;     /* since when no daemon is there, if none is */
} Invoker;

/* invoker.c */
int invoker_new(Invoker **ret);
int invoker_run(Invoker *invoker);
Invoker *invoker_free(Invoker *invoker);

/* setup.c */
int setup_contracts(Placement *place);
int setup_streams(void);
int setup_signals(void); /* a descriptor that tells of them */
int setup_proc(void);    /* a descriptor, or -EBADF */
void setup_cgroup(Placement *place);
/* Whether as many files may be open as the job's processes need at most: 0, or -EMFILE with both numbers. */
int setup_files(const Placement *place, uint32_t *ret_needed, uint32_t *ret_limit);

/* prepare.c: the way from PHASE_PREPARING to a learner that starts, or to the job's end. A user's
 * environment is asked what it is in an actor (PHASE_PROBING): its answer, its end, and the daemon's wish
 * to stop meanwhile come here. */
void prepare_begin(Invoker *invoker);
void prepare_answered(Invoker *invoker, Container *c, const Answer *answer);
void prepare_ended(Invoker *invoker, Container *c, const Ended *ended);
void prepare_stop(Invoker *invoker);
int prepare_seal_policy(
                Invoker *invoker); /* the learner has mapped it: from now on nobody else can for writing */

/* The level of its actors; and the sandboxes, after the environment has loaded, as the last use of the host's
 * file system. The level that this host allows may still turn out to be too much (a container that forbids
 * some mount). */
int prepare_level(Placement *place);
int prepare_sandboxes(Placement *place);

/* probe.c. Negative: *ret_fault and *ret_detail say what is wrong with the environment. probe_load()
 * loads what an administrator installed; a plugin stays where it is. */
int probe_load(Placement *place, uint32_t *ret_fault, int32_t *ret_detail);
int probe_ask(Placement *place, ActordEnvSpec *ret, uint32_t *ret_fault, int32_t *ret_detail);
int probe_make_page(Placement *place, const ActordEnvSpec *spec, uint32_t *ret_fault, int32_t *ret_detail);

/* conduct.c */
void conduct_advance(Invoker *invoker); /* whatever can be done without waiting */
void conduct_container_answered(Invoker *invoker, Container *c, const Answer *answer);
void conduct_container_ended(Invoker *invoker, Container *c, const Ended *ended);
void conduct_learner_answered(Invoker *invoker, const Answer *answer);

/* evaluate.c */
void evaluate_begin(Invoker *invoker);              /* of the newest policy */
void evaluate_rest(Invoker *invoker, Container *c); /* nothing is to be played any more */
int evaluate_serve(Invoker *invoker,
                uint32_t *ret_actor); /* gives orders; negative: *ret_actor cannot be started */
bool evaluate_is_over(const Invoker *invoker);
void evaluate_end(Invoker *invoker); /* its result, when it is over */
void evaluate_answered(Invoker *invoker, Container *c, const Answer *answer);
/* False: its episode has no attempt left. */
bool evaluate_failed(Invoker *invoker, Container *c, uint64_t cpu_nsec, uint32_t fault, int32_t detail);

/* finish.c */
/* What ends a job whatever its daemon says: PlanEnd, PLAN_END_NOT while its own numbers let it go on. */
uint32_t finish_goal(const JobSettings *s, const Statistics *statistics);
uint32_t finish_reached(const Invoker *invoker); /* or the daemon's word */
void finish_round(Invoker *invoker);             /* that was learned from: the record that closes it */
void finish_begin(Invoker *invoker, uint32_t end, uint32_t fault, int32_t detail, uint32_t actor);
void finish_advance(Invoker *invoker);
/* The last checkpoint: there will be another try, and whoever waits for it is told why. */
void finish_checkpoint_failed(Invoker *invoker, uint32_t fault, int32_t detail);
/* Before it was kept: then the life has failed, whatever it ended for, and the next one has what is
 * missing computed again. */
void finish_learner_lost(Invoker *invoker, uint32_t fault, int32_t detail);
void finish_kill(Invoker *invoker); /* at once, without records */

static inline bool training(const Invoker *invoker) {
        return place_trains(&invoker->place);
}
