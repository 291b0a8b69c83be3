/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tests/unit/mujoco-fixture.h"

enum { ROOM_STEPS = 8000 };

const MujocoInstance *instance_of(const Env *env) {
        return (const MujocoInstance *) env->instance;
}

bool have_module(void) {
        if (env_module("mujoco"))
                return true;
        g_test_skip("env-mujoco.so is not built");
        return false;
}

static void assert_near(const char *what, int i, double x, double expected, double tolerance) {
        if (!(fabs(x - expected) <= tolerance * fmax(1, fabs(expected))))
                g_error("%s[%d]: %.12g is not %.12g", what, i, x, expected);
}

static void assert_all_near(const char *what, const double *x, const double *expected, int n) {
        for (int i = 0; i < n; i++)
                assert_near(what, i, x[i], expected[i], 1e-10);
}

static void test_model(gconstpointer data) {
        const Reference *ref = data;
        g_autoptr(Env) env = NULL;
        const mjModel *m;

        if (!have_module())
                return;

        env = env_new(ref->name);
        m = instance_of(env)->model;
        g_assert_cmpint(m->nbody, ==, ref->n_body);
        g_assert_cmpint(m->nq, ==, ref->nq);
        g_assert_cmpint(m->nv, ==, ref->nv);
        g_assert_cmpint(m->nu, ==, ref->nu);
        assert_all_near("mass", m->body_mass, ref->mass, m->nbody);
        assert_all_near("inertia0", m->dof_M0, ref->inertia0, m->nv);
        assert_all_near("damping", m->dof_damping, ref->damping, m->nv);
        assert_all_near("stiffness", m->jnt_stiffness, ref->stiffness, m->njnt);
        assert_all_near("range", m->jnt_range, ref->range, 2 * m->njnt);
        for (int i = 0; i < m->nu; i++)
                assert_near("gear", i, m->actuator_gear[6 * i], ref->gear[i], 1e-10);
}

void env_set(Env *env, const double *qpos, const double *qvel, const double *place) {
        const mjModel *m = instance_of(env)->model;
        size_t n = 1 + m->nq + 2 * m->nv + m->nu;
        double *state = (double *) env->snapshot;

        g_assert_cmpuint(env->spec.snapshot_bytes, ==, (n + (place ? MUJOCO_N_PLACE : 0)) * sizeof(double));
        memset(state, 0, env->spec.snapshot_bytes);
        memcpy(state + 1, qpos, m->nq * sizeof(double));
        memcpy(state + 1 + m->nq, qvel, m->nv * sizeof(double));
        if (place)
                memcpy(state + n, place, MUJOCO_N_PLACE * sizeof(double));
        g_assert_cmpint(env->abi->restore(env->instance, state), ==, 0);
}

/* Two releases of a solver that stops at a tolerance agree to about that tolerance in the first steps. */
static void test_first_steps(gconstpointer data) {
        const Reference *ref = data;
        g_autoptr(Env) env = NULL;

        if (!have_module())
                return;

        env = env_new(ref->name);
        env_set(env, ref->qpos, ref->qvel, instance_of(env)->task->place ? ref->place : NULL);

        for (int i = 0; i < (ref->n_steps ?: N_STEPS); i++) {
                const Step *step = &ref->steps[i];
                float action[CONTROLS_MAX];

                for (int k = 0; k < ref->nu; k++)
                        action[k] = (float) step->action[k];
                env_step(env, 0, action);
                assert_near("reward", i, env->step.reward, step->reward, 1e-6);
                g_assert_cmpuint(env->step.terminated, ==, 0);
                for (size_t k = 0; k < env->observation_bytes / sizeof(float); k++)
                        assert_near("observation", (int) k, env_observation(env)[k], step->observation[k],
                                        1e-6);
        }
}

/* Plays n episodes with random actions, each up to its horizon. Returns their mean return and length. */
static void play(Env *env, int n, double *ret_return, double *ret_length) {
        double rewards = 0, length = 0;
        ActordRandom actions;

        random_begin(&actions, 3, RANDOM_ACTION, 0, 0, 0);
        for (int i = 0; i < n; i++) {
                env_reset(env, 3);
                do {
                        uint32_t action[32];

                        action_draw(&env->spec, &actions, action);
                        env_step(env, 3, action);
                        rewards += env->step.reward;
                } while (!env_ended(env));
                length += env->n_steps;
        }
        *ret_return = rewards / n;
        *ret_length = length / n;
}

static void test_random_play(gconstpointer data) {
        const RandomPlay *c = data;
        g_autoptr(Env) env = NULL;
        double mean, length;

        if (!have_module())
                return;

        env = env_new(c->name);
        play(env, c->n, &mean, &length);
        g_test_message("%s: return %.3f, length %.2f", c->name, mean, length);
        g_assert_cmpfloat(fabs(mean - c->mean), <, 5 * c->deviation / sqrt(c->n));
        g_assert_cmpfloat(fabs(length - c->length), <=, 0.15 * c->length);
}

/* A robot that lies on the floor and thrashes about has the most contacts. The memory for contacts must
 * suffice. */
static void test_room(gconstpointer data) {
        const ActordOption option = env_option("TerminateWhenUnhealthy", "no");
        const char *name = ((const Reference *) data)->name;
        g_autoptr(Env) env = NULL;
        const MujocoInstance *m;
        ActordRandom actions;

        if (!have_module())
                return;

        env = env_new_with(name, &option, environment_takes(environment_find(name), option.key));
        m = instance_of(env);
        random_begin(&actions, 4, RANDOM_ACTION, 0, 0, 0);
        env_reset(env, 4);
        for (int k = 0; k < ROOM_STEPS; k++) {
                uint32_t action[32];

                action_draw(&env->spec, &actions, action);
                env_step(env, 4, action);
        }
        g_test_message("%s: %d of %d contacts, %d of %d rows, %d of %d numbers of stack", name,
                        m->data->maxuse_con, m->model->nconmax, m->data->maxuse_efc, m->model->njmax,
                        m->data->maxuse_stack, m->model->nstack);
        g_assert_cmpint(m->data->maxuse_stack, <, m->model->nstack / 2);
}

void add_reference(const char *program, const Reference *reference) {
        g_autofree char *model = g_strdup_printf("/%s/%s/model", program, reference->name);
        g_autofree char *steps = g_strdup_printf("/%s/%s/first-steps", program, reference->name);
        g_autofree char *room = g_strdup_printf("/%s/%s/room-for-contacts", program, reference->name);

        g_test_add_data_func(model, reference, test_model);
        g_test_add_data_func(steps, reference, test_first_steps);
        g_test_add_data_func(room, reference, test_room);
}

void add_random_play(const char *program, const RandomPlay *plays) {
        g_autofree char *path = g_strdup_printf("/%s/%s/random-play", program, plays->name);

        g_test_add_data_func(path, plays, test_random_play);
}
