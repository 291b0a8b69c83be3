/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* BipedalWalker-v3: walk over slightly uneven ground on two legs with two joints each. The numbers are those of Gymnasium's
 * definition; its clouds are decoration, and are left out. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "actor/envs/box2d/tasks.h"
#include "actor/envs/box2d/world.h"
#include "actor/envs/option.h"
#include "actor/envs/picture.h"

#define SCALE            30.0 /* pixels in a metre */
#define WIDTH            (600 / SCALE)
#define HEIGHT           (400 / SCALE)
#define FRAMES           50.0 /* a second */
#define TORQUE_MAX       80.0
#define SPEED_HIP        4.0
#define SPEED_KNEE       6.0
#define SIGHT            (160 / SCALE)
#define FORCE_MAX        5.0
#define LEG_DOWN         (-8 / SCALE)
#define LEG_WIDTH        (8 / SCALE)
#define LEG_HEIGHT       (34 / SCALE)
#define GROUND_STEP      (14 / SCALE)
#define GROUND_HEIGHT    (HEIGHT / 4)
#define GROUND_FRICTION  2.5
#define FINISH           ((N_GROUND - 10) * GROUND_STEP)
#define TORQUE_COST      (0.00035 * TORQUE_MAX)
#define SLOPE_KEEPS      2.0 /* no draw gives it: the height stays */
#define HORIZON          1600
#define ITERATIONS_SPEED 180
#define ITERATIONS_PLACE 60

/* The legs are made one after the other, each from the hip down. */
enum { HULL, LEG_LEFT, SHIN_LEFT, LEG_RIGHT, SHIN_RIGHT };
enum { N_GROUND = 200, N_LEVEL = 20, N_JOINTS = 4, N_RAYS = 10, N_OBSERVATION = 14 + N_RAYS };

typedef struct WalkerStep {
        float action[N_JOINTS]; /* in [-1, 1] */
} WalkerStep;

typedef struct WalkerEpisode { /* the snapshot */
        uint32_t n_steps, begun;
        double slope[N_GROUND], force;
        WalkerStep steps[HORIZON + 1]; /* the first belongs to the reset */
} WalkerEpisode;

typedef struct Walker {
        World *world;
        double shaping;
        double observation[N_OBSERVATION];
        WalkerEpisode episode;
} Walker;

static int walker_init(void *instance, const ActordOption *options, uint32_t n_options) {
        return env_options_parse(NULL, 0, options, n_options, instance);
}

static int walker_spec(const ActordOption *options, uint32_t n_options, ActordEnvSpec *ret) {
        int r;

        r = env_options_parse(NULL, 0, options, n_options, NULL);
        if (r < 0)
                return r;

        *ret = (ActordEnvSpec){
                .name = "BipedalWalker-v3",
                /* Velocities pass the bounds that Gymnasium states when a leg hits the ground. */
                .observation = { .kind = ACTORD_BOX,
                                .element = ACTORD_F32,
                                .n_dims = 1,
                                .shape = { N_OBSERVATION },
                                .low = -INFINITY,
                                .high = INFINITY },
                .action = { .kind = ACTORD_BOX,
                                .element = ACTORD_F32,
                                .n_dims = 1,
                                .shape = { N_JOINTS },
                                .low = -1,
                                .high = 1 },
                .horizon_steps = HORIZON,
                .n_agents = 1,
                .reward_low = -INFINITY,
                .reward_high = INFINITY,
                .solved_return = 300.0,
                .instance_bytes = sizeof(Walker),
                .snapshot_bytes = sizeof(WalkerEpisode),
        };
        return 0;
}

/* A random walk of the slope, drawn back to the middle height; some chunks keep the height. */
static void ground_points(const double slope[N_GROUND], double ret[N_GROUND][2]) {
        double y = GROUND_HEIGHT, velocity = 0;

        for (int i = 0; i < N_GROUND; i++) {
                if (slope[i] != SLOPE_KEEPS) {
                        double back = GROUND_HEIGHT - y;

                        velocity = 0.8 * velocity + 0.01 * ((back > 0) - (back < 0));
                        if (i > N_LEVEL)
                                velocity += slope[i] / SCALE;
                        y += velocity;
                }
                ret[i][0] = i * GROUND_STEP;
                ret[i][1] = y;
        }
}

