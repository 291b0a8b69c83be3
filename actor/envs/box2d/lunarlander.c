/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* LunarLander-v3 and LunarLanderContinuous-v3: land on the pad, on both legs, with little fuel. The
 * constants are those of Gymnasium's definition. Its exhaust particles are left out, since they do not
 * affect the physics. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "actor/envs/box2d/engine.h"
#include "actor/envs/box2d/tasks.h"
#include "actor/envs/option.h"
#include "actor/envs/picture.h"
#include "include/environment-options.h"
#include "lib/space.h"

#define SCALE            30.0 /* pixels per metre */
#define WIDTH            (600 / SCALE)
#define HEIGHT           (400 / SCALE)
#define FRAMES           50.0 /* per second */
#define MAIN_POWER       13.0
#define SIDE_POWER       0.6
#define MAIN_BELOW       (4 / SCALE)
#define SIDE_AWAY        (12 / SCALE)
#define SIDE_ABOVE       (14 / SCALE)
#define SIDE_ABOVE_X     (17 / SCALE) /* Gymnasium computes x with this height, and y with SIDE_ABOVE */
#define LEG_AWAY         (20 / SCALE)
#define LEG_DOWN         (18 / SCALE)
#define LEG_TORQUE       40.0
#define FORCE_MAX        1000.0
#define PAD_HEIGHT       (HEIGHT / 4)
#define MAIN_FUEL        0.30
#define SIDE_FUEL        0.03
#define HORIZON          1000
#define ITERATIONS_SPEED 180
#define ITERATIONS_PLACE 60
#define WIND_INDEX_MAX   9999

enum { N_CHUNKS = 11, LANDER = 0, LEGS = 1, N_OBSERVATION = 8 };
enum { ACTION_NOTHING, ACTION_LEFT, ACTION_MAIN, ACTION_RIGHT, N_ACTIONS };

typedef struct LanderStep {
        float main, side;     /* requested thrusts, in [-1, 1] */
        double dispersion[2]; /* drawn offsets of the engines' outlets, in [-1, 1] */
} LanderStep;

typedef struct LanderDrawn { /* numbers drawn at the reset, in Gymnasium's order */
        double height[N_CHUNKS + 1], force[2], wind, torque;
        double dispersion[2]; /* as in LanderStep, for the step that leads to the first observation */
} LanderDrawn;

enum { N_DRAWN = sizeof(LanderDrawn) / sizeof(double) };

typedef struct Lander {
        Box2dInstance box;
        double gravity, wind_power, turbulence_power;
        bool continuous, enable_wind;

        double shaping, n_gusts;
        Episode episode; /* the last member: room for its numbers and steps follows */
} Lander;

static const LanderDrawn *drawn_of(const Lander *l) {
        return (const LanderDrawn *) l->episode.drawn;
}

static const Box2dTask lander_task;

#define ENV_INSTANCE Lander
static const EnvOption lander_options[] = { LUNARLANDER_OPTIONS(ENV_OPTION) };

static int lander_init(void *instance, const ActordOption *options, uint32_t n_options) {
        Lander *l = instance;

        l->box.task = &lander_task;
        return env_options_parse(ENV_OPTIONS(lander_options), options, n_options, l);
}

static int continuous_init(void *instance, const ActordOption *options, uint32_t n_options) {
        Lander *l = instance;

        l->continuous = true;
        return lander_init(instance, options, n_options);
}

static int lander_spec(const ActordOption *options, uint32_t n_options, ActordEnvSpec *ret) {
        Lander l = {};
        int r;

        r = lander_init(&l, options, n_options);
        if (r < 0)
                return r;

        *ret = (ActordEnvSpec){
                .name = "LunarLander-v3",
                /* Velocities and the angle sometimes exceed the bounds that Gymnasium states. */
                .observation = space_of_numbers(N_OBSERVATION, -INFINITY, INFINITY),
                .action = space_of_choices(N_ACTIONS),
                .horizon_steps = HORIZON,
                .n_agents = 1,
                .reward_low = -INFINITY,
                .reward_high = INFINITY,
                .solved_return = 200.0,
                .instance_bytes = sizeof(Lander) + episode_bytes(&lander_task.kind),
                .snapshot_bytes = episode_bytes(&lander_task.kind),
        };
        return 0;
}

