/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A stormwater task: a network as text for SWMM, and a few numbers and functions. */
#pragma once

#include <stdbool.h>

#include "actor/envs/swmm/engine.h"
#include "actor/envs/swmm/drainage.h"
#include "actor/envs/swmm/storm.h"
#include "include/environment-options.h"

enum { N_VALVES_MAX = 11, N_NODES_MAX = 11, N_LINKS_MAX = 11, N_OBSERVATION_MAX = 16 };
enum { N_OPENINGS_MAX = 624 * N_VALVES_MAX };            /* in an episode */
enum { STEP_MSEC = 15 * 60 * 1000, STEPS_PER_HOUR = 4 }; /* a step of control */

/* Depths, floods and flows after a routing step of SWMM, in the order of the task's names. */
typedef struct Reading {
        double depth[N_NODES_MAX], flood[N_NODES_MAX];
        double flow[N_LINKS_MAX];
} Reading;

typedef struct View {
        Reading now;
        Storm storm;
        double hour; /* since the episode began */
        bool last;   /* the episode ends with this reading */
        float openings[N_VALVES_MAX];
        double flood_weight, left_weight;
} View;

typedef struct Task {
        const char *name;
        Drainage drainage;
        EngineNames names; /* among the links, the valves come first */
        StormFamily family;
        uint32_t n_steps, n_valves;
        uint32_t n_options;                  /* how many rows of stormwater.c's table of options it has, from
                                              * the first on */
        float opening;                       /* of the valves, when the episode begins */
        uint32_t n_published, n_observation; /* lengths: without the forecast, and with it */
        /* true: the reward of a step is the value at its end; false: it is the sum over SWMM's steps in
         * it */
        bool reward_at_end;

        void (*observe)(const View *view, float ret[N_OBSERVATION_MAX]);
        double (*reward)(const View *view);
        /* A simple controller, for comparison. */
        void (*rules)(const View *view, float ret_openings[N_VALVES_MAX]);
} Task;

/* All tasks have the options of tidal; theta has one more, and gamma one more than theta. */
#define TASK_OPTION(...) +1
enum {
        N_TIDAL_OPTIONS = STORMWATER_OPTIONS(TASK_OPTION),
        N_THETA_OPTIONS = STORMWATER_THETA_OPTIONS(TASK_OPTION),
        N_GAMMA_OPTIONS = STORMWATER_GAMMA_OPTIONS(TASK_OPTION),
};

extern const Task theta_task, tidal_task, gamma_task;
extern const ActordEnv theta_env, tidal_env, gamma_env;
