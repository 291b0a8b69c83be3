/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks every environment of the catalogue, whatever its task: its spec agrees with the catalogue,
 * options are checked, nothing is written beyond its memory, and its future depends on its snapshot, the
 * actions and the random streams alone. */
#include <errno.h>

#include "actor/envs/builtin.h"
#include "actor/host.h"
#include "lib/slot.h"
#include "tests/unit/env-fixture.h"

enum { SEED = 11 };

/* A number of steps that is enough for several episodes of environments with short episodes. */
static unsigned steps_of(const EnvironmentRow *row) {
        if (strcmp(row->module, "mujoco") == 0)
                return 500;
        return strcmp(row->module, ENVIRONMENT_SWMM) == 0 ? 400 : 2000;
}

/* Finds the environment. If its module is not built, marks the test as skipped, and returns NULL. */
static const ActordEnv *env_of(const EnvironmentRow *row) {
        const ActordEnv *abi = env_find(row->name);

        if (!abi)
                g_test_skip("its module is not built");
        return abi;
}

/* Whether an episode of this environment can begin here. If not, marks the test as skipped. */
static bool env_plays(const EnvironmentRow *row) {
        const char *why;

        if (!env_of(row))
                return false;
        why = env_refuses(row->name);
        if (why)
                g_test_skip(why);
        return !why;
}

static void test_catalogue(gconstpointer data) {
        const EnvironmentRow *row = data;
        const ActordEnv *abi = env_of(row);
        ActordEnvSpec spec;

        if (!abi)
                return;

        g_assert_cmpuint(abi->abi, ==, ACTORD_ENV_ABI);
        g_assert_cmpuint(abi->struct_bytes, ==, sizeof(ActordEnv));
        g_assert_cmpint(abi->spec(NULL, 0, &spec), ==, 0);
        g_assert_cmpstr(spec.name, ==, row->name);
        g_assert_true(spec.solved_return == row->threshold ||
                        (isnan(spec.solved_return) && isnan(row->threshold)));
        g_assert_cmpuint(spec.n_agents, ==, 1);
        g_assert_cmpuint(spec.horizon_steps, >, 0);
        g_assert_cmpuint(spec.flags, ==, 0);
        g_assert_cmpuint(spec.snapshot_bytes, >, 0);
        g_assert_true(spec.observation.low < spec.observation.high);
        g_assert_true(spec.reward_low <= spec.reward_high);
        g_assert_cmpuint(strlen(row->description), >, 0);
        g_assert_true(environment_find(row->name) == row);
}

static int spec_with(const ActordEnv *abi, const char *key, const char *value) {
        ActordOption option = env_option(key, value);
        ActordEnvSpec spec;

        return abi->spec(&option, 1, &spec);
}

/* The environment takes each key of the catalogue, and refuses a few keys that are made up. */
static void test_options(gconstpointer data) {
        const EnvironmentRow *row = data;
        const ActordEnv *abi = env_of(row);
        ActordOption option, endless;
        ActordEnvSpec spec;

        if (!abi)
                return;

        for (size_t i = 0; environment_option(row, i, &option); i++) {
                g_assert_true(environment_takes(row, option.key));
                g_assert_cmpint(spec_with(abi, option.key, ""), ==, 0);
                g_assert_true(spec_with(abi, option.key, "0") == 0 || spec_with(abi, option.key, "1") == 0 ||
                                spec_with(abi, option.key, "default") == 0 ||
                                spec_with(abi, option.key, "random") == 0 ||
                                spec_with(abi, option.key, "agent") == 0 ||
                                spec_with(abi, option.key, "openings") == 0);
                g_assert_cmpint(spec_with(abi, option.key, "nan"), ==, -EINVAL);
                g_assert_cmpint(spec_with(abi, option.key, "1x"), ==, -EINVAL);
                g_assert_cmpint(spec_with(abi, option.key, "perhaps"), ==, -EINVAL);
        }

        g_assert_false(environment_takes(row, "Nonsense"));
        g_assert_false(environment_takes(row, ""));
        g_assert_cmpint(spec_with(abi, "Nonsense", "1"), ==, -EINVAL);
        g_assert_cmpint(spec_with(abi, "", ""), ==, -EINVAL);

        memset(&endless, 'x', sizeof(endless));
        g_assert_cmpint(abi->spec(&endless, 1, &spec), ==, -EINVAL);
}

