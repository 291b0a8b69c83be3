/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Keeps episodes as bytes: only the task knows the content of a step. */
#include "actor/envs/box2d/episode.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static size_t steps_at(const EpisodeKind *kind) {
        return sizeof(Episode) + kind->n_drawn * sizeof(double);
}

size_t episode_bytes(const EpisodeKind *kind) {
        return (steps_at(kind) + kind->horizon_steps * kind->step_bytes + 7) & ~(size_t) 7;
}

static const void *step_of(const EpisodeKind *kind, const Episode *e, uint32_t i) {
        return (const uint8_t *) e + steps_at(kind) + i * kind->step_bytes;
}

void episode_begin(const EpisodeKind *kind, Episode *e) {
        memset(e, 0, episode_bytes(kind));
        e->begun = 1;
}

void *episode_room(const EpisodeKind *kind, Episode *e) {
        if (!e->begun || e->n_steps >= kind->horizon_steps)
                return NULL;
        return (uint8_t *) e + steps_at(kind) + e->n_steps * kind->step_bytes;
}

const void *episode_newest(const EpisodeKind *kind, const Episode *e) {
        return e->n_steps > 0 ? step_of(kind, e, e->n_steps - 1) : NULL;
}

void episode_save(const EpisodeKind *kind, const Episode *e, void *ret_snapshot) {
        memcpy(ret_snapshot, e, episode_bytes(kind));
}

static bool is_zero(const uint8_t *p, const uint8_t *end) {
        while (p < end)
                if (*p++)
                        return false;
        return true;
}

static bool episode_valid(const EpisodeKind *kind, const Episode *e) {
        const uint8_t *end = (const uint8_t *) e + episode_bytes(kind);

        if (e->begun > 1 || e->n_steps > kind->horizon_steps)
                return false;
        if (!e->begun)
                return is_zero((const uint8_t *) e, end);
        if (!kind->drawn_valid(e->drawn))
                return false;
        for (uint32_t i = 0; i < e->n_steps; i++)
                if (!kind->step_valid(step_of(kind, e, i)))
                        return false;
        return is_zero(step_of(kind, e, e->n_steps), end);
}

static int replay(const EpisodeKind *kind, Episode *e, void *task) {
        uint32_t n_steps = e->n_steps;
        int r;

        if (!episode_valid(kind, e)) {
                memset(e, 0, episode_bytes(kind));
                return -EINVAL;
        }
        if (!e->begun)
                return 0;

        r = kind->rebuild(task);
        if (r < 0)
                return r;
        for (uint32_t i = 0; i < n_steps; i++)
                (void) kind->advance(task, step_of(kind, e, i));
        return 0;
}

int episode_restore(const EpisodeKind *kind, Episode *e, bool has_world, const void *snapshot, void *task) {
        if (has_world && memcmp(e, snapshot, episode_bytes(kind)) == 0)
                return 0;

        memcpy(e, snapshot, episode_bytes(kind));
        return replay(kind, e, task);
}

int episode_restart(const EpisodeKind *kind, Episode *e, const double *drawn, void *task) {
        episode_begin(kind, e);
        memcpy(e->drawn, drawn, kind->n_drawn * sizeof(double));
        return replay(kind, e, task);
}