/* The chunks are made from the far end: where a foot rests on two of them, the order in which their contacts are solved shows in the
 * gait, and with this one it is that of Box2D 2.3, which sorted its pairs. */
static void build_ground(World *world, const double slope[N_GROUND]) {
        double points[N_GROUND][2];

        ground_points(slope, points);
        for (int i = N_GROUND - 1; i > 0; i--)
                world_ground(world, points[i - 1], points[i], GROUND_FRICTION);
}

static void build_box(World *world, double x, double y, double angle, double width, double height) {
        world_body(world, &(WorldBody){
                                          .x = x,
                                          .y = y,
                                          .angle = angle,
                                          .n_vertices = 4,
                                          .vertices = { { -width / 2, -height / 2 },
                                                          { width / 2, -height / 2 },
                                                          { width / 2, height / 2 },
                                                          { -width / 2, height / 2 } },
                                          .density = 1.0,
                                          .friction = 0.2,
                          });
}

static void build_walker(World *world) {
        static const double outline[5][2] = { { -30, 9 }, { 6, 9 }, { 34, 1 }, { 34, -8 }, { -30, -8 } };
        const double x = GROUND_STEP * N_LEVEL / 2, y = GROUND_HEIGHT + 2 * LEG_HEIGHT;
        WorldBody hull = { .x = x, .y = y, .n_vertices = 5, .density = 5.0, .friction = 0.1 };

        for (int i = 0; i < 5; i++)
                for (int k = 0; k < 2; k++)
                        hull.vertices[i][k] = outline[i][k] / SCALE;
        world_body(world, &hull);

        for (int side = -1; side <= 1; side += 2) {
                uint32_t leg = side < 0 ? LEG_LEFT : LEG_RIGHT;

                build_box(world, x, y - LEG_HEIGHT / 2 - LEG_DOWN, side * 0.05, LEG_WIDTH, LEG_HEIGHT);
                world_joint(world, &(WorldJoint){
                                                   .a = HULL,
                                                   .b = leg,
                                                   .anchor_a = { 0, LEG_DOWN },
                                                   .anchor_b = { 0, LEG_HEIGHT / 2 },
                                                   .lower = -0.8,
                                                   .upper = 1.1,
                                                   .motor_torque_max = TORQUE_MAX,
                                                   .motor_speed = side,
                                   });
                build_box(world, x, y - LEG_HEIGHT * 3 / 2 - LEG_DOWN, side * 0.05, 0.8 * LEG_WIDTH,
                                LEG_HEIGHT);
                world_joint(world, &(WorldJoint){
                                                   .a = leg,
                                                   .b = leg + 1,
                                                   .anchor_a = { 0, -LEG_HEIGHT / 2 },
                                                   .anchor_b = { 0, LEG_HEIGHT / 2 },
                                                   .lower = -1.6,
                                                   .upper = -0.1,
                                                   .motor_torque_max = TORQUE_MAX,
                                                   .motor_speed = 1,
                                   });
        }
}

static void observe(Walker *w, const WorldMotion *at) {
        double *o = w->observation;

        *o++ = at->angle;
        *o++ = 2.0 * at->velocity_angle / FRAMES;
        *o++ = 0.3 * at->velocity_x * WIDTH / FRAMES;
        *o++ = 0.3 * at->velocity_y * HEIGHT / FRAMES;
        for (uint32_t hip = 0; hip < N_JOINTS; hip += 2) {
                *o++ = world_joint_angle(w->world, hip);
                *o++ = world_joint_speed(w->world, hip) / SPEED_HIP;
                *o++ = world_joint_angle(w->world, hip + 1) + 1.0;
                *o++ = world_joint_speed(w->world, hip + 1) / SPEED_KNEE;
                *o++ = world_motion(w->world, SHIN_LEFT + hip).touches;
        }
        for (int i = 0; i < N_RAYS; i++)
                *o++ = world_sight(w->world, at->x, at->y, at->x + sin(1.5 * i / 10.0) * SIGHT,
                                at->y - cos(1.5 * i / 10.0) * SIGHT);
}

