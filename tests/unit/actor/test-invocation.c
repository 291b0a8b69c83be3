/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that an invocation is a pure function of its order, its slots and the policy. Segments are plain
 * memory here, an invocation is cut short by an environment that fails, and a toy environment lets
 * episodes end at known steps. */
#include "actor/envs/builtin.h"
#include "lib/environments.h"
#include "tests/unit/actor-fixture.h"

/* An environment that is built in, or from a module beside the folder of the tests. NULL: it was not
 * built. */
static const ActordEnv *env_named(const char *name) {
        g_autofree char *self = g_file_read_link("/proc/self/exe", NULL), *tests = g_path_get_dirname(self);
        g_autofree char *build = g_path_get_dirname(tests);
        const ActordEnv *env = NULL;

        return environment_load(name, build, &env) < 0 ? NULL : env;
}

static void test_repeats(gconstpointer name) {
        const ActordEnv *env = env_named(name);
        Job job, again;

        if (!env) {
                g_test_skip("env-mujoco.so is not built");
                return;
        }

        actor_job_new(&job, env, 3, 50, 1);
        actor_job_new(&again, env, 3, 50, 1);
        for (int k = 0; k < 6; k++) {
                actor_job_rollout(&job, 1);

                /* `again` makes the invocation of actor 1 three times, and that of actor 2 after each. The
                 * result of actor 1 stays the same. */
                for (int attempt = 0; attempt < 3; attempt++) {
                        g_assert_cmpuint(actor_job_attempt(&again, 1), ==, FAULT_NONE);
                        g_assert_cmpuint(actor_job_attempt(&again, 2), ==, FAULT_NONE);
                }
                actor_job_accept(&again, 1);
                assert_results_equal(&job, &again, 1);
        }
        actor_job_done(&job);
        actor_job_done(&again);
}

static void test_interrupted(void) {
        Job job, hurt;

        toy_plan = (ToyPlan){ .length_min = 3, .length_max = 9, .step_noise = true };
        actor_job_new(&job, &toy_env, 2, 20, 1);
        actor_job_new(&hurt, &toy_env, 2, 20, 1);
        assert_interruptions_hidden(&job, &hurt, 20);
        actor_job_done(&job);
        actor_job_done(&hurt);
}

static void test_containers(void) {
        static const uint32_t containers[] = { 1, 2, 3, 4 };
        Job jobs[4];

        for (int i = 0; i < 4; i++) {
                actor_job_new(&jobs[i], builtin_env_find("CartPole-v1"), 2, 40, containers[i]);
                /* In round 2 only two actors play. Every other job plays the actors of a round in reverse:
                 * their order must not matter. */
                for (int k = 0; k < 4; k++) {
                        int n = k == 2 ? 2 : ACTORS;

                        for (int a = 0; a < n; a++)
                                actor_job_rollout(&jobs[i], (uint32_t) (i & 1 ? n - 1 - a : a));
                }
        }
        for (int i = 1; i < 4; i++)
                for (uint32_t a = 0; a < ACTORS; a++)
                        assert_results_equal(&jobs[0], &jobs[i], a);
        for (int i = 0; i < 4; i++)
                actor_job_done(&jobs[i]);
}

/* Two short invocations give the same observations, rewards and ends as a single long one, if these depend
 * neither on actions nor on the noise of steps. */
static void test_continuity(void) {
        enum { STEPS = 64, ENVS = 3 };
        Job whole, halves;
        const SegmentLayout *l;

        toy_plan = (ToyPlan){ .length_min = 1, .length_max = 30 };
        actor_job_new(&whole, &toy_env, ENVS, 2 * STEPS, 1);
        actor_job_new(&halves, &toy_env, ENVS, STEPS, 1);
        l = &halves.page.segment;

        actor_job_rollout(&whole, 3);
        for (int half = 0; half < 2; half++) {
                uint64_t rows = STEPS * ENVS, at = half * rows;

                actor_job_rollout(&halves, 3);
                /* The last row of each half is row 0 of the next half. Each half equals the same rows of the
                 * long rollout. */
                g_assert_cmpmem(segment_observation(halves.segments[3], l, 0),
                                (rows + ENVS) * l->observation_bytes,
                                segment_observation(whole.segments[3], &whole.page.segment, at),
                                (rows + ENVS) * l->observation_bytes);
                g_assert_cmpmem(segment_rewards(halves.segments[3], l), rows * sizeof(double),
                                segment_rewards(whole.segments[3], &whole.page.segment) + at,
                                rows * sizeof(double));
                g_assert_cmpmem(segment_ends(halves.segments[3], l), rows,
                                segment_ends(whole.segments[3], &whole.page.segment) + at, rows);
        }
        g_assert_cmpuint(toy_plan.n_restores, ==, ENVS);
        actor_job_done(&whole);
        actor_job_done(&halves);
}

