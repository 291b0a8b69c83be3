/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copies, then checks. Numbers that the learner can know by itself are checked exactly: choices, ends, and
 * lengths of episodes. Other numbers, which only the environment knows, must be finite and within the bounds
 * of its spec. */
#include "learner/validation.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <nettle/sha2.h>
#include <stdlib.h>
#include <string.h>

#include "learner/kernel/finite.h"
#include "lib/algorithm-traits.h"
#include "lib/cleanup.h"
#include "lib/forward.h"
#include "lib/network.h"
#include "lib/pair.h"
#include "lib/slot.h"

DEFINE_CLEANUP(Validation *, validation_free)

Validation *validation_free(Validation *validation) {
        if (!validation)
                return NULL;

        free(validation->scratch);
        free(validation->before);
        free(validation->after);
        free(validation);
        return NULL;
}

int validation_new(const JobSettings *settings, const JobPage *page, const EpisodeStatistics *episodes,
                Batch *batch, Validation **ret) {
        _cleanup_(validation_freep) Validation *validation = NULL;

        assert(settings);
        assert(page);
        assert(episodes);
        assert(batch);
        assert(ret);

        validation = calloc(1, sizeof(*validation));
        if (!validation)
                return -ENOMEM;
        *validation = (Validation){
                .settings = settings,
                .page = page,
                .episodes = episodes,
                .batch = batch,
                .pair_steps = algorithm_pair_steps(settings),
        };

        validation->scratch = calloc(1, page->segment.observation_bytes);
        validation->before = calloc(batch->envs, sizeof(SlotState));
        validation->after = calloc(batch->envs, sizeof(SlotState));
        if (!validation->scratch || !validation->before || !validation->after)
                return -ENOMEM;

        *ret = TAKE_PTR(validation);
        return 0;
}

/* Bytes are copied as they are. Each byte is a finite number. It can be outside of a space only if the space
 * is narrower than 0 to 255. */
static bool pixels_take(const ActordSpace *space, const void *from, size_t n, uint8_t *ret) {
        size_t n_bad = 0;

        memcpy(ret, from, n);
        if (space->low <= 0 && space->high >= UINT8_MAX)
                return true;
        for (size_t i = 0; i < n; i++)
                n_bad += ret[i] < space->low || ret[i] > space->high;
        return n_bad == 0;
}

static bool choices_within(const void *choices, uint64_t n, uint32_t n_choices) {
        for (uint64_t i = 0; i < n; i++) {
                int32_t choice;

                memcpy(&choice, (const uint8_t *) choices + i * sizeof(choice), sizeof(choice));
                if (choice < 0 || (uint32_t) choice >= n_choices)
                        return false;
        }
        return true;
}

/* Copies the scratch into a row of the batch. false: it is not an observation of the space. */
static bool scratch_take(Validation *validation, size_t row) {
        float *ret = batch_observation(validation->batch, row);
        const ActordSpace *space = &validation->page->spec.observation;
        size_t n = validation->batch->n_observation;

        observation_read(space, validation->scratch, ret);
        if (space->kind == ACTORD_BOX)
                return floats_within(ret, n, space->low, space->high);
        return choices_within(validation->scratch, space_numbers(space), space->n_choices);
}

static size_t first_row(const Batch *b, uint32_t actor) {
        return batch_block(b, batch_block_of(b, actor));
}

/* Takes a row's observation. A batch of images has one frame in each row. A batch of other observations has
 * the whole stack of FrameStack= observations in each row. */
static bool observation_take(Validation *validation, uint32_t actor, void *segment, uint32_t row) {
        const SegmentLayout *l = &validation->page->segment;
        size_t block = first_row(validation->batch, actor);

        if (validation->batch->images)
                return pixels_take(&validation->page->spec.observation, segment_observation(segment, l, row),
                                l->frame_bytes, batch_observation(validation->batch, block + row));
        segment_stack_read(segment, l, validation->batch->ends + block, row, validation->scratch);
        return scratch_take(validation, block + row);
}