static int continuous_spec(const ActordOption *options, uint32_t n_options, ActordEnvSpec *ret) {
        ActordEnvSpec spec;
        int r;

        r = lander_spec(options, n_options, &spec);
        if (r < 0)
                return r;

        strcpy(spec.name, "LunarLanderContinuous-v3");
        spec.action = space_of_numbers(2, -1, 1);
        *ret = spec;
        return 0;
}

/* Random heights, smoothed, with a level pad in the middle. */
static void ground_points(const double drawn[N_CHUNKS + 1], double ret[N_CHUNKS][2]) {
        double height[N_CHUNKS + 1];

        memcpy(height, drawn, sizeof(height));
        for (int i = N_CHUNKS / 2 - 2; i <= N_CHUNKS / 2 + 2; i++)
                height[i] = PAD_HEIGHT;

        for (int i = 0; i < N_CHUNKS; i++) {
                /* As in Gymnasium, the first height has the last one as its left neighbour. */
                double left = height[i > 0 ? i - 1 : N_CHUNKS];

                ret[i][0] = WIDTH / (N_CHUNKS - 1) * i;
                ret[i][1] = 0.33 * (left + height[i] + height[i + 1]);
        }
}

static void build_ground(World *world, const double drawn[N_CHUNKS + 1]) {
        double points[N_CHUNKS][2];

        ground_points(drawn, points);
        world_ground(world, (double[]){ 0, 0 }, (double[]){ WIDTH, 0 }, 0.2);
        for (int i = 1; i < N_CHUNKS; i++)
                world_ground(world, points[i - 1], points[i], 0.1);
}

static void build_lander(World *world) {
        static const double outline[6][2] = { { -14, 17 }, { -17, 0 }, { -17, -10 }, { 17, -10 }, { 17, 0 },
                { 14, 17 } };
        const double leg_x = 2 / SCALE, leg_y = 8 / SCALE;
        WorldBody body = { .x = WIDTH / 2, .y = HEIGHT, .n_vertices = 6, .density = 5.0, .friction = 0.1 };

        for (int i = 0; i < 6; i++)
                for (int k = 0; k < 2; k++)
                        body.vertices[i][k] = outline[i][k] / SCALE;
        world_body(world, &body);

        for (int side = -1; side <= 1; side += 2) {
                uint32_t leg = side < 0 ? LEGS : LEGS + 1;

                world_body(world, &(WorldBody){
                                                  .x = WIDTH / 2 - side * LEG_AWAY,
                                                  .y = HEIGHT,
                                                  .angle = side * 0.05,
                                                  .n_vertices = 4,
                                                  .vertices = { { -leg_x, -leg_y }, { leg_x, -leg_y },
                                                                  { leg_x, leg_y }, { -leg_x, leg_y } },
                                                  .density = 1.0,
                                                  .friction = 0.2,
                                  });
                world_joint(world, &(WorldJoint){
                                                   .a = LANDER,
                                                   .b = leg,
                                                   .anchor_b = { side * LEG_AWAY, LEG_DOWN },
                                                   .lower = side < 0 ? 0.9 - 0.5 : -0.9,
                                                   .upper = side < 0 ? 0.9 : -0.9 + 0.5,
                                                   .motor_torque_max = LEG_TORQUE,
                                                   /* too slow for a leg to throw the lander up again */
                                                   .motor_speed = 0.3 * side,
                                   });
        }
}

/* The strength of a gust, in -1 .. 1. It never repeats: the ratio of the two frequencies is irrational. */
static double gust(double index) {
        return tanh(sin(0.02 * index) + sin(M_PI * 0.01 * index));
}

