/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* phydrl-cartpole: keep a cart and its pole inside a safety envelope, together with a model-based controller
 * that alone is not enough. The plant, the linear model, F, P, the reward and the bounds are those of
 * "Physics-Regulated Deep Reinforcement Learning: Invariant Embeddings" (Cao, Mao, Sha and Caccamo, ICLR
 * 2024) and of the configuration published with it.
 *
 * State s = (x, v, theta, omega), theta = 0 upright, in [-pi, pi). One action a in [-1, 1]; the force on the
 * cart is the residual 5 a plus ModelGain F s, at most 15 N in either direction. M is the whole mass, m the
 * pole's mass, and l half its length. The friction of cart (Friction=) and pole (c) is viscous. Explicit
 * Euler steps at 30 Hz compute:
 *
 *     u      = (force + m l omega^2 sin theta - Friction v) / M
 *     omega' = (g sin theta - u cos theta - c omega / (m l)) / (l (4/3 - m cos^2 theta / M))
 *     v'     = u - m l omega' cos theta / M
 *
 * The reward of a step is s' H s before the step minus s' P s after it, where H = S' P S and S = A + B F.
 * With LyapunovReward=yes H = P, the baseline of the paper. {s: s' P s <= 1} is the envelope. The episode
 * ends where |x| >= 1 or |omega| > 15; with TerminateWhenUnsafe=yes also outside the safety set |x| <= 0.9,
 * |theta| <= 0.8.
 *
 * BarePlant=yes is the plant alone, for a job whose controller is in [Learner]: the observation is the state
 * itself, and the action is the force in newtons.
 *
 * One part is actord's own: a disturbance of both accelerations (Disturbance= is its amplitude; it is off by
 * default). Here it is the difference of two uniform draws. The published one uses Beta draws from a
 * generator that restarts at each step. */
#include <math.h>

#include "actor/envs/builtin.h"
#include "actor/envs/option.h"
#include "actor/envs/picture.h"
#include "actor/envs/state.h"
#include "include/environment-options.h"
#include "lib/space.h"

#define GRAVITY         9.8
#define CART_MASS       0.94
#define POLE_MASS       0.23
#define TOTAL_MASS      (CART_MASS + POLE_MASS)
#define HALF_LENGTH     0.32
#define POLE_FRICTION   0.0011
#define STEP_SECONDS    (1.0 / 30.0)
#define ACTION_FORCE    5.0
#define FORCE_MAX       15.0
#define X_LIMIT         1.0
#define OMEGA_LIMIT     15.0
#define X_SAFE          0.9
#define THETA_SAFE      0.8
#define SPEED_PLAUSIBLE 1000.0 /* the highest number in a restored state, far above those of any step */

enum { X, V, THETA, OMEGA, N_STATE, N_OBSERVATION = 5 };

typedef struct PhyCartPole {
        double state[N_STATE];
        double friction, model_gain, disturbance;
        bool lyapunov_reward, terminate_when_unsafe, bare_plant;
} PhyCartPole;

/* clang-format off */
static const double feedback[N_STATE] = { 8.25691599, 6.76016534, 40.12484514, 6.84742553 };
static const double envelope[N_STATE][N_STATE] = {
        { 4.6074554,  1.49740096, 5.80266046,  0.99189224 },
        { 1.49740096, 0.81703147, 2.61779592,  0.51179642 },
        { 5.80266046, 2.61779592, 11.29182733, 1.87117709 },
        { 0.99189224, 0.51179642, 1.87117709,  0.37041435 },
};
static const double model_a[N_STATE][N_STATE] = {
        { 1, 0.0333, 0,       0 },
        { 0, 1,      -0.0565, 0 },
        { 0, 0,      1,       0.0333 },
        { 0, 0,      0.8980,  1 },
};
static const double model_b[N_STATE] = { 0, 0.0334, 0, -0.0783 };
/* clang-format on */

#define ENV_INSTANCE PhyCartPole
static const EnvOption phy_options[] = { PHYDRL_CARTPOLE_OPTIONS(ENV_OPTION) };

