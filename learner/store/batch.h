/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A round's data, with one flat array for each quantity. Each rollout has a block of rows: its steps [t][e],
 * then the observations after the last step, then the last observations of truncated episodes. A row has the
 * same number in every array.
 *
 * All numbers are the learner's own copies, so no actor can change them. */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "include/settings.h"
#include "include/slot.h"

typedef struct Batch {
        uint32_t n_actors_max, envs, steps; /* n_actors_max: the most actors of the job */
        uint32_t n_blocks;                  /* the most rollouts of a round */
        uint32_t n_observation, n_action;
        uint32_t act; /* ActKind: it decides whether `choices` or `actions` has rows */
        /* how many choices an action has, and how many values each has; n_choices 0, only in the shape for
         * batch_new_shape(): one choice of n_action values */
        uint32_t n_choices, limits[ACTORD_CHOICES_MAX];
        uint32_t step_rows;  /* steps * envs */
        uint32_t next_rows;  /* step_rows + envs: where an actor's last observations begin */
        uint32_t block_rows; /* of one rollout */
        uint32_t finals_max;
        uint32_t images; /* `pixels` exists, and not `observations` */
        /* K, if an image is a stack of K frames: a row holds only the newest frame, and earlier rows hold
         * the others. 1: a row holds the whole observation. */
        uint32_t frames;
        uint32_t n_metrics;   /* metrics of an episode */
        uint32_t come_and_go; /* `active` exists */
        /* rows of `pixels` for a rollout; the older frames of its first rows come first */
        uint32_t block_frames;
        size_t n_rows;

        float *observations; /* [n_rows][n_observation]: raw, then normalised in place */
        /* [n_blocks][block_frames][n_observation / K]: raw bytes, which need a quarter of the memory of
         * floats */
        uint8_t *pixels;
        int32_t *choices; /* [n_rows][n_choices] */
        float *actions;   /* [n_rows][n_action] */
        double *rewards;  /* raw */
        float *scaled;    /* the rewards that are learned from */
        uint8_t *ends;    /* EndKind */
        /* 0: the agent is absent, and nothing is learned from the row; NULL: all are present */
        uint8_t *active;
        double *metrics;                  /* [n_rows][n_metrics]: of the episode that ended in the row */
        float *behaviour_log_probability; /* as the actor reported it */
        float *log_probability, *value;   /* recomputed by the learner */
        float *advantage, *target;
        uint32_t *order; /* scratch of one epoch: row numbers */

        uint32_t *n_finals; /* [n_blocks] */
        uint8_t *taken;     /* [n_blocks] */
        uint32_t *actors;   /* [n_blocks]: the actor of each rollout */
        uint8_t *lost; /* [n_actors_max * envs]: 1: the slot's actor was restarted and lost the episode */
} Batch;

/* 0, -ENOMEM, or -EFBIG: there are more rows than a 32-bit number can count. */
int batch_new(const JobSettings *settings, const JobPage *page, Batch **ret);
/* Makes an empty batch with the sizes of `shape`, such as its actors, steps and finals_max. */
int batch_new_shape(const Batch *shape, Batch **ret);
Batch *batch_free(Batch *batch);

/* A row stores only the newest frame of its observation (all of it if frames is 1). The next three functions
 * return how many numbers this part has, how many bytes, and where it begins. */
static inline size_t batch_frame_numbers(const Batch *batch) {
        assert(batch->frames > 0);

        return batch->n_observation / batch->frames;
}

static inline size_t batch_observation_bytes(const Batch *batch) {
        return batch_frame_numbers(batch) * (batch->images ? sizeof(uint8_t) : sizeof(float));
}

static inline void *batch_observation(const Batch *batch, size_t row) {
        if (batch->images && batch->frames > 1)
                row += (row / batch->block_rows + 1) * (batch->block_frames - batch->block_rows);
        return batch->images ? (void *) (batch->pixels + row * batch_frame_numbers(batch))
                             : (void *) (batch->observations + row * batch->n_observation);
}

/* How many bytes of `pixels`, or numbers of `observations`, n blocks have. */
static inline size_t batch_block_numbers(const Batch *batch, uint32_t n_blocks) {
        return (size_t) n_blocks * batch->block_frames * batch_frame_numbers(batch);
}

/* Whether this row is learned from. */
static inline bool batch_active(const Batch *batch, size_t row) {
        return !batch->active || batch->active[row];
}

/* Whether each choice in a row is a possible one. */
static inline bool batch_choices_possible(const Batch *batch, size_t row) {
        const int32_t *choices = batch->choices + row * batch->n_choices;

        for (uint32_t k = 0; k < batch->n_choices; k++)
                if (choices[k] < 0 || (uint32_t) choices[k] >= batch->limits[k])
                        return false;
        return true;
}

/* The K frames of a row's image, the oldest first. */
void batch_stack(const Batch *batch, size_t row, const uint8_t *ret[static ACTORD_STACK_MAX]);

static inline size_t batch_block(const Batch *batch, uint32_t block) {
        return (size_t) block * batch->block_rows;
}

/* The block for an actor's rollout: its own or, if a round has only one rollout, the only block. */
static inline uint32_t batch_block_of(const Batch *batch, uint32_t actor) {
        return actor % batch->n_blocks;
}

/* Row number s of step t. The rows of a step are numbered through all blocks. */
static inline size_t batch_step_row(const Batch *batch, uint32_t t, uint32_t s) {
        return batch_block(batch, s / batch->envs) + (size_t) t * batch->envs + s % batch->envs;
}

/* The slot of row number s of a step (see batch_step_row()). */
static inline uint32_t batch_slot(const Batch *batch, uint32_t s) {
        return batch->actors[s / batch->envs] * batch->envs + s % batch->envs;
}
