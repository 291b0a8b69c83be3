/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Each slot has a ring of steps. Each column (observations, rewards and so on) is one allocation for all
 * slots, so that a checkpoint has one tensor for each column. */
#include "learner/store/replay.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learner/kernel/finite.h"
#include "lib/algorithm-traits.h"
#include "lib/cleanup.h"
#include "lib/network.h"
#include "lib/slot.h"

DEFINE_CLEANUP(Replay *, replay_free)

Replay *replay_free(Replay *replay) {
        if (!replay)
                return NULL;

        free(replay->n_stored);
        free(replay->observations);
        free(replay->successors);
        free(replay->rewards);
        free(replay->choices);
        free(replay->actions);
        free(replay->ends);
        free(replay->first);
        free(replay->discounts);
        batch_free(replay->drawn);
        free(replay);
        return NULL;
}

/* A minibatch is a batch in which each environment made one step: the observation after row i is row n +
 * i. */
static int drawn_new(const Batch *live, uint32_t n_rows, Batch **ret) {
        Batch shape = {
                .n_actors_max = 1,
                .n_blocks = 1,
                .envs = n_rows,
                .steps = 1,
                .n_observation = live->n_observation,
                .n_action = live->n_action,
                .act = live->act,
                .n_choices = live->n_choices,
                .images = live->images,
                .frames = 1,
        };

        memcpy(shape.limits, live->limits, sizeof(shape.limits));
        return batch_new_shape(&shape, ret);
}

static int replay_allocate(Replay *r, const Batch *live, uint32_t n_rows) {
        size_t n = r->n_slots * r->ring;

        r->n_stored = calloc(r->n_slots, sizeof(uint64_t));
        r->first = calloc((size_t) r->n_slots + 1, sizeof(uint64_t));
        r->observations = calloc(n, r->observation_bytes);
        r->successors = calloc(n, r->observation_bytes);
        r->rewards = calloc(n, sizeof(float));
        if (act_is_continuous(live->act))
                r->actions = calloc(n, sizeof(float) * live->n_action);
        else
                r->choices = calloc(n, sizeof(int32_t) * live->n_choices);
        r->ends = calloc(n, sizeof(uint8_t));
        r->discounts = calloc(n_rows, sizeof(float));
        if (!r->n_stored || !r->first || !r->observations || !r->successors || !r->rewards ||
                        !(r->choices || r->actions) || !r->ends || !r->discounts)
                return -ENOMEM;
        return drawn_new(live, n_rows, &r->drawn);
}

int replay_new(const JobSettings *settings, const Batch *live, Replay **ret) {
        _cleanup_(replay_freep) Replay *replay = NULL;
        int r;

        assert(settings);
        assert(live);
        assert(ret);

        replay = calloc(1, sizeof(*replay));
        if (!replay)
                return -ENOMEM;
        replay->n_slots = live->n_actors_max * live->envs;
        replay->observation_bytes = batch_observation_bytes(live);
        replay->images = live->images;
        replay->n_action = live->n_action;
        replay->n_choices = live->n_choices;
        replay->frames = live->frames;
        replay->capacity = algorithm_replay_steps(settings);
        replay->ring = replay->capacity + live->frames - 1;
        replay->n_steps = settings->n_steps;
        if (replay->capacity < (uint64_t) live->steps + replay->n_steps)
                return -EINVAL;
        r = replay_allocate(replay, live, settings->minibatch_size);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(replay);
        return 0;
}

static size_t replay_at(const Replay *replay, uint32_t slot, uint64_t step) {
        return slot * replay->ring + step % replay->ring;
}

static void step_enter(
                Replay *replay, uint32_t slot, const Batch *live, size_t row, size_t next, uint8_t end) {
        size_t at = replay_at(replay, slot, replay->n_stored[slot]++), n = replay->observation_bytes;

        memcpy(replay->observations + at * n, batch_observation(live, row), n);
        memcpy(replay->successors + at * n, batch_observation(live, next), n);
        replay->rewards[at] = live->scaled[row];
        if (replay->actions)
                memcpy(replay->actions + at * replay->n_action, live->actions + row * live->n_action,
                                replay->n_action * sizeof(float));
        else
                memcpy(replay->choices + at * replay->n_choices, live->choices + row * live->n_choices,
                                replay->n_choices * sizeof(int32_t));
        replay->ends[at] = end;
}

/* Says that the slot's next steps belong to another episode. */
static void slot_cut(Replay *replay, uint32_t slot) {
        size_t last;

        if (replay->n_stored[slot] == 0)
                return;
        last = replay_at(replay, slot, replay->n_stored[slot] - 1);
        if (replay->ends[last] == END_NOT)
                replay->ends[last] = END_TRUNCATED;
}

void replay_cut(Replay *replay) {
        for (uint32_t slot = 0; slot < replay->n_slots; slot++)
                slot_cut(replay, slot);
}

void replay_enter(Replay *replay, const Batch *live, uint32_t n_actors, bool reset) {
        for (uint32_t s = 0; s < n_actors * live->envs; s++) {
                uint32_t slot = batch_slot(live, s);

                if (live->lost[slot])
                        slot_cut(replay, slot);
        }

        for (uint32_t a = 0; a < n_actors; a++) {
                size_t block = batch_block(live, a), final = block + live->next_rows;

                for (uint32_t i = 0; i < live->step_rows; i++) {
                        bool cut = reset && i >= live->step_rows - live->envs;
                        uint8_t end = live->ends[block + i];
                        size_t next = end == END_TRUNCATED ? final++ : block + i + live->envs;

                        step_enter(replay, batch_slot(live, a * live->envs + i % live->envs), live,
                                        block + i, next, end == END_NOT && cut ? END_TRUNCATED : end);
                }
        }
}