/* Goes through a rollout as the learner would. The toy environment's observation has a mark and the steps
 * since the episode began, so each row tells where its episode stands. */
static void check_bookkeeping(Job *job, uint32_t actor, EndKind expected, uint32_t length, double *elapsed) {
        const SegmentLayout *l = &job->page.segment;
        void *segment = job->segments[actor];
        uint64_t n_finals = 0;

        for (uint32_t t = 0; t < l->steps; t++)
                for (uint32_t e = 0; e < l->envs; e++) {
                        uint64_t row = (uint64_t) t * l->envs + e;
                        const float *now = segment_observation(segment, l, row);
                        const float *next = segment_observation(segment, l, row + l->envs);
                        uint8_t end = segment_ends(segment, l)[row];

                        g_assert_cmpfloat(now[1], ==, elapsed[e]);
                        elapsed[e]++;
                        g_assert_cmpuint(end, ==, elapsed[e] >= length ? expected : END_NOT);
                        g_assert_cmpfloat(fabs(segment_rewards(segment, l)[row] - now[0] - elapsed[e]), <,
                                        1e-6);

                        if (end == END_NOT) {
                                g_assert_true(next[0] == now[0]);
                        } else {
                                g_assert_true(next[0] != now[0]);
                                elapsed[e] = 0;
                        }
                        if (end == END_TRUNCATED) {
                                const float *last = segment_final(segment, l, n_finals++);

                                g_assert_true(last[0] == now[0]);
                                g_assert_cmpfloat(last[1], ==, length);
                        }
                        g_assert_cmpfloat(next[1], ==, elapsed[e]);
                }
        g_assert_cmpuint(n_finals, <=, l->finals_max);

        for (uint32_t e = 0; e < l->envs; e++) {
                const SlotState *state = segment_snapshot(segment, l, job->banks[actor], e);

                g_assert_cmpfloat((double) state->elapsed_steps, ==, elapsed[e]);
                g_assert_cmpuint(state->needs_reset, ==, 0);
        }
}

static void check_ends(bool truncates, uint32_t horizon, uint32_t length, EndKind expected, uint32_t steps) {
        double elapsed[3] = {};
        uint32_t period = horizon > 0 && horizon < length ? horizon : length;
        Job job;

        toy_plan = (ToyPlan){ .length_min = length, .length_max = length, .truncates = truncates };
        actor_job_new(&job, &toy_env, 3, steps, 1);
        for (int a = 0; a < ACTORS; a++)
                free(job.segments[a]);
        job.hosts[0] = host_free(job.hosts[0]);

        job.page.spec.horizon_steps = horizon;
        g_assert_cmpint(segment_layout(&job.page.spec, 3, steps, false, 0, &job.page.segment), ==, 0);
        for (int a = 0; a < ACTORS; a++)
                job.segments[a] = zeroed(job.page.segment.segment_bytes);
        actor_job_start_host(&job, 0);

        for (int k = 0; k < 7; k++) {
                actor_job_rollout(&job, 2);
                check_bookkeeping(&job, 2, expected, period, elapsed);
        }
        actor_job_done(&job);
}

static void test_ends(void) {
        static const uint32_t steps[] = { 1, 4, 5, 6, 16 };

        for (size_t i = 0; i < G_N_ELEMENTS(steps); i++) {
                check_ends(false, 0, 5, END_TERMINATED, steps[i]);
                check_ends(true, 0, 5, END_TRUNCATED, steps[i]);
                check_ends(false, 5, 100, END_TRUNCATED, steps[i]);
                check_ends(false, 1, 100, END_TRUNCATED, steps[i]);
                check_ends(true, 7, 5, END_TRUNCATED, steps[i]);
                check_ends(true, 5, 7, END_TRUNCATED, steps[i]);
                /* Terminated at the very step of the horizon: nothing to bootstrap. */
                check_ends(false, 5, 5, END_TERMINATED, steps[i]);
        }
}

static void test_truncation_that_the_spec_denies(void) {
        Job job;

        toy_plan = (ToyPlan){ .length_min = 5, .length_max = 5 };
        actor_job_new(&job, &toy_env, 1, 10, 1);
        toy_plan.truncates = true;
        g_assert_cmpuint(actor_job_attempt(&job, 0), ==, FAULT_ENVIRONMENT);
        actor_job_done(&job);
}