static int phy_init(void *instance, const ActordOption *options, uint32_t n_options) {
        PhyCartPole *p = instance;

        *p = (PhyCartPole){};
        return env_options_parse(ENV_OPTIONS(phy_options), options, n_options, p);
}

static int phy_spec(const ActordOption *options, uint32_t n_options, ActordEnvSpec *ret) {
        PhyCartPole p;
        int r;

        r = phy_init(&p, options, n_options);
        if (r < 0)
                return r;

        *ret = (ActordEnvSpec){
                .name = "phydrl-cartpole",
                .observation = space_of_numbers(N_OBSERVATION, -INFINITY, INFINITY),
                .action = space_of_numbers(1, -1, 1),
                .horizon_steps = 1000,
                .n_agents = 1,
                .reward_low = -INFINITY,
                .reward_high = INFINITY,
                .solved_return = NAN,
                .instance_bytes = sizeof(PhyCartPole),
                .snapshot_bytes = sizeof(p.state),
        };
        if (p.bare_plant) {
                ret->observation.shape[0] = N_STATE;
                ret->action.low = -FORCE_MAX;
                ret->action.high = FORCE_MAX;
        }
        return 0;
}

/* s' P s */
static double lyapunov(const double s[N_STATE]) {
        double sum = 0;

        for (int i = 0; i < N_STATE; i++)
                for (int k = 0; k < N_STATE; k++)
                        sum += s[i] * envelope[i][k] * s[k];
        return sum;
}

static double model_force(const double s[N_STATE]) {
        double force = 0;

        for (int i = 0; i < N_STATE; i++)
                force += feedback[i] * s[i];
        return force;
}

/* s' H s: the value of s' P s after one step of the linear model under its own controller. With
 * LyapunovReward=yes it is s' P s itself. */
static double lyapunov_expected(const PhyCartPole *p, const double s[N_STATE]) {
        double next[N_STATE];

        if (p->lyapunov_reward)
                return lyapunov(s);

        for (int i = 0; i < N_STATE; i++) {
                next[i] = model_b[i] * model_force(s);
                for (int k = 0; k < N_STATE; k++)
                        next[i] += model_a[i][k] * s[k];
        }
        return lyapunov(next);
}

static void phy_observe(const PhyCartPole *p, void *ret_observation) {
        const double *s = p->state;
        float observation[N_OBSERVATION] = { (float) s[X], (float) s[V], (float) sin(s[THETA]),
                (float) cos(s[THETA]), (float) s[OMEGA] };

        if (!p->bare_plant) {
                memcpy(ret_observation, observation, sizeof(observation));
                return;
        }
        for (int i = 0; i < N_STATE; i++)
                observation[i] = (float) s[i];
        memcpy(ret_observation, observation, N_STATE * sizeof(float));
}

static int phy_reset(void *instance, ActordRandom *random, void *ret_observation) {
        static const double range[N_STATE] = { 0.8, 0.4, 0.4, 0.5 };
        PhyCartPole *p = instance;

        for (int i = 0; i < N_STATE; i++)
                p->state[i] = actord_random_uniform(random, -range[i], range[i]);
        phy_observe(p, ret_observation);
        return 0;
}

static double angle_wrap(double theta) {
        double turned = fmod(theta + M_PI, 2 * M_PI);

        return (turned < 0 ? turned + 2 * M_PI : turned) - M_PI;
}

/* Makes one step of the equations at the top of this file. push[] is added to the accelerations of cart and
 * pole. */
