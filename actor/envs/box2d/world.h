/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rigid bodies in a plane: the C++ library Box2D behind plain C functions. Lengths are in metres, angles in
 * radians, times in seconds. Box2D computes in float. All parameters here are double, and are rounded. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { WORLD_BODIES_MAX = 8, WORLD_JOINTS_MAX = 4, WORLD_VERTICES_MAX = 8 };

typedef struct World World;

typedef struct WorldBody { /* a convex polygon that moves, and touches only ground */
        double x, y, angle;
        uint32_t n_vertices;
        double vertices[WORLD_VERTICES_MAX][2];
        double density, friction;
} WorldBody;

typedef struct WorldJoint { /* a hinge with a motor */
        uint32_t a, b;
        double anchor_a[2], anchor_b[2]; /* in each body's own coordinates */
        double lower, upper;             /* relative to the initial angle of the bodies */
        double motor_torque_max, motor_speed;
} WorldJoint;

typedef struct WorldMotion {
        double x, y, angle;
        double velocity_x, velocity_y, velocity_angle;
        bool touches; /* a contact has begun and not ended */
        bool touched; /* it has touched the ground at least once */
        bool awake;
} WorldMotion;

/* Call this once, before threads start: at the first contact in a process, Box2D fills a table without a
 * lock. */
void world_prepare(void);

/* NULL: there is no memory. */
World *world_new(double gravity);
World *world_free(World *world);

/* Bodies and joints are numbered in the order in which they are made. */
void world_ground(World *world, const double from[2], const double to[2], double friction);
/* Adds ground in the shape of a convex polygon with n corners, at most WORLD_VERTICES_MAX. */
void world_block(World *world, const double (*corners)[2], uint32_t n, double friction);
void world_body(World *world, const WorldBody *body);
void world_joint(World *world, const WorldJoint *joint);

/* world_force() and world_torque(): they act on the body's centre until the next step */
void world_force(World *world, uint32_t body, double x, double y);
void world_torque(World *world, uint32_t body, double torque);
void world_impulse(World *world, uint32_t body, double x, double y, double at_x, double at_y);
void world_motor(World *world, uint32_t joint, double speed, double torque_max);
void world_step(World *world, double seconds, int n_velocity_iterations, int n_position_iterations);

WorldMotion world_motion(const World *world, uint32_t body);
/* The positions of a body's corners. Returns how many there are. */
uint32_t world_outline(const World *world, uint32_t body, double ret[WORLD_VERTICES_MAX][2]);
double world_joint_angle(const World *world, uint32_t joint);
double world_joint_speed(const World *world, uint32_t joint);
/* The distance to the first ground on the way from one point to another, as a share of the way; 1: none. */
double world_sight(const World *world, double x, double y, double to_x, double to_y);

#ifdef __cplusplus
}
#endif