static void test_carry_reset(void) {
        g_autoptr(GHashTable) seen = g_hash_table_new_full(g_double_hash, g_double_equal, g_free, NULL);
        Job job;

        toy_plan = (ToyPlan){ .length_min = 100, .length_max = 100 };
        actor_job_new(&job, &toy_env, 2, 10, 1);
        job.settings.carry = CARRY_RESET;

        /* Each invocation begins new episodes: never the slot's old one, nor another slot's. */
        for (int k = 0; k < 50; k++)
                for (uint32_t a = 0; a < ACTORS; a++) {
                        actor_job_rollout(&job, a);
                        for (uint32_t e = 0; e < 2; e++) {
                                const float *first =
                                                segment_observation(job.segments[a], &job.page.segment, e);
                                double *mark = g_new(double, 1);

                                *mark = first[0];
                                g_assert_cmpfloat(first[1], ==, 0);
                                g_assert_true(g_hash_table_add(seen, mark));
                        }
                }
        g_assert_cmpuint(toy_plan.n_restores, ==, 0);
        actor_job_done(&job);
}

static void test_streams_differ(void) {
        enum { ENVS = 4, STEPS = 32 };
        g_autoptr(GHashTable) seen = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
        Job job;

        /* The policy's noise (actions minus their means) would repeat if two streams were the same. With
         * all weights 0 except the deviations, an action is its noise. */
        toy_plan = (ToyPlan){ .length_min = 5, .length_max = 9 };
        actor_job_new(&job, &toy_env, ENVS, STEPS, 2);
        memset((void *) policy_numbers(
                               policy_bank(job.policy, &job.page.policy, 0), job.page.policy.parameters_at),
                        0, job.page.network.n_parameters * sizeof(float));

        for (int k = 0; k < 4; k++)
                for (uint32_t a = 0; a < ACTORS; a++) {
                        actor_job_rollout(&job, a);
                        for (uint64_t row = 0; row < ENVS * STEPS; row++) {
                                uint64_t *action = g_new(uint64_t, 1);

                                memcpy(action, segment_action(job.segments[a], &job.page.segment, row), 8);
                                g_assert_true(g_hash_table_add(seen, action));
                        }
                }
        actor_job_done(&job);
}

static void test_log_probabilities(void) {
        Job job;
        Forward *forward;
        const PolicyHead *bank;

        actor_job_new(&job, builtin_env_find("Pendulum-v1"), 2, 30, 1);
        actor_job_rollout(&job, 0);
        bank = policy_bank(job.policy, &job.page.policy, 0);
        g_assert_cmpint(forward_new(&job.page.network, &job.page.spec, &forward), ==, 0);
        forward_load(forward, bank, &job.page.policy);
        for (uint64_t row = 0; row < 60; row++) {
                const SegmentLayout *l = &job.page.segment;
                float parameters[2], expected;

                forward_row(forward, segment_observation(job.segments[0], l, row), parameters);
                expected = action_log_probability(
                                &job.page.network, parameters, segment_action(job.segments[0], l, row));
                g_assert_true(segment_log_probabilities(job.segments[0], l)[row] == expected);
        }
        (void) forward_free(forward);
        actor_job_done(&job);
}

static int sticky_spec(const ActordOption *options, uint32_t n_options, ActordEnvSpec *ret) {
        int r = toy_spec(options, n_options, ret);

        ret->snapshot_bytes = 0;
        ret->flags |= ACTORD_ENV_STICKY;
        return r;
}

static void test_sticky(void) {
        const SegmentLayout *l;
        ActordEnv sticky = toy_env;
        float before[2], after[2];
        Job job;

        sticky.spec = sticky_spec;
        toy_plan = (ToyPlan){ .length_min = 1000, .length_max = 1000 };
        actor_job_new(&job, &sticky, 2, 10, 2);
        l = &job.page.segment;

        /* Each actor's episodes go on in its own instances, though actors 0 and 2 share a container. */
        for (int k = 1; k <= 3; k++)
                for (uint32_t a = 0; a < ACTORS; a++) {
                        actor_job_rollout(&job, a);
                        memcpy(after, segment_observation(job.segments[a], l, l->steps * 2), sizeof(after));
                        g_assert_cmpfloat(after[1], ==, 10 * k);
                }
        g_assert_cmpuint(toy_plan.n_restores, ==, 0);

        /* The container dies. The episode is lost, and a new one begins. */
        memcpy(before, after, sizeof(before));
        job.hosts[1] = host_free(job.hosts[1]);
        actor_job_start_host(&job, 1);
        actor_job_rollout(&job, 3);
        memcpy(after, segment_observation(job.segments[3], l, l->steps * 2), sizeof(after));
        g_assert_cmpfloat(after[1], ==, 10);
        g_assert_true(after[0] != before[0]);
        actor_job_done(&job);
}