/* Takes the last observation of an episode that was truncated at the step in this row. i: the number of the
 * truncated episode, from 0 on, in the rollout. */
static bool final_take(Validation *validation, uint32_t actor, void *segment, uint32_t row, uint32_t i) {
        const SegmentLayout *l = &validation->page->segment;
        size_t block = first_row(validation->batch, actor), at = block + validation->batch->next_rows + i;

        if (validation->batch->images)
                return pixels_take(&validation->page->spec.observation, segment_final(segment, l, i),
                                l->frame_bytes, batch_observation(validation->batch, at));
        segment_final_read(segment, l, validation->batch->ends + block, row, i, validation->scratch);
        return scratch_take(validation, at);
}

/* Takes the frames that precede row 0: they belong to the stacks of the first rows. */
static bool frames_before_take(Validation *validation, uint32_t actor, void *segment) {
        const SegmentLayout *l = &validation->page->segment;
        const Batch *b = validation->batch;
        uint32_t n = (b->frames - 1) * b->envs;
        uint8_t *first;

        assert(b->frames > 0);

        if (n == 0)
                return true;
        first = (uint8_t *) batch_observation(b, first_row(b, actor)) - n * l->frame_bytes;
        return pixels_take(&validation->page->spec.observation,
                        segment_frame_before(segment, l, 0, b->frames - 1), n * l->frame_bytes, first);
}

/* Pair k is two neighbouring slots. Whether both have the same observation wherever a pair of rollouts
 * begins. If not, *ret_row is the row of the second slot. */
static bool pair_agrees(const Validation *validation, uint32_t actor, uint32_t k, int32_t *ret_row) {
        const Batch *b = validation->batch;
        size_t block = first_row(b, actor);
        PairWalk walk = {};

        for (uint32_t t = 0; t < b->steps; t++) {
                uint32_t row = t * b->envs + 2 * k;

                if (pair_begins(&walk) && memcmp(batch_observation(b, block + row),
                                                          batch_observation(b, block + row + 1),
                                                          batch_observation_bytes(b)) != 0) {
                        *ret_row = (int32_t) row + 1;
                        return false;
                }
                pair_step(&walk, validation->pair_steps, b->ends[block + row] != END_NOT,
                                b->ends[block + row + 1] != END_NOT);
        }
        return true;
}

static Fault observations_take(Validation *validation, uint32_t actor, void *segment, int32_t *ret_row) {
        *ret_row = 0;
        if (!frames_before_take(validation, actor, segment))
                return FAULT_OBSERVATION;
        for (uint32_t row = 0; row < validation->batch->next_rows; row++)
                if (!observation_take(validation, actor, segment, row)) {
                        *ret_row = (int32_t) row;
                        return FAULT_OBSERVATION;
                }
        for (uint32_t k = 0; validation->pair_steps > 0 && k < validation->batch->envs / 2; k++)
                if (!pair_agrees(validation, actor, k, ret_row))
                        return FAULT_OBSERVATION;
        return FAULT_NONE;
}

static Fault actions_take(Validation *validation, uint32_t actor, void *segment, int32_t *ret_row) {
        const SegmentLayout *l = &validation->page->segment;
        const Network *network = &validation->page->network;
        Batch *b = validation->batch;
        size_t block = first_row(b, actor);
        /* Gaussian actions are stored as sampled: they were clipped only for the environment. */
        double low = network->act == ACT_GAUSSIAN ? -INFINITY : network->action_low;
        double high = network->act == ACT_GAUSSIAN ? INFINITY : network->action_high;

        memcpy(b->behaviour_log_probability + block, segment_log_probabilities(segment, l),
                        b->step_rows * sizeof(float));
        if (!act_is_continuous(b->act))
                memcpy(b->choices + block * b->n_choices, segment_action(segment, l, 0),
                                (size_t) b->step_rows * b->n_choices * sizeof(int32_t));
        else
                memcpy(b->actions + block * b->n_action, segment_action(segment, l, 0),
                                (size_t) b->step_rows * b->n_action * sizeof(float));

        for (uint32_t row = 0; row < b->step_rows; row++) {
                bool good = isfinite(b->behaviour_log_probability[block + row]);

                if (!act_is_continuous(b->act))
                        good = good && batch_choices_possible(b, block + row);
                else
                        good = good && floats_within(b->actions + (block + row) * b->n_action, b->n_action,
                                                       low, high);
                if (!good) {
                        *ret_row = (int32_t) row;
                        return FAULT_ACTION;
                }
        }
        return FAULT_NONE;
}