static uint64_t slot_windows(const Replay *replay, uint32_t slot) {
        return algorithm_slot_windows(replay->n_stored[slot], replay->capacity, replay->n_steps);
}

uint64_t replay_count(Replay *replay) {
        for (uint32_t s = 0; s < replay->n_slots; s++)
                replay->first[s + 1] = replay->first[s] + slot_windows(replay, s);
        return replay->first[replay->n_slots];
}

/* Finds the slot in which a window begins, by binary search. */
static uint32_t window_slot(const Replay *replay, uint64_t window) {
        uint32_t low = 0, high = replay->n_slots;

        while (high - low > 1) {
                uint32_t middle = low + (high - low) / 2;

                if (replay->first[middle] <= window)
                        low = middle;
                else
                        high = middle;
        }
        return low;
}

/* A step of a slot, and where it is in the columns. A division is slow beside the copying of a small
 * observation, so the places near a known one are computed without any. */
typedef struct Spot {
        uint32_t slot;
        uint64_t step;
        size_t at;
} Spot;

static Spot spot_of(const Replay *replay, uint32_t slot, uint64_t step) {
        return (Spot){ slot, step, replay_at(replay, slot, step) };
}

static Spot spot_next(const Replay *replay, Spot spot) {
        size_t first = spot.slot * replay->ring;

        spot.step++;
        spot.at = spot.at + 1 < first + replay->ring ? spot.at + 1 : first;
        return spot;
}

/* Where the step is that the slot made n steps earlier. n: less than the ring */
static size_t at_before(const Replay *replay, Spot spot, uint32_t n) {
        return spot.at >= spot.slot * replay->ring + n ? spot.at - n : spot.at + replay->ring - n;
}

/* Gathers the stack of n_frames frames that ends with this step's frame. It serves two observations: the one
 * that the step saw, and, without its newest frame, the one after the step. */
static void frames_gather(const Replay *replay, Spot spot, uint32_t n_frames, uint8_t *ret) {
        uint32_t reach = 0;
        size_t n = replay->observation_bytes;

        while (reach < replay->frames - 1 && reach < spot.step &&
                        replay->ends[at_before(replay, spot, reach + 1)] == END_NOT)
                reach++;
        for (uint32_t k = 0; k < n_frames; k++) {
                size_t from = at_before(replay, spot, stack_back(n_frames, reach, k));

                memcpy(ret + k * n, replay->observations + from * n, n);
        }
}

static void successor_gather(const Replay *replay, Spot spot, uint8_t *ret) {
        size_t n = replay->observation_bytes;
        uint32_t before = replay->frames - 1;

        frames_gather(replay, spot, before, ret);
        memcpy(ret + before * n, replay->successors + spot.at * n, n);
}

void replay_gather(Replay *replay, uint64_t window, double gamma, uint32_t row) {
        Batch *b = replay->drawn;
        double sum = 0.0, discount = 1.0;
        uint32_t slot;
        Spot spot;

        assert(window < replay->first[replay->n_slots]);
        assert(row < b->step_rows);

        slot = window_slot(replay, window);
        spot = spot_of(replay, slot,
                        replay->n_stored[slot] - slot_windows(replay, slot) - replay->n_steps + 1 +
                                        (window - replay->first[slot]));
        frames_gather(replay, spot, replay->frames, batch_observation(b, row));
        if (replay->actions)
                memcpy(b->actions + (size_t) row * b->n_action, replay->actions + spot.at * replay->n_action,
                                b->n_action * sizeof(float));
        else
                memcpy(b->choices + (size_t) row * b->n_choices,
                                replay->choices + spot.at * replay->n_choices,
                                b->n_choices * sizeof(int32_t));

        for (uint32_t k = 0;; k++, spot = spot_next(replay, spot)) {
                sum += discount * (double) replay->rewards[spot.at];
                discount *= gamma;
                if (k + 1 == replay->n_steps || replay->ends[spot.at] != END_NOT)
                        break;
        }
        successor_gather(replay, spot, batch_observation(b, b->step_rows + row));
        b->scaled[row] = (float) sum;
        replay->discounts[row] = replay->ends[spot.at] == END_TERMINATED ? 0.0f : (float) discount;
}

static bool observation_finite(const Replay *replay, const uint8_t *observations, size_t at) {
        const uint8_t *from = observations + at * replay->observation_bytes;

        return replay->images || floats_finite((const float *) (const void *) from,
                                                 replay->observation_bytes / sizeof(float), -INFINITY);
}

static bool action_possible(const Replay *replay, size_t at, double low, double high) {
        if (replay->actions)
                return floats_within(replay->actions + at * replay->n_action, replay->n_action, low, high);
        for (uint32_t k = 0; k < replay->n_choices; k++) {
                int32_t choice = replay->choices[at * replay->n_choices + k];

                if (choice < 0 || (uint32_t) choice >= replay->drawn->limits[k])
                        return false;
        }
        return true;
}

bool replay_possible(const Replay *replay, double low, double high) {
        for (uint32_t s = 0; s < replay->n_slots; s++) {
                uint64_t n = replay->n_stored[s];

                if (n > INT64_MAX)
                        return false;
                for (uint64_t i = 0; i < n && i < replay->ring; i++) {
                        size_t at = s * replay->ring + i;

                        if (!action_possible(replay, at, low, high) || replay->ends[at] > END_TRUNCATED ||
                                        !isfinite(replay->rewards[at]))
                                return false;
                        if (!observation_finite(replay, replay->observations, at) ||
                                        !observation_finite(replay, replay->successors, at))
                                return false;
                }
        }
        return true;
}
