/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* BipedalWalker-v3 and BipedalWalkerHardcore-v3: walk over slightly uneven ground on two legs with two
 * joints each; Hardcore has stumps, stairs and pits in it. The constants are those of Gymnasium's
 * definition; its clouds are left out. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "actor/envs/box2d/engine.h"
#include "actor/envs/box2d/ground.h"
#include "actor/envs/box2d/tasks.h"
#include "actor/envs/option.h"
#include "actor/envs/picture.h"
#include "lib/space.h"

#define SCALE            30.0 /* pixels per metre */
#define WIDTH            (600 / SCALE)
#define HEIGHT           (400 / SCALE)
#define FRAMES           50.0 /* per second */
#define TORQUE_MAX       80.0
#define SPEED_HIP        4.0
#define SPEED_KNEE       6.0
#define SIGHT            (160 / SCALE)
#define FORCE_MAX        5.0
#define LEG_DOWN         (-8 / SCALE)
#define LEG_WIDTH        (8 / SCALE)
#define LEG_HEIGHT       (34 / SCALE)
#define FINISH           ((N_GROUND - GROUND_N_FINISH) * GROUND_STEP)
#define TORQUE_COST      (0.00035 * TORQUE_MAX)
#define HORIZON          1600
#define HORIZON_HARDCORE 2000
#define ITERATIONS_SPEED 180
#define ITERATIONS_PLACE 60

/* The legs are made one after the other, each from the hip down. */
enum { HULL, LEG_LEFT, SHIN_LEFT, LEG_RIGHT, SHIN_RIGHT };
enum { N_JOINTS = 4, N_RAYS = 10, N_OBSERVATION = 14 + N_RAYS };

typedef struct WalkerStep {
        float action[N_JOINTS]; /* in [-1, 1] */
} WalkerStep;

typedef struct WalkerDrawn { /* numbers that are drawn at the reset */
        double slope[N_GROUND], force;
        double obstacle[N_GROUND]; /* used only by Hardcore */
} WalkerDrawn;

typedef struct Walker {
        Box2dInstance box;
        double shaping;
        Ground ground;
        Episode episode; /* the last member: room for its numbers and steps follows */
} Walker;

static const Box2dTask walker_task, hardcore_task;

static bool is_hardcore(const Walker *w) {
        return w->box.task == &hardcore_task;
}

static int walker_init(void *instance, const ActordOption *options, uint32_t n_options) {
        ((Walker *) instance)->box.task = &walker_task;
        return env_options_parse(NULL, 0, options, n_options, instance);
}

static int hardcore_init(void *instance, const ActordOption *options, uint32_t n_options) {
        ((Walker *) instance)->box.task = &hardcore_task;
        return env_options_parse(NULL, 0, options, n_options, instance);
}

static int spec_of(const EpisodeKind *kind, const char *name, const ActordOption *options,
                uint32_t n_options, ActordEnvSpec *ret) {
        int r;

        r = env_options_parse(NULL, 0, options, n_options, NULL);
        if (r < 0)
                return r;

        *ret = (ActordEnvSpec){
                /* Velocities exceed the bounds that Gymnasium states when a leg hits the ground. */
                .observation = space_of_numbers(N_OBSERVATION, -INFINITY, INFINITY),
                .action = space_of_numbers(N_JOINTS, -1, 1),
                .horizon_steps = kind->horizon_steps,
                .n_agents = 1,
                .reward_low = -INFINITY,
                .reward_high = INFINITY,
                .solved_return = 300.0,
                .instance_bytes = sizeof(Walker) + episode_bytes(kind),
                .snapshot_bytes = episode_bytes(kind),
        };
        strcpy(ret->name, name);
        return 0;
}

static int walker_spec(const ActordOption *options, uint32_t n_options, ActordEnvSpec *ret) {
        return spec_of(&walker_task.kind, "BipedalWalker-v3", options, n_options, ret);
}