static Fault rewards_take(Validation *validation, uint32_t actor, void *segment, int32_t *ret_row) {
        const ActordEnvSpec *spec = &validation->page->spec;
        double low = spec->reward_low - bound_slack(spec->reward_low);
        double high = spec->reward_high + bound_slack(spec->reward_high);
        Batch *b = validation->batch;
        double *rewards = b->rewards + first_row(b, actor);

        memcpy(rewards, segment_rewards(segment, &validation->page->segment), b->step_rows * sizeof(double));

        for (uint32_t row = 0; row < b->step_rows; row++) {
                if (!batch_active(b, first_row(b, actor) + row)) {
                        rewards[row] = 0;
                        continue;
                }
                /* the reward will become a float */
                if (!isfinite((float) rewards[row]) || !(rewards[row] >= low && rewards[row] <= high)) {
                        *ret_row = (int32_t) row;
                        return FAULT_REWARD;
                }
        }
        return FAULT_NONE;
}

/* Whether this end may follow `elapsed` steps of an episode. Recorded episodes may be truncated anywhere. */
static bool end_possible(const Validation *validation, uint8_t end, uint64_t elapsed) {
        const ActordEnvSpec *spec = &validation->page->spec;
        bool last = spec->horizon_steps > 0 && elapsed == spec->horizon_steps;

        switch ((EndKind) end) {
        case END_NOT: return !last;
        case END_TERMINATED: return true;
        case END_TRUNCATED:
                return last || spec->flags & ACTORD_ENV_TRUNCATES || validation->settings->dataset[0];
        }
        return false;
}

static bool is_second(const Validation *validation, uint32_t e) {
        return validation->pair_steps > 0 && e % 2 == 1;
}

/* Follows the episodes of slot e, whose first episode is `elapsed` steps old. It also follows those of the
 * first slot of its pair: when a pair begins, the second slot joins the first slot's episode. Returns the
 * first impossible row; or -1, with the steps of the slot's last episode. */
static int64_t slot_follow(const Validation *validation, const uint8_t *ends, uint32_t e, uint64_t elapsed,
                uint64_t *ret_elapsed, uint64_t *ret_n_ended) {
        const Batch *b = validation->batch;
        uint64_t n_ended = 0, of_first = elapsed;
        bool second = is_second(validation, e);
        PairWalk walk = {};

        for (uint32_t t = 0; t < b->steps; t++) {
                uint32_t row = t * b->envs + e;

                if (second) {
                        bool first_ended = ends[row - 1] != END_NOT;

                        elapsed = pair_begins(&walk) ? of_first : elapsed;
                        of_first = first_ended ? 0 : of_first + 1;
                        pair_step(&walk, validation->pair_steps, first_ended, ends[row] != END_NOT);
                }
                elapsed++;
                if (!end_possible(validation, ends[row], elapsed))
                        return row;
                if (ends[row] == END_NOT)
                        continue;
                elapsed = 0;
                n_ended++;
        }

        *ret_elapsed = elapsed;
        *ret_n_ended = n_ended;
        return -1;
}

/* Whether the slot's new state agrees with the ends of episodes in its rollout: the next invocation
 * continues from this state. `begun`: a new episode was begun in row 0. */
static bool slot_agrees(const SlotState *before, const SlotState *after, uint64_t elapsed, uint64_t n_ended,
                bool begun) {
        return after->elapsed_steps == elapsed && after->needs_reset == 0 &&
               after->episode == before->episode + n_ended + begun;
}

