/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Keeps what is the same in each task: an episode's steps, its snapshots, its state, and the observation. */
#include "actor/envs/box2d/engine.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static Episode *episode_of(const Box2dInstance *b) {
        return (Episode *) ((uint8_t *) b + b->task->episode_at);
}

static void write_observation(const Box2dInstance *b, void *ret_observation) {
        float observation[BOX2D_OBSERVATION_MAX];

        assert(b->task->n_observation <= BOX2D_OBSERVATION_MAX);

        for (uint32_t i = 0; i < b->task->n_observation; i++)
                observation[i] = (float) b->observation[i];
        memcpy(ret_observation, observation, b->task->n_observation * sizeof(float));
}

int box2d_reset(void *instance, ActordRandom *random, void *ret_observation) {
        Box2dInstance *b = instance;
        int r;

        episode_begin(&b->task->kind, episode_of(b));
        b->task->begin(instance, random);
        r = b->task->kind.rebuild(instance);
        if (r < 0)
                return r;
        write_observation(b, ret_observation);
        return 0;
}

int box2d_step(void *instance, const void *action, ActordRandom *random, void *ret_observation,
                ActordStep *ret) {
        Box2dInstance *b = instance;
        Episode *e = episode_of(b);
        void *step;
        int r;

        step = episode_room(&b->task->kind, e);
        if (!step)
                return -EPROTO;
        r = b->task->take(instance, action, random, step);
        if (r < 0)
                return r;
        e->n_steps++;

        *ret = b->task->kind.advance(instance, step);
        write_observation(b, ret_observation);
        return 0;
}

int box2d_snapshot(const void *instance, void *ret_snapshot) {
        const Box2dInstance *b = instance;

        episode_save(&b->task->kind, episode_of(b), ret_snapshot);
        return 0;
}

int box2d_restore(void *instance, const void *snapshot) {
        Box2dInstance *b = instance;

        return episode_restore(&b->task->kind, episode_of(b), b->world, snapshot, instance);
}

void box2d_close(void *instance) {
        Box2dInstance *b = instance;

        b->world = world_free(b->world);
}

int box2d_state_parts(const void *instance, ActordStatePart *ret) {
        const Box2dTask *task = ((const Box2dInstance *) instance)->task;

        memcpy(ret, task->parts, (size_t) task->n_parts * sizeof(*ret));
        return task->n_parts;
}

int box2d_get_state(const void *instance, double *ret) {
        const Box2dInstance *b = instance;

        memcpy(ret, episode_of(b)->drawn, b->task->kind.n_drawn * sizeof(double));
        return 0;
}

int box2d_set_state(void *instance, const double *state, void *ret_observation) {
        Box2dInstance *b = instance;
        int r;

        r = episode_restart(&b->task->kind, episode_of(b), state, instance);
        if (r < 0)
                return r;
        write_observation(b, ret_observation);
        return 0;
}