static void test_evaluation(void) {
        Order order = { .kind = ORDER_EVALUATE, .policy_version = 1, .ordinal = 3 };
        g_autoptr(GBytes) before = NULL, after = NULL;
        Answer first = {}, again = {}, other = {};
        Job job;

        actor_job_new(&job, builtin_env_find("Pendulum-v1"), 2, 30, 2);
        actor_job_rollout(&job, 0);
        before = actor_job_result(&job, 0);

        evaluation_run(job.hosts[0], &order, &first);
        evaluation_run(job.hosts[1], &order, &again);
        order.ordinal = 4;
        evaluation_run(job.hosts[0], &order, &other);
        g_assert_cmpuint(first.fault, ==, FAULT_NONE);
        g_assert_cmpuint(first.n_steps, ==, 200);
        g_assert_cmpfloat(first.episode_return, <, 0);
        g_assert_cmpmem(&first, sizeof(first), &again, sizeof(again));
        g_assert_cmpfloat(first.episode_return, !=, other.episode_return);

        after = actor_job_result(&job, 0);
        g_assert_true(g_bytes_equal(before, after));
        actor_job_done(&job);
}

static void test_probe(void) {
        Answer answer = {};
        Job job;

        toy_plan = (ToyPlan){ .length_min = 5, .length_max = 5 };
        actor_job_new(&job, &toy_env, 1, 10, 1);
        probe(&job.contexts[0], &toy_env, &answer);
        g_assert_cmpuint(answer.fault, ==, FAULT_NONE);
        g_assert_cmpstr(job.worker->spec.name, ==, "Toy");
        g_assert_cmpuint(toy_plan.n_resets, ==, 1);

        /* probe() compares the environment's spec with that of the page, for which the slots were laid
         * out. */
        probe(&job.contexts[0], builtin_env_find("CartPole-v1"), &answer);
        g_assert_cmpuint(answer.fault, ==, FAULT_SPEC);
        g_assert_cmpint(answer.detail, ==, SPEC_FIELD_OTHER);
        job.page.spec.snapshot_bytes--;
        answer = (Answer){};
        probe(&job.contexts[0], &toy_env, &answer);
        g_assert_cmpuint(answer.fault, ==, FAULT_SPEC);
        job.page.spec.snapshot_bytes += 2;
        answer = (Answer){};
        probe(&job.contexts[0], &toy_env, &answer);
        g_assert_cmpuint(answer.fault, ==, FAULT_NONE);
        job.contexts[0].page = NULL;
        probe(&job.contexts[0], builtin_env_find("CartPole-v1"), &answer);
        g_assert_cmpuint(answer.fault, ==, FAULT_NONE);

        job.settings.n_options = 1;
        g_strlcpy(job.settings.options[0].key, "NoSuchOption", sizeof(job.settings.options[0].key));
        probe(&job.contexts[0], builtin_env_find("CartPole-v1"), &answer);
        g_assert_cmpuint(answer.fault, ==, FAULT_LOAD);
        g_assert_cmpint(answer.detail, ==, EINVAL);
        actor_job_done(&job);
}

static void test_orders_that_do_not_fit(void) {
        Order order = { .kind = ORDER_ROLLOUT, .policy_version = 2 };
        Answer answer = {};
        Job job;

        toy_plan = (ToyPlan){ .length_min = 5, .length_max = 5 };
        actor_job_new(&job, &toy_env, 1, 10, 1);
        invocation_run(job.hosts[0], &order, &answer);
        g_assert_cmpuint(answer.fault, ==, FAULT_INTERNAL);
        g_assert_cmpint(answer.detail, ==, ESTALE);
        order = (Order){ .kind = ORDER_ROLLOUT, .policy_version = 1, .actor = ACTORS };
        invocation_run(job.hosts[0], &order, &answer);
        g_assert_cmpint(answer.detail, ==, ENXIO);
        actor_job_done(&job);
}