static Fault slot_check(
                Validation *validation, uint32_t actor, const uint8_t *ends, uint32_t e, int32_t *ret_row) {
        uint32_t s = actor * validation->batch->envs + e;
        const SlotState *before = &validation->before[e], *after = &validation->after[e];
        bool reset = validation->settings->carry == CARRY_RESET, afresh = reset || before->episode == 0;
        uint64_t elapsed, n_ended;
        uint64_t carried = reset ? 0 : validation->episodes->elapsed_steps[s - is_second(validation, e)];
        int64_t row;

        validation->batch->lost[s] = 0;

        /* A sticky environment whose actor was restarted has lost its episode: the slot has begun one more
         * episode than it ended. */
        if (!afresh && (validation->page->spec.flags & ACTORD_ENV_STICKY) &&
                        slot_follow(validation, ends, e, 0, &elapsed, &n_ended) < 0 &&
                        slot_agrees(before, after, elapsed, n_ended, true)) {
                validation->batch->lost[s] = 1;
                return FAULT_NONE;
        }

        row = slot_follow(validation, ends, e, carried, &elapsed, &n_ended);
        if (row < 0 && !slot_agrees(before, after, elapsed, n_ended, afresh))
                row = (int64_t) validation->batch->step_rows + e;
        if (row < 0)
                return FAULT_NONE;

        *ret_row = (int32_t) row;
        return FAULT_LENGTHS;
}

static Fault ends_take(
                Validation *validation, uint32_t actor, void *segment, uint32_t bank, int32_t *ret_row) {
        const SegmentLayout *l = &validation->page->segment;
        Batch *b = validation->batch;
        uint8_t *ends = b->ends + first_row(b, actor);
        Fault fault;

        memcpy(ends, segment_ends(segment, l), b->step_rows);
        for (uint32_t e = 0; e < b->envs; e++) {
                memcpy(&validation->before[e], segment_snapshot(segment, l, bank, e), sizeof(SlotState));
                memcpy(&validation->after[e], segment_snapshot(segment, l, bank ^ 1, e), sizeof(SlotState));
        }

        for (uint32_t e = 0; e < b->envs; e++) {
                fault = slot_check(validation, actor, ends, e, ret_row);
                if (fault != FAULT_NONE)
                        return fault;
        }
        return FAULT_NONE;
}

/* Takes the flags that say which agents are present. In each step each environment must have a present
 * agent; otherwise there would be nothing to learn from. */
static Fault active_take(Validation *validation, uint32_t actor, void *segment, int32_t *ret_row) {
        const SegmentLayout *l = &validation->page->segment;
        const Batch *b = validation->batch;
        uint8_t *active = b->active ? b->active + first_row(b, actor) : NULL;

        if (!active)
                return FAULT_NONE;
        memcpy(active, segment_active(segment, l, 0), b->next_rows);
        for (uint32_t row = 0; row < b->next_rows; row += l->agents) {
                uint32_t n_there = 0;
                uint8_t bits = 0;

                for (uint32_t a = 0; a < l->agents; a++) {
                        n_there += active[row + a];
                        bits |= active[row + a];
                }
                if (bits > 1 || n_there == 0) {
                        *ret_row = (int32_t) row;
                        return FAULT_ACTIVE;
                }
        }
        return FAULT_NONE;
}

/* Takes the last observations of truncated episodes; the ends say how many there are. */
static Fault finals_take(Validation *validation, uint32_t actor, void *segment, int32_t *ret_row) {
        Batch *b = validation->batch;
        size_t block = first_row(b, actor);
        uint32_t n = 0;

        for (uint32_t row = 0; row < b->step_rows; row++) {
                if (b->ends[block + row] != END_TRUNCATED)
                        continue;

                *ret_row = (int32_t) row;
                if (n >= b->finals_max)
                        return FAULT_LENGTHS;
                if (!final_take(validation, actor, segment, row, n))
                        return FAULT_OBSERVATION;
                n++;
        }

        b->n_finals[batch_block_of(b, actor)] = n;
        return FAULT_NONE;
}

