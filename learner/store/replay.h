/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The last steps of each slot, for repeated use. A step's name is (slot, invocation, step). Each invocation
 * brings RolloutSteps= steps of a slot, so step t of invocation i is the slot's step i * RolloutSteps + t.
 * Its place is this number modulo the ring's length. Windows of n steps cross the borders of invocations;
 * incomplete windows wait for the next invocation. Nothing depends on when a rollout arrived.
 *
 * Each step is stored with the observation after it, since an episode's last observation is stored nowhere
 * else. If images are stacks of frames, only the newest frame is stored. */
#pragma once

#include <stdbool.h>

#include "include/settings.h"
#include "learner/store/batch.h"

typedef struct Replay {
        uint32_t n_slots, n_action, n_choices;
        uint32_t images;          /* observations are bytes and not floats */
        uint32_t frames;          /* frames of a stack (K below); stacks are built when a window is drawn */
        size_t observation_bytes; /* bytes of the part of an observation that is in a batch's row */
        uint64_t capacity;        /* steps of each slot where windows may begin */
        uint64_t ring;      /* capacity + K - 1 steps of each slot are kept, for the oldest stacks' frames */
        uint64_t *n_stored; /* [n_slots]: steps so far */
        uint8_t *observations, *successors; /* [n_slots][ring][observation_bytes] */
        float *rewards;                     /* [n_slots][ring] */
        int32_t *choices;                   /* [n_slots][ring][n_choices]; NULL: actions are numbers */
        float *actions;                     /* [n_slots][ring][n_action]; NULL: actions are choices */
        uint8_t *ends; /* EndKind; also TRUNCATED where an invocation cut an episode off */

        uint32_t n_steps; /* steps of a window */
        uint64_t *first;  /* [n_slots + 1]: how many windows may be drawn from the slots before this one */

        /* one minibatch: the first step of each window that was drawn, then the observation after each
         * window */
        Batch *drawn;
        /* [windows]: the factor of the value after each window; 0: the episode terminated */
        float *discounts;
} Replay;

int replay_new(const JobSettings *settings, const Batch *live, Replay **ret);
Replay *replay_free(Replay *replay);

/* Enters the steps of the batch's first n_actors rollouts. reset: episodes do not continue in the next
 * invocation. */
void replay_enter(Replay *replay, const Batch *live, uint32_t n_actors, bool reset);
/* Says that the steps that are entered next belong to other episodes than the steps so far. */
void replay_cut(Replay *replay);
/* How many windows may be drawn. Call it before replay_gather(). */
uint64_t replay_count(Replay *replay);
/* Copies window number `window`, below replay_count(), into row `row` of the minibatch. */
void replay_gather(Replay *replay, uint64_t window, double gamma, uint32_t row);

/* Whether data from a checkpoint can have come from replay_enter(). Later sums and indices rely on this.
 * low, high: the bounds of actions that are numbers. */
bool replay_possible(const Replay *replay, double low, double high);
