/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Layouts of memory. Columns never overlap, whatever their sizes. Sums that overflow are refused. A
 * stranger's spec is refused with the field at fault. */
#include <errno.h>
#include <glib.h>
#include <math.h>
#include <string.h>

#include "lib/network.h"
#include "lib/slot.h"

static ActordEnvSpec spec_make(void) {
        return (ActordEnvSpec){
                .name = "Toy-v0",
                .observation = { .kind = ACTORD_BOX,
                                .element = ACTORD_F32,
                                .n_dims = 1,
                                .shape = { 4 },
                                .low = -INFINITY,
                                .high = INFINITY },
                .action = { .kind = ACTORD_DISCRETE, .element = ACTORD_I32, .n_choices = 2 },
                .horizon_steps = 500,
                .n_agents = 1,
                .reward_low = 0,
                .reward_high = 1,
                .solved_return = NAN,
                .instance_bytes = 100,
                .snapshot_bytes = 40,
        };
}

static void assert_refused(const ActordEnvSpec *spec, SpecField expected) {
        int field = -1;

        g_assert_cmpint(spec_check(spec, &field), ==, -EINVAL);
        g_assert_cmpstr(spec_field_to_string(field), ==, spec_field_to_string(expected));
        g_assert_cmpint(spec_check(spec, NULL), ==, -EINVAL);
}

