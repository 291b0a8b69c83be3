/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Compares a MuJoCo task with numbers that Gymnasium wrote. Each test that uses this file holds such
 * numbers. */
#pragma once

#include <mujoco/mujoco.h>

#include "actor/envs/mujoco/engine.h"
#include "tests/unit/env-fixture.h"

enum { POSITIONS_MAX = 24, BODIES_MAX = 14, CONTROLS_MAX = 17, OBSERVED_MAX = 376, N_STEPS = 6 };

typedef struct Step {
        double action[CONTROLS_MAX], reward, observation[OBSERVED_MAX];
} Step;

typedef struct Reference {
        const char *name;
        int n_body, nq, nv, nu;
        double mass[BODIES_MAX], inertia0[POSITIONS_MAX], damping[POSITIONS_MAX], stiffness[POSITIONS_MAX],
                        range[2 * POSITIONS_MAX];
        double gear[CONTROLS_MAX];
        double qpos[POSITIONS_MAX], qvel[POSITIONS_MAX]; /* where the steps begin */
        double place[MUJOCO_N_PLACE];                    /* MujocoInstance.place before the first step */
        int n_steps;                                     /* 0: all */
        Step steps[N_STEPS];
} Reference;

/* Known figures of random play: mean and standard deviation of the return, mean length. */
typedef struct RandomPlay {
        const char *name;
        int n; /* episodes that are played here */
        double mean, deviation, length;
} RandomPlay;

const MujocoInstance *instance_of(const Env *env);

/* Whether env-mujoco.so is built. If not, the test is marked as skipped. */
bool have_module(void);

/* Sets the state by a snapshot: time, positions, velocities, warm start, activations, controls, and the
 * task's place, if the task keeps one. */
void env_set(Env *env, const double *qpos, const double *qvel, const double *place);

void add_reference(const char *program, const Reference *reference);
void add_random_play(const char *program, const RandomPlay *plays);