static void blow(Lander *l) {
        if (!l->enable_wind || world_motion(l->box.world, LEGS).touches ||
                        world_motion(l->box.world, LEGS + 1).touches)
                return;
        world_force(l->box.world, LANDER, gust(drawn_of(l)->wind + l->n_gusts) * l->wind_power, 0);
        world_torque(l->box.world, LANDER, gust(drawn_of(l)->torque + l->n_gusts) * l->turbulence_power);
        l->n_gusts++;
}

typedef struct Thrust {
        double main, side; /* powers; 0: the engine is off */
} Thrust;

/* The thrust of a step's action. An engine that fires gives at least half its power. */
static Thrust thrust_asked(const LanderStep *step) {
        return (Thrust){
                .main = step->main > 0 ? ((double) step->main + 1.0) * 0.5 : 0,
                .side = fabsf(step->side) > 0.5f ? (double) step->side : 0,
        };
}

static void fire(Lander *l, const LanderStep *step, Thrust thrust) {
        WorldMotion at = world_motion(l->box.world, LANDER);
        double tip[2] = { sin(at.angle), cos(at.angle) }, side[2] = { -tip[1], tip[0] };
        double d0 = step->dispersion[0] / SCALE, d1 = step->dispersion[1] / SCALE;

        if (thrust.main > 0) {
                double x = tip[0] * (MAIN_BELOW + 2 * d0) + side[0] * d1;
                double y = -tip[1] * (MAIN_BELOW + 2 * d0) - side[1] * d1;

                world_impulse(l->box.world, LANDER, -x * MAIN_POWER * thrust.main,
                                -y * MAIN_POWER * thrust.main, at.x + x, at.y + y);
        }
        if (thrust.side != 0) {
                double power = fabs(thrust.side), away = 3 * d1 + copysign(SIDE_AWAY, thrust.side);
                double x = tip[0] * d0 + side[0] * away, y = -tip[1] * d0 - side[1] * away;

                world_impulse(l->box.world, LANDER, -x * SIDE_POWER * power, -y * SIDE_POWER * power,
                                at.x + x - tip[0] * SIDE_ABOVE_X, at.y + y + tip[1] * SIDE_ABOVE);
        }
}

static void observe(Lander *l) {
        WorldMotion at = world_motion(l->box.world, LANDER);
        double *o = l->box.observation;

        o[0] = (at.x - WIDTH / 2) / (WIDTH / 2);
        o[1] = (at.y - (PAD_HEIGHT + LEG_DOWN)) / (HEIGHT / 2);
        o[2] = at.velocity_x * (WIDTH / 2) / FRAMES;
        o[3] = at.velocity_y * (HEIGHT / 2) / FRAMES;
        o[4] = at.angle;
        o[5] = 20.0 * at.velocity_angle / FRAMES;
        o[6] = world_motion(l->box.world, LEGS).touches;
        o[7] = world_motion(l->box.world, LEGS + 1).touches;
}

static double shaping(const double o[N_OBSERVATION]) {
        return -100 * sqrt(o[0] * o[0] + o[1] * o[1]) - 100 * sqrt(o[2] * o[2] + o[3] * o[3]) -
               100 * fabs(o[4]) + 10 * o[6] + 10 * o[7];
}

static ActordStep lander_advance(void *instance, const void *made) {
        Lander *l = instance;
        const LanderStep *step = made;
        Thrust thrust = thrust_asked(step);
        ActordStep result = {};
        double before = l->shaping;

        blow(l);
        fire(l, step, thrust);
        world_step(l->box.world, 1.0 / FRAMES, ITERATIONS_SPEED, ITERATIONS_PLACE);
        observe(l);
        l->shaping = shaping(l->box.observation);

        result.reward = l->shaping - before - thrust.main * MAIN_FUEL - fabs(thrust.side) * SIDE_FUEL;
        if (world_motion(l->box.world, LANDER).touched || fabs(l->box.observation[0]) >= 1.0) {
                result.terminated = true;
                result.reward = -100;
        }
        if (!world_motion(l->box.world, LANDER).awake) {
                result.terminated = true;
                result.reward = 100;
        }
        return result;
}

