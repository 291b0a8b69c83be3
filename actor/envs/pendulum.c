/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pendulum-v1: swing a pendulum up with a motor that is too weak, and hold it there. It never terminates;
 * the reward is the negative cost of the state before the step, as in Gymnasium. */
#include <math.h>

#include "actor/envs/builtin.h"
#include "actor/envs/option.h"
#include "actor/envs/picture.h"
#include "actor/envs/state.h"
#include "include/environment-options.h"
#include "lib/space.h"

#define SPEED_MAX    8.0
#define TORQUE_MAX   2.0
#define STEP_SECONDS 0.05
#define MASS         1.0
#define LENGTH       1.0
#define RESET_ANGLE  M_PI
#define RESET_SPEED  1.0
#define COST_MAX     (M_PI * M_PI + 0.1 * SPEED_MAX * SPEED_MAX + 0.001 * TORQUE_MAX * TORQUE_MAX)

enum { THETA, THETA_DOT, N_STATE };

typedef struct Pendulum {
        double state[N_STATE];
        double gravity;
} Pendulum;

#define ENV_INSTANCE Pendulum
static const EnvOption pendulum_options[] = { PENDULUM_OPTIONS(ENV_OPTION) };

static int pendulum_init(void *instance, const ActordOption *options, uint32_t n_options) {
        Pendulum *pendulum = instance;

        *pendulum = (Pendulum){};
        return env_options_parse(ENV_OPTIONS(pendulum_options), options, n_options, pendulum);
}

static int pendulum_spec(const ActordOption *options, uint32_t n_options, ActordEnvSpec *ret) {
        Pendulum pendulum;
        int r;

        r = pendulum_init(&pendulum, options, n_options);
        if (r < 0)
                return r;

        *ret = (ActordEnvSpec){
                .name = "Pendulum-v1",
                /* The widest of the three bounds: cosine and sine stay within 1. */
                .observation = space_of_numbers(3, -SPEED_MAX, SPEED_MAX),
                .action = space_of_numbers(1, -TORQUE_MAX, TORQUE_MAX),
                .horizon_steps = 200,
                .n_agents = 1,
                .reward_low = -COST_MAX,
                .reward_high = 0,
                .solved_return = NAN,
                .instance_bytes = sizeof(Pendulum),
                .snapshot_bytes = sizeof(pendulum.state),
        };
        return 0;
}

static void pendulum_observe(const Pendulum *pendulum, void *ret_observation) {
        double theta = pendulum->state[THETA];
        float observation[3] = { (float) cos(theta), (float) sin(theta),
                (float) pendulum->state[THETA_DOT] };

        memcpy(ret_observation, observation, sizeof(observation));
}

static int pendulum_reset(void *instance, ActordRandom *random, void *ret_observation) {
        Pendulum *pendulum = instance;

        pendulum->state[THETA] = actord_random_uniform(random, -RESET_ANGLE, RESET_ANGLE);
        pendulum->state[THETA_DOT] = actord_random_uniform(random, -RESET_SPEED, RESET_SPEED);
        pendulum_observe(pendulum, ret_observation);
        return 0;
}

/* The angle in [-pi, pi). Like Python's %, the remainder is never negative. */
static double angle_normalize(double x) {
        double remainder = fmod(x + M_PI, 2 * M_PI);

        if (remainder < 0)
                remainder += 2 * M_PI;
        return remainder - M_PI;
}

static int pendulum_step(void *instance, const void *action, ActordRandom *random, void *ret_observation,
                ActordStep *ret) {
        Pendulum *pendulum = instance;
        double theta = pendulum->state[THETA], theta_dot = pendulum->state[THETA_DOT];
        double torque, angle, cost;
        float raw;

        memcpy(&raw, action, sizeof(raw));
        if (isnan(raw))
                return -EINVAL;

        torque = env_clamp(raw, -TORQUE_MAX, TORQUE_MAX);
        angle = angle_normalize(theta);
        cost = angle * angle + 0.1 * (theta_dot * theta_dot) + 0.001 * (torque * torque);

        theta_dot = theta_dot + (3 * pendulum->gravity / (2 * LENGTH) * sin(theta) +
                                                3.0 / (MASS * LENGTH * LENGTH) * torque) *
                                                STEP_SECONDS;
        theta_dot = env_clamp(theta_dot, -SPEED_MAX, SPEED_MAX);
        theta = theta + theta_dot * STEP_SECONDS;

        pendulum->state[THETA] = theta;
        pendulum->state[THETA_DOT] = theta_dot;
        pendulum_observe(pendulum, ret_observation);

        *ret = (ActordStep){ .reward = -cost };
        return 0;
}

static bool pendulum_possible(const double state[N_STATE]) {
        return env_state_finite(state, N_STATE);
}

ENV_STATE(pendulum, Pendulum)

static int pendulum_draw(const void *instance, ActordView *ret_view, ActordShape *ret_shapes) {
        const Pendulum *pendulum = instance;
        double theta = pendulum->state[THETA]; /* 0: upright, and positive to the left */
        Picture p = picture_begin(ret_view, ret_shapes, -1.3, -1.3, 1.3, 1.3, STEP_SECONDS, COLOUR_PAPER);

        picture_line(&p, 0, 0, -LENGTH * sin(theta), LENGTH * cos(theta), 0.1, COLOUR_RED);
        picture_disc(&p, 0, 0, 0.04, COLOUR_INK);
        return 0;
}

const ActordEnv pendulum_v1_env = {
        .spec = pendulum_spec,
        .init = pendulum_init,
        .step = pendulum_step,
        ENV_STATE_OF(pendulum),
        .draw = pendulum_draw,
};
