/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* All memory is allocated once, for the most rollouts that a round may have. Pages that no round needs are
 * never touched. */
#include "learner/store/batch.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/fragment.h"
#include "lib/network.h"
#include "lib/slot.h"

DEFINE_CLEANUP(Batch *, batch_free)

Batch *batch_free(Batch *batch) {
        if (!batch)
                return NULL;

        free(batch->observations);
        free(batch->pixels);
        free(batch->choices);
        free(batch->actions);
        free(batch->rewards);
        free(batch->scaled);
        free(batch->ends);
        free(batch->active);
        free(batch->metrics);
        free(batch->behaviour_log_probability);
        free(batch->log_probability);
        free(batch->value);
        free(batch->advantage);
        free(batch->target);
        free(batch->order);
        free(batch->n_finals);
        free(batch->taken);
        free(batch->actors);
        free(batch->lost);
        free(batch);
        return NULL;
}

static int batch_allocate(Batch *b) {
        size_t n = b->n_rows, slots = (size_t) b->n_actors_max * b->envs;
        size_t n_choices = act_is_continuous(b->act) ? 1 : n;
        size_t n_actions = act_is_continuous(b->act) ? n : 1;

        if (b->images)
                b->pixels = calloc(batch_block_numbers(b, b->n_blocks), sizeof(uint8_t));
        else
                b->observations = calloc(n, sizeof(float) * b->n_observation);
        b->choices = calloc(n_choices, sizeof(int32_t) * b->n_choices);
        b->actions = calloc(n_actions, sizeof(float) * b->n_action);
        b->rewards = calloc(n, sizeof(double));
        b->scaled = calloc(n, sizeof(float));
        b->ends = calloc(n, sizeof(uint8_t));
        if (b->come_and_go) {
                b->active = calloc(n, sizeof(uint8_t));
                if (!b->active)
                        return -ENOMEM;
        }
        b->metrics = calloc(
                        b->n_metrics > 0 ? n : 1, sizeof(double) * (b->n_metrics > 0 ? b->n_metrics : 1));
        b->behaviour_log_probability = calloc(n, sizeof(float));
        b->log_probability = calloc(n, sizeof(float));
        b->value = calloc(n, sizeof(float));
        b->advantage = calloc(n, sizeof(float));
        b->target = calloc(n, sizeof(float));
        b->order = calloc(n, sizeof(uint32_t));
        b->n_finals = calloc(b->n_blocks, sizeof(uint32_t));
        b->taken = calloc(b->n_blocks, sizeof(uint8_t));
        b->actors = calloc(b->n_blocks, sizeof(uint32_t));
        b->lost = calloc(slots, sizeof(uint8_t));

        return (b->observations || b->pixels) && b->choices && b->actions && b->rewards && b->scaled &&
                                               b->ends && b->metrics && b->behaviour_log_probability &&
                                               b->log_probability && b->value && b->advantage && b->target &&
                                               b->order && b->n_finals && b->taken && b->actors && b->lost
                               ? 0
                               : -ENOMEM;
}

int batch_new_shape(const Batch *shape, Batch **ret) {
        _cleanup_(batch_freep) Batch *b = NULL;
        uint64_t step_rows = (uint64_t) shape->steps * shape->envs, block_rows, n_rows;
        int r;

        assert(shape);
        assert(shape->frames >= 1 && shape->frames <= ACTORD_STACK_MAX);
        assert(ret);

        /* A row's number has 32 bits, and the number of steps alone is below 2^32. */
        if (__builtin_add_overflow(step_rows + shape->envs, shape->finals_max, &block_rows) ||
                        __builtin_mul_overflow(block_rows, shape->n_blocks, &n_rows) ||
                        n_rows > UINT32_MAX - (uint64_t) shape->frames * shape->envs)
                return -EFBIG;

        b = calloc(1, sizeof(*b));
        if (!b)
                return -ENOMEM;
        b->n_actors_max = shape->n_actors_max;
        b->n_blocks = shape->n_blocks;
        b->envs = shape->envs;
        b->steps = shape->steps;
        b->n_observation = shape->n_observation;
        b->n_action = shape->n_action;
        b->act = shape->act;
        b->n_choices = shape->n_choices > 0 ? shape->n_choices : 1;
        memcpy(b->limits, shape->limits, sizeof(b->limits));
        if (shape->n_choices == 0)
                b->limits[0] = shape->n_action;
        b->images = shape->images;
        b->n_metrics = shape->n_metrics;
        b->come_and_go = shape->come_and_go;
        b->step_rows = (uint32_t) step_rows;
        b->next_rows = (uint32_t) (step_rows + shape->envs);
        b->block_rows = (uint32_t) block_rows;
        b->frames = shape->frames;
        b->block_frames = (uint32_t) (block_rows + (shape->frames - UINT64_C(1)) * shape->envs);
        b->finals_max = shape->finals_max;
        b->n_rows = (size_t) n_rows;

        r = batch_allocate(b);
        if (r < 0)
                return r;
        for (uint32_t k = 0; k < b->n_blocks; k++)
                b->actors[k] = k;

        *ret = TAKE_PTR(b);
        return 0;
}

int batch_new(const JobSettings *settings, const JobPage *page, Batch **ret) {
        const SegmentLayout *l = &page->segment;

        Batch shape;

        assert(settings);
        assert(page);
        assert(ret);

        if (l->finals_max > UINT32_MAX)
                return -EFBIG;
        shape = (Batch){
                .n_actors_max = settings_actors_max(settings),
                .n_blocks = distribution_rollouts(distribution_of(settings), settings_actors_max(settings)),
                .envs = l->envs,
                .steps = l->steps,
                .n_observation = page->network.n_observation,
                .n_action = page->network.n_action,
                .act = page->network.act,
                .images = page->network.pixels,
                .n_metrics = (uint32_t) l->n_metrics,
                .come_and_go = l->active_at > 0,
                .frames = page->network.pixels ? (uint32_t) l->frames : 1,
                .n_choices = page->network.n_choices,
                .finals_max = (uint32_t) l->finals_max,
        };
        memcpy(shape.limits, page->network.choices, sizeof(shape.limits));
        return batch_new_shape(&shape, ret);
}

/* The row of the truncated step whose next observation is stored in row `final`. Truncated steps and the
 * rows of their next observations have the same order. */
static size_t final_step(const Batch *b, size_t block, size_t final) {
        size_t row = block;

        for (size_t n = final - block - b->next_rows + 1; n > 0 && row < block + b->step_rows; row++)
                n -= b->ends[row] == END_TRUNCATED;
        assert(row > block);
        return row - 1;
}

void batch_stack(const Batch *b, size_t row, const uint8_t *ret[static ACTORD_STACK_MAX]) {
        size_t block = row / b->block_rows * b->block_rows, of = row, bytes = batch_observation_bytes(b);
        uint32_t most = b->frames - 1, late = 0, reach;
        const uint8_t *newest;

        ret[most] = batch_observation(b, row);
        if (most == 0)
                return;

        /* The older frames of the observation after a truncated step are the frames of that step. */
        if (row - block >= b->next_rows) {
                of = final_step(b, block, row);
                late = 1;
        }
        reach = stack_reach(b->ends + block, b->envs, of - block, most);
        newest = batch_observation(b, of);
        for (uint32_t k = 0; k < most; k++)
                ret[k] = newest - (size_t) stack_back(b->frames - late, reach, k) * b->envs * bytes;
}