static void test_load(void) {
        const ActordEnv *env = NULL;

        g_assert_cmpint(environment_load("CartPole-v1", "/nonexistent", &env), ==, 0);
        g_assert_true(env == builtin_env_find("CartPole-v1"));
        g_assert_cmpint(environment_load("CartPole-v9", "/nonexistent", &env), ==, -ENOENT);
        g_assert_cmpint(environment_load("Hopper-v4", "/nonexistent", &env), ==, -ENOEXEC);
}

static int load_on(const char *environment, const char *engine, const ActordEnv **ret) {
        g_autofree char *self = g_file_read_link("/proc/self/exe", NULL), *tests = g_path_get_dirname(self);
        g_autofree char *build = g_path_get_dirname(tests);
        g_autofree JobSettings *settings = g_new0(JobSettings, 1);

        g_strlcpy(settings->environment, environment, sizeof(settings->environment));
        settings->n_options = 1;
        g_strlcpy(settings->options[0].key, "Engine", sizeof(settings->options[0].key));
        g_strlcpy(settings->options[0].value, engine, sizeof(settings->options[0].value));
        return environment_load_for(settings, build, ret);
}

/* Engine= names a release of MuJoCo. A release without a module, and a name that leads elsewhere, are
 * refused. "", "default" and the default's own release give the same module. */
static void test_load_engine(void) {
        const ActordEnv *env = env_named("Hopper-v4"), *other = NULL;

        g_assert_cmpint(load_on("CartPole-v1", "9.9.9", &other), ==, 0);
        g_assert_true(other == builtin_env_find("CartPole-v1"));
        if (!env) {
                g_test_skip("env-mujoco.so is not built");
                return;
        }

        other = NULL;
        g_assert_cmpint(load_on("Hopper-v4", "9.9.9", &other), ==, -ENOENT);
        g_assert_cmpint(load_on("Hopper-v4", "../env-mujoco", &other), ==, -EINVAL);
        g_assert_cmpint(load_on("Hopper-v4", "..", &other), ==, -EINVAL);
        g_assert_null(other);
        g_assert_cmpint(load_on("Hopper-v4", "", &other), ==, 0);
        g_assert_true(other == env);
        g_assert_cmpint(load_on("Hopper-v4", "default", &other), ==, 0);
        g_assert_true(other == env);
        g_assert_cmpint(load_on("Hopper-v4", "2.2.2", &other), ==, 0);
        g_assert_true(other == env);
}

static void test_engine_of_file(void) {
        const EnvironmentRow *row = environment_find("Hopper-v5");
        char engine[ENGINE_MAX] = "none";

        g_assert_true(environment_engine_of_file(row, "env-mujoco-4.0.0.so", engine));
        g_assert_cmpstr(engine, ==, "4.0.0");
        g_assert_false(environment_engine_of_file(row, "env-mujoco.so", engine));
        g_assert_false(environment_engine_of_file(row, "env-mujoco-.so", engine));
        g_assert_false(environment_engine_of_file(row, "env-mujoco-4.0.0.so.1", engine));
        g_assert_false(environment_engine_of_file(row, "env-box2d-2.4.so", engine));
        g_assert_false(environment_engine_of_file(environment_find("CartPole-v1"), "env--1.so", engine));
        g_assert_cmpstr(engine, ==, "4.0.0");
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);

        g_test_add_data_func("/invocation/repeats/CartPole", "CartPole-v1", test_repeats);
        g_test_add_data_func("/invocation/repeats/Pendulum", "Pendulum-v1", test_repeats);
        g_test_add_data_func("/invocation/repeats/Hopper", "Hopper-v4", test_repeats);
        g_test_add_func("/invocation/interrupted", test_interrupted);
        g_test_add_func("/invocation/containers", test_containers);
        g_test_add_func("/invocation/continuity", test_continuity);
        g_test_add_func("/invocation/ends", test_ends);
        g_test_add_func("/invocation/denied-truncation", test_truncation_that_the_spec_denies);
        g_test_add_func("/invocation/carry-reset", test_carry_reset);
        g_test_add_func("/invocation/streams-differ", test_streams_differ);
        g_test_add_func("/invocation/log-probabilities", test_log_probabilities);
        g_test_add_func("/invocation/sticky", test_sticky);
        g_test_add_func("/invocation/evaluation", test_evaluation);
        g_test_add_func("/invocation/probe", test_probe);
        g_test_add_func("/invocation/misfits", test_orders_that_do_not_fit);
        g_test_add_func("/invocation/load", test_load);
        g_test_add_func("/invocation/load-engine", test_load_engine);
        g_test_add_func("/invocation/load-engine-of-file", test_engine_of_file);

        return g_test_run();
}