static int lander_rebuild(void *instance) {
        Lander *l = instance;
        const LanderDrawn *drawn = drawn_of(l);
        LanderStep off = {};

        world_free(l->box.world);
        l->box.world = world_new(l->gravity);
        if (!l->box.world)
                return -ENOMEM;

        l->n_gusts = 0;
        build_ground(l->box.world, drawn->height);
        build_lander(l->box.world);
        world_force(l->box.world, LANDER, drawn->force[0], drawn->force[1]);

        /* The first observation is the one after a step with the engines off. */
        memcpy(off.dispersion, drawn->dispersion, sizeof(off.dispersion));
        (void) lander_advance(l, &off);
        return 0;
}

static void lander_begin(void *instance, ActordRandom *random) {
        Lander *l = instance;
        LanderDrawn *drawn = (LanderDrawn *) l->episode.drawn;

        for (int i = 0; i <= N_CHUNKS; i++)
                drawn->height[i] = actord_random_uniform(random, 0, HEIGHT / 2);
        for (int i = 0; i < 2; i++)
                drawn->force[i] = actord_random_uniform(random, -FORCE_MAX, FORCE_MAX);
        if (l->enable_wind) {
                drawn->wind = floor(actord_random_uniform(random, -WIND_INDEX_MAX, WIND_INDEX_MAX));
                drawn->torque = floor(actord_random_uniform(random, -WIND_INDEX_MAX, WIND_INDEX_MAX));
        }
        for (int i = 0; i < 2; i++)
                drawn->dispersion[i] = actord_random_uniform(random, -1.0, 1.0);
}

static int lander_action(const Lander *l, const void *action, float ret[2]) {
        float raw[2];
        int32_t choice;

        if (!l->continuous) {
                memcpy(&choice, action, sizeof(choice));
                if (choice < 0 || choice >= N_ACTIONS)
                        return -EINVAL;
                ret[0] = choice == ACTION_MAIN ? 1 : 0;
                ret[1] = (float) ((choice == ACTION_RIGHT) - (choice == ACTION_LEFT));
                return 0;
        }

        memcpy(raw, action, sizeof(raw));
        if (isnan(raw[0]) || isnan(raw[1]))
                return -EINVAL;
        for (int i = 0; i < 2; i++)
                ret[i] = fminf(fmaxf(raw[i], -1), 1);
        return 0;
}

static int lander_take(const void *instance, const void *action, ActordRandom *random, void *ret_step) {
        LanderStep *step = ret_step;
        float asked[2];
        int r;

        r = lander_action(instance, action, asked);
        if (r < 0)
                return r;
        step->main = asked[0];
        step->side = asked[1];
        for (int i = 0; i < 2; i++)
                step->dispersion[i] = actord_random_uniform(random, -1.0, 1.0);
        return 0;
}

static bool lander_drawn_valid(const double *numbers) {
        const LanderDrawn *drawn = (const LanderDrawn *) numbers;

        for (int i = 0; i <= N_CHUNKS; i++)
                if (!(drawn->height[i] >= 0 && drawn->height[i] <= HEIGHT / 2))
                        return false;
        for (int i = 0; i < 2; i++)
                if (!(fabs(drawn->force[i]) <= FORCE_MAX && fabs(drawn->dispersion[i]) <= 1))
                        return false;
        return fabs(drawn->wind) <= WIND_INDEX_MAX && fabs(drawn->torque) <= WIND_INDEX_MAX;
}

static bool lander_step_valid(const void *step) {
        const LanderStep *s = step;

        return fabsf(s->main) <= 1 && fabsf(s->side) <= 1 && fabs(s->dispersion[0]) <= 1 &&
               fabs(s->dispersion[1]) <= 1;
}

static const ActordStatePart lander_parts[] = { { "height", N_CHUNKS + 1, 0 }, { "force", 2, 0 },
        { "wind", 2, 0 }, { "dispersion", 2, 0 } };

