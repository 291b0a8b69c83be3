/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One job. The files of the first list below decide about it. They call the files of the second list, which
 * work only on their arguments and return what happened:
 *
 *   main.c invoker.c   the loop: which event came, and from which worker
 *   setup.c probe.c prepare.c   from the spawner's descriptors to a learner that starts
 *   conduct.c          what follows from an event: orders, retries, rounds
 *   evaluate.c         evaluations, by the rules of evaluation-rules.c
 *   finish.c           whether the job ends, and how
 *   trial.c            instead of all these: an environment is tried, and there is no job
 *
 *   placement.h        what the job was given, and where it is
 *   progress.h         how far it has come; overlap.c: rounds that do not wait for all actors
 *   pool.h fork.h      containers of actors, and what a child maps and gives up
 *   nodes.h carrier.h relay.h   actors on nodes of a cluster; node.c: the invoker there
 *   learner.h          the learner's processes; fused.c: one that also acts
 *   report.h           records; storm.c: workers that signal without an answer
 *   profile.h          where the time of rounds goes, for a job that asks
 *   spin.h             when to be awake for an answer
 *   loop.h link.h spool.h   what the invoker sleeps on, the daemon, and records for it */
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
#include "invoker/spin.h"

/* In run mode: how long a job that has ended waits for a daemon to read its records, if none is connected,
 * and how long a new job waits for the first connection of a daemon. */
#define END_MISSED_NSEC       (5ull * 1000000000u)
#define FIRST_CONNECTION_NSEC (30ull * 1000000000u)
/* the longest time spent on starting processes between two events */
#define START_NSEC (100ull * 1000 * 1000)
/* the shortest time between two messages to the daemon while its plan has more rounds */
#define TELL_NSEC (20ull * 1000 * 1000)
/* the pause before a failed last checkpoint is tried again */
#define CHECKPOINT_RETRY_NSEC (1ull * 1000000000u)

typedef struct Invoker {
        Placement place;
        Progress progress;
        Loop loop;
        Link link;
        Reporter reporter;
        Pool pool;
        Nodes nodes;
        Learners learners;
        Profile profile;
        Spin spin;

        bool stop; /* the loop must end */
        int signal_fd;
        uint64_t suspended_nsec; /* how long the host had slept at the last look */
        uint64_t alone_nsec;     /* since when no daemon is connected */
} Invoker;

/* invoker.c */
int invoker_new(Invoker **ret);
int invoker_run(Invoker *invoker);
Invoker *invoker_free(Invoker *invoker);

/* setup.c */
int setup_contracts(Placement *place);
int setup_streams(void);
int setup_signals(void); /* returns a signalfd */
int setup_proc(void);    /* returns a descriptor of /proc, or -EBADF */
void setup_cgroup(Placement *place);
/* 0: the job's processes may open as many files as they need. -EMFILE: they may not; *ret_needed and
 * *ret_limit say how many they need and how many they may open. */
int setup_files(const Placement *place, uint32_t *ret_needed, uint32_t *ret_limit);

/* prepare.c: the way from PHASE_PREPARING to a learner that starts, or to the job's end. A user's
 * environment is asked for its spec in an actor (PHASE_PROBING). prepare.c also handles the answer and the
 * end of this actor, and a request of the daemon to stop meanwhile. */
void prepare_begin(Invoker *invoker);
void prepare_answered(Invoker *invoker, Container *c, const Answer *answer);
void prepare_ended(Invoker *invoker, Container *c, const Ended *ended);
void prepare_stop(Invoker *invoker);
/* Call this when the learner has mapped the policy: from then on no process can map it for writing. */
int prepare_seal_policy(Invoker *invoker);

/* prepare_level() chooses the level of the actors' sandboxes. prepare_sandboxes() makes the sandboxes after
 * the environment has loaded, as the last use of the host's file system. With Sandbox=auto it lowers the
 * level if the host does not allow the sandbox: if this host is itself a container, a mount may be
 * forbidden. */
