/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Acrobot-v1: two links, a motor in the joint between them; swing the tip above a line. The task of
 * "Generalization in Reinforcement Learning: Successful Examples Using Sparse Coarse Coding" (Sutton, 1996)
 * with the equations of "Reinforcement Learning: An Introduction" (Sutton and Barto), integrated by one
 * classic Runge-Kutta step of 0.2 s, as in Gymnasium. */
#include <math.h>

#include "actor/envs/builtin.h"
#include "actor/envs/option.h"
#include "actor/envs/picture.h"
#include "actor/envs/state.h"
#include "lib/space.h"

#define STEP_SECONDS 0.2
#define GRAVITY      9.8
#define MASS_1       1.0
#define MASS_2       1.0
#define LENGTH_1     1.0
#define CENTRE_1     0.5 /* of mass, along the link */
#define CENTRE_2     0.5
#define INERTIA      1.0 /* of each link */
#define SPEED_1_MAX  (4 * M_PI)
#define SPEED_2_MAX  (9 * M_PI)
#define RESET_RANGE  0.1

enum { THETA_1, THETA_2, SPEED_1, SPEED_2, N_STATE };
enum { N_OBSERVATION = 6 };

typedef struct Acrobot {
        double state[N_STATE];
} Acrobot;

static int acrobot_init(void *instance, const ActordOption *options, uint32_t n_options) {
        return env_options_parse(NULL, 0, options, n_options, instance);
}

static int acrobot_spec(const ActordOption *options, uint32_t n_options, ActordEnvSpec *ret) {
        Acrobot acrobot;
        int r;

        r = acrobot_init(&acrobot, options, n_options);
        if (r < 0)
                return r;

        *ret = (ActordEnvSpec){
                .name = "Acrobot-v1",
                /* the widest range: cosines and sines stay within 1 */
                .observation = space_of_numbers(N_OBSERVATION, -SPEED_2_MAX, SPEED_2_MAX),
                .action = space_of_choices(3),
                .horizon_steps = 500,
                .n_agents = 1,
                .reward_low = -1,
                .reward_high = 0,
                .solved_return = -100,
                .instance_bytes = sizeof(Acrobot),
                .snapshot_bytes = sizeof(acrobot.state),
        };
        return 0;
}

static void acrobot_observe(const Acrobot *acrobot, void *ret_observation) {
        const double *s = acrobot->state;
        float observation[N_OBSERVATION] = {
                (float) cos(s[THETA_1]),
                (float) sin(s[THETA_1]),
                (float) cos(s[THETA_2]),
                (float) sin(s[THETA_2]),
                (float) s[SPEED_1],
                (float) s[SPEED_2],
        };

        memcpy(ret_observation, observation, sizeof(observation));
}

static int acrobot_reset(void *instance, ActordRandom *random, void *ret_observation) {
        Acrobot *acrobot = instance;

        /* Rounded, since Gymnasium starts from a float32 state. */
        for (int i = 0; i < N_STATE; i++)
                acrobot->state[i] = (float) actord_random_uniform(random, -RESET_RANGE, RESET_RANGE);
        acrobot_observe(acrobot, ret_observation);
        return 0;
}

static void acrobot_derivative(const double s[N_STATE], double torque, double ret[N_STATE]) {
        double d1 = MASS_1 * (CENTRE_1 * CENTRE_1) +
                    MASS_2 * (LENGTH_1 * LENGTH_1 + CENTRE_2 * CENTRE_2 +
                                             2 * LENGTH_1 * CENTRE_2 * cos(s[THETA_2])) +
                    INERTIA + INERTIA;
        double d2 = MASS_2 * (CENTRE_2 * CENTRE_2 + LENGTH_1 * CENTRE_2 * cos(s[THETA_2])) + INERTIA;
        double phi2 = MASS_2 * CENTRE_2 * GRAVITY * cos(s[THETA_1] + s[THETA_2] - M_PI / 2.0);
        double phi1 = -MASS_2 * LENGTH_1 * CENTRE_2 * (s[SPEED_2] * s[SPEED_2]) * sin(s[THETA_2]) -
                      2 * MASS_2 * LENGTH_1 * CENTRE_2 * s[SPEED_2] * s[SPEED_1] * sin(s[THETA_2]) +
                      (MASS_1 * CENTRE_1 + MASS_2 * LENGTH_1) * GRAVITY * cos(s[THETA_1] - M_PI / 2) + phi2;
        double acc2 = (torque + d2 / d1 * phi1 -
                                      MASS_2 * LENGTH_1 * CENTRE_2 * (s[SPEED_1] * s[SPEED_1]) *
                                                      sin(s[THETA_2]) -
                                      phi2) /
                      (MASS_2 * (CENTRE_2 * CENTRE_2) + INERTIA - d2 * d2 / d1);

        ret[THETA_1] = s[SPEED_1];
        ret[THETA_2] = s[SPEED_2];
        ret[SPEED_1] = -(d2 * acc2 + phi1) / d1;
        ret[SPEED_2] = acc2;
}