static int hardcore_spec(const ActordOption *options, uint32_t n_options, ActordEnvSpec *ret) {
        return spec_of(&hardcore_task.kind, "BipedalWalkerHardcore-v3", options, n_options, ret);
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
        const double x = GROUND_STEP * GROUND_N_LEVEL / 2, y = GROUND_HEIGHT + 2 * LEG_HEIGHT;
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
        double *o = w->box.observation;

        *o++ = at->angle;
        *o++ = 2.0 * at->velocity_angle / FRAMES;
        *o++ = 0.3 * at->velocity_x * WIDTH / FRAMES;
        *o++ = 0.3 * at->velocity_y * HEIGHT / FRAMES;
        for (uint32_t hip = 0; hip < N_JOINTS; hip += 2) {
                *o++ = world_joint_angle(w->box.world, hip);
                *o++ = world_joint_speed(w->box.world, hip) / SPEED_HIP;
                *o++ = world_joint_angle(w->box.world, hip + 1) + 1.0;
                *o++ = world_joint_speed(w->box.world, hip + 1) / SPEED_KNEE;
                *o++ = world_motion(w->box.world, SHIN_LEFT + hip).touches;
        }
        for (int i = 0; i < N_RAYS; i++)
                *o++ = world_sight(w->box.world, at->x, at->y, at->x + sin(1.5 * i / 10.0) * SIGHT,
                                at->y - cos(1.5 * i / 10.0) * SIGHT);
}

