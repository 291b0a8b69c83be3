/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How far a job has come: its phase, the round, the evaluation beside it, the newest checkpoint, and why
 * it ends. conduct.c, evaluate.c and finish.c change it; pool, learner and report read it. */
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
        PHASE_PREPARING, /* everything that needs no spec */
        PHASE_PROBING,   /* an actor is asked for the spec */
        PHASE_STARTING,  /* the learner restores or initialises; containers may start already */
        PHASE_IDLE,      /* between rounds */
        PHASE_ROLLING,
        PHASE_LEARNING,
        PHASE_CHECKPOINT,
        /* waits until the evaluation is over; actors of rounds that overlap go on */
        PHASE_EVALUATING,
        PHASE_VERIFYING,
        PHASE_ENDING, /* until the learner has answered what it was asked, and kept a last checkpoint */
        PHASE_ENDED,  /* until the daemon knows */
} Phase;

/* Sets of phases in which actors have orders. */
#define PHASES_ROLLING (1u << PHASE_ROLLING)
#define PHASES_OVERLAPPING                                                                   \
        (PHASES_ROLLING | 1u << PHASE_IDLE | 1u << PHASE_LEARNING | 1u << PHASE_CHECKPOINT | \
                        1u << PHASE_EVALUATING)

/* The evaluation that is played, if one is. */
typedef struct Evaluation {
        bool goes_on;
        uint64_t round, policy_version, policy_bank; /* what is evaluated */
        Statistics statistics;                       /* of that round */
        uint64_t closed_seq; /* of the record that has closed the round; 0: it is still open */
        uint64_t started_nsec, started_emulated_nsec;
        uint64_t next_episode, n_done;
        double *returns; /* [n_episodes]; NULL: the job does not train */
        double *metrics; /* [metrics of an episode][n_episodes]; NULL as above */
} Evaluation;

typedef struct Checkpoints {
        bool restored;        /* the learner has a state worth keeping */
        bool exists;          /* one of this job */
        bool no_last;         /* write no last one: the state or the learner is lost */
        uint64_t round, nsec; /* of the newest */
        uint64_t retry_nsec;  /* when a last one that failed is tried again */
        int32_t error;        /* that was reported last; 0: none */
} Checkpoints;

/* Why the job ends, from PHASE_ENDING on. */
typedef struct Ending {
        bool waits;   /* the job ends when the update is over */
        uint32_t end; /* PlanEnd */
        uint32_t fault, actor;
        int32_t detail;
        uint64_t nsec; /* when it ended */
} Ending;

typedef struct Progress {
        Phase phase;
        Round *round;    /* that goes on */
        uint64_t number; /* of the last closed round */
        bool open;       /* the round was learned from and waits for its evaluation before it is recorded */
        Decision decision;
        uint32_t n_served; /* containers, from the first on, that had an order of this round, or need none */
        Statistics statistics;
        uint8_t policy_sha256[32]; /* of the policy of the newest checkpoint, written or restored */
        uint64_t policy_version;
        Arrival arrival; /* where the newest version lies, and which actors act where rounds overlap */
        uint32_t taken;  /* the actor that the last round learned from, where rounds overlap; ACTOR_NONE */

        uint64_t round_nsec;          /* when the round began */
        uint64_t update_nsec;         /* when its first TAKE was given */
        uint64_t emulated_round_nsec; /* of that round */
        uint64_t emulated_nsec;       /* of all rounds of this life: what a fleet's clock shows */

        Evaluation evaluation;
        Checkpoints checkpoints;
        Ending ending;
} Progress;

/* overlap.c: rounds that do not wait for all actors. */
/* -ESRCH: the decision names an actor that does not act. */
int overlap_begin(Progress *progress, const Placement *place);
/* The actor whose rollout the learner takes now; ACTOR_NONE: it waits. */
uint32_t overlap_next(const Progress *progress, const Placement *place);
void overlap_learned(Progress *progress, uint64_t update_nsec);
void overlap_resume(Progress *progress); /* actors that acted when the checkpoint was written act again */
/* Writes the policy version that this actor acts with into its order, if it is not the newest. */
void overlap_name_policy(const Progress *progress, const Placement *place, uint32_t actor, Order *order);
/* Whether its invocation counts as a cold one. Under Clock=model a fleet decides, and not whether a process
 * happened to die here. */
bool overlap_is_cold(const Progress *progress, const Placement *place, uint32_t actor, bool fresh);
