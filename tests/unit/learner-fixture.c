/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tests/unit/learner-fixture.h"

#include "lib/algorithm-traits.h"
#include "lib/network.h"
#include "lib/pair.h"
#include "tests/unit/text-fixture.h"

void bed_settings(const char *environment, const char *sections, JobSettings *ret) {
        g_autofree char *all = g_strdup_printf("[Job]\nEnvironment=%s\n%s", environment, sections);
        g_autofree char *text = text_last_values(all), *message = NULL;

        if (settings_parse(text, "bed", NULL, 0, NULL, ret, &message) < 0)
                g_error("%s", message);
}

ActordEnvSpec bed_spec_box(uint32_t n_observation, uint32_t n_action, uint32_t n_choices) {
        ActordEnvSpec spec = {
                .name = "Bed-v0",
                .observation = { .kind = ACTORD_BOX,
                                .element = ACTORD_F32,
                                .n_dims = 1,
                                .shape = { n_observation },
                                .low = -INFINITY,
                                .high = INFINITY },
                .action = { .kind = ACTORD_BOX,
                                .element = ACTORD_F32,
                                .n_dims = 1,
                                .shape = { n_action },
                                .low = -1,
                                .high = 1 },
                .n_agents = 1,
                .reward_low = -INFINITY,
                .reward_high = INFINITY,
                .solved_return = NAN,
                .snapshot_bytes = 64,
                .instance_bytes = 64,
        };

        if (n_choices == BED_SEVERAL) {
                spec.action = (ActordSpace){
                        .kind = ACTORD_MULTI_DISCRETE, .element = ACTORD_I32, .n_dims = 1, .shape = { 3 }
                };
                memcpy(spec.action_choices, (uint32_t[]){ 2, 3, 4 }, 3 * sizeof(uint32_t));
        } else if (n_choices > 0)
                spec.action = (ActordSpace){
                        .kind = ACTORD_DISCRETE, .element = ACTORD_I32, .n_choices = n_choices
                };
        return spec;
}

void bed_open(Bed *bed, const ActordEnvSpec *spec, int state_fd, int checkpoint_fd) {
        uint32_t n_actors = settings_actors_max(&bed->settings);

        g_assert_cmpint(job_page_make(&bed->settings, spec, &bed->page), ==, 0);
        bed->policy = aligned_alloc(4096, bed->page.policy.segment_bytes);
        memset(bed->policy, 0, bed->page.policy.segment_bytes);
        bed->segments = g_new0(void *, n_actors);
        for (uint32_t a = 0; a < n_actors; a++) {
                bed->segments[a] = aligned_alloc(4096, bed->page.segment.segment_bytes);
                memset(bed->segments[a], 0, bed->page.segment.segment_bytes);
        }
        bed->context = (LearnerContext){
                .settings = &bed->settings,
                .page = &bed->page,
                .worker = &bed->worker,
                .policy = bed->policy,
                .segments = bed->segments,
                .state_fd = state_fd,
                .checkpoint_fd = checkpoint_fd,
        };
        g_assert_cmpint(learner_new(&bed->context, &bed->learner), ==, 0);
}

void bed_close(Bed *bed) {
        bed->learner = learner_free(bed->learner);
        for (uint32_t a = 0; a < settings_actors_max(&bed->settings); a++)
                free(bed->segments[a]);
        g_free(bed->segments);
        free(bed->policy);
}

void bed_start(Bed *bed, const char *sections, const ActordEnvSpec *spec) {
        bed_settings("CartPole-v1", sections, &bed->settings);
        bed_open(bed, spec, -1, -1);
        bed_restore(bed);
}

Answer bed_order(Bed *bed, Order order) {
        Answer answer;

        /* Actors act with the newest version, and the next one goes into the next bank. */
        order.policy_version = bed->learner->policy_version;
        order.policy_bank = bed->learner->policy_bank;
        if (order.kind == ORDER_LEARN) {
                order.hashes = true;
                order.policy_bank = (order.policy_bank + 1) % bed->page.policy.n_banks;
        }
        learner_obey(bed->learner, &order, &answer);
        return answer;
}

Answer bed_restore(Bed *bed) {
        Answer answer = bed_order(bed, (Order){ .kind = ORDER_RESTORE });

        g_assert_cmpuint(answer.fault, ==, FAULT_NONE);
        return answer;
}

void bed_take(Bed *bed, uint32_t actor, uint32_t bank) {
        Answer answer = bed_order(bed, (Order){ .kind = ORDER_TAKE, .actor = actor, .snapshot_bank = bank });

        if (answer.fault != FAULT_NONE)
                g_error("fault %u at row %d", answer.fault, answer.detail);
}

Answer bed_learn(Bed *bed, uint64_t update, uint32_t n_actors) {
        Answer answer = bed_order(bed, (Order){ .kind = ORDER_LEARN,
                                                       .round = update + 1,
                                                       .ordinal = update,
                                                       .n_actors = n_actors });

        g_assert_cmpuint(answer.fault, ==, FAULT_NONE);
        return answer;
}

int silence(void) {
        int kept = dup(STDERR_FILENO), null = open("/dev/null", O_WRONLY | O_CLOEXEC);

        (void) dup2(null, STDERR_FILENO);
        (void) close(null);
        return kept;
}

void unsilence(int kept) {
        (void) dup2(kept, STDERR_FILENO);
        (void) close(kept);
}

static void bed_observe(const Bed *bed, GRand *rand, void *ret_observation) {
        for (uint32_t k = 0; k < bed->page.network.n_observation / bed->page.segment.frames; k++)
                if (bed->page.spec.observation.element == ACTORD_U8)
                        ((uint8_t *) ret_observation)[k] = (uint8_t) g_rand_int_range(rand, 0, 256);
                else
                        ((float *) ret_observation)[k] = (float) g_rand_double_range(rand, -2, 2);
}