static void phy_move(PhyCartPole *p, double force, const double push[2]) {
        double *s = p->state, v = s[V], omega = s[OMEGA];
        double sine = sin(s[THETA]), cosine = cos(s[THETA]);
        double u, pole, cart;

        u = (force + POLE_MASS * HALF_LENGTH * omega * omega * sine - p->friction * v) / TOTAL_MASS;
        pole = (GRAVITY * sine - u * cosine - POLE_FRICTION * omega / (POLE_MASS * HALF_LENGTH)) /
               (HALF_LENGTH * (4.0 / 3.0 - POLE_MASS * cosine * cosine / TOTAL_MASS));
        cart = u - POLE_MASS * HALF_LENGTH * pole * cosine / TOTAL_MASS;

        s[X] += STEP_SECONDS * v;
        s[V] += STEP_SECONDS * (cart + push[0]);
        s[THETA] = angle_wrap(s[THETA] + STEP_SECONDS * omega);
        s[OMEGA] += STEP_SECONDS * (pole + push[1]);
}

static bool phy_ended(const PhyCartPole *p) {
        const double *s = p->state;

        if (fabs(s[X]) >= X_LIMIT || fabs(s[OMEGA]) > OMEGA_LIMIT)
                return true;
        return p->terminate_when_unsafe && (fabs(s[X]) > X_SAFE || fabs(s[THETA]) > THETA_SAFE);
}

static int phy_step(void *instance, const void *action, ActordRandom *random, void *ret_observation,
                ActordStep *ret) {
        PhyCartPole *p = instance;
        double expected = lyapunov_expected(p, p->state), push[2] = {}, force;
        float raw;

        memcpy(&raw, action, sizeof(raw));
        if (isnan(raw))
                return -EINVAL;

        force = p->bare_plant ? (double) raw
                              : ACTION_FORCE * fmin(fmax((double) raw, -1), 1) +
                                                p->model_gain * model_force(p->state);
        if (p->disturbance > 0)
                for (int i = 0; i < 2; i++) {
                        push[i] = p->disturbance * actord_random_uniform(random, 0, 1);
                        push[i] -= p->disturbance * actord_random_uniform(random, 0, 1);
                }
        phy_move(p, fmin(fmax(force, -FORCE_MAX), FORCE_MAX), push);
        phy_observe(p, ret_observation);

        *ret = (ActordStep){ .reward = expected - lyapunov(p->state), .terminated = phy_ended(p) };
        return 0;
}

static bool phy_possible(const double state[N_STATE]) {
        for (int i = 0; i < N_STATE; i++)
                if (!(fabs(state[i]) <= SPEED_PLAUSIBLE))
                        return false;
        return true;
}

ENV_STATE(phy, PhyCartPole)

/* All lengths are in metres. The marks are the limits of the cart and of the safety set. The disc on top is
 * red outside of the envelope s' P s <= 1. */
static int phy_draw(const void *instance, ActordView *ret_view, ActordShape *ret_shapes) {
        const PhyCartPole *phy = instance;
        double x = phy->state[X], theta = phy->state[THETA];
        double tip[2] = { x + 2 * HALF_LENGTH * sin(theta), 0.05 + 2 * HALF_LENGTH * cos(theta) };
        Picture p = picture_begin(ret_view, ret_shapes, -1.2, -0.75, 1.2, 0.85, STEP_SECONDS, COLOUR_PAPER);

        picture_line(&p, -1.2, 0, 1.2, 0, 0.005, COLOUR_GREY);
        for (int side = -1; side <= 1; side += 2) {
                picture_line(&p, side * X_LIMIT, -0.06, side * X_LIMIT, 0.06, 0.006, COLOUR_RED);
                picture_line(&p, side * X_SAFE, -0.04, side * X_SAFE, 0.04, 0.006, COLOUR_GREEN);
        }
        picture_box(&p, x - 0.12, -0.06, x + 0.12, 0.06, COLOUR_INK);
        picture_line(&p, x, 0.05, tip[0], tip[1], 0.02, COLOUR_WOOD);
        picture_disc(&p, tip[0], tip[1], 0.035, lyapunov(phy->state) <= 1 ? COLOUR_GREEN : COLOUR_RED);
        return 0;
}

const ActordEnv phydrl_cartpole_env = {
        .spec = phy_spec,
        .init = phy_init,
        .step = phy_step,
        ENV_STATE_OF(phy),
        .draw = phy_draw,
};