static const Box2dTask lander_task = {
        .kind = {
                .n_drawn = N_DRAWN,
                .horizon_steps = HORIZON,
                .step_bytes = sizeof(LanderStep),
                .rebuild = lander_rebuild,
                .advance = lander_advance,
                .drawn_valid = lander_drawn_valid,
                .step_valid = lander_step_valid,
        },
        .episode_at = offsetof(Lander, episode),
        .n_observation = N_OBSERVATION,
        .parts = lander_parts,
        .n_parts = sizeof(lander_parts) / sizeof(lander_parts[0]),
        .begin = lander_begin,
        .take = lander_take,
};

/* Draws a flame. Its length shows how strongly the engine fired in the last step. */
static void draw_flame(Picture *p, const WorldMotion *at, double x, double y, double dx, double dy) {
        double tip[2] = { sin(at->angle), cos(at->angle) };
        double from[2] = { at->x + x * tip[1] - y * tip[0], at->y + x * tip[0] + y * tip[1] };
        double to[2] = { from[0] + dx * tip[1] - dy * tip[0], from[1] + dx * tip[0] + dy * tip[1] };
        double across[2] = { (to[1] - from[1]) * 0.2, (from[0] - to[0]) * 0.2 };

        picture_polygon(p,
                        (const double[][2]){ { from[0] - across[0], from[1] - across[1] },
                                        { from[0] + across[0], from[1] + across[1] }, { to[0], to[1] } },
                        3, 0.02, COLOUR_FLAME);
}

static int lander_draw(const void *instance, ActordView *ret_view, ActordShape *ret_shapes) {
        const Lander *l = instance;
        const LanderStep *newest = episode_newest(&lander_task.kind, &l->episode);
        double ground[N_CHUNKS][2], outline[WORLD_VERTICES_MAX][2];
        WorldMotion at;
        Thrust thrust;
        Picture p;
        uint32_t n;

        if (!l->episode.begun)
                return -EPROTO;
        at = world_motion(l->box.world, LANDER);
        thrust = newest ? thrust_asked(newest) : (Thrust){};
        p = picture_begin(ret_view, ret_shapes, 0, 0, WIDTH, HEIGHT, 1 / FRAMES, COLOUR_INK);
        ground_points(drawn_of(l)->height, ground);
        for (int i = 1; i < N_CHUNKS; i++)
                picture_polygon(&p,
                                (const double[][2]){ { ground[i - 1][0], -1 }, { ground[i][0], -1 },
                                                { ground[i][0], ground[i][1] },
                                                { ground[i - 1][0], ground[i - 1][1] } },
                                4, 0.03, COLOUR_PALE);
        for (int side = -1; side <= 1; side += 2) {
                double x = ground[N_CHUNKS / 2 + side][0], y = PAD_HEIGHT;

                picture_line(&p, x, y, x, y + 1.6, 0.03, COLOUR_PAPER);
                picture_polygon(&p,
                                (const double[][2]){ { x, y + 1.6 }, { x, y + 1.0 }, { x + 0.8, y + 1.3 } },
                                3, 0, COLOUR_YELLOW);
        }

        if (thrust.main > 0)
                draw_flame(&p, &at, 0, -0.3, 0, -1.4 * thrust.main);
        if (thrust.side != 0)
                draw_flame(&p, &at, -copysign(SIDE_AWAY, thrust.side), 0.45, -0.8 * thrust.side, 0);
        for (uint32_t body = LEGS; body <= LEGS + 1; body++) {
                n = world_outline(l->box.world, body, outline);
                picture_polygon(&p, (const double(*)[2]) outline, n, 0.02, COLOUR_GREY);
        }
        n = world_outline(l->box.world, LANDER, outline);
        picture_polygon(&p, (const double(*)[2]) outline, n, 0.02, COLOUR_PURPLE);
        return 0;
}

const ActordEnv lunarlander_env = BOX2D_ENV(lander_spec, lander_init, lander_draw);
const ActordEnv lunarlander_continuous_env = BOX2D_ENV(continuous_spec, continuous_init, lander_draw);