/* Call this before step t: where a pair begins (lib/pair.h), its second slot takes over the observation and
 * the number of steps of the first. */
static void bed_pairs(Bed *bed, uint32_t actor, uint32_t bank, uint32_t t, PairWalk *pairs) {
        const SegmentLayout *l = &bed->page.segment;
        void *segment = bed->segments[actor];
        const uint8_t *before = segment_ends(segment, l) + ((uint64_t) t - 1) * l->envs;
        uint32_t pair_steps = algorithm_pair_steps(&bed->settings);

        for (uint32_t e = 0; pair_steps > 0 && e < l->envs; e += 2) {
                if (t > 0)
                        pair_step(&pairs[e / 2], pair_steps, before[e] != END_NOT, before[e + 1] != END_NOT);
                if (!pair_begins(&pairs[e / 2]))
                        continue;
                memcpy(segment_observation(segment, l, (uint64_t) t * l->envs + e + 1),
                                segment_observation(segment, l, (uint64_t) t * l->envs + e),
                                l->observation_bytes);
                segment_snapshot(segment, l, bank, e + 1)->elapsed_steps =
                                segment_snapshot(segment, l, bank, e)->elapsed_steps;
        }
}

void bed_fill(Bed *bed, uint32_t actor, uint32_t bank, uint32_t seed) {
        const SegmentLayout *l = &bed->page.segment;
        void *segment = bed->segments[actor];
        /* Unclipped actions go beyond the bounds, which are -1 and 1. */
        double reach = bed->page.network.act == ACT_GAUSSIAN ? 1.5 : 1;
        GRand *rand = g_rand_new_with_seed(seed * 1000 + actor);
        g_autofree PairWalk *pairs = g_new0(PairWalk, l->envs / 2 + 1);
        uint64_t n_finals = 0;

        for (uint64_t i = 0; i < (uint64_t) (l->steps + 1) * l->envs; i++)
                bed_observe(bed, rand, segment_observation(segment, l, i));
        for (uint64_t i = l->envs; i < l->frames * l->envs; i++)
                bed_observe(bed, rand,
                                segment_frame_before(segment, l, (uint32_t) (i % l->envs), i / l->envs));
        for (uint32_t e = 0; e < l->envs; e++)
                *segment_snapshot(segment, l, bank ^ 1, e) = *segment_snapshot(segment, l, bank, e);
        for (uint32_t e = 0; e < l->envs; e++)
                if (segment_snapshot(segment, l, bank, e)->episode == 0)
                        segment_snapshot(segment, l, bank ^ 1, e)->episode = 1;

        for (uint32_t t = 0; t < l->steps; t++) {
                bed_pairs(bed, actor, bank ^ 1, t, pairs);
                for (uint32_t e = 0; e < l->envs; e++) {
                        uint64_t row = (uint64_t) t * l->envs + e;
                        SlotState *state = segment_snapshot(segment, l, bank ^ 1, e);
                        uint32_t horizon = bed->page.spec.horizon_steps;
                        uint8_t end = END_NOT;

                        if (!act_is_continuous(bed->page.network.act))
                                for (uint32_t k = 0; k < bed->page.network.n_choices; k++)
                                        ((int32_t *) segment_action(segment, l, row))[k] = g_rand_int_range(
                                                        rand, 0, (int) bed->page.network.choices[k]);
                        else
                                for (uint32_t k = 0; k < bed->page.network.n_action; k++)
                                        ((float *) segment_action(segment, l, row))[k] =
                                                        (float) g_rand_double_range(rand, -reach, reach);
                        segment_rewards(segment, l)[row] = g_rand_double_range(rand, -1, 1);
                        segment_log_probabilities(segment, l)[row] = -1.0f;

                        state->elapsed_steps++;
                        if (g_rand_int_range(rand, 0, 20) == 0)
                                end = END_TERMINATED;
                        else if (horizon > 0 && state->elapsed_steps == horizon)
                                end = END_TRUNCATED;
                        segment_ends(segment, l)[row] = end;
                        if (end == END_TRUNCATED)
                                bed_observe(bed, rand, segment_final(segment, l, n_finals));
                        n_finals += end == END_TRUNCATED;
                        if (end != END_NOT) {
                                state->episode++;
                                state->elapsed_steps = 0;
                        }
                }
        }
        g_rand_free(rand);
}

void bed_take_all(Bed *bed, uint32_t n_actors, uint32_t bank, uint32_t seed) {
        for (uint32_t a = 0; a < n_actors; a++) {
                bed_fill(bed, a, bank, seed);
                bed_take(bed, a, bank);
        }
}

AdvantageScale bed_advantages(const Bed *bed, double *ret) {
        const Batch *b = bed->learner->batch;
        uint32_t n = bed->settings.n_actors * b->step_rows;
        AdvantageScale of = { .mean = 0, .scale = 1 };
        double mean = 0, m2 = 0;

        for (uint32_t i = 0; i < n; i++) {
                ret[i] = (double) b->advantage[batch_block(b, i / b->step_rows) + i % b->step_rows];
                mean += ret[i] / n;
        }
        for (uint32_t i = 0; i < n; i++)
                m2 += (ret[i] - mean) * (ret[i] - mean);
        if (bed->settings.normalize_advantages)
                of = (AdvantageScale){ .mean = mean, .scale = 1 / (sqrt(m2 / (n - 1)) + 1e-8) };
        for (uint32_t i = 0; i < n; i++)
                ret[i] = (ret[i] - of.mean) * of.scale;
        return of;
}