#define REFUSED(field, change)                             \
        do {                                               \
                ActordEnvSpec spec = spec_make();          \
                change;                                    \
                assert_refused(&spec, SPEC_FIELD_##field); \
        } while (false)

static ActordSpace box_make(uint32_t element, uint32_t n_dims, uint32_t a, uint32_t b) {
        return (ActordSpace){ .kind = ACTORD_BOX,
                .element = element,
                .n_dims = n_dims,
                .shape = { a, b, b, b },
                .low = -1,
                .high = 1 };
}

static void test_spec(void) {
        ActordEnvSpec possible = spec_make();
        int field = 77;

        g_assert_cmpint(spec_check(&possible, &field), ==, 0);
        g_assert_cmpint(field, ==, 77);

        REFUSED(NAME, spec.name[0] = 0);
        REFUSED(NAME, memset(spec.name, 'x', sizeof(spec.name)));
        REFUSED(NAME, spec.name[1] = '\n');
        REFUSED(OBSERVATION_KIND, spec.observation.kind = 0);
        REFUSED(OBSERVATION_KIND, spec.observation.kind = UINT32_MAX);
        REFUSED(OBSERVATION_ELEMENT, spec.observation.element = 5);
        REFUSED(OBSERVATION_SHAPE, spec.observation.n_dims = 0);
        REFUSED(OBSERVATION_SHAPE, spec.observation.n_dims = 5);
        REFUSED(OBSERVATION_SHAPE, spec.observation.shape[0] = 0);
        REFUSED(OBSERVATION_SHAPE, spec.observation = box_make(ACTORD_U8, 4, UINT32_MAX, UINT32_MAX));
        REFUSED(OBSERVATION_SHAPE, spec.observation = box_make(ACTORD_U8, 2, 65536, 65536));
        REFUSED(OBSERVATION_BOUNDS, spec.observation.low = NAN);
        REFUSED(OBSERVATION_BOUNDS, (spec.observation.low = 2, spec.observation.high = 1));
        REFUSED(ACTION_KIND, spec.action.kind = 4);
        REFUSED(ACTION_ELEMENT, spec.action.element = ACTORD_F32);
        REFUSED(ACTION_ELEMENT, spec.action = box_make(ACTORD_F64, 1, 3, 0));
        REFUSED(ACTION_SHAPE, spec.action = box_make(ACTORD_F32, 1, 0, 0));
        REFUSED(ACTION_CHOICES, spec.action.n_choices = 0);
        REFUSED(ACTION_CHOICES, spec.action.n_choices = UINT32_MAX);
        REFUSED(ACTION_BOUNDS, (spec.action = box_make(ACTORD_F32, 1, 3, 0), spec.action.high = NAN));
        REFUSED(HORIZON, spec.horizon_steps = UINT32_MAX);
        REFUSED(AGENTS, spec.n_agents = 0);
        REFUSED(AGENTS, spec.n_agents = ACTORD_AGENTS_MAX + 1);
        REFUSED(REWARD, spec.reward_low = NAN);
        REFUSED(INSTANCE, spec.instance_bytes = INSTANCE_BYTES_MAX + 1);
        REFUSED(SNAPSHOT, spec.snapshot_bytes = SNAPSHOT_BYTES_MAX + 1);
        REFUSED(SNAPSHOT, spec.flags = ACTORD_ENV_STICKY);
        REFUSED(FLAGS, spec.flags = 1u << 3);
        REFUSED(STACK, spec.stack = 1);
        REFUSED(METRICS, spec.n_metrics = 1);
        REFUSED(METRICS, spec.n_metrics = ACTORD_METRICS_MAX + 1);
        REFUSED(METRICS, (spec.n_metrics = 1, strcpy(spec.metrics[0], "Latency")));
        REFUSED(METRICS, (spec.n_metrics = 1, strcpy(spec.metrics[0], "p99 s")));
        REFUSED(METRICS, (spec.n_metrics = 1, memset(spec.metrics[0], 'x', sizeof(spec.metrics[0]))));
        REFUSED(METRICS, (spec.n_metrics = 2, strcpy(spec.metrics[0], "p99"),
                                         strcpy(spec.metrics[1], "p99")));
        possible.n_metrics = 2;
        strcpy(possible.metrics[0], "latency_p99");
        strcpy(possible.metrics[1], "dropped");
        g_assert_cmpint(spec_check(&possible, &field), ==, 0);
        REFUSED(STACK, spec.stack = 2);
        REFUSED(STACK, (spec.stack = 3, spec.observation = box_make(ACTORD_U8, 3, 2, 4)));
        REFUSED(STACK, (spec.stack = 17, spec.observation = box_make(ACTORD_U8, 3, 17, 4)));

        g_assert_null(spec_field_to_string(-1));
        g_assert_null(spec_field_to_string(_SPEC_FIELD_MAX));
}

/* Random bytes in a spec never get past the checks with a size that a layout cannot hold. */
static void test_spec_noise(void) {
        for (int i = 0; i < 200000; i++) {
                ActordEnvSpec spec = spec_make();
                SegmentLayout layout;
                int field = 0, r;

                for (int k = 0; k < 3; k++)
                        ((uint8_t *) &spec)[g_test_rand_int_range(0, sizeof(spec))] =
                                        (uint8_t) g_test_rand_int();

                r = spec_check(&spec, &field);
                if (r < 0) {
                        g_assert_nonnull(spec_field_to_string(field));
                        g_assert_cmpint(field, >, 0);
                        continue;
                }
                r = segment_layout(&spec, 16, 128, false, 0, &layout);
                g_assert_true(r == 0 || r == -E2BIG || r == -EUSERS);
                if (r == 0)
                        g_assert_cmpuint(layout.segment_bytes, <=, SEGMENT_BYTES_MAX);
        }
}

static void test_sizes(void) {
        ActordSpace space = box_make(ACTORD_F64, 3, 3, 5);

        g_assert_cmpuint(space_numbers(&space), ==, 75);
        space.kind = ACTORD_DISCRETE;
        g_assert_cmpuint(space_numbers(&space), ==, 1);
        g_assert_cmpuint(element_bytes(ACTORD_F32), ==, 4);
        g_assert_cmpuint(element_bytes(ACTORD_F64), ==, 8);
        g_assert_cmpuint(element_bytes(ACTORD_I32), ==, 4);
        g_assert_cmpuint(element_bytes(ACTORD_U8), ==, 1);
        g_assert_cmpuint(element_bytes(0), ==, 0);
}

/* Each column begins on a cache line after the one before has ended. */
static void check_columns(const ActordEnvSpec *spec, uint32_t envs, uint32_t steps) {
        uint64_t rows = (uint64_t) envs * steps;
        SegmentLayout l;

        g_assert_cmpint(segment_layout(spec, envs, steps, false, 0, &l), ==, 0);
        uint64_t ends[][2] = {
                { l.observations_at, (rows + envs) * l.observation_bytes },
                { l.actions_at, rows * l.action_bytes },
                { l.rewards_at, rows * 8 },
                { l.log_probabilities_at, rows * 4 },
                { l.ends_at, rows },
                { l.finals_at, l.finals_max * l.observation_bytes },
                { l.snapshots_at[0], envs * l.snapshot_stride },
                { l.snapshots_at[1], envs * l.snapshot_stride },
                { l.segment_bytes, 0 },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(ends); i++) {
                g_assert_cmpuint(ends[i][0] % 64, ==, 0);
                if (i > 0)
                        g_assert_cmpuint(ends[i][0], >=, ends[i - 1][0] + ends[i - 1][1]);
        }
        g_assert_cmpuint(l.segment_bytes % 4096, ==, 0);
        g_assert_cmpuint(l.segment_bytes, <=, SEGMENT_BYTES_MAX);

        /* The parts of the last slot lie inside its bank. */
        g_assert_cmpuint(l.snapshot_stride % 64, ==, 0);
        uint8_t *base = NULL;
        uint8_t *bytes = segment_snapshot_bytes(base, &l, 1, envs - 1);
        g_assert_true((uint8_t *) segment_snapshot_observation(base, &l, 1, envs - 1) +
                                        l.observation_bytes <=
                        bytes);
        g_assert_cmpuint((uintptr_t) bytes + l.snapshot_bytes, <=, l.segment_bytes);
        g_assert_cmpuint((uintptr_t) bytes % 64, ==, 0);
}

static void test_columns(void) {
        static const uint32_t sizes[] = { 1, 2, 7, 64, 500, 501 };

        for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++)
                for (size_t k = 0; k < G_N_ELEMENTS(sizes); k++)
                        for (uint32_t element = ACTORD_F32; element <= ACTORD_U8; element++)
                                for (uint64_t snapshot = 0; snapshot < 200; snapshot += 63) {
                                        ActordEnvSpec spec = spec_make();

                                        spec.observation.element = element;
                                        spec.observation.shape[0] = sizes[(i + k) % 6];
                                        spec.snapshot_bytes = snapshot;
                                        check_columns(&spec, sizes[i], sizes[k]);
                                }
}