static ActordStep walker_advance(void *instance, const void *made) {
        Walker *w = instance;
        const WalkerStep *step = made;
        double before = w->shaping;
        ActordStep result = {};
        WorldMotion at;

        for (uint32_t i = 0; i < N_JOINTS; i++) {
                double a = (double) step->action[i];

                world_motor(w->box.world, i, (i % 2 == 0 ? SPEED_HIP : SPEED_KNEE) * ((a > 0) - (a < 0)),
                                TORQUE_MAX * fabs(a));
        }
        world_step(w->box.world, 1.0 / FRAMES, ITERATIONS_SPEED, ITERATIONS_PLACE);

        at = world_motion(w->box.world, HULL);
        observe(w, &at);
        w->shaping = 130 * at.x / SCALE - 5.0 * fabs(w->box.observation[0]);

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

static int walker_rebuild(void *instance) {
        static const WalkerStep slack;
        Walker *w = instance;
        const WalkerDrawn *drawn = (const WalkerDrawn *) w->episode.drawn;

        world_free(w->box.world);
        w->box.world = world_new(-10.0);
        if (!w->box.world)
                return -ENOMEM;

        ground_make(drawn->slope, is_hardcore(w) ? drawn->obstacle : NULL, &w->ground);
        ground_build(w->box.world, &w->ground);
        build_walker(w->box.world);
        world_force(w->box.world, HULL, drawn->force, 0);

        /* The first observation is the one after a step with slack joints. */
        (void) walker_advance(w, &slack);
        return 0;
}

static void walker_begin(void *instance, ActordRandom *random) {
        Walker *w = instance;
        WalkerDrawn *drawn = (WalkerDrawn *) w->episode.drawn;

        ground_draw(random, drawn->slope, is_hardcore(w) ? drawn->obstacle : NULL);
        drawn->force = actord_random_uniform(random, -FORCE_MAX, FORCE_MAX);
}

static int walker_take(const void *instance, const void *action, ActordRandom *random, void *ret_step) {
        WalkerStep step;

        memcpy(step.action, action, sizeof(step.action));
        for (int i = 0; i < N_JOINTS; i++) {
                if (isnan(step.action[i]))
                        return -EINVAL;
                step.action[i] = fminf(fmaxf(step.action[i], -1), 1);
        }
        *(WalkerStep *) ret_step = step;
        return 0;
}

static bool drawn_valid(const WalkerDrawn *drawn, const double *obstacle) {
        return ground_valid(drawn->slope, obstacle) && fabs(drawn->force) <= FORCE_MAX;
}

static bool walker_drawn_valid(const double *numbers) {
        return drawn_valid((const WalkerDrawn *) numbers, NULL);
}

static bool hardcore_drawn_valid(const double *numbers) {
        const WalkerDrawn *drawn = (const WalkerDrawn *) numbers;

        return drawn_valid(drawn, drawn->obstacle);
}

static bool walker_step_valid(const void *step) {
        for (int k = 0; k < N_JOINTS; k++)
                if (!(fabsf(((const WalkerStep *) step)->action[k]) <= 1))
                        return false;
        return true;
}

/* Only Hardcore has the last part. */
static const ActordStatePart parts[] = { { "slope", N_GROUND, 0 }, { "force", 1, 0 },
        { "obstacle", N_GROUND, 0 } };
enum { N_PARTS_HARDCORE = sizeof(parts) / sizeof(parts[0]), N_PARTS = N_PARTS_HARDCORE - 1 };

/* The parts that both tasks share. */
#define WALKER_KIND                                                                             \
        .step_bytes = sizeof(WalkerStep), .rebuild = walker_rebuild, .advance = walker_advance, \
        .step_valid = walker_step_valid
#define WALKER_TASK                                                                              \
        .episode_at = offsetof(Walker, episode), .n_observation = N_OBSERVATION, .parts = parts, \
        .begin = walker_begin, .take = walker_take

static const Box2dTask walker_task = {
        WALKER_TASK,
        .n_parts = N_PARTS,
        .kind = {
                WALKER_KIND,
                .n_drawn = offsetof(WalkerDrawn, obstacle) / sizeof(double),
                .horizon_steps = HORIZON,
                .drawn_valid = walker_drawn_valid,
        },
};

static const Box2dTask hardcore_task = {
        WALKER_TASK,
        .n_parts = N_PARTS_HARDCORE,
        .kind = {
                WALKER_KIND,
                .n_drawn = sizeof(WalkerDrawn) / sizeof(double),
                .horizon_steps = HORIZON_HARDCORE,
                .drawn_valid = hardcore_drawn_valid,
        },
};

static void draw_body(const Walker *w, Picture *p, uint32_t body, uint32_t colour) {
        double outline[WORLD_VERTICES_MAX][2];
        uint32_t n = world_outline(w->box.world, body, outline);

        picture_polygon(p, (const double(*)[2]) outline, n, 0.06, COLOUR_INK);
        picture_polygon(p, (const double(*)[2]) outline, n, 0.02, colour);
}

/* The picture moves with the hull. */
static int walker_draw(const void *instance, ActordView *ret_view, ActordShape *ret_shapes) {
        const Walker *w = instance;
        const double(*ground)[2] = w->ground.points;
        double left, right;
        Picture p;

        if (!w->episode.begun)
                return -EPROTO;
        left = world_motion(w->box.world, HULL).x - WIDTH / 3;
        right = left + WIDTH;
        p = picture_begin(ret_view, ret_shapes, left, 0.5, right, 0.5 + HEIGHT, 1 / FRAMES, COLOUR_SKY);
        for (int i = 1; i < N_GROUND; i++)
                if (ground[i][0] > left && ground[i - 1][0] < right)
                        picture_polygon(&p,
                                        (const double[][2]){ { ground[i - 1][0], 0 }, { ground[i][0], 0 },
                                                        { ground[i][0], ground[i][1] },
                                                        { ground[i - 1][0], ground[i - 1][1] } },
                                        4, 0.03, i / 2 % 2 ? COLOUR_GREEN : COLOUR_GRASS);
        for (unsigned i = 0; i < w->ground.n_blocks; i++)
                if (w->ground.blocks[i][1][0] > left && w->ground.blocks[i][0][0] < right)
                        picture_polygon(&p, (const double(*)[2]) w->ground.blocks[i], GROUND_CORNERS, 0.03,
                                        COLOUR_GREY);
        draw_body(w, &p, LEG_LEFT, COLOUR_SHADE);
        draw_body(w, &p, SHIN_LEFT, COLOUR_SHADE);
        draw_body(w, &p, HULL, COLOUR_PURPLE);
        draw_body(w, &p, LEG_RIGHT, COLOUR_WOOD);
        draw_body(w, &p, SHIN_RIGHT, COLOUR_WOOD);
        picture_line(&p, FINISH, ground[N_GROUND - GROUND_N_FINISH][1], FINISH,
                        ground[N_GROUND - GROUND_N_FINISH][1] + 2, 0.04, COLOUR_RED);
        return 0;
}

const ActordEnv bipedalwalker_env = BOX2D_ENV(walker_spec, walker_init, walker_draw);
const ActordEnv bipedalwalker_hardcore_env = BOX2D_ENV(hardcore_spec, hardcore_init, walker_draw);