/* Takes the metrics of the episodes that ended. NaN: an episode has no such figure. */
static Fault metrics_take(Validation *validation, uint32_t actor, void *segment, int32_t *ret_number) {
        Batch *b = validation->batch;
        size_t block = first_row(b, actor);

        for (uint32_t row = 0; row < b->step_rows && b->n_metrics > 0; row++) {
                double *metrics = b->metrics + (block + row) * b->n_metrics;

                if (b->ends[block + row] == END_NOT)
                        continue;
                memcpy(metrics, segment_metrics(segment, &validation->page->segment, row),
                                b->n_metrics * sizeof(double));
                for (uint32_t i = 0; i < b->n_metrics; i++)
                        if (!metric_possible(metrics[i])) {
                                *ret_number = (int32_t) i + 1;
                                return FAULT_METRIC;
                        }
        }
        return FAULT_NONE;
}

Fault validation_take(
                Validation *validation, uint32_t actor, void *segment, uint32_t bank, int32_t *ret_row) {
        int32_t row = 0;
        uint32_t block;
        Fault fault;

        assert(validation);
        assert(actor < validation->batch->n_actors_max);
        assert(segment);
        assert(ret_row);

        block = batch_block_of(validation->batch, actor);
        validation->batch->taken[block] = 0;
        validation->batch->actors[block] = actor;

        fault = ends_take(validation, actor, segment, bank & 1, &row);
        if (fault == FAULT_NONE)
                fault = active_take(validation, actor, segment, &row);
        if (fault == FAULT_NONE)
                fault = observations_take(validation, actor, segment, &row);
        if (fault == FAULT_NONE)
                fault = actions_take(validation, actor, segment, &row);
        if (fault == FAULT_NONE)
                fault = rewards_take(validation, actor, segment, &row);
        if (fault == FAULT_NONE)
                fault = finals_take(validation, actor, segment, &row);
        if (fault == FAULT_NONE)
                fault = metrics_take(validation, actor, segment, &row);

        validation->batch->taken[block] = fault == FAULT_NONE;
        *ret_row = fault == FAULT_NONE ? 0 : row;
        return fault;
}

void validation_hash(const Validation *validation, uint32_t actor, uint8_t ret_sha256[32]) {
        const Batch *b = validation->batch;
        uint32_t block = batch_block_of(b, actor);
        size_t row = batch_block(b, block), observation_bytes = batch_observation_bytes(b);
        size_t bytes_before = (b->frames - 1) * b->envs * observation_bytes;
        bool continuous = act_is_continuous(b->act);
        const struct {
                const void *from;
                size_t bytes;
        } parts[] = {
                { b->lost + (size_t) actor * b->envs, b->envs },
                { b->ends + row, b->step_rows },
                { b->active ? b->active + row : NULL, b->active ? b->next_rows : 0 },
                { (const uint8_t *) batch_observation(b, row) - bytes_before,
                                bytes_before + (b->next_rows + b->n_finals[block]) * observation_bytes },
                { continuous ? (const void *) (b->actions + row * b->n_action)
                             : (const void *) (b->choices + row * b->n_choices),
                                b->step_rows * (continuous ? b->n_action * sizeof(float)
                                                           : b->n_choices * sizeof(int32_t)) },
                { b->behaviour_log_probability + row, b->step_rows * sizeof(float) },
                { b->rewards + row, b->step_rows * sizeof(double) },
        };
        struct sha256_ctx sha;

        assert(b->taken[block] && b->actors[block] == actor);

        sha256_init(&sha);
        for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
                if (parts[i].bytes > 0)
                        sha256_update(&sha, parts[i].bytes, parts[i].from);
        /* Other rows may still have metrics of earlier rollouts. */
        for (size_t i = row; i < row + b->step_rows; i++)
                if (b->ends[i] != END_NOT && b->n_metrics > 0)
                        sha256_update(&sha, b->n_metrics * sizeof(double),
                                        (const uint8_t *) (b->metrics + i * b->n_metrics));
        sha256_digest(&sha, sizeof(uint8_t[32]), ret_sha256);
}