/* Finds a value that the option takes and that differs from the given one. */
static ActordOption other_value(const ActordEnv *abi, const ActordOption *option) {
        static const char *const values[] = { "no", "yes", "-1", "1", "2", "12", "0.01", "held-out",
                "passive", "fine" };

        for (size_t i = 0; i < G_N_ELEMENTS(values); i++)
                if (strcmp(values[i], option->value) != 0 && spec_with(abi, option->key, values[i]) == 0)
                        return env_option(option->key, values[i]);
        g_error("%s", option->key);
}

/* The catalogue's default of each option is the environment's default, and another value is not. */
static void test_defaults(gconstpointer data) {
        const EnvironmentRow *row = data;
        const ActordEnv *abi = env_of(row);
        ActordOption option, other;

        if (!abi)
                return;

        for (size_t i = 0; environment_option(row, i, &option); i++) {
                g_test_message("%s=%s", option.key, option.value);
                g_assert_true(env_is_default(abi, &option, NULL, 0));
                if (strcmp(option.key, ENGINE_KEY) == 0) /* the module's loader may have changed it */
                        continue;
                other = other_value(abi, &option);
                g_assert_false(env_is_default(abi, &other, NULL, 0));
        }
}

/* The help has each key that some environment takes, once, and no other key. */
static void test_helps(void) {
#define KEY(key, help) key,
        static const char *const keys[] = { ENVIRONMENT_OPTIONS(KEY) };
        static const char *const prefixed[] = { ENVIRONMENT_JOB_PREFIX, ENVIRONMENT_GYM_PREFIX,
                ENVIRONMENT_PETTINGZOO_PREFIX, ENVIRONMENT_MJCF_PREFIX };
        g_autoptr(GHashTable) taken = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        size_t n = environment_count();
        ActordOption option;

        for (size_t i = 0; i < n + G_N_ELEMENTS(prefixed); i++) {
                const EnvironmentRow *row = i < n ? environment_at(i) : environment_find(prefixed[i - n]);

                for (size_t k = 0; environment_option(row, k, &option); k++) {
                        g_assert_nonnull(environment_option_help(option.key));
                        g_hash_table_add(taken, g_strdup(option.key));
                }
        }
        g_assert_cmpuint(g_hash_table_size(taken), ==, G_N_ELEMENTS(keys));
        for (size_t i = 0; i < G_N_ELEMENTS(keys); i++)
                g_assert_true(g_hash_table_contains(taken, keys[i]));
        g_assert_null(environment_option_help("Nonsense"));
}

static void assert_same(const Env *a, const Env *b) {
        g_assert_cmpmem(a->observation, a->observation_bytes, b->observation, b->observation_bytes);
        g_assert_cmpmem(&a->step, sizeof(a->step), &b->step, sizeof(b->step));
}

static void step_both(Env *a, Env *b, ActordRandom *actions) {
        uint32_t action[32];

        action_draw(&a->spec, actions, action);
        env_step(a, SEED, action);
        env_step(b, SEED, action);
        assert_same(a, b);

        if (env_ended(a)) {
                env_reset(a, SEED);
                env_reset(b, SEED);
                g_assert_cmpmem(a->observation, a->observation_bytes, b->observation, b->observation_bytes);
        }
}

static void test_deterministic(gconstpointer data) {
        const EnvironmentRow *row = data;
        g_autoptr(Env) a = NULL, b = NULL, other = NULL;
        ActordRandom actions;

        if (!env_plays(row))
                return;

        a = env_new(row->name);
        b = env_new(row->name);
        other = env_new(row->name);
        env_reset(a, SEED);
        env_reset(b, SEED);
        env_reset(other, SEED + 1);
        g_assert_cmpint(memcmp(a->observation, other->observation, a->observation_bytes), !=, 0);

        random_begin(&actions, SEED, RANDOM_ACTION, 0, 0, 0);
        for (unsigned i = 0; i < steps_of(row); i++)
                step_both(a, b, &actions);
}

