/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a task on Box2D keeps of an episode, and how it comes back.
 *
 * Box2D's world cannot be written down: contacts, their impulses and the order of its lists are private.
 * So a snapshot holds what the world came from: the numbers that were drawn at its reset, then each
 * step's action and draws. A restore builds the world anew and steps through them, which gives the same
 * world bit for bit; where the instance still is that very episode, as in an actor that goes on where it
 * was, nothing has to be done. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The snapshot: this, the doubles that the reset drew, then a place for each step. What was not stepped
 * yet is zero. */
typedef struct Episode {
        uint32_t n_steps, begun;
        double drawn[];
} Episode;

typedef struct EpisodeKind {
        uint32_t n_drawn, horizon_steps;
        size_t step_bytes;

        /* The world of the drawn numbers, up to the first observation. 0, -ENOMEM. */
        int (*rebuild)(void *task);
        void (*advance)(void *task, const void *step);

        /* A snapshot may have been written by others: nothing in it may lead to a number that is not
         * finite. */
        bool (*drawn_valid)(const double *drawn);
        bool (*step_valid)(const void *step);
} EpisodeKind;

/* A multiple of 8. */
size_t episode_bytes(const EpisodeKind *kind);

/* Forgets what was; the numbers are drawn next. */
void episode_begin(const EpisodeKind *kind, Episode *e);

/* The place of the next step, which counts from now on. NULL: nothing was begun, or all were made. */
void *episode_add(const EpisodeKind *kind, Episode *e);
/* The newest; NULL: there is none. */
const void *episode_newest(const EpisodeKind *kind, const Episode *e);

void episode_save(const EpisodeKind *kind, const Episode *e, void *ret_snapshot);

/* has_world: the task still is where e ends. 0; -EINVAL: no episode, and e is none any more; or what
 * rebuild() returned. */
int episode_restore(const EpisodeKind *kind, Episode *e, bool has_world, const void *snapshot, void *task);
/* The same from the numbers that a reset would have drawn. */
int episode_restart(const EpisodeKind *kind, Episode *e, const double *drawn, void *task);
