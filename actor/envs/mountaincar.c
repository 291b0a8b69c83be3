/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* MountainCar: a car that is too weak for the hill in front of it must swing back first. The task is from
 * "Efficient Memory-Based Learning for Robot Control" (Moore, 1990), with three choices (v0), or with a
 * continuous force at a cost (Continuous-v0), as in Gymnasium. */
#include <math.h>

#include "actor/envs/builtin.h"
#include "actor/envs/option.h"
#include "actor/envs/picture.h"
#include "actor/envs/state.h"
#include "include/environment-options.h"
#include "lib/space.h"

#define POSITION_MIN             -1.2
#define POSITION_MAX             0.6
#define SPEED_MAX                0.07
#define GRAVITY                  0.0025
#define FORCE                    0.001  /* of one choice */
#define POWER                    0.0015 /* of a continuous action with the value 1 */
#define GOAL_POSITION            0.5
#define GOAL_POSITION_CONTINUOUS 0.45
#define GOAL_REWARD_CONTINUOUS   100.0
#define FORCE_COST               0.1 /* of a continuous action of 1 */
#define RESET_LOW                -0.6
#define RESET_HIGH               -0.4

enum { POSITION, VELOCITY, N_STATE };

typedef struct MountainCar {
        double state[N_STATE];
        double goal_velocity;
} MountainCar;

#define ENV_INSTANCE MountainCar
static const EnvOption mountaincar_options[] = { MOUNTAINCAR_OPTIONS(ENV_OPTION) };

static int mountaincar_init(void *instance, const ActordOption *options, uint32_t n_options) {
        return env_options_parse(ENV_OPTIONS(mountaincar_options), options, n_options, instance);
}

/* The part of the spec that both tasks share. */
static int mountaincar_describe(const ActordOption *options, uint32_t n_options, ActordEnvSpec *ret) {
        MountainCar car = {};
        int r;

        r = mountaincar_init(&car, options, n_options);
        if (r < 0)
                return r;

        *ret = (ActordEnvSpec){
                .observation = space_of_numbers(N_STATE, POSITION_MIN, POSITION_MAX),
                .n_agents = 1,
                .instance_bytes = sizeof(MountainCar),
                .snapshot_bytes = sizeof(car.state),
        };
        return 0;
}

static int mountaincar_spec(const ActordOption *options, uint32_t n_options, ActordEnvSpec *ret) {
        int r;

        r = mountaincar_describe(options, n_options, ret);
        if (r < 0)
                return r;

        strcpy(ret->name, "MountainCar-v0");
        ret->action = space_of_choices(3);
        ret->horizon_steps = 200;
        ret->reward_low = ret->reward_high = -1;
        ret->solved_return = -110;
        return 0;
}

static int mountaincar_continuous_spec(const ActordOption *options, uint32_t n_options, ActordEnvSpec *ret) {
        int r;

        r = mountaincar_describe(options, n_options, ret);
        if (r < 0)
                return r;

        strcpy(ret->name, "MountainCarContinuous-v0");
        ret->action = space_of_numbers(1, -1, 1);
        ret->horizon_steps = 999;
        ret->reward_low = -FORCE_COST;
        ret->reward_high = GOAL_REWARD_CONTINUOUS;
        ret->solved_return = 90;
        return 0;
}

static void mountaincar_observe(const MountainCar *car, void *ret_observation) {
        float observation[N_STATE] = { (float) car->state[POSITION], (float) car->state[VELOCITY] };

        memcpy(ret_observation, observation, sizeof(observation));
}

static int mountaincar_reset(void *instance, ActordRandom *random, void *ret_observation) {
        MountainCar *car = instance;

        car->state[POSITION] = actord_random_uniform(random, RESET_LOW, RESET_HIGH);
        car->state[VELOCITY] = 0;
        mountaincar_observe(car, ret_observation);
        return 0;
}

/* Moves the car, in both tasks. The wall on the left stops it. */
static void mountaincar_move(MountainCar *car, double acceleration) {
        double velocity = env_clamp(car->state[VELOCITY] + acceleration, -SPEED_MAX, SPEED_MAX);
        double position = env_clamp(car->state[POSITION] + velocity, POSITION_MIN, POSITION_MAX);

        car->state[POSITION] = position;
        car->state[VELOCITY] = position == POSITION_MIN && velocity < 0 ? 0 : velocity;
}

static bool mountaincar_arrived(const MountainCar *car, double goal) {
        return car->state[POSITION] >= goal && car->state[VELOCITY] >= car->goal_velocity;
}