/* Plays the life of a slot: one environment runs on undisturbed; the other moves at random moments into an
 * instance that has just been doing something else. Both must stay equal in every bit. */
static void test_snapshot(gconstpointer data) {
        const EnvironmentRow *row = data;
        g_autoptr(Env) steady = NULL, moved = NULL, spare = NULL;
        ActordRandom actions, noise;
        uint32_t interval;
        unsigned n_moves = 0;

        if (!env_plays(row))
                return;

        steady = env_new(row->name);
        /* Large snapshots are taken less often: a restore of one may repeat a whole episode. */
        interval = steady->spec.snapshot_bytes > 16384 ? MIN(100, steps_of(row) / 8) : 4;
        moved = env_new(row->name);
        spare = env_new(row->name);
        env_reset(steady, SEED);
        env_reset(moved, SEED);
        env_reset(spare, SEED + 1);

        random_begin(&actions, SEED, RANDOM_ACTION, 0, 0, 0);
        random_begin(&noise, SEED, RANDOM_SHUFFLE, 0, 0, 0);

        for (unsigned i = 0; i < steps_of(row); i++) {
                step_both(steady, moved, &actions);

                if (random_below(&noise, interval) == 0) {
                        uint32_t action[32];
                        uint64_t episode = moved->episode;
                        uint32_t n_steps = moved->n_steps;
                        Env *left;

                        g_assert_cmpint(moved->abi->snapshot(moved->instance, spare->snapshot), ==, 0);
                        action_draw(&spare->spec, &noise, action);
                        env_step(spare, SEED, action);
                        g_assert_cmpint(spare->abi->restore(spare->instance, spare->snapshot), ==, 0);

                        /* The test plays the caller: it moves the slot's counters to the other instance,
                         * too. */
                        spare->episode = episode;
                        spare->n_steps = n_steps;
                        env_reset(moved, SEED + 2);
                        left = moved;
                        moved = spare;
                        spare = left;
                        n_moves++;
                }
        }
        g_assert_cmpuint(n_moves, >, steps_of(row) / (interval * 2));
}

/* Taking a snapshot changes nothing in the environment, and restoring it brings back the same state. */
static void test_snapshot_round_trip(gconstpointer data) {
        const EnvironmentRow *row = data;
        g_autoptr(Env) a = NULL, b = NULL;
        ActordRandom actions;
        uint32_t action[32];

        if (!env_plays(row))
                return;

        a = env_new(row->name);
        b = env_new(row->name);
        env_reset(a, SEED);
        random_begin(&actions, SEED, RANDOM_ACTION, 0, 0, 0);
        action_draw(&a->spec, &actions, action);
        env_step(a, SEED, action);

        g_assert_cmpint(a->abi->snapshot(a->instance, a->snapshot), ==, 0);
        g_assert_cmpint(b->abi->restore(b->instance, a->snapshot), ==, 0);
        g_assert_cmpint(b->abi->snapshot(b->instance, b->snapshot), ==, 0);
        g_assert_cmpmem(a->snapshot, a->spec.snapshot_bytes, b->snapshot, b->spec.snapshot_bytes);
}

/* Returns how many numbers the physical state has: the sum over its parts. */
static uint32_t state_numbers(const Env *env) {
        ActordStatePart parts[ACTORD_STATE_PARTS] = {};
        int n_parts = env->abi->state_parts(env->instance, parts);
        uint32_t n = 0;

        g_assert_cmpint(n_parts, >, 0);
        g_assert_cmpint(n_parts, <=, ACTORD_STATE_PARTS);
        for (int i = 0; i < n_parts; i++) {
                g_assert_cmpuint(strnlen(parts[i].name, sizeof(parts[i].name)), >, 0);
                n += parts[i].n_numbers;
        }
        g_assert_cmpuint(n, <=, ACTORD_STATE_NUMBERS_MAX);
        return n;
}

/* If instance b is set to the state in which an episode of instance a began, both go on in the same way,
 * whatever b ran before. */
