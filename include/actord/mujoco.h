/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The reward of a step in a model of your own, as a function in C. For Environment=mujoco:FILE.xml, the key
 * RewardPlugin=FILE.so of [Environment] names a shared object beside the model. The object defines
 * `actord_mujoco_judge`. It is loaded in the sandbox, and the function is called once after each step. Its
 * reward is added to that of Reward=. An episode ends if the function or Terminate= says so. The function
 * must keep nothing between calls, so that an invocation can be repeated bit for bit. */
#pragma once

/* Tables and layouts are aligned by hand. */
/* clang-format off */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ACTORD_MUJOCO_ABI 1u

/* One step of the environment, which is FrameSkip= steps of the model. The lengths of arrays and the order
 * of their parts are the model's. */
typedef struct ActordMujocoStep {
        /* abi: ACTORD_MUJOCO_ABI; struct_bytes: the struct's size in actord, since newer members come
         * last */
        uint32_t abi, struct_bytes;
        uint32_t n_positions, n_velocities, n_controls, n_bodies, n_sensors, reserved;
        double seconds;                         /* the duration of the step */
        const double *positions, *velocities;   /* qpos and qvel, after the step */
        const double *positions_before, *velocities_before;
        const double *controls;
        const double *body_positions;           /* [n_bodies][3]; body 0 is the world */
        const double *sensors;                  /* sensordata, n_sensors numbers */
} ActordMujocoStep;

/* Returns 0 and sets a finite *ret_reward, and *ret_terminated to 0 or 1. A negative errno fails the
 * invocation. */
#ifdef __GNUC__
__attribute__((visibility("default")))
#endif
int actord_mujoco_judge(const ActordMujocoStep *step, double *ret_reward, uint8_t *ret_terminated);

#ifdef __cplusplus
}
#endif
