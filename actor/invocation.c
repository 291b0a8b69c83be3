/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One invocation: (policy version, snapshots, random streams, step count) -> (trajectory, new snapshots), and nothing else.
 *
 * It reads one bank of its segment and writes the other, with all columns; what it reads it never changes, so that it can be cut short
 * anywhere and run again with the same result. Every random number belongs to its place:
 *
 *   action of step t    (seed, ACTION, slot, the slot's invocation, t)
 *   noise of step t     (seed, STEP, slot, the slot's invocation, t)
 *   begin of episode k  (seed, RESET, slot, k, 0)
 *
 * An order may say that the learner acts: then the actions of each step are asked for, and are the same ones, as whoever draws them uses the
 * same forward pass and the same stream.
 *
 * An episode that ends is followed by the next one's first observation in the very next row; what was seen last of a truncated one
 * is kept apart, as its return goes on there. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "actor/host.h"
#include "lib/exchange.h"
#include "lib/rng.h"
#include "lib/slot.h"

typedef struct Invocation {
        Host *host;
        const Order *order;
        const JobSettings *settings;
        const JobPage *page;
        const PolicyHead *policy;
        void *segment;
        uint64_t n_finals;
} Invocation;

static uint32_t invocation_slot(const Invocation *v, uint32_t e) {
        return v->order->actor * v->host->envs + e;
}

static bool invocation_sticky(const Invocation *v) {
        return v->page->spec.flags & ACTORD_ENV_STICKY;
}

static int episode_begin(const Invocation *v, Instance *instance, uint32_t e, void *ret_observation) {
        SlotState *state = &v->host->states[e];
        ActordRandom random;

        state->episode++;
        state->elapsed_steps = 0;
        state->needs_reset = 0;

        random_begin(&random, v->settings->seed, RANDOM_RESET, invocation_slot(v, e), state->episode, 0);
        return v->host->env->reset(instance->memory, &random, ret_observation);
}

/* The slot as the last invocation left it, or a new episode; its observation in row 0. */
static int slot_resume(const Invocation *v, uint32_t e) {
        const SegmentLayout *l = &v->page->segment;
        uint32_t bank = v->order->snapshot_bank;
        SlotState *state = &v->host->states[e];
        void *observation = segment_observation(v->segment, l, e);
        Instance *instance;
        bool lost;
        int r;

        r = host_instance(v->host, v->order->actor, e, &instance);
        if (r < 0)
                return r;

        *state = *segment_snapshot(v->segment, l, bank, e);
        lost = invocation_sticky(v) &&
               (v->order->ordinal == 0 || instance->next_ordinal != v->order->ordinal);
        instance->next_ordinal = 0;

        if (v->settings->carry == CARRY_RESET || state->episode == 0 || state->needs_reset || lost)
                return episode_begin(v, instance, e, observation);

        memcpy(observation, segment_snapshot_observation(v->segment, l, bank, e), l->observation_bytes);
        if (invocation_sticky(v))
                return 0;
        return v->host->env->restore(instance->memory, segment_snapshot_bytes(v->segment, l, bank, e));
}

static int slot_park(const Invocation *v, uint32_t e) {
        const SegmentLayout *l = &v->page->segment;
        uint32_t bank = v->order->snapshot_bank ^ 1;
        Instance *instance;
        int r;

        r = host_instance(v->host, v->order->actor, e, &instance);
        if (r < 0)
                return r;

        *segment_snapshot(v->segment, l, bank, e) = v->host->states[e];
        memcpy(segment_snapshot_observation(v->segment, l, bank, e),
                        segment_observation(v->segment, l, (uint64_t) l->steps * l->envs + e),
                        l->observation_bytes);

        if (invocation_sticky(v)) {
                instance->next_ordinal = v->order->ordinal + 1;
                return 0;
        }
        return v->host->env->snapshot(instance->memory, segment_snapshot_bytes(v->segment, l, bank, e));
}

/* Of n slots from e on. */
static void slots_act_together(const Invocation *v, uint32_t t, uint32_t e, uint32_t n) {
        const SegmentLayout *l = &v->page->segment;
        uint64_t row = (uint64_t) t * l->envs + e;

        forward_rows(v->host->forward, v->policy, &v->page->policy, segment_observation(v->segment, l, row),
                        l->observation_bytes, n, v->host->parameters, NULL);

        for (uint32_t k = 0; k < n; k++) {
                ActordRandom random;

                random_begin(&random, v->settings->seed, RANDOM_ACTION, invocation_slot(v, e + k),
                                v->order->ordinal, t);
                action_sample(&v->page->network,
                                v->host->parameters + (size_t) k * 2 * v->page->network.n_action, false,
                                &random, segment_action(v->segment, l, row + k),
                                &segment_log_probabilities(v->segment, l)[row + k]);
        }
}

/* The actions of a step, by ourselves or by the learner. */
static void slots_act(const Invocation *v, uint32_t t) {
        const SegmentLayout *l = &v->page->segment;
        const ActorContext *context = v->host->context;

        if (v->order->remote) {
                exchange_ask(segment_exchange(v->segment, l), v->order->ordinal, t, context->spin_nsec,
                                context->ask_fd);
                return;
        }
        for (uint32_t e = 0; e < l->envs; e += FORWARD_ROWS_MAX)
                slots_act_together(v, t, e, l->envs - e < FORWARD_ROWS_MAX ? l->envs - e : FORWARD_ROWS_MAX);
}

/* A termination is an end of the task, whatever the clock says; a truncation only stops watching. */
static int step_end(
                const ActordEnvSpec *spec, const ActordStep *step, uint64_t elapsed_steps, EndKind *ret) {
        /* Room for last observations is made by what the spec says. */
        if (step->truncated && !(spec->flags & ACTORD_ENV_TRUNCATES))
                return -EPROTO;

        if (step->terminated)
                *ret = END_TERMINATED;
        else if (step->truncated || (spec->horizon_steps > 0 && elapsed_steps >= spec->horizon_steps))
                *ret = END_TRUNCATED;
        else
                *ret = END_NOT;
        return 0;
}

static int slot_step(Invocation *v, uint32_t t, uint32_t e) {
        const SegmentLayout *l = &v->page->segment;
        SlotState *state = &v->host->states[e];
        uint64_t row = (uint64_t) t * l->envs + e;
        void *next = segment_observation(v->segment, l, row + l->envs);
        ActordStep step = {};
        ActordRandom random;
        Instance *instance;
        EndKind end;
        int r;

        r = host_instance(v->host, v->order->actor, e, &instance);
        if (r < 0)
                return r;

        action_clip(&v->page->spec, segment_action(v->segment, l, row), v->host->action);
        random_begin(&random, v->settings->seed, RANDOM_STEP, invocation_slot(v, e), v->order->ordinal, t);
        r = v->host->env->step(instance->memory, v->host->action, &random, next, &step);
        if (r < 0)
                return r;

        state->elapsed_steps++;
        r = step_end(&v->page->spec, &step, state->elapsed_steps, &end);
        if (r < 0)
                return r;

        segment_rewards(v->segment, l)[row] = step.reward;
        segment_ends(v->segment, l)[row] = (uint8_t) end;
        if (end == END_NOT)
                return 0;

        if (end == END_TRUNCATED) {
                if (v->n_finals >= l->finals_max)
                        return -EOVERFLOW;
                memcpy(segment_final(v->segment, l, v->n_finals++), next, l->observation_bytes);
        }
        return episode_begin(v, instance, e, next);
}

static int invocation_steps(Invocation *v) {
        const SegmentLayout *l = &v->page->segment;
        int r;

        for (uint32_t e = 0; e < l->envs; e++) {
                r = slot_resume(v, e);
                if (r < 0)
                        return r;
        }

        for (uint32_t t = 0; t < l->steps; t++) {
                slots_act(v, t);
                for (uint32_t e = 0; e < l->envs; e++) {
                        r = slot_step(v, t, e);
                        if (r < 0)
                                return r;
                }
        }

        for (uint32_t e = 0; e < l->envs; e++) {
                r = slot_park(v, e);
                if (r < 0)
                        return r;
        }
        return 0;
}

void invocation_run(Host *host, const Order *order, Answer *ret) {
        const ActorContext *context;
        Invocation v;
        int r;

        assert(host);
        assert(order);
        assert(ret);

        context = host->context;
        v = (Invocation){
                .host = host,
                .order = order,
                .settings = context->settings,
                .page = context->page,
        };

        r = order->actor < settings_actors_max(v.settings) && context->segments[order->actor] ? 0 : -ENXIO;
        if (r >= 0)
                r = host_policy(host, order->policy_version, &v.policy);
        if (r < 0) {
                ret->fault = FAULT_INTERNAL;
                ret->detail = -r;
                return;
        }
        v.segment = context->segments[order->actor];

        r = invocation_steps(&v);
        if (r < 0) {
                ret->fault = FAULT_ENVIRONMENT;
                ret->detail = -r;
        }
}
