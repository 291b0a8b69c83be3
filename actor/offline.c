/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An invocation of a job that learns from a data set (Dataset=). It reads recorded steps instead of making
 * steps. It is as pure as any other invocation: its output follows from the file, the slot and the
 * invocation's number.
 *
 * The n steps of the file, one episode after another, are divided evenly: slot s of S has the steps from
 * n s / S on. It reads them in a circle, RolloutSteps= in each invocation. If a share ends inside an
 * episode, this counts as a truncation. */
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "actor/host.h"
#include "lib/slot.h"

typedef struct Reading {
        const Host *host;
        const Order *order;
        const Dataset *dataset;
        void *segment;
        uint64_t n_finals, n_observation, n_action;
} Reading;

typedef struct Share {
        uint64_t first, end; /* steps of the data set that belong to the slot */
} Share;

/* Writes numbers in the segment's format. */
static void write_values(const ActordSpace *space, const float *from, uint64_t n, void *to) {
        for (uint64_t i = 0; i < n; i++)
                switch ((ActordElement) space->element) {
                case ACTORD_F32: ((float *) to)[i] = from[i]; break;
                case ACTORD_F64: ((double *) to)[i] = (double) from[i]; break;
                case ACTORD_I32: ((int32_t *) to)[i] = (int32_t) from[i]; break;
                case ACTORD_U8: ((uint8_t *) to)[i] = (uint8_t) from[i]; break;
                }
}

/* after: writes the observation after the step, not the one before it. */
static void write_observation(const Reading *r, uint64_t step, bool after, void *to) {
        uint64_t row = step + dataset_episode(r->dataset, step) + after;

        write_values(&r->host->context->page->spec.observation,
                        r->dataset->observations + row * r->n_observation, r->n_observation, to);
}

static Share share_of(const Reading *r, uint32_t e) {
        uint64_t n = r->dataset->n_steps, slot = (uint64_t) r->order->actor * r->host->envs + e;
        uint64_t n_slots = (uint64_t) settings_actors_max(r->host->context->settings) * r->host->envs;

        return (Share){ .first = n * slot / n_slots, .end = n * (slot + 1) / n_slots };
}

/* The step of the share that the invocation reads as its step t. */
static uint64_t step_at(const Reading *r, const Share *share, uint64_t t) {
        uint64_t length = share->end - share->first, steps = r->host->context->page->segment.steps;

        return share->first + (r->order->ordinal % length * (steps % length) + t) % length;
}

static int step_read(Reading *r, uint32_t t, uint32_t e) {
        const JobPage *page = r->host->context->page;
        const SegmentLayout *l = &page->segment;
        SlotState *state = &r->host->states[e];
        uint64_t row = (uint64_t) t * l->envs + e;
        Share share = share_of(r, e);
        uint64_t step = step_at(r, &share, t);
        uint8_t end = r->dataset->ends[step];

        if (end == END_NOT && step + 1 == share.end)
                end = END_TRUNCATED;
        write_observation(r, step, false, segment_observation(r->segment, l, row));
        write_values(&page->spec.action, r->dataset->actions + step * r->n_action, r->n_action,
                        segment_action(r->segment, l, row));
        segment_log_probabilities(r->segment, l)[row] = 0.0f;
        segment_rewards(r->segment, l)[row] = r->dataset->rewards[step];
        segment_ends(r->segment, l)[row] = end;
        state->elapsed_steps++;
        if (end == END_NOT)
                return 0;

        /* recorded episodes have no metrics */
        for (uint64_t i = 0; i < l->n_metrics; i++)
                segment_metrics(r->segment, l, row)[i] = NAN;
        state->episode++;
        state->elapsed_steps = 0;
        if (end == END_TERMINATED)
                return 0;
        if (r->n_finals >= l->finals_max)
                return -EOVERFLOW;
        write_observation(r, step, true, segment_final(r->segment, l, r->n_finals++));
        return 0;
}

static void slot_begin(const Reading *r, uint32_t e) {
        const ActorContext *context = r->host->context;
        SlotState *state = &r->host->states[e];

        *state = *segment_snapshot(r->segment, &context->page->segment, r->order->snapshot_bank, e);
        if (context->settings->carry != CARRY_RESET && state->episode > 0)
                return;
        state->episode++;
        state->elapsed_steps = 0;
        state->needs_reset = 0;
}

/* Writes the row after the last step, and the slot's state for the next invocation. */
static void slot_end(const Reading *r, uint32_t e) {
        const SegmentLayout *l = &r->host->context->page->segment;
        uint32_t bank = r->order->snapshot_bank ^ 1;
        uint8_t *last = segment_observation(r->segment, l, (uint64_t) l->steps * l->envs + e);
        Share share = share_of(r, e);

        write_observation(r, step_at(r, &share, l->steps), false, last);
        *segment_snapshot(r->segment, l, bank, e) = r->host->states[e];
        memcpy(segment_snapshot_observation(r->segment, l, bank, e), last, l->observation_bytes);
}

static int read_steps(Reading *r) {
        const SegmentLayout *l = &r->host->context->page->segment;

        for (uint32_t e = 0; e < l->envs; e++)
                slot_begin(r, e);
        for (uint32_t t = 0; t < l->steps; t++)
                for (uint32_t e = 0; e < l->envs; e++) {
                        int k = step_read(r, t, e);

                        if (k < 0)
                                return k;
                }
        for (uint32_t e = 0; e < l->envs; e++)
                slot_end(r, e);
        return 0;
}

/* Reads the file once for each container, since its content does not change. */
static int32_t acquire(Host *host) {
        const ActorContext *context = host->context;

        if (host->dataset)
                return 0;
        return context->dataset_module->read(
                        context->dataset, context->dataset_bytes, &context->page->spec, &host->dataset);
}

void offline_run(Host *host, const Order *order, Answer *ret) {
        const ActorContext *context;
        Reading reading;
        int32_t detail;
        int r;

        assert(host);
        assert(order);
        assert(ret);

        context = host->context;
        if (order->actor >= settings_actors_max(context->settings) || !context->segments[order->actor]) {
                answer_fault(ret, FAULT_INTERNAL, ENXIO);
                return;
        }
        detail = acquire(host);
        if (detail != 0) {
                answer_fault(ret, FAULT_DATASET, detail);
                return;
        }

        reading = (Reading){
                .host = host,
                .order = order,
                .dataset = host->dataset,
                .segment = context->segments[order->actor],
                .n_observation = space_numbers(&context->page->spec.observation),
                .n_action = space_numbers(&context->page->spec.action),
        };
        r = read_steps(&reading);
        if (r < 0)
                answer_fault(ret, FAULT_INTERNAL, -r);
}
