/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The last steps of each slot, to learn from again. A step is named by (slot, invocation, step): each
 * invocation brings RolloutSteps= steps of a slot, so step t of invocation i is the slot's step i *
 * RolloutSteps + t, and lies at this modulo the ring's length. Windows of n steps cross the borders of
 * invocations; those that are not complete wait for the next one. Nothing depends on when a rollout came.
 *
 * With each step lies what followed it: an episode's last observation stands nowhere else. Of stacked
 * frames it is the newest one. */
#pragma once

#include <stdbool.h>

#include "include/settings.h"
#include "learner/store/batch.h"

typedef struct Replay {
        uint32_t n_slots, n_action;
        uint32_t images;          /* observations are bytes, not floats */
        uint32_t frames;          /* K, as a batch has them: stacks are built when a window is drawn */
        size_t observation_bytes; /* of what a batch has of one */
        uint64_t capacity;        /* steps of each slot in which windows may begin */
        uint64_t ring;      /* steps that are kept: K - 1 more, since the oldest stacks need these frames */
        uint64_t *n_stored; /* [n_slots]: steps ever */
        uint8_t *observations, *successors; /* [n_slots][ring][observation_bytes] */
        float *rewards;                     /* [n_slots][ring] */
        int32_t *choices;                   /* [n_slots][ring]; NULL: actions are numbers */
        float *actions;                     /* [n_slots][ring][n_action]; NULL: actions are choices */
        uint8_t *ends; /* EndKind; TRUNCATED also where the invocation cut an episode off */

        uint32_t n_steps; /* of a window */
        uint64_t *first;  /* [n_slots + 1]: windows that may be drawn, of the slots before */

        Batch *drawn;     /* one minibatch: rows, then what followed their windows */
        float *discounts; /* of what followed; 0 after the end of an episode */
} Replay;

int replay_new(const JobSettings *settings, const Batch *live, Replay **ret);
Replay *replay_free(Replay *replay);

/* Enters the steps of the first n_actors blocks; `reset`: episodes do not go on in the next invocation. */
void replay_enter(Replay *replay, const Batch *live, uint32_t n_actors, bool reset);
/* What is entered next belongs to other episodes than what was entered last. */
void replay_cut(Replay *replay);
/* How many windows may be drawn; to be called before replay_gather(). */
uint64_t replay_count(Replay *replay);
/* Copies window number `window`, less than that count, into row `row` of the minibatch. */
void replay_gather(Replay *replay, uint64_t window, double gamma, uint32_t row);

/* Whether data out of a checkpoint can have come from replay_enter(): later sums and indices rely on it.
 * low, high: the bounds of actions that are numbers. */
bool replay_possible(const Replay *replay, double low, double high);
