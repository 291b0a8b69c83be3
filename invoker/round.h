/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The state of each actor in a round. Pure: no clock, no process, no descriptor. conduct.c asks what comes
 * next, and reports what happened. A round may learn from the rollouts of only some of its actors. The other
 * actors keep their state when the round ends, and their rollouts are taken in a later round.
 *
 *   IDLE ──begin──▶ WAITING ──order──▶ ROLLING ──answer──▶ ROLLED ──TAKE──▶ TAKING ──accept──▶ TAKEN
 *     ▲               ▲                 │ died, late,                        │ rejected           │
 *     │               └── attempt + 1 ──┴── answered a fault ────────────────┘                    │
 *     └─────────────────────────────────────── round closes ──────────────────────────────────────┘ */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include "include/record.h"
#include "include/settings.h"

#define ACTOR_NONE UINT32_MAX

typedef enum SeatState {
        SEAT_IDLE,
        SEAT_WAITING,
        SEAT_ROLLING,
        SEAT_ROLLED,
        SEAT_TAKING,
        SEAT_TAKEN
} SeatState;

/* Attempts at one invocation. Retries= limits the attempts that failed by themselves. A SIGKILL comes from
 * outside: an actor cannot send one, and exceeding its own memory limit is another fault. So KILLS_MAX
 * attempts may end by SIGKILL. */
#define KILLS_MAX 100u
typedef struct Attempts {
        uint32_t n, n_killed; /* failed attempts; n_killed: those that were killed from outside */
        uint32_t n_lost;      /* attempts that were lost with their node; no limit counts them */
} Attempts;

/* Whether a process was killed from outside, for no fault of its own. */
static inline bool fault_is_kill(uint32_t fault, int32_t detail) {
        return fault == FAULT_HOST_MEMORY || (fault == FAULT_KILLED && detail == SIGKILL);
}

/* Counts a failed attempt. False: no attempt is left. */
bool attempts_fail(Attempts *attempts, uint32_t n_retries, uint32_t fault, int32_t detail);

typedef struct Seat { /* the state of one actor */
        /* Across rounds: */
        uint64_t ordinal; /* invocations that were accepted */
        uint32_t bank;    /* holds its current snapshots */
        /* Until the learner has taken the rollout: */
        uint32_t state;
        Attempts attempts;
        bool cold;
        Metered metered;        /* of the current attempt */
        uint64_t slept_nsec;    /* during the current attempt */
        uint32_t node;          /* of the current attempt; 0: this host */
        uint64_t emulated_nsec; /* of the attempts that failed */
} Seat;

typedef struct Round {
        uint64_t number;
        uint32_t n_actors; /* those that begin with the round or act already; 0: there is no round */
        uint32_t n_seats, n_containers;
        /* n_rollouts: from how many rollouts the round learns; n_taken: how many of them the learner has
         * taken */
        uint32_t n_rollouts, n_taken;
        uint32_t n_queued, queue_first; /* rollouts to be taken, in the order in which they ended */
        uint32_t queue[ACTORS_MAX];
        Seat seats[ACTORS_MAX];
} Round;

void round_init(Round *round, uint32_t n_seats, uint32_t n_containers);
void round_begin(Round *round, uint64_t number, uint32_t n_actors, uint32_t n_rollouts);
/* Marks an actor as acting, as it was when the checkpoint was written. */
void round_resume(Round *round, uint32_t actor);

/* Whether an actor of this container is not idle. */
bool round_needs(const Round *round, uint32_t container);
/* The waiting actor of this container with the lowest number, or ACTOR_NONE. */
uint32_t round_waiting(const Round *round, uint32_t container);
/* The actor with the oldest rollout that has not been taken yet, or ACTOR_NONE. */
uint32_t round_rolled(const Round *round);

void round_order(Round *round, uint32_t actor, bool cold);
void round_answer(Round *round, uint32_t actor);
void round_take(Round *round, uint32_t actor); /* the actor's rollout may be anywhere in the queue */
void round_accept(Round *round, uint32_t actor);
/* Notes that the actor's attempt failed; the actor waits for an order again. False: no attempt is left. */
bool round_fail(Round *round, uint32_t actor, uint32_t n_retries, uint32_t fault, int32_t detail);

static inline bool seat_rolls(const Seat *seat) {
        return seat->state == SEAT_WAITING || seat->state == SEAT_ROLLING;
}

/* Whether some actor has not ended its rollout yet. */
static inline bool round_rolls(const Round *round) {
        for (uint32_t a = 0; a < round->n_seats; a++)
                if (seat_rolls(&round->seats[a]))
                        return true;
        return false;
}

static inline bool round_is_complete(const Round *round) {
        return round->n_taken == round->n_rollouts;
}

/* The learner has learned from the taken rollouts: the snapshots that they wrote become the current ones. */
void round_close(Round *round);
/* The round is given up: every actor keeps its snapshots from before. */
void round_abandon(Round *round);

/* The CPU time of all taken rollouts, and of the rollout that used most. */
void round_cpu_nsec(const Round *round, uint64_t *ret_sum, uint64_t *ret_most);
/* The emulated time of the slowest taken rollout. Where time is measured, it includes failed attempts. */
uint64_t round_slowest_nsec(const Round *round);