static ActordStep advance(Walker *w, const WalkerStep *step) {
        double before = w->shaping;
        ActordStep result = {};
        WorldMotion at;

        for (uint32_t i = 0; i < N_JOINTS; i++) {
                double a = (double) step->action[i];

                world_motor(w->world, i, (i % 2 == 0 ? SPEED_HIP : SPEED_KNEE) * ((a > 0) - (a < 0)),
                                TORQUE_MAX * fabs(a));
        }
        world_step(w->world, 1.0 / FRAMES, ITERATIONS_SPEED, ITERATIONS_PLACE);

        at = world_motion(w->world, HULL);
        observe(w, &at);
        w->shaping = 130 * at.x / SCALE - 5.0 * fabs(w->observation[0]);

        result.reward = w->shaping - before;
        for (uint32_t i = 0; i < N_JOINTS; i++)
                result.reward -= TORQUE_COST * fabs((double) step->action[i]);
        if (at.touched || at.x < 0) {
                result.reward = -100;
                result.terminated = true;
        }
        if (at.x > FINISH)
                result.terminated = true;
        return result;
}

static int rebuild(Walker *w) {
        world_free(w->world);
        w->world = world_new(-10.0);
        if (!w->world)
                return -ENOMEM;

        build_ground(w->world, w->episode.slope);
        build_walker(w->world);
        world_force(w->world, HULL, w->episode.force, 0);
        return 0;
}

static void write_observation(const Walker *w, void *ret_observation) {
        float observation[N_OBSERVATION];

        for (int i = 0; i < N_OBSERVATION; i++)
                observation[i] = (float) w->observation[i];
        memcpy(ret_observation, observation, sizeof(observation));
}

/* Stretches of five to nine chunks, the first of twenty; each but the first begins with a chunk that keeps the height, as where the
 * original changes from one kind of ground to the next. */
static void draw_ground(double slope[N_GROUND], ActordRandom *random) {
        int left = N_LEVEL;
        bool keeps = false;

        for (int i = 0; i < N_GROUND; i++) {
                slope[i] = keeps ? SLOPE_KEEPS : i > N_LEVEL ? actord_random_uniform(random, -1, 1) : 0;
                keeps = --left == 0;
                if (keeps)
                        left = 5 + (int) (actord_random_uniform(random, 0, 1) * 5);
        }
}

static int walker_reset(void *instance, ActordRandom *random, void *ret_observation) {
        Walker *w = instance;
        WalkerEpisode *e = &w->episode;
        int r;

        memset(e, 0, sizeof(*e));
        draw_ground(e->slope, random);
        e->force = actord_random_uniform(random, -FORCE_MAX, FORCE_MAX);
        e->begun = 1;

        r = rebuild(w);
        if (r < 0)
                return r;

        /* The first observation follows a step with slack joints. */
        (void) advance(w, &e->steps[0]);
        e->n_steps = 1;
        write_observation(w, ret_observation);
        return 0;
}

static int walker_step(void *instance, const void *action, ActordRandom *random, void *ret_observation,
                ActordStep *ret) {
        Walker *w = instance;
        WalkerEpisode *e = &w->episode;
        WalkerStep step;

        if (!e->begun || e->n_steps > HORIZON)
                return -EPROTO;
        memcpy(step.action, action, sizeof(step.action));
        for (int i = 0; i < N_JOINTS; i++) {
                if (isnan(step.action[i]))
                        return -EINVAL;
                step.action[i] = fminf(fmaxf(step.action[i], -1), 1);
        }

        e->steps[e->n_steps++] = step;
        *ret = advance(w, &step);
        write_observation(w, ret_observation);
        return 0;
}

static int walker_snapshot(const void *instance, void *ret_snapshot) {
        const Walker *w = instance;

        memcpy(ret_snapshot, &w->episode, sizeof(w->episode));
        return 0;
}

static bool episode_valid(const WalkerEpisode *e) {
        if (e->begun > 1 || e->n_steps > HORIZON + 1 || (e->begun && e->n_steps < 1))
                return false;
        if (!(fabs(e->force) <= FORCE_MAX))
                return false;
        for (int i = 0; i < N_GROUND; i++)
                if (!(fabs(e->slope[i]) <= 1 || e->slope[i] == SLOPE_KEEPS))
                        return false;
        for (uint32_t i = 0; i <= HORIZON; i++) /* what was not stepped yet is zero */
                for (int k = 0; k < N_JOINTS; k++)
                        if (!(fabsf(e->steps[i].action[k]) <= (i < e->n_steps)))
                                return false;
        return true;
}

