/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* CartPole: push a cart left or right so that the pole on it stays upright. The task of "Neuronlike adaptive
 * elements that can solve difficult learning control problems" (Barto, Sutton and Anderson, 1983) with the
 * corrected equations of Florian (2007), as Gymnasium's CartPole-v0 and v1 integrate them (explicit Euler,
 * 20 ms). */
#include <math.h>
#include <stdio.h>

#include "actor/envs/builtin.h"
#include "actor/envs/option.h"
#include "actor/envs/picture.h"
#include "actor/envs/state.h"
#include "include/environment-options.h"
#include "lib/space.h"

#define GRAVITY          9.8
#define CART_MASS        1.0
#define POLE_MASS        0.1
#define TOTAL_MASS       (POLE_MASS + CART_MASS)
#define HALF_LENGTH      0.5
#define POLE_MASS_LENGTH (POLE_MASS * HALF_LENGTH)
#define FORCE            10.0
#define STEP_SECONDS     0.02
#define ANGLE_LIMIT      (12 * 2 * M_PI / 360)
#define POSITION_LIMIT   2.4
#define RESET_RANGE      0.05

enum { X, X_DOT, THETA, THETA_DOT, N_STATE };

typedef struct CartPole {
        double state[N_STATE];
        bool sutton_barto_reward; /* 0 in a step, -1 in one that terminates; false: 1 in each step */
} CartPole;

#define ENV_INSTANCE CartPole
static const EnvOption cartpole_options[] = { CARTPOLE_OPTIONS(ENV_OPTION) };

static int cartpole_parse(const ActordOption *options, uint32_t n_options, CartPole *ret) {
        *ret = (CartPole){};
        return env_options_parse(ENV_OPTIONS(cartpole_options), options, n_options, ret);
}

static int cartpole_spec(const char *name, uint32_t horizon_steps, double solved_return,
                const ActordOption *options, uint32_t n_options, ActordEnvSpec *ret) {
        CartPole cartpole;
        int r;

        r = cartpole_parse(options, n_options, &cartpole);
        if (r < 0)
                return r;

        *ret = (ActordEnvSpec){
                .observation = space_of_numbers(N_STATE, -INFINITY, INFINITY),
                .action = space_of_choices(2),
                .horizon_steps = horizon_steps,
                .n_agents = 1,
                .reward_low = cartpole.sutton_barto_reward ? -1 : 1,
                .reward_high = cartpole.sutton_barto_reward ? 0 : 1,
                .solved_return = solved_return,
                .instance_bytes = sizeof(CartPole),
                .snapshot_bytes = sizeof(cartpole.state),
        };
        (void) snprintf(ret->name, sizeof(ret->name), "%s", name);
        return 0;
}

static int cartpole_v0_spec(const ActordOption *options, uint32_t n_options, ActordEnvSpec *ret) {
        return cartpole_spec("CartPole-v0", 200, 195, options, n_options, ret);
}

static int cartpole_v1_spec(const ActordOption *options, uint32_t n_options, ActordEnvSpec *ret) {
        return cartpole_spec("CartPole-v1", 500, 475, options, n_options, ret);
}

static int cartpole_init(void *instance, const ActordOption *options, uint32_t n_options) {
        return cartpole_parse(options, n_options, instance);
}

static void cartpole_observe(const CartPole *cartpole, void *ret_observation) {
        float observation[N_STATE];

        for (int i = 0; i < N_STATE; i++)
                observation[i] = (float) cartpole->state[i];
        memcpy(ret_observation, observation, sizeof(observation));
}

static int cartpole_reset(void *instance, ActordRandom *random, void *ret_observation) {
        CartPole *cartpole = instance;

        for (int i = 0; i < N_STATE; i++)
                cartpole->state[i] = actord_random_uniform(random, -RESET_RANGE, RESET_RANGE);
        cartpole_observe(cartpole, ret_observation);
        return 0;
}

static int cartpole_step(void *instance, const void *action, ActordRandom *random, void *ret_observation,
                ActordStep *ret) {
        CartPole *cartpole = instance;
        double x = cartpole->state[X], x_dot = cartpole->state[X_DOT];
        double theta = cartpole->state[THETA], theta_dot = cartpole->state[THETA_DOT];
        double force, cosine, sine, push, theta_acc, x_acc;
        bool fallen;
        int32_t choice;

        memcpy(&choice, action, sizeof(choice));
        if (choice != 0 && choice != 1)
                return -EINVAL;

        force = choice == 1 ? FORCE : -FORCE;
        cosine = cos(theta);
        sine = sin(theta);

        push = (force + POLE_MASS_LENGTH * (theta_dot * theta_dot) * sine) / TOTAL_MASS;
        theta_acc = (GRAVITY * sine - cosine * push) /
                    (HALF_LENGTH * (4.0 / 3.0 - POLE_MASS * (cosine * cosine) / TOTAL_MASS));
        x_acc = push - POLE_MASS_LENGTH * theta_acc * cosine / TOTAL_MASS;

        x = x + STEP_SECONDS * x_dot;
        x_dot = x_dot + STEP_SECONDS * x_acc;
        theta = theta + STEP_SECONDS * theta_dot;
        theta_dot = theta_dot + STEP_SECONDS * theta_acc;

        fallen = x < -POSITION_LIMIT || x > POSITION_LIMIT || theta < -ANGLE_LIMIT || theta > ANGLE_LIMIT;

        cartpole->state[X] = x;
        cartpole->state[X_DOT] = x_dot;
        cartpole->state[THETA] = theta;
        cartpole->state[THETA_DOT] = theta_dot;
        cartpole_observe(cartpole, ret_observation);

        *ret = (ActordStep){ .reward = 1, .terminated = fallen };
        if (cartpole->sutton_barto_reward)
                ret->reward = fallen ? -1 : 0;
        return 0;
}

static bool cartpole_possible(const double state[N_STATE]) {
        return env_state_finite(state, N_STATE);
}

ENV_STATE(cartpole, CartPole)

static int cartpole_draw(const void *instance, ActordView *ret_view, ActordShape *ret_shapes) {
        const CartPole *cartpole = instance;
        double x = cartpole->state[X], theta = cartpole->state[THETA];
        Picture p = picture_begin(ret_view, ret_shapes, -2.7, -1.2, 2.7, 2.4, STEP_SECONDS, COLOUR_PAPER);

        picture_line(&p, -2.7, 0, 2.7, 0, 0.01, COLOUR_GREY);
        for (int side = -1; side <= 1; side += 2)
                picture_line(&p, side * POSITION_LIMIT, -0.1, side * POSITION_LIMIT, 0.1, 0.01, COLOUR_GREY);
        picture_box(&p, x - 0.25, -0.15, x + 0.25, 0.15, COLOUR_INK);
        picture_line(&p, x, 0.1, x + 2 * HALF_LENGTH * sin(theta), 0.1 + 2 * HALF_LENGTH * cos(theta), 0.05,
                        COLOUR_WOOD);
        picture_disc(&p, x, 0.1, 0.03, COLOUR_BLUE);
        return 0;
}

#define CARTPOLE(version)                            \
        const ActordEnv cartpole_##version##_env = { \
                .spec = cartpole_##version##_spec,   \
                .init = cartpole_init,               \
                .step = cartpole_step,               \
                ENV_STATE_OF(cartpole),              \
                .draw = cartpole_draw,               \
        }

CARTPOLE(v0);
CARTPOLE(v1);
