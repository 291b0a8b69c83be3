/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How far a job has come: its phase, its round, the evaluation beside it, its newest checkpoint, and why it
 * ends. prepare.c, conduct.c, evaluate.c, finish.c and overlap.c change it, and learner.c when a learner is
 * lost. pool.c, fused.c and report.c read it, and change only figures of the round's seats. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "include/plan.h"
#include "include/record.h"
#include "include/turn.h"
#include "invoker/placement.h"
#include "invoker/round.h"
#include "lib/arrival.h"

#define ACTOR_LEARNER UINT32_MAX

typedef enum Phase {
        PHASE_PREPARING, /* does all steps that need no spec */
        PHASE_PROBING,   /* an actor was asked for the spec */
        PHASE_STARTING,  /* the learner restores or initialises; containers may start meanwhile */
        PHASE_IDLE,      /* between rounds */
        PHASE_ROLLING,
        PHASE_LEARNING,
        PHASE_CHECKPOINT,
        /* waits for the end of the evaluation; actors of overlapping rounds go on */
        PHASE_EVALUATING,
        PHASE_VERIFYING,
        PHASE_ENDING, /* waits for the learner's answer, a last checkpoint and the nodes' costs */
        PHASE_ENDED,  /* waits until the daemon knows of the end */
} Phase;

/* Sets of phases in which actors have orders */
#define PHASES_ROLLING (1u << PHASE_ROLLING)
#define PHASES_OVERLAPPING                                                                   \
        (PHASES_ROLLING | 1u << PHASE_IDLE | 1u << PHASE_LEARNING | 1u << PHASE_CHECKPOINT | \
                        1u << PHASE_EVALUATING)

/* The current evaluation, if there is one. */
typedef struct Evaluation {
        bool goes_on;
        uint64_t round, policy_version, policy_bank; /* the round and the policy that are evaluated */
        Statistics statistics;                       /* of the evaluated round */
        uint64_t closed_seq; /* the record that closed the round; 0: the round is still open */
        uint64_t started_nsec, started_emulated_nsec;
        uint64_t next_episode, n_done;
        double *returns; /* [n_episodes]; NULL: the job never evaluates */
        double *metrics; /* [metrics of an episode][n_episodes]; NULL: like `returns` */
} Evaluation;

typedef struct Checkpoints {
        bool restored;        /* the learner has a state worth keeping */
        bool exists;          /* this job has written a checkpoint, or restored one of its own */
        bool no_last;         /* no last checkpoint can be written: the state or the learner is lost */
        uint64_t round, nsec; /* the newest checkpoint's round and time */
        uint64_t retry_nsec;  /* when a failed last checkpoint is tried again */
        int32_t error;        /* the errno that was reported last; 0: none */
} Checkpoints;

/* Why the job ends, from PHASE_ENDING on. */
typedef struct Ending {
        bool waits;   /* the job ends after the update in progress */
        uint32_t end; /* PlanEnd */
        uint32_t fault, actor;
        int32_t detail;
        uint64_t nsec; /* when the job ended */
} Ending;

typedef struct Progress {
        Phase phase;
        Round *round;    /* the round in progress */
        uint64_t number; /* the last round that has ended */
        bool open;       /* the learner has learned from the round; its record waits for an evaluation */
        Decision decision;
        /* containers 0 .. n_served - 1 have an order of this round, or need none */
        uint32_t n_served;
        Statistics statistics;
        uint8_t policy_sha256[32]; /* of the policy in the newest checkpoint, written or restored */
        uint64_t policy_version;
        Arrival arrival; /* which bank has the newest version; where rounds overlap, which actors act */
        uint32_t taken;  /* where rounds overlap: the actor of the last round, or ACTOR_NONE */

        uint64_t round_nsec;          /* when the round began */
        uint64_t update_nsec;         /* when the learner was first ordered; fused: when it began to learn */
        uint64_t emulated_round_nsec; /* the last round's duration */
        /* the part of emulated_round_nsec in which the rollouts waited for nodes */
        uint64_t waited_nsec;
        uint64_t emulated_nsec; /* the sum over this invoker's rounds, on the emulated clock */

        Evaluation evaluation;
        Checkpoints checkpoints;
        Ending ending;
} Progress;

/* overlap.c: rounds that do not wait for all actors. */
/* Begins such a round. 0; -ESRCH: the decision names an actor that is not acting. */
int overlap_begin(Progress *progress, const Placement *place);
/* The actor whose rollout the learner takes next; ACTOR_NONE: it must wait. */
uint32_t overlap_next(const Progress *progress, const Placement *place);
void overlap_learned(Progress *progress, uint64_t update_nsec);
void overlap_resume(Progress *progress); /* restarts the actors that acted at the checkpoint */
/* Writes into an order which policy version its actor acts with, if that is not the newest. */
void overlap_name_policy(const Progress *progress, const Placement *place, uint32_t actor, Order *order);
/* Whether the invocation counts as a cold one. Under Clock=model the model of a fleet decides this, so it
 * does not matter whether a process died here. */
bool overlap_is_cold(const Progress *progress, const Placement *place, uint32_t actor, bool fresh);