int prepare_level(Placement *place);
int prepare_sandboxes(Placement *place);

/* probe.c. Negative: *ret_fault and *ret_detail say what is wrong with the environment. probe_load() loads
 * an environment that an administrator installed; a plugin loads later, in its actor. */
int probe_load(Placement *place, uint32_t *ret_fault, int32_t *ret_detail);
/* Maps the job's data set, if it has one. Call this before any fork. */
int probe_map_dataset(Placement *place, uint32_t *ret_fault, int32_t *ret_detail);
int probe_ask(Placement *place, ActordEnvSpec *ret, uint32_t *ret_fault, int32_t *ret_detail);
int probe_make_page(Placement *place, const ActordEnvSpec *spec, uint32_t *ret_fault, int32_t *ret_detail);

/* conduct.c */
void conduct_advance(Invoker *invoker); /* does everything that can be done now without waiting */
void conduct_container_answered(Invoker *invoker, Container *c, const Answer *answer);
void conduct_container_ended(Invoker *invoker, Container *c, const Ended *ended);
void conduct_learner_answered(Invoker *invoker, const Answer *answer);

/* cluster.c */
/* Sets how many containers a round needs. Also forgets nodes that have ended and whose last cost has not
 * come in time. */
void cluster_want(Invoker *invoker, uint32_t n_containers);
/* How many more nanoseconds the round's rollouts took on the emulated clock because nodes are pending. */
uint64_t cluster_waited(const Invoker *invoker);
void cluster_news(Invoker *invoker, const NodeNews *news); /* records the news, ends lost containers */
/* Gives all nodes back. Returns whether the costs of all nodes have come, or are not awaited any more. */
bool cluster_close(Invoker *invoker);

/* evaluate.c */
void evaluate_begin(Invoker *invoker); /* evaluates the newest policy */
/* Freezes or ends a container for which there is no further episode. */
void evaluate_rest(Invoker *invoker, Container *c);
/* Gives orders to the containers that play evaluation episodes, and starts them where necessary. Negative:
 * actor *ret_actor cannot be started. */
int evaluate_serve(Invoker *invoker, uint32_t *ret_actor);
bool evaluate_is_over(const Invoker *invoker);
void evaluate_end(Invoker *invoker); /* records the result */
void evaluate_answered(Invoker *invoker, Container *c, const Answer *answer);
/* Reports a failed attempt at the container's episode. False: the episode has no attempt left. */
bool evaluate_failed(Invoker *invoker, Container *c, uint64_t cpu_nsec, uint32_t fault, int32_t detail);
/* After an update: closes the round with its record, at once or after its evaluation. */
void evaluate_round(Invoker *invoker);

/* finish.c */
/* The PlanEnd that the job's own settings demand; PLAN_END_NOT: the job may go on. */
uint32_t finish_goal(const JobSettings *s, const Statistics *statistics);
/* The PlanEnd that the settings or the daemon demand; PLAN_END_NOT: the job may go on. */
uint32_t finish_reached(const Invoker *invoker);
void finish_round(Invoker *invoker); /* closes a round that was learned from, with its record */
void finish_begin(Invoker *invoker, uint32_t end, uint32_t fault, int32_t detail, uint32_t actor);
void finish_advance(Invoker *invoker);
/* Call this when the last checkpoint failed. It will be tried again if its file could not be written
 * (FAULT_CHECKPOINT). A reason is reported when it is new. */
void finish_checkpoint_failed(Invoker *invoker, uint32_t fault, int32_t detail);
/* Call this when the learner died before the last checkpoint was written. Then this life of the job has
 * failed, even if the job was about to end, and the next life computes the missing part again. */
void finish_learner_lost(Invoker *invoker, uint32_t fault, int32_t detail);
void finish_kill(Invoker *invoker); /* ends at once, without records */

static inline bool training(const Invoker *invoker) {
        return place_trains(&invoker->place);
}