static void state_add(const double s[N_STATE], double scale, const double k[N_STATE], double ret[N_STATE]) {
        for (int i = 0; i < N_STATE; i++)
                ret[i] = s[i] + scale * k[i];
}

static void acrobot_integrate(double s[N_STATE], double torque) {
        double k1[N_STATE], k2[N_STATE], k3[N_STATE], k4[N_STATE], at[N_STATE];

        acrobot_derivative(s, torque, k1);
        state_add(s, STEP_SECONDS / 2, k1, at);
        acrobot_derivative(at, torque, k2);
        state_add(s, STEP_SECONDS / 2, k2, at);
        acrobot_derivative(at, torque, k3);
        state_add(s, STEP_SECONDS, k3, at);
        acrobot_derivative(at, torque, k4);

        for (int i = 0; i < N_STATE; i++)
                s[i] = s[i] + STEP_SECONDS / 6.0 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
}

/* The angle in [-pi, pi]. A step turns a link by a few radians, so the loops are short. */
static double wrap(double x) {
        while (x > M_PI)
                x -= 2 * M_PI;
        while (x < -M_PI)
                x += 2 * M_PI;
        return x;
}

static int acrobot_step(void *instance, const void *action, ActordRandom *random, void *ret_observation,
                ActordStep *ret) {
        Acrobot *acrobot = instance;
        double *s = acrobot->state;
        bool above;
        int32_t choice;

        memcpy(&choice, action, sizeof(choice));
        if (choice < 0 || choice > 2)
                return -EINVAL;

        acrobot_integrate(s, choice - 1);
        s[THETA_1] = wrap(s[THETA_1]);
        s[THETA_2] = wrap(s[THETA_2]);
        s[SPEED_1] = env_clamp(s[SPEED_1], -SPEED_1_MAX, SPEED_1_MAX);
        s[SPEED_2] = env_clamp(s[SPEED_2], -SPEED_2_MAX, SPEED_2_MAX);

        above = -cos(s[THETA_1]) - cos(s[THETA_2] + s[THETA_1]) > 1.0;
        acrobot_observe(acrobot, ret_observation);
        *ret = (ActordStep){ .reward = above ? 0 : -1, .terminated = above };
        return 0;
}

/* Whether the state is possible. A huge angle would keep wrap() busy for ever. */
static bool acrobot_possible(const double s[N_STATE]) {
        return env_state_finite(s, N_STATE) && fabs(s[THETA_1]) <= M_PI && fabs(s[THETA_2]) <= M_PI &&
               fabs(s[SPEED_1]) <= SPEED_1_MAX && fabs(s[SPEED_2]) <= SPEED_2_MAX;
}

ENV_STATE(acrobot, Acrobot)

static int acrobot_draw(const void *instance, ActordView *ret_view, ActordShape *ret_shapes) {
        const Acrobot *acrobot = instance;
        double first = acrobot->state[THETA_1], second = first + acrobot->state[THETA_2];
        double x = LENGTH_1 * sin(first), y = -LENGTH_1 * cos(first);
        Picture p = picture_begin(ret_view, ret_shapes, -2.3, -2.3, 2.3, 2.3, STEP_SECONDS, COLOUR_PAPER);

        picture_line(&p, -2.3, 1, 2.3, 1, 0.01, COLOUR_GREY); /* the tip has to pass this line */
        picture_line(&p, 0, 0, x, y, 0.1, COLOUR_BLUE);
        picture_line(&p, x, y, x + LENGTH_1 * sin(second), y - LENGTH_1 * cos(second), 0.1, COLOUR_WOOD);
        picture_disc(&p, 0, 0, 0.05, COLOUR_YELLOW);
        picture_disc(&p, x, y, 0.05, COLOUR_YELLOW);
        return 0;
}

const ActordEnv acrobot_v1_env = {
        .spec = acrobot_spec,
        .init = acrobot_init,
        .step = acrobot_step,
        ENV_STATE_OF(acrobot),
        .draw = acrobot_draw,
};
