/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* IMPACT's store of earlier rounds (buffer.h). Each column is one allocation, so that a checkpoint has one
 * tensor for each. */
#include "learner/store/buffer.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learner/kernel/finite.h"
#include "lib/cleanup.h"
#include "lib/network.h"

DEFINE_CLEANUP(Buffer *, buffer_free)

Buffer *buffer_free(Buffer *buffer) {
        if (!buffer)
                return NULL;

        free(buffer->n_actors);
        free(buffer->n_finals);
        free(buffer->columns.observations);
        free(buffer->columns.pixels);
        free(buffer->columns.choices);
        free(buffer->columns.actions);
        free(buffer->columns.scaled);
        free(buffer->columns.ends);
        free(buffer->columns.behaviour_log_probability);
        free(buffer);
        return NULL;
}

static int buffer_allocate(Buffer *buffer, const Batch *live) {
        Batch *c = &buffer->columns;
        size_t n = buffer->n * live->n_rows,
               n_numbers = buffer->n * batch_block_numbers(live, live->n_blocks);

        buffer->n_actors = calloc(buffer->n, sizeof(uint64_t));
        buffer->n_finals = calloc((size_t) buffer->n * live->n_blocks, sizeof(uint32_t));
        if (live->images)
                c->pixels = calloc(n_numbers, sizeof(uint8_t));
        else
                c->observations = calloc(n_numbers, sizeof(float));
        c->scaled = calloc(n, sizeof(float));
        c->ends = calloc(n, sizeof(uint8_t));
        c->behaviour_log_probability = calloc(n, sizeof(float));
        if (act_is_continuous(live->act))
                c->actions = calloc(n, sizeof(float) * live->n_action);
        else
                c->choices = calloc(n, sizeof(int32_t) * live->n_choices);

        return buffer->n_actors && buffer->n_finals && (c->observations || c->pixels) && c->scaled &&
                                               c->ends && c->behaviour_log_probability &&
                                               (c->actions || c->choices)
                               ? 0
                               : -ENOMEM;
}

int buffer_new(uint32_t n, const Batch *live, Buffer **ret) {
        _cleanup_(buffer_freep) Buffer *buffer = NULL;
        int r;

        assert(n > 0 && n <= BUFFER_BATCHES_MAX);
        assert(live);
        assert(ret);

        buffer = calloc(1, sizeof(*buffer));
        if (!buffer)
                return -ENOMEM;
        buffer->n = n;
        r = buffer_allocate(buffer, live);
        if (r < 0)
                return r;

        for (size_t i = 0; i < n; i++) {
                const Batch *c = &buffer->columns;
                Batch *view = &buffer->views[i];
                size_t first = i * live->n_rows, number = i * batch_block_numbers(live, live->n_blocks);

                *view = *live;
                view->observations = c->observations ? c->observations + number : NULL;
                view->pixels = c->pixels ? c->pixels + number : NULL;
                view->choices = c->choices ? c->choices + first * live->n_choices : NULL;
                view->actions = c->actions ? c->actions + first * live->n_action : NULL;
                view->scaled = c->scaled + first;
                view->ends = c->ends + first;
                view->behaviour_log_probability = c->behaviour_log_probability + first;
                view->n_finals = buffer->n_finals + i * live->n_blocks;
        }

        *ret = TAKE_PTR(buffer);
        return 0;
}

void buffer_push(Buffer *buffer, const Batch *live, uint32_t n_actors) {
        uint64_t at = buffer->n_pushed++ % buffer->n;
        Batch *view = &buffer->views[at];
        size_t n = batch_block(live, n_actors);

        buffer->n_actors[at] = n_actors;
        memcpy(view->n_finals, live->n_finals, n_actors * sizeof(uint32_t));
        if (live->images)
                memcpy(view->pixels, live->pixels, batch_block_numbers(live, n_actors));
        else
                memcpy(view->observations, live->observations,
                                batch_block_numbers(live, n_actors) * sizeof(float));
        memcpy(view->scaled, live->scaled, n * sizeof(float));
        memcpy(view->ends, live->ends, n * sizeof(uint8_t));
        memcpy(view->behaviour_log_probability, live->behaviour_log_probability, n * sizeof(float));
        if (view->actions)
                memcpy(view->actions, live->actions, n * live->n_action * sizeof(float));
        else
                memcpy(view->choices, live->choices, n * live->n_choices * sizeof(int32_t));
}

uint32_t buffer_count(const Buffer *buffer) {
        return buffer->n_pushed < buffer->n ? (uint32_t) buffer->n_pushed : buffer->n;
}

Batch *buffer_at(Buffer *buffer, uint32_t age, uint32_t *ret_n_actors) {
        uint64_t at;

        assert(age < buffer_count(buffer));

        at = (buffer->n_pushed - 1 - age) % buffer->n;
        *ret_n_actors = (uint32_t) buffer->n_actors[at];
        return &buffer->views[at];
}

/* Checks one actor's steps: ends and choices must be in range, there must be as many truncated steps as last
 * observations, and numbers must be finite. */
static bool block_possible(const Batch *b, uint32_t actor) {
        size_t block = batch_block(b, actor);
        uint32_t n_truncated = 0;

        for (size_t row = block; row < block + b->step_rows; row++) {
                if (b->ends[row] > END_TRUNCATED)
                        return false;
                n_truncated += b->ends[row] == END_TRUNCATED;
                if (b->choices && !batch_choices_possible(b, row))
                        return false;
        }
        return n_truncated == b->n_finals[actor] && n_truncated <= b->finals_max &&
               (b->images || floats_finite(b->observations + block * b->n_observation,
                                             (size_t) (b->next_rows + n_truncated) * b->n_observation,
                                             -INFINITY)) &&
               floats_finite(b->scaled + block, b->step_rows, -INFINITY) &&
               floats_finite(b->behaviour_log_probability + block, b->step_rows, -INFINITY) &&
               (!b->actions || floats_finite(b->actions + block * b->n_action,
                                               (size_t) b->step_rows * b->n_action, -INFINITY));
}

bool buffer_possible(const Buffer *buffer) {
        if (buffer->n_pushed > INT64_MAX)
                return false;
        for (uint32_t i = 0; i < buffer_count(buffer); i++) {
                if (buffer->n_actors[i] < 1 || buffer->n_actors[i] > buffer->views[i].n_blocks)
                        return false;
                for (uint32_t a = 0; a < buffer->n_actors[i]; a++)
                        if (!block_possible(&buffer->views[i], a))
                                return false;
        }
        return true;
}
