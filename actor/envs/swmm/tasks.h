/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A stormwater task: a network as text for SWMM, and a few numbers and functions. */
#pragma once

#include <stdbool.h>

#include "actor/envs/swmm/engine.h"
#include "actor/envs/swmm/storm.h"

enum { N_VALVES = 2, N_NODES_MAX = 3, N_OBSERVATION_MAX = 16, N_STEPS_MAX = 312 };
enum { STEP_MSEC = 15 * 60 * 1000, STEPS_PER_HOUR = 4 }; /* a step of control */

/* Readings after a routing step. Nodes are in the order of the task's names. The flow is that of its third
 * link, if there is one. */
typedef struct Reading {
        double depth[N_NODES_MAX], flood[N_NODES_MAX];
        double flow;
} Reading;

typedef struct View {
        Reading now;
        Storm storm;
        double hour; /* since the beginning */
        float openings[N_VALVES];
        double flood_weight;
} View;

typedef struct Task {
        const char *name;
        const char *text, *text_end;
        EngineNames names;
        double profile[STORM_HOURS];
        uint32_t first_hour; /* of rain */
        uint32_t tide_hours; /* 0: there is no tide */
        uint32_t n_steps;
        float opening;                       /* the initial opening */
        uint32_t n_published, n_observation; /* without the forecast, and with it */
        /* the reward is that at the end of a step; otherwise the sum over SWMM's steps in it */
        bool reward_at_end;

        void (*observe)(const View *view, float ret[N_OBSERVATION_MAX]);
        double (*reward)(const View *view);
        /* A simple controller, for comparison. */
        void (*rules)(const View *view, float ret_openings[N_VALVES]);
} Task;

extern const Task theta_task, tidal_task;
extern const ActordEnv theta_env, tidal_env;