static void test_state(gconstpointer data) {
        const EnvironmentRow *row = data;
        g_autoptr(Env) a = NULL, b = NULL;
        g_autofree double *state = NULL, *again = NULL;
        ActordRandom actions;
        uint32_t n;

        if (!env_plays(row))
                return;
        if (!env_has_state(env_of(row))) {
                g_test_skip("it shows no physical state");
                return;
        }

        a = env_new(row->name);
        b = env_new(row->name);
        env_reset(b, SEED + 1);
        env_reset(a, SEED);
        env_reset(b, SEED + 2);
        n = state_numbers(a);
        state = g_new0(double, n);
        again = g_new0(double, n);

        g_assert_cmpint(a->abi->get_state(a->instance, state), ==, 0);
        g_assert_cmpint(b->abi->set_state(b->instance, state, b->observation), ==, 0);
        g_assert_cmpint(b->abi->get_state(b->instance, again), ==, 0);
        g_assert_cmpmem(state, n * sizeof(double), again, n * sizeof(double));
        g_assert_cmpmem(a->observation, a->observation_bytes, b->observation, b->observation_bytes);

        b->episode = a->episode;
        random_begin(&actions, SEED, RANDOM_ACTION, 0, 0, 0);
        for (int i = 0; i < 50; i++)
                step_both(a, b, &actions);

        for (uint32_t i = 0; i < n; i++) {
                double before = state[i];

                state[i] = NAN;
                g_assert_cmpint(b->abi->set_state(b->instance, state, b->observation), ==, -EINVAL);
                state[i] = before;
        }
}

/* A plugin may have been compiled before the newest functions were added to ActordEnv. Its table is
 * shorter. */
static void test_older_table(void) {
        const ActordEnv *whole = builtin_env_find("Pendulum-v1");
        ActordEnv older = *whole;

        older.struct_bytes = ACTORD_ENV_BYTES_MIN;
        g_assert_cmpint(environment_check(&older), ==, 0);
        g_assert_false(env_has_state(&older));
        g_assert_true(env_has_state(whole));

        older.struct_bytes--;
        g_assert_cmpint(environment_check(&older), ==, -ENOEXEC);
}

/* A number in a snapshot may be NaN, since other processes can write to snapshots. restore() must refuse it.
 * The snapshots of all environments in the catalogue consist of doubles. */
static void test_snapshot_not_finite(gconstpointer data) {
        const EnvironmentRow *row = data;
        g_autoptr(Env) env = NULL;
        size_t n;

        if (!env_plays(row))
                return;

        env = env_new(row->name);
        env_reset(env, SEED);
        g_assert_cmpuint(env->spec.snapshot_bytes % sizeof(double), ==, 0);
        n = env->spec.snapshot_bytes / sizeof(double);

        for (size_t i = 0; i < n; i++) {
                double nan = NAN;

                g_assert_cmpint(env->abi->snapshot(env->instance, env->snapshot), ==, 0);
                memcpy(env->snapshot + i * sizeof(double), &nan, sizeof(nan));
                g_assert_cmpint(env->abi->restore(env->instance, env->snapshot), ==, -EINVAL);
                env_reset(env, SEED);
        }
}

static void test_bad_actions(gconstpointer data) {
        const EnvironmentRow *row = data;
        g_autoptr(Env) env = NULL;

        if (!env_plays(row))
                return;

        env = env_new(row->name);
        env_reset(env, SEED);
        if (env->spec.action.kind == ACTORD_DISCRETE) {
                int32_t below = -1, above = (int32_t) env->spec.action.n_choices;

                g_assert_cmpint(env_try_step(env, SEED, &below), ==, -EINVAL);
                g_assert_cmpint(env_try_step(env, SEED, &above), ==, -EINVAL);
        } else
                for (uint32_t i = 0; i < env->spec.action.shape[0]; i++) {
                        float action[32] = {};

                        action[i] = NAN;
                        g_assert_cmpint(env_try_step(env, SEED, action), ==, -EINVAL);
                }
}

/* Environments do not apply the time limit; the caller does. So no step is truncated unless the
 * environment's spec says so. Rewards and results stay within the spec's bounds. */
