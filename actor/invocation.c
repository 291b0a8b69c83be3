/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An invocation is a pure function: (policy version, snapshots, random streams, step count) -> (trajectory,
 * new snapshots).
 *
 * It reads one bank of snapshots and writes the other. It never changes what it reads, so that it can be
 * stopped anywhere and run again with the same result. Every random number is keyed by its place:
 *
 *   action of step t          (seed, ACTION, slot, the slot's invocation, t)
 *   noise added to it         (seed, NOISE, slot, the slot's invocation, t)
 *   the environment's step t  (seed, STEP, slot, the slot's invocation, t)
 *   begin of episode k        (seed, RESET, slot, k, 0)
 *
 * If the order says that the learner acts, the actor asks the learner for the actions of each step. These
 * are the same actions, since the learner uses the same forward pass and random stream.
 *
 * If observations are stacks of frames, a row stores only the newest frame. The whole stack of a slot is
 * kept outside of the segment. Each stack must be the stack before plus one frame; this is checked, since
 * readers of the rows rely on it.
 *
 * If an algorithm compares rollouts in pairs (lib/pair.h), the second slot takes a snapshot of the first
 * slot when a pair begins. The second slot's episodes and random streams keep its own numbers.
 *
 * An environment's agents have slots of their own, one after another, and act like slots of other
 * environments. The environment is reset, stepped, saved and restored once for all of its agents, with the
 * streams and the snapshot of the first agent.
 *
 * When an episode ends, the next row has the first observation of the next episode. The last observation of
 * a truncated episode is stored separately, since the rest of the episode's return is estimated from it. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "actor/host.h"
#include "lib/algorithm-traits.h"
#include "lib/exchange.h"
#include "lib/noise.h"
#include "lib/pair.h"
#include "lib/rng.h"
#include "lib/slot.h"
#include "lib/spent.h"

typedef struct Invocation {
        Host *host;
        const Order *order;
        const JobSettings *settings;
        const JobPage *page;
        void *segment;
        uint64_t n_finals;
        /* where to count the time of each part of the invocation; NULL: the job has no Profile=yes */
        Spent *spent;
} Invocation;

static uint32_t invocation_slot(const Invocation *v, uint32_t e) {
        return v->order->actor * v->host->envs + e;
}

static bool invocation_sticky(const Invocation *v) {
        return v->page->spec.flags & ACTORD_ENV_STICKY;
}

static bool invocation_stacks(const Invocation *v) {
        return v->page->segment.frames > 1;
}

/* The stack of slot e, the oldest frame first. The stacks from e = envs on are those of the newest step, one
 * for each agent. */
static uint8_t *slot_stack(const Invocation *v, uint32_t e) {
        return v->host->stacks + e * v->page->segment.observation_bytes;
}

/* The whole observation of slot e in this row. If it is a stack, it is kept outside of the row. */
static void *slot_sight(const Invocation *v, uint64_t row, uint32_t e) {
        return invocation_stacks(v) ? slot_stack(v, e)
                                    : segment_observation(v->segment, &v->page->segment, row);
}

static const uint8_t *stack_newest(const Invocation *v, uint32_t e) {
        const SegmentLayout *l = &v->page->segment;

        return slot_stack(v, e) + (l->frames - 1) * l->frame_bytes;
}

static void row_take_newest(const Invocation *v, uint64_t row, uint32_t e) {
        const SegmentLayout *l = &v->page->segment;

        if (invocation_stacks(v))
                memcpy(segment_observation(v->segment, l, row), stack_newest(v, e), l->frame_bytes);
}

/* Writes the older frames of slot e's stack into the rows before row 0. */
static void rows_before_take(const Invocation *v, uint32_t e) {
        const SegmentLayout *l = &v->page->segment;

        for (uint64_t k = 1; k < l->frames; k++)
                memcpy(segment_frame_before(v->segment, l, e, k),
                                slot_stack(v, e) + (l->frames - 1 - k) * l->frame_bytes, l->frame_bytes);
}

/* Checks that the first stack of an episode consists of one frame, repeated. 0 or -EPROTO. */
static int stack_check_first(const Invocation *v, uint32_t e) {
        const SegmentLayout *l = &v->page->segment;
        const uint8_t *stack;

        if (!invocation_stacks(v))
                return 0;
        stack = slot_stack(v, e);
        return memcmp(stack, stack + l->frame_bytes, (l->frames - 1) * l->frame_bytes) == 0 ? 0 : -EPROTO;
}

/* Copies the stack of the newest step into slot e. -EPROTO: its older frames are not the newer frames of the
 * stack that slot e had. */
static int stack_move(const Invocation *v, uint32_t e) {
        const SegmentLayout *l = &v->page->segment;
        const uint8_t *shown;

        if (!invocation_stacks(v))
                return 0;
        shown = slot_stack(v, l->envs + e % l->agents);
        if (memcmp(shown, slot_stack(v, e) + l->frame_bytes, (l->frames - 1) * l->frame_bytes) != 0)
                return -EPROTO;
        memcpy(slot_stack(v, e), shown, l->observation_bytes);
        return 0;
}

static double *slot_noise(const Invocation *v, uint32_t e) {
        return v->host->noise + (size_t) e * v->page->network.n_action;
}

/* Begins the next episode of the environment whose first agent has slot e. Its observations go into the rows
 * from `row` on. */
static int episode_begin(const Invocation *v, Instance *instance, uint64_t row, uint32_t e) {
        SlotState *states = &v->host->states[e];
        ActordRandom random;
        int r;

        for (uint32_t a = 0; a < v->page->segment.agents; a++) {
                states[a].episode++;
                states[a].elapsed_steps = 0;
                states[a].needs_reset = 0;
                states[a].counts = (RegulationCounts){};
                if (v->host->noise)
                        memset(slot_noise(v, e + a), 0, noise_bytes(&v->page->network));
        }

        random_begin(&random, v->settings->seed, RANDOM_RESET, invocation_slot(v, e), states->episode, 0);
        r = host_reset(v->host, instance, &random, slot_sight(v, row, e));
        if (r < 0)
                return r;
        for (uint32_t a = 0; a < v->page->segment.agents; a++) {
                r = stack_check_first(v, e + a);
                if (r < 0)
                        return r;
                row_take_newest(v, row + a, e + a);
        }
        return 0;
}

/* Restores an environment and its slots from the snapshots of the last invocation, or begins a new episode.
 * The observations go into the rows of step 0. */
static int slot_begin(const Invocation *v, uint32_t e) {
        const SegmentLayout *l = &v->page->segment;
        uint32_t bank = v->order->snapshot_bank;
        SlotState *state = &v->host->states[e];
        Instance *instance;
        bool lost;
        int r;

        r = host_instance(v->host, v->order->actor, e, &instance);
        if (r < 0)
                return r;

        for (uint32_t a = 0; a < l->agents; a++) {
                state[a] = *segment_snapshot(v->segment, l, bank, e + a);
                if (v->host->noise)
                        memcpy(slot_noise(v, e + a), segment_snapshot_carried(v->segment, l, bank, e + a),
                                        noise_bytes(&v->page->network));
        }
        lost = invocation_sticky(v) &&
               (v->order->ordinal == 0 || instance->next_ordinal != v->order->ordinal);
        instance->next_ordinal = 0;

        if (v->settings->carry == CARRY_RESET || state->episode == 0 || state->needs_reset || lost)
                return episode_begin(v, instance, e, e);

        for (uint32_t s = e; s < e + l->agents; s++) {
                memcpy(slot_sight(v, s, s), segment_snapshot_observation(v->segment, l, bank, s),
                                l->observation_bytes);
                row_take_newest(v, s, s);
        }
        if (invocation_sticky(v))
                return 0;
        return v->host->env->restore(instance->memory, segment_snapshot_bytes(v->segment, l, bank, e));
}

/* Notes which agents of the environment whose first agent has slot e are present, in the rows from `row`
 * on. */
static int active_note(const Invocation *v, uint64_t row, uint32_t e) {
        const SegmentLayout *l = &v->page->segment;
        Instance *instance;
        int r;

        r = host_instance(v->host, v->order->actor, e, &instance);
        return r < 0 ? r : host_active(v->host, instance, segment_active(v->segment, l, row));
}

static int slot_resume(const Invocation *v, uint32_t e) {
        int r;

        r = slot_begin(v, e);
        if (r < 0)
                return r;
        if (v->host->come_and_go) {
                r = active_note(v, e, e);
                if (r < 0)
                        return r;
        }
        for (uint32_t a = 0; invocation_stacks(v) && a < v->page->segment.agents; a++)
                rows_before_take(v, e + a);
        return 0;
}

/* Gives the second slot of pair k the first slot's observation and state. The snapshot is made at the second
 * slot's place in the bank that the invocation writes: this place is free until slot_park() writes it at the
 * end. */
static int pair_begin(const Invocation *v, uint32_t t, uint32_t k) {
        const SegmentLayout *l = &v->page->segment;
        uint32_t first = 2 * k, second = first + 1;
        uint64_t row = (uint64_t) t * l->envs + first;
        void *bytes = segment_snapshot_bytes(v->segment, l, v->order->snapshot_bank ^ 1, second);
        Instance *from, *to;
        int r;

        assert(!invocation_stacks(v) && !invocation_sticky(v));

        r = host_instance(v->host, v->order->actor, first, &from);
        if (r < 0)
                return r;
        r = host_instance(v->host, v->order->actor, second, &to);
        if (r < 0)
                return r;

        v->host->states[second].elapsed_steps = v->host->states[first].elapsed_steps;
        memcpy(slot_sight(v, row + 1, second), slot_sight(v, row, first), l->observation_bytes);
        r = v->host->env->snapshot(from->memory, bytes);
        if (r < 0)
                return r;
        return v->host->env->restore(to->memory, bytes);
}

static int pairs_begin(const Invocation *v, uint32_t t) {
        for (uint32_t k = 0; v->host->pairs && k < v->host->envs / 2; k++)
                if (pair_begins(&v->host->pairs[k])) {
                        int r = pair_begin(v, t, k);

                        if (r < 0)
                                return r;
                }
        return 0;
}

/* Advances all pairs (lib/pair.h) by one step, after all environments have made step t. */
static void pairs_step(const Invocation *v, uint32_t t) {
        const SegmentLayout *l = &v->page->segment;
        const uint8_t *ends = segment_ends(v->segment, l) + (uint64_t) t * l->envs;

        for (uint32_t k = 0; v->host->pairs && k < v->host->envs / 2; k++)
                pair_step(&v->host->pairs[k], algorithm_pair_steps(v->settings), ends[2 * k] != END_NOT,
                                ends[2 * k + 1] != END_NOT);
}

static int slot_park(const Invocation *v, uint32_t e) {
        const SegmentLayout *l = &v->page->segment;
        uint32_t bank = v->order->snapshot_bank ^ 1;
        Instance *instance;
        int r;

        r = host_instance(v->host, v->order->actor, e, &instance);
        if (r < 0)
                return r;

        for (uint32_t s = e; s < e + l->agents; s++) {
                *segment_snapshot(v->segment, l, bank, s) = v->host->states[s];
                if (v->host->noise)
                        memcpy(segment_snapshot_carried(v->segment, l, bank, s), slot_noise(v, s),
                                        noise_bytes(&v->page->network));
                memcpy(segment_snapshot_observation(v->segment, l, bank, s),
                                slot_sight(v, (uint64_t) l->steps * l->envs + s, s), l->observation_bytes);
        }

        if (invocation_sticky(v)) {
                instance->next_ordinal = v->order->ordinal + 1;
                return 0;
        }
        return v->host->env->snapshot(instance->memory, segment_snapshot_bytes(v->segment, l, bank, e));
}

/* Chooses the actions of n slots, from slot e on. */
static void slots_act_together(const Invocation *v, uint32_t t, uint32_t e, uint32_t n) {
        const SegmentLayout *l = &v->page->segment;
        uint64_t row = (uint64_t) t * l->envs + e;
        ActordRandom randoms[FORWARD_ROWS_MAX];

        for (uint32_t k = 0; k < n; k++) {
                random_begin(&randoms[k], v->settings->seed, RANDOM_ACTION, invocation_slot(v, e + k),
                                v->order->ordinal, t);
                forward_draw(v->host->forward, k, &randoms[k]);
        }
        forward_rows(v->host->forward, slot_sight(v, row, e), l->observation_bytes, n, v->host->parameters);

        for (uint32_t k = 0; k < n; k++)
                action_sample(&v->page->network,
                                v->host->parameters + k * forward_parameters(&v->page->network), false,
                                &randoms[k], segment_action(v->segment, l, row + k),
                                &segment_log_probabilities(v->segment, l)[row + k]);
}

/* Adds noise that continues from step to step to the actions, which this actor or the learner has drawn. */
static void slots_add_noise(const Invocation *v, uint32_t t) {
        const SegmentLayout *l = &v->page->segment;

        for (uint32_t e = 0; v->host->noise && e < l->envs; e++) {
                ActordRandom random;

                random_begin(&random, v->settings->seed, RANDOM_NOISE, invocation_slot(v, e),
                                v->order->ordinal, t);
                noise_step(&v->page->network, slot_noise(v, e), &random,
                                segment_action(v->segment, l, (uint64_t) t * l->envs + e));
        }
}

/* Gets the actions of a step: draws them in this process, or asks the learner for them. */
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

/* A termination ends the task itself, even in the last step before the horizon. A truncation only stops the
 * episode. */
static int step_end(
                const ActordEnvSpec *spec, const ActordStep *step, uint64_t elapsed_steps, EndKind *ret) {
        /* Unless the spec announces other truncations, the segment has room for the last observations only
         * of episodes that reach the horizon. */
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

/* Takes the result of a step for the agent of slot e: writes reward and end into the slot's row, the newest
 * frame of a stack into the next row, and the last observation of a truncated episode to its own place.
 * -EPROTO: see stack_move(); -EOVERFLOW: there is no room for that observation. */
static int slot_take(Invocation *v, uint64_t row, uint32_t e, const ActordStep *step, EndKind end) {
        const SegmentLayout *l = &v->page->segment;
        const void *shown = segment_observation(v->segment, l, row + l->envs);
        int r;

        r = stack_move(v, e);
        if (r < 0)
                return r;
        v->host->states[e].elapsed_steps++;
        segment_rewards(v->segment, l)[row] = step->reward;
        segment_ends(v->segment, l)[row] = (uint8_t) end;
        if (end == END_NOT)
                row_take_newest(v, row + l->envs, e);
        if (end != END_TRUNCATED)
                return 0;

        if (v->n_finals >= l->finals_max)
                return -EOVERFLOW;
        memcpy(segment_final(v->segment, l, v->n_finals++),
                        invocation_stacks(v) ? stack_newest(v, e) : shown, l->frame_bytes);
        return 0;
}

/* When an episode ends, each of its agents gets the same metrics. */
static int metrics_take(const Invocation *v, const Instance *instance, uint64_t row, uint32_t e) {
        const SegmentLayout *l = &v->page->segment;
        double *first = segment_metrics(v->segment, l, row);
        int r;

        r = host_metrics(v->host, instance, &v->host->states[e].counts, first);
        if (r < 0)
                return r;
        for (uint32_t a = 1; a < l->agents; a++)
                memcpy(segment_metrics(v->segment, l, row + a), first, l->n_metrics * sizeof(double));
        return 0;
}

/* Makes one step of the environment whose first agent has slot e. */
static int environment_step(Invocation *v, uint32_t t, uint32_t e) {
        const SegmentLayout *l = &v->page->segment;
        uint64_t row = (uint64_t) t * l->envs + e;
        void *shown = invocation_stacks(v) ? slot_stack(v, l->envs)
                                           : segment_observation(v->segment, l, row + l->envs);
        ActordStep *steps = v->host->steps;
        ActordRandom random;
        Instance *instance;
        EndKind end;
        int r;

        r = host_instance(v->host, v->order->actor, e, &instance);
        if (r < 0)
                return r;

        for (uint32_t a = 0; a < l->agents; a++)
                host_act(v->host, segment_observation(v->segment, l, row + a),
                                segment_action(v->segment, l, row + a),
                                (uint8_t *) v->host->action + a * l->action_bytes);
        random_begin(&random, v->settings->seed, RANDOM_STEP, invocation_slot(v, e), v->order->ordinal, t);
        r = host_step(v->host, instance, &random, shown);
        if (r < 0)
                return r;
        host_regulate(v->host, segment_observation(v->segment, l, row), shown, &v->host->states[e].counts,
                        steps);
        r = step_end(&v->page->spec, steps, v->host->states[e].elapsed_steps + 1, &end);
        if (r < 0)
                return r;
        for (uint32_t a = 0; a < l->agents; a++) {
                /* An agent that has left gets no more rewards, so its end counts as a termination even if
                 * the episode was truncated. */
                EndKind own = end == END_TRUNCATED && !v->host->active[a] ? END_TERMINATED : end;

                r = slot_take(v, row + a, e + a, &steps[a], own);
                if (r < 0)
                        return r;
        }
        if (end != END_NOT) {
                r = metrics_take(v, instance, row, e);
                if (r < 0)
                        return r;
                r = episode_begin(v, instance, row + l->envs, e);
                if (r < 0)
                        return r;
        }
        return v->host->come_and_go ? active_note(v, row + l->envs, e) : 0;
}

static int slots_resume(Invocation *v) {
        uint64_t begun_nsec = spent_begin(v->spent);

        for (uint32_t e = 0; e < v->page->segment.envs; e += v->page->segment.agents) {
                int r = slot_resume(v, e);

                if (r < 0)
                        return r;
        }
        if (v->host->pairs)
                memset(v->host->pairs, 0, v->host->envs / 2 * sizeof(*v->host->pairs));
        spent_end(v->spent, PROFILE_environment, begun_nsec);
        return 0;
}

static int slots_step(Invocation *v, uint32_t t) {
        uint64_t begun_nsec = spent_begin(v->spent);
        int r;

        r = pairs_begin(v, t);
        if (r < 0)
                return r;
        slots_act(v, t);
        slots_add_noise(v, t);
        spent_end(v->spent, v->order->remote ? PROFILE_wait : PROFILE_forward, begun_nsec);

        begun_nsec = spent_begin(v->spent);
        for (uint32_t e = 0; e < v->page->segment.envs; e += v->page->segment.agents) {
                r = environment_step(v, t, e);
                if (r < 0)
                        return r;
        }
        pairs_step(v, t);
        spent_end(v->spent, PROFILE_environment, begun_nsec);
        return 0;
}

static int slots_park(Invocation *v) {
        uint64_t begun_nsec = spent_begin(v->spent);

        for (uint32_t e = 0; e < v->page->segment.envs; e += v->page->segment.agents) {
                int r = slot_park(v, e);

                if (r < 0)
                        return r;
        }
        spent_end(v->spent, PROFILE_environment, begun_nsec);
        return 0;
}

static int invocation_steps(Invocation *v) {
        int r;

        r = slots_resume(v);
        if (r < 0)
                return r;
        for (uint32_t t = 0; t < v->page->segment.steps; t++) {
                r = slots_step(v, t);
                if (r < 0)
                        return r;
        }
        return slots_park(v);
}

/* Completes the invocation's profile. If the learner chose the actions, this process has no forward passes
 * to count. */
static void invocation_sum_up(const Invocation *v, uint64_t begun_nsec) {
        const SegmentLayout *l = &v->page->segment;

        if (!v->spent)
                return;
        v->spent->busy_nsec = clock_boottime() - begun_nsec;
        if (v->order->remote)
                return;
        v->spent->rates[PRODUCT_forward].core_nsec = v->spent->nsec[PROFILE_forward];
        spent_count(v->spent, PRODUCT_forward, (uint64_t) l->steps * l->envs,
                        network_acting_operations(&v->page->network, &v->page->judge));
}

static int invocation_begin(Invocation *v) {
        const ActorContext *context = v->host->context;
        uint32_t actor = v->order->actor;

        if (actor >= settings_actors_max(v->settings) || !context->segments[actor])
                return -ENXIO;
        v->segment = context->segments[actor];
        return host_policy(v->host, v->order);
}

void invocation_run(Host *host, const Order *order, Answer *ret) {
        uint64_t begun_nsec;
        Invocation v;
        int r;

        assert(host);
        assert(order);
        assert(ret);

        v = (Invocation){
                .host = host,
                .order = order,
                .settings = host->context->settings,
                .page = host->context->page,
                .spent = host->context->settings->profile ? &ret->spent : NULL,
        };
        begun_nsec = spent_begin(v.spent);
        r = invocation_begin(&v);
        if (r < 0) {
                answer_fault(ret, FAULT_INTERNAL, -r);
                return;
        }

        r = invocation_steps(&v);
        if (r < 0)
                answer_fault(ret, FAULT_ENVIRONMENT, -r);
        invocation_sum_up(&v, begun_nsec);
}