static uint64_t finals_max(uint32_t horizon, uint32_t flags, uint32_t envs, uint32_t steps) {
        ActordEnvSpec spec = spec_make();
        SegmentLayout l;

        spec.horizon_steps = horizon;
        spec.flags = flags;
        g_assert_cmpint(segment_layout(&spec, envs, steps, false, 0, &l), ==, 0);
        return l.finals_max;
}

static void test_finals(void) {
        g_assert_cmpuint(finals_max(0, 0, 8, 32), ==, 0);
        g_assert_cmpuint(finals_max(0, ACTORD_ENV_TRUNCATES, 8, 32), ==, 256);
        g_assert_cmpuint(finals_max(500, ACTORD_ENV_TRUNCATES, 8, 32), ==, 256);
        g_assert_cmpuint(finals_max(500, 0, 8, 32), ==, 8);
        g_assert_cmpuint(finals_max(32, 0, 8, 32), ==, 16);
        g_assert_cmpuint(finals_max(1, 0, 8, 32), ==, 256);
        g_assert_cmpuint(finals_max(10, 0, 1, 1), ==, 1);

        /* Counts the most episodes that can end, whatever number of steps the first episode already has.
         * finals_max() must not be less. */
        for (uint32_t horizon = 1; horizon < 40; horizon++)
                for (uint32_t steps = 1; steps < 40; steps++) {
                        uint64_t worst = 0;

                        for (uint32_t elapsed = 0; elapsed < horizon; elapsed++)
                                worst = MAX(worst, (elapsed + steps) / horizon);
                        g_assert_cmpuint(finals_max(horizon, 0, 3, steps), >=, 3 * worst);
                }
}

/* In a snapshot, each agent of an environment has a state and an observation of its own. The environment's
 * own bytes lie behind those of its last agent. */
static void test_agents(void) {
        ActordEnvSpec spec = spec_make();
        const uint8_t *base = NULL, *end;
        SegmentLayout l;

        spec.n_agents = 3;
        g_assert_cmpint(segment_layout(&spec, 7, 5, false, 0, &l), ==, -EUSERS);
        g_assert_cmpint(segment_layout(&spec, 6, 5, false, 0, &l), ==, 0);
        end = base + l.snapshots_at[1];
        for (uint32_t e = 0; e < 6; e++) {
                g_assert_true((const uint8_t *) segment_snapshot((void *) base, &l, 1, e) >= end);
                end = (const uint8_t *) segment_snapshot_observation((void *) base, &l, 1, e) +
                      l.observation_bytes;
                if (e % 3 == 2) {
                        g_assert_true((const uint8_t *) segment_snapshot_bytes(
                                                      (void *) base, &l, 1, e - 2) >= end);
                        end = (const uint8_t *) segment_snapshot_bytes((void *) base, &l, 1, e - 2) +
                              l.snapshot_bytes;
                }
        }
        g_assert_true(end <= base + l.snapshots_at[1] + 2 * l.snapshot_stride);
}

static void test_too_big(void) {
        ActordEnvSpec spec = spec_make();
        SegmentLayout l = { .envs = 77 };

        spec.observation = box_make(ACTORD_F64, 1, SPACE_NUMBERS_MAX, 0);
        g_assert_cmpint(segment_layout(&spec, ENVS_PER_ACTOR_MAX, 1048576, false, 0, &l), ==, -E2BIG);
        g_assert_cmpint(segment_layout(&spec, UINT32_MAX, UINT32_MAX, false, 0, &l), ==, -E2BIG);
        spec = spec_make();
        spec.snapshot_bytes = SNAPSHOT_BYTES_MAX;
        g_assert_cmpint(segment_layout(&spec, 4096, 1, false, 0, &l), ==, -E2BIG);
        spec.n_agents = 0;
        g_assert_cmpint(segment_layout(&spec, 1, 1, false, 0, &l), ==, -EINVAL);
        spec.n_agents = 1;
        g_assert_cmpint(segment_layout(&spec, 0, 1, false, 0, &l), ==, -EINVAL);
        g_assert_cmpint(segment_layout(&spec, 1, 0, false, 0, &l), ==, -EINVAL);
        /* Outputs are untouched on failure. */
        g_assert_cmpuint(l.envs, ==, 77);
}