static int mountaincar_step(void *instance, const void *action, ActordRandom *random, void *ret_observation,
                ActordStep *ret) {
        MountainCar *car = instance;
        int32_t choice;

        memcpy(&choice, action, sizeof(choice));
        if (choice < 0 || choice > 2)
                return -EINVAL;

        mountaincar_move(car, (choice - 1) * FORCE + cos(3 * car->state[POSITION]) * -GRAVITY);
        mountaincar_observe(car, ret_observation);
        *ret = (ActordStep){ .reward = -1, .terminated = mountaincar_arrived(car, GOAL_POSITION) };
        return 0;
}

static int mountaincar_continuous_step(void *instance, const void *action, ActordRandom *random,
                void *ret_observation, ActordStep *ret) {
        MountainCar *car = instance;
        bool arrived;
        float raw;

        memcpy(&raw, action, sizeof(raw));
        if (isnan(raw))
                return -EINVAL;

        mountaincar_move(car, env_clamp(raw, -1, 1) * POWER - GRAVITY * cos(3 * car->state[POSITION]));
        arrived = mountaincar_arrived(car, GOAL_POSITION_CONTINUOUS);

        /* Gymnasium keeps this task's state in float32 between steps. */
        for (int i = 0; i < N_STATE; i++)
                car->state[i] = (float) car->state[i];

        mountaincar_observe(car, ret_observation);
        *ret = (ActordStep){
                .reward = (arrived ? GOAL_REWARD_CONTINUOUS : 0) - (double) raw * raw * FORCE_COST,
                .terminated = arrived,
        };
        return 0;
}

static bool mountaincar_possible(const double state[N_STATE]) {
        return env_state_finite(state, N_STATE);
}

ENV_STATE(mountaincar, MountainCar)

/* The height of the hill, for pictures. Gravity in the equations of motion is in proportion to its slope. */
static double hill(double x) {
        return 0.45 * sin(3 * x) + 0.55;
}

static int draw_car(const void *instance, double goal, ActordView *ret_view, ActordShape *ret_shapes) {
        const MountainCar *car = instance;
        const double x = car->state[POSITION], slope = atan(3 * 0.45 * cos(3 * x));
        const double along[2] = { cos(slope), sin(slope) }, up[2] = { -along[1], along[0] };
        enum { STRIPS = 60 };
        double body[4][2], width = (POSITION_MAX + 0.05 - POSITION_MIN) / STRIPS;
        Picture p = picture_begin(
                        ret_view, ret_shapes, POSITION_MIN, 0, POSITION_MAX + 0.05, 1.25, 0, COLOUR_PAPER);

        for (int i = 0; i < STRIPS; i++) { /* each overlaps its neighbour a little, so that no seam shows */
                double a = POSITION_MIN + width * i, b = a + width * 1.2;

                picture_polygon(&p,
                                (const double[][2]){ { a, 0 }, { b, 0 }, { b, hill(b) }, { a, hill(a) } }, 4,
                                0, COLOUR_PALE);
        }
        picture_line(&p, goal, hill(goal), goal, hill(goal) + 0.16, 0.004, COLOUR_INK);
        picture_polygon(&p,
                        (const double[][2]){ { goal, hill(goal) + 0.16 }, { goal, hill(goal) + 0.09 },
                                        { goal + 0.07, hill(goal) + 0.125 } },
                        3, 0, COLOUR_YELLOW);

        for (int i = 0; i < 4; i++)
                for (int k = 0; k < 2; k++)
                        body[i][k] = (k == 0 ? x : hill(x)) + (i == 0 || i == 3 ? -0.08 : 0.08) * along[k] +
                                     (i < 2 ? 0.03 : 0.09) * up[k];
        picture_polygon(&p, (const double(*)[2]) body, 4, 0, COLOUR_INK);
        for (int side = -1; side <= 1; side += 2)
                picture_disc(&p, x + side * 0.045 * along[0] + 0.03 * up[0],
                                hill(x) + side * 0.045 * along[1] + 0.03 * up[1], 0.03, COLOUR_GREY);
        return 0;
}

static int mountaincar_draw(const void *instance, ActordView *ret_view, ActordShape *ret_shapes) {
        return draw_car(instance, GOAL_POSITION, ret_view, ret_shapes);
}

static int mountaincar_continuous_draw(const void *instance, ActordView *ret_view, ActordShape *ret_shapes) {
        return draw_car(instance, GOAL_POSITION_CONTINUOUS, ret_view, ret_shapes);
}

#define MOUNTAINCAR(task)                                                           \
        {                                                                           \
                .spec = task##_spec, .init = mountaincar_init, .step = task##_step, \
                ENV_STATE_OF(mountaincar), .draw = task##_draw,                     \
        }

const ActordEnv mountaincar_v0_env = MOUNTAINCAR(mountaincar);
const ActordEnv mountaincar_continuous_v0_env = MOUNTAINCAR(mountaincar_continuous);
