/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The ground under the bipedal walker, as Gymnasium makes it: the slope is a random walk that tends back to
 * the middle height; under Hardcore there are stumps, stairs and pits. The drawn numbers are kept for each
 * chunk (GROUND_STEP metres), and all else follows from these numbers. */
#pragma once

#include <stdbool.h>

#include "actor/envs/box2d/world.h"
#include "include/actord/env.h"

#define GROUND_STEP   (14 / 30.0) /* in metres */
#define GROUND_HEIGHT (400 / 30.0 / 4)

enum { N_GROUND = 200, GROUND_N_LEVEL = 20, GROUND_N_FINISH = 10, GROUND_CORNERS = 4 };
/* At least five chunks of grass follow an obstacle, so reset() makes at most 39 blocks. A state that a user
 * gives may have more; blocks beyond the limit are left out. */
enum { GROUND_BLOCKS_MAX = 64 };

typedef struct Ground {
        double points[N_GROUND][2];
        unsigned n_blocks;
        double blocks[GROUND_BLOCKS_MAX][GROUND_CORNERS][2]; /* convex parts of obstacles */
} Ground;

/* slope: [N_GROUND], the slope of each chunk, from -1 to 1; 2: the chunk keeps the height. obstacle:
 * [N_GROUND], the obstacle that begins at each chunk (0: none), or NULL if there are none. */
void ground_draw(ActordRandom *random, double *ret_slope, double *ret_obstacle);
void ground_make(const double *slope, const double *obstacle, Ground *ret);
bool ground_valid(const double *slope, const double *obstacle);
void ground_build(World *world, const Ground *ground);