static void test_policy(void) {
        Network network = { .n_observation = 11, .n_action = 3, .n_parameters = 12345 };
        PolicyLayout l;

        g_assert_cmpint(policy_layout(&network, NULL, POLICY_BANKS, &l), ==, 0);
        g_assert_cmpuint(l.mean_at, ==, 64);
        g_assert_cmpuint(l.inverse_sd_at, >=, l.mean_at + 44);
        g_assert_cmpuint(l.parameters_at, >=, l.inverse_sd_at + 44);
        /* The forward pass reads a whole vector from the last number on, so there is room for it. */
        g_assert_cmpuint(l.bank_bytes, >=, l.parameters_at + 12345 * 4 + 60);
        g_assert_cmpuint(l.bank_bytes % 4096, ==, 0);
        g_assert_cmpuint(l.segment_bytes, ==, POLICY_BANKS * l.bank_bytes);

        network.n_parameters = UINT64_MAX / 4;
        g_assert_cmpint(policy_layout(&network, NULL, POLICY_BANKS, &l), ==, -E2BIG);
        network.n_parameters = SEGMENT_BYTES_MAX / 4;
        g_assert_cmpint(policy_layout(&network, NULL, POLICY_BANKS, &l), ==, -E2BIG);
}

static void test_page(void) {
        JobSettings settings = {
                .envs_per_actor = 8, .rollout_steps = 32, .hidden_layers = { 2, { 64, 64 } }
        };
        ActordEnvSpec spec = spec_make();
        JobPage page, again;

        g_assert_cmpint(job_page_make(&settings, &spec, &page), ==, 0);
        g_assert_cmpuint(page.magic, ==, JOB_PAGE_MAGIC);
        g_assert_cmpuint(page.struct_bytes, ==, sizeof(JobPage));
        g_assert_cmpuint(page.segment.envs, ==, 8);
        g_assert_cmpuint(page.network.n_observation, ==, 4);
        memset(&again, 0xff, sizeof(again));
        g_assert_cmpint(job_page_make(&settings, &spec, &again), ==, 0);
        g_assert_cmpmem(&page, sizeof(page), &again, sizeof(again));

        settings.rollout_steps = 1048576;
        settings.envs_per_actor = 4096;
        g_assert_cmpint(job_page_make(&settings, &spec, &page), ==, -E2BIG);
        spec.name[0] = 0;
        g_assert_cmpint(job_page_make(&settings, &spec, &page), ==, -EINVAL);
}

/* Pairs need snapshots that hold everything that a slot observes. So a sticky environment is refused, and so
 * are stacked frames. */
static void test_pairs(void) {
        JobSettings settings = { .algorithm = ALGORITHM_REBEL,
                .envs_per_actor = 8,
                .rollout_steps = 32,
                .hidden_layers = { 1, { 8 } } };
        ActordEnvSpec spec = spec_make();
        JobPage page;

        g_assert_cmpint(job_page_make(&settings, &spec, &page), ==, 0);
        g_assert_null(network_output(&page.network, OUTPUT_VALUE));
        spec.flags |= ACTORD_ENV_STICKY;
        spec.snapshot_bytes = 0;
        g_assert_cmpint(job_page_make(&settings, &spec, &page), ==, -ESPIPE);
        spec = spec_make();
        spec.stack = 2;
        spec.observation.n_dims = 2;
        spec.observation.shape[0] = spec.observation.shape[1] = 2;
        g_assert_cmpint(job_page_make(&settings, &spec, &page), ==, -ENOSTR);
        settings.algorithm = ALGORITHM_PPO;
        g_assert_cmpint(job_page_make(&settings, &spec, &page), ==, 0);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);

        g_test_add_func("/slot/spec", test_spec);
        g_test_add_func("/slot/spec-noise", test_spec_noise);
        g_test_add_func("/slot/sizes", test_sizes);
        g_test_add_func("/slot/columns", test_columns);
        g_test_add_func("/slot/finals", test_finals);
        g_test_add_func("/slot/too-big", test_too_big);
        g_test_add_func("/slot/agents", test_agents);
        g_test_add_func("/slot/policy", test_policy);
        g_test_add_func("/slot/page", test_page);
        g_test_add_func("/slot/pairs", test_pairs);

        return g_test_run();
}
