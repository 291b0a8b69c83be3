/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Draws random numbers in the order of Gymnasium, so that its episodes can be repeated with this code. */
#include "actor/envs/box2d/ground.h"

#include <math.h>
#include <string.h>

#define SLOPE_KEEPS 2.0 /* this slope leaves the height as it is; all other slopes are from -1 to 1 */
#define SCALE       30.0
#define FRICTION    2.5

/* An obstacle that begins at a chunk, as a number in the snapshot: KIND times its kind, plus its size. */
enum { KIND = 10, STUMP = 1, PIT = 2, STAIRS_UP = 3, STAIRS_DOWN = 4 };
enum { STAIR_WIDTH = 4, PIT_DEPTH = 4 };

/* A whole number in [low, high), from one draw. */
static int draw_whole(ActordRandom *random, int low, int high) {
        return low + (int) (actord_random_uniform(random, 0, 1) * (high - low));
}

static double draw_obstacle(ActordRandom *random, int kind) {
        bool up;

        switch (kind) {
        case 1: return KIND * STUMP + draw_whole(random, 1, 3);
        case 2:
                up = actord_random_uniform(random, 0, 1) > 0.5;
                /* draws the width, which has only one value */
                (void) draw_whole(random, STAIR_WIDTH, STAIR_WIDTH + 1);
                return KIND * (up ? STAIRS_UP : STAIRS_DOWN) + draw_whole(random, 3, 5);
        default: return KIND * PIT + draw_whole(random, 3, 5);
        }
}

static int size_of(double obstacle) {
        return (int) obstacle % KIND;
}

/* How many chunks an obstacle takes, including the first. */
static int length_of(double obstacle) {
        switch ((int) obstacle / KIND) {
        case STUMP: return size_of(obstacle);
        case PIT: return size_of(obstacle) + 2;
        default: return size_of(obstacle) * STAIR_WIDTH;
        }
}

/* Stretches of grass have five to nine chunks; the first stretch has twenty. Each stretch except the first
 * begins with a chunk that keeps the height. Under Hardcore there is an obstacle between each two
 * stretches. */
void ground_draw(ActordRandom *random, double *ret_slope, double *ret_obstacle) {
        int left = GROUND_N_LEVEL;
        bool keeps = false, grass = true;

        if (ret_obstacle)
                memset(ret_obstacle, 0, N_GROUND * sizeof(double));
        for (int i = 0; i < N_GROUND; i++) {
                if (ret_obstacle && ret_obstacle[i] != 0) {
                        ret_obstacle[i] = draw_obstacle(random, (int) ret_obstacle[i]);
                        left = length_of(ret_obstacle[i]);
                }
                if (keeps || !grass)
                        ret_slope[i] = SLOPE_KEEPS;
                else
                        ret_slope[i] = i > GROUND_N_LEVEL ? actord_random_uniform(random, -1, 1) : 0;
                keeps = --left == 0;
                if (!keeps)
                        continue;
                left = draw_whole(random, 5, 10);
                grass = !grass || !ret_obstacle;
                if (!grass && i + 1 < N_GROUND)
                        ret_obstacle[i + 1] = draw_whole(random, 1, 4);
                else if (!grass)
                        (void) draw_whole(random, 1, 4);
        }
}

static void add_block(Ground *g, double left, double bottom, double width, double height) {
        const double corners[GROUND_CORNERS][2] = { { left, bottom }, { left + width, bottom },
                { left + width, bottom + height }, { left, bottom + height } };

        if (g->n_blocks < GROUND_BLOCKS_MAX)
                memcpy(g->blocks[g->n_blocks++], corners, sizeof(corners));
}

static void add_obstacle(Ground *g, double obstacle, double x, double y) {
        const double step = GROUND_STEP;
        int kind = (int) obstacle / KIND, size = size_of(obstacle), rise = kind == STAIRS_UP ? 1 : -1;

        switch (kind) {
        case STUMP: add_block(g, x, y, size * step, size * step); break;
        case PIT:
                add_block(g, x, y - PIT_DEPTH * step, step, PIT_DEPTH * step);
                add_block(g, x + size * step, y - PIT_DEPTH * step, step, PIT_DEPTH * step);
                break;
        default:
                for (int s = 0; s < size; s++)
                        add_block(g, x + s * STAIR_WIDTH * step, y + (s * rise - 1) * step,
                                        STAIR_WIDTH * step, step);
        }
}

/* The height of a chunk of the obstacle. in: how many chunks it is behind the obstacle's first one, at least
 * 1; first: the height of the first chunk; before: that of the chunk just before this one. */
static double height_in(double obstacle, int in, double first, double before) {
        int kind = (int) obstacle / KIND, left = length_of(obstacle) - in, rise = kind == STAIRS_UP ? 1 : -1;

        switch (kind) {
        case STUMP: return before;
        case PIT: return left > 1 ? first - PIT_DEPTH * GROUND_STEP : first;
        default: return first + (double) (in - rise) / STAIR_WIDTH * rise * GROUND_STEP;
        }
}

void ground_make(const double *slope, const double *obstacle, Ground *ret) {
        double y = GROUND_HEIGHT, velocity = 0, now = 0, first = 0;
        int in = 0;

        ret->n_blocks = 0;
        for (int i = 0; i < N_GROUND; i++) {
                if (obstacle && obstacle[i] != 0) {
                        now = obstacle[i];
                        in = 0;
                        first = y;
                        add_obstacle(ret, now, i * GROUND_STEP, y);
                } else if (now != 0 && ++in < length_of(now))
                        y = height_in(now, in, first, y);
                else
                        now = 0;
                if (slope[i] != SLOPE_KEEPS) {
                        double back = GROUND_HEIGHT - y;

                        velocity = 0.8 * velocity + 0.01 * ((back > 0) - (back < 0));
                        if (i > GROUND_N_LEVEL)
                                velocity += slope[i] / SCALE;
                        y += velocity;
                }
                ret->points[i][0] = i * GROUND_STEP;
                ret->points[i][1] = y;
        }
}

static bool obstacle_valid(double obstacle) {
        int kind = (int) obstacle / KIND, size = size_of(obstacle);

        if (obstacle != floor(obstacle))
                return false;
        if (kind == STUMP)
                return size == 1 || size == 2;
        return kind >= PIT && kind <= STAIRS_DOWN && (size == 3 || size == 4);
}

bool ground_valid(const double *slope, const double *obstacle) {
        for (int i = 0; i < N_GROUND; i++) {
                if (!(fabs(slope[i]) <= 1 || slope[i] == SLOPE_KEEPS))
                        return false;
                if (obstacle && obstacle[i] != 0 &&
                                !(obstacle[i] > 0 && obstacle[i] < 100 && obstacle_valid(obstacle[i])))
                        return false;
        }
        return true;
}

/* If a foot rests on two chunks, the gait depends on the order in which their contacts are solved. Making
 * the chunks from the far end gives the order of Box2D 2.3, which sorted its pairs. */
void ground_build(World *world, const Ground *ground) {
        for (int i = N_GROUND - 1; i > 0; i--)
                world_ground(world, ground->points[i - 1], ground->points[i], FRICTION);
        for (unsigned i = ground->n_blocks; i > 0; i--)
                world_block(world, (const double(*)[2]) ground->blocks[i - 1], GROUND_CORNERS, FRICTION);
}