static int walker_restore(void *instance, const void *snapshot) {
        Walker *w = instance;
        WalkerEpisode *e = &w->episode;
        int r;

        if (w->world && memcmp((const void *) e, snapshot, sizeof(*e)) == 0)
                return 0;

        memcpy(e, snapshot, sizeof(*e));
        if (!episode_valid(e)) {
                memset(e, 0, sizeof(*e));
                return -EINVAL;
        }
        if (!e->begun)
                return 0;

        r = rebuild(w);
        if (r < 0)
                return r;
        for (uint32_t i = 0; i < e->n_steps; i++)
                (void) advance(w, &e->steps[i]);
        return 0;
}

/* What the episode began from. */
static int walker_state_parts(const void *instance, ActordStatePart *ret) {
        static const ActordStatePart parts[] = { { "slope", N_GROUND, 0 }, { "force", 1, 0 } };

        memcpy(ret, parts, sizeof(parts));
        return sizeof(parts) / sizeof(parts[0]);
}

static int walker_get_state(const void *instance, double *ret) {
        const WalkerEpisode *e = &((const Walker *) instance)->episode;

        memcpy(ret, e->slope, sizeof(e->slope));
        ret[N_GROUND] = e->force;
        return 0;
}

static int walker_set_state(void *instance, const double *state, void *ret_observation) {
        Walker *w = instance;
        WalkerEpisode e = { .begun = 1, .n_steps = 1 };
        int r;

        memcpy(e.slope, state, sizeof(e.slope));
        e.force = state[N_GROUND];

        r = walker_restore(w, &e);
        if (r < 0)
                return r;
        write_observation(w, ret_observation);
        return 0;
}

static void draw_body(const Walker *w, Picture *p, uint32_t body, uint32_t colour) {
        double outline[WORLD_VERTICES_MAX][2];
        uint32_t n = world_outline(w->world, body, outline);

        picture_polygon(p, (const double(*)[2]) outline, n, 0.06, COLOUR_INK);
        picture_polygon(p, (const double(*)[2]) outline, n, 0.02, colour);
}

/* The picture goes along with the hull. */
static int walker_draw(const void *instance, ActordView *ret_view, ActordShape *ret_shapes) {
        const Walker *w = instance;
        double ground[N_GROUND][2], left, right;
        Picture p;

        if (!w->episode.begun)
                return -EPROTO;
        left = world_motion(w->world, HULL).x - WIDTH / 3;
        right = left + WIDTH;
        p = picture_begin(ret_view, ret_shapes, left, 0.5, right, 0.5 + HEIGHT, 1 / FRAMES, COLOUR_SKY);
        ground_points(w->episode.slope, ground);
        for (int i = 1; i < N_GROUND; i++)
                if (ground[i][0] > left && ground[i - 1][0] < right)
                        picture_polygon(&p,
                                        (const double[][2]){ { ground[i - 1][0], 0 }, { ground[i][0], 0 },
                                                        { ground[i][0], ground[i][1] },
                                                        { ground[i - 1][0], ground[i - 1][1] } },
                                        4, 0.03, i / 2 % 2 ? COLOUR_GREEN : COLOUR_GRASS);
        draw_body(w, &p, LEG_LEFT, COLOUR_SHADE);
        draw_body(w, &p, SHIN_LEFT, COLOUR_SHADE);
        draw_body(w, &p, HULL, COLOUR_PURPLE);
        draw_body(w, &p, LEG_RIGHT, COLOUR_WOOD);
        draw_body(w, &p, SHIN_RIGHT, COLOUR_WOOD);
        picture_line(&p, FINISH, ground[N_GROUND - 10][1], FINISH, ground[N_GROUND - 10][1] + 2, 0.04,
                        COLOUR_RED);
        return 0;
}

static void walker_close(void *instance) {
        Walker *w = instance;

        w->world = world_free(w->world);
}

const ActordEnv bipedalwalker_env = {
        .abi = ACTORD_ENV_ABI,
        .struct_bytes = sizeof(ActordEnv),
        .spec = walker_spec,
        .init = walker_init,
        .reset = walker_reset,
        .step = walker_step,
        .snapshot = walker_snapshot,
        .restore = walker_restore,
        .close = walker_close,
        .draw = walker_draw,
        .state_parts = walker_state_parts,
        .get_state = walker_get_state,
        .set_state = walker_set_state,
};
