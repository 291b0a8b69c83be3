/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Snapshots of tasks on Box2D, and how they are restored.
 *
 * Box2D's world cannot be saved: contacts, their impulses and the order of its lists are private. So a
 * snapshot has the history of the world: the numbers that its reset drew, then each step's action and drawn
 * numbers. A restore builds the world again and repeats these steps, which gives the same world bit for bit.
 * If the instance is already at that step, as in an actor that just goes on, nothing is repeated. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "include/actord/env.h"

/* The snapshot: this head, then the doubles that the reset drew, then a place for each step. Steps that were
 * not made are zero. */
typedef struct Episode {
        uint32_t n_steps, begun;
        double drawn[];
} Episode;

typedef struct EpisodeKind {
        uint32_t n_drawn, horizon_steps;
        size_t step_bytes;

        /* Builds the world from the drawn numbers, up to the first observation. 0, -ENOMEM. */
        int (*rebuild)(void *task);
        ActordStep (*advance)(void *task, const void *step);

        /* Checks drawn numbers: a snapshot may be forged, and must not lead to a number that is not
         * finite. */
        bool (*drawn_valid)(const double *drawn);
        bool (*step_valid)(const void *step);
} EpisodeKind;

/* The size of an episode with room for all its steps: a multiple of 8. */
size_t episode_bytes(const EpisodeKind *kind);

/* Drops the last episode; the caller then draws the numbers of the new one. */
void episode_begin(const EpisodeKind *kind, Episode *e);

/* The place for the next step, which counts when n_steps has grown. NULL: no episode was begun, or all steps
 * were made. */
void *episode_room(const EpisodeKind *kind, Episode *e);
/* The newest step; NULL: there is none. */
const void *episode_newest(const EpisodeKind *kind, const Episode *e);

void episode_save(const EpisodeKind *kind, const Episode *e, void *ret_snapshot);

/* Restores an episode from a snapshot. has_world: the task already has the world of e, after the last step
 * of e. 0; -EINVAL: the snapshot is not an episode, and e is empty now; or the error of rebuild(). */
int episode_restore(const EpisodeKind *kind, Episode *e, bool has_world, const void *snapshot, void *task);
/* Begins an episode with these numbers instead of those that a reset would draw. Builds its world, and
 * returns what episode_restore() does. */
int episode_restart(const EpisodeKind *kind, Episode *e, const double *drawn, void *task);