static void test_results(gconstpointer data) {
        const EnvironmentRow *row = data;
        g_autoptr(Env) env = NULL;
        ActordRandom actions;

        if (!env_plays(row))
                return;

        env = env_new(row->name);
        env_reset(env, SEED);
        random_begin(&actions, SEED, RANDOM_ACTION, 0, 0, 0);

        for (unsigned i = 0; i < steps_of(row); i++) {
                static const uint8_t zero[6];
                uint32_t action[32];
                int r;

                action_draw(&env->spec, &actions, action);
                r = env_try_step(env, SEED, action);
                if (r == -EPROTO && env->n_steps > env->spec.horizon_steps) {
                        /* Some environments refuse steps beyond the horizon, since they have memory for no
                         * more. */
                        env_reset(env, SEED);
                        continue;
                }
                g_assert_cmpint(r, ==, 0);

                g_assert_cmpuint(env->step.truncated, ==, 0);
                g_assert_cmpuint(env->step.terminated, <=, 1);
                g_assert_cmpmem(env->step.reserved, 6, zero, 6);
                g_assert_true(env->step.reward >= env->spec.reward_low);
                g_assert_true(env->step.reward <= env->spec.reward_high);
                for (size_t k = 0; env->spec.observation.element == ACTORD_F32 &&
                                   k < env->observation_bytes / sizeof(float);
                                k++)
                        g_assert_true(isfinite(env_observation(env)[k]));

                /* This loop goes on past the horizon, where the caller would truncate. Only a termination
                 * ends the episode. */
                if (env->step.terminated)
                        env_reset(env, SEED);
        }
}

static void test_no_such_environment(void) {
        g_assert_null(environment_find("CartPole-v7"));
        /* A name that Gymnasium gives has slashes without being a path. */
        g_assert_true(environment_is_python("gym:ale_py:ALE/Pong-v5"));
        g_assert_false(environment_is_file("gym:ale_py:ALE/Pong-v5"));
        g_assert_cmpstr(environment_find("gym:CartPole-v1")->module, ==, "gym");
        g_assert_false(environment_is_python("CartPole-v1"));
        g_assert_true(environment_is_python("pettingzoo:mpe2.simple_v3"));
        g_assert_true(environment_is_pettingzoo("pettingzoo:mpe2.simple_v3"));
        g_assert_false(environment_is_pettingzoo("gym:CartPole-v1"));
        g_assert_cmpstr(environment_find("pettingzoo:mpe2.simple_v3")->module, ==, "gym");
        g_assert_true(environment_is_mjcf("mujoco:models/arm.xml"));
        g_assert_false(environment_is_file("mujoco:models/arm.xml"));
        g_assert_true(environment_is_foreign("mujoco:models/arm.xml"));
        g_assert_true(environment_takes(environment_find("mujoco:arm.xml"), "Engine"));
        g_assert_false(environment_is_foreign("Hopper-v4"));
        g_assert_null(environment_find(""));
        g_assert_null(builtin_env_find("CartPole-v7"));
        g_assert_null(builtin_env_find("Hopper-v4"));
}

static void add_for_each(const char *test, GTestDataFunc function) {
        for (size_t i = 0; i < environment_count(); i++) {
                g_autofree char *path = g_strdup_printf("/envs/%s/%s", environment_at(i)->name, test);

                g_test_add_data_func(path, environment_at(i), function);
        }
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);

        g_test_add_func("/envs/no-such-environment", test_no_such_environment);
        g_test_add_func("/envs/older-table", test_older_table);
        add_for_each("catalogue", test_catalogue);
        g_test_add_func("/envs/helps", test_helps);
        add_for_each("options", test_options);
        add_for_each("defaults", test_defaults);
        add_for_each("deterministic", test_deterministic);
        add_for_each("snapshot", test_snapshot);
        add_for_each("snapshot-round-trip", test_snapshot_round_trip);
        add_for_each("snapshot-not-finite", test_snapshot_not_finite);
        add_for_each("state", test_state);
        add_for_each("bad-actions", test_bad_actions);
        add_for_each("results", test_results);

        return g_test_run();
}
