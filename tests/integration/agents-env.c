/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An environment of several agents ([Environment] Agents=N). Each agent is shown a sign and is paid for
 * naming it. Tests compile this file with the installed header alone. */
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "actord/env.h"

enum { HORIZON = 20 };

/* A test may compile this file with a smaller number, so that the table ends before its last functions. */
#ifndef TABLE_BYTES
#define TABLE_BYTES sizeof(ActordEnv)
#endif

typedef struct Agents {
        double n, apart; /* apart: agent 0 and the others contradict each other about the episode's end */
        double others;   /* an agent is paid for naming the next agent's sign, which its observation lacks */
        double come;     /* agents take turns to be absent */
        double garbage;  /* an absent agent's observation and reward are nonsense */
        double empty;    /* from step 5 on, all agents are absent */
        double weather;  /* not 0: each episode has a weather that no agent sees; 2: shared() tells it */
        double fair;     /* 1: this episode has fair weather, and each reward is higher by 1 */
        double n_steps;
        double sums[ACTORD_AGENTS_MAX];
        float signs[ACTORD_AGENTS_MAX];
} Agents;

static int parse(const ActordOption *options, uint32_t n, Agents *ret) {
        *ret = (Agents){ .n = 3 };
        for (uint32_t i = 0; i < n; i++)
                if (strcmp(options[i].key, "Agents") == 0)
                        ret->n = atof(options[i].value);
                else if (strcmp(options[i].key, "Apart") == 0)
                        ret->apart = atof(options[i].value);
                else if (strcmp(options[i].key, "Others") == 0)
                        ret->others = atof(options[i].value);
                else if (strcmp(options[i].key, "Come") == 0)
                        ret->come = atof(options[i].value);
                else if (strcmp(options[i].key, "Garbage") == 0)
                        ret->garbage = atof(options[i].value);
                else if (strcmp(options[i].key, "Weather") == 0)
                        ret->weather = atof(options[i].value);
                else if (strcmp(options[i].key, "Empty") == 0)
                        ret->empty = atof(options[i].value);
                else
                        return -EINVAL;
        return 0;
}

static int agents_spec(const ActordOption *options, uint32_t n_options, ActordEnvSpec *ret) {
        Agents a;
        int r;

        r = parse(options, n_options, &a);
        if (r < 0)
                return r;
        *ret = (ActordEnvSpec){
                .name = "agents",
                .observation = { ACTORD_BOX, ACTORD_F32, 1, 0, { 2 }, -1, 1 },
                .action = { ACTORD_DISCRETE, ACTORD_I32, 0, 2 },
                .horizon_steps = HORIZON,
                .n_agents = (uint32_t) a.n,
                .reward_low = 0,
                .reward_high = a.weather > 0 ? 2 : 1,
                .solved_return = NAN,
                .instance_bytes = sizeof(Agents),
                .snapshot_bytes = sizeof(Agents),
                .flags = a.come > 0 ? ACTORD_ENV_COME_AND_GO : 0,
                .n_shared = a.weather > 1 ? 1 : 0,
                .n_metrics = 2,
                .metrics = { "mean", "spread" },
        };
        return 0;
}

static int agents_init(void *instance, const ActordOption *options, uint32_t n_options) {
        return parse(options, n_options, instance);
}

/* Each agent but the last is away for four of twelve steps. */
static int is_there(const Agents *a, int i) {
        if (a->empty > 0 && a->n_steps >= 5)
                return 0;
        return a->come <= 0 || i == (int) a->n - 1 || ((int) a->n_steps / 4 + i) % 3 != 0;
}

static void show(Agents *a, ActordRandom *random, float *ret_observation) {
        for (int i = 0; i < (int) a->n; i++) {
                a->signs[i] = actord_random_u32(random) & 1 ? 1 : -1;
                ret_observation[2 * i] = a->signs[i];
                ret_observation[2 * i + 1] = (float) i / ACTORD_AGENTS_MAX;
                if (!is_there(a, i)) {
                        ret_observation[2 * i] = a->garbage > 0 ? (float) cos(a->n_steps) : 0;
                        ret_observation[2 * i + 1] = a->garbage > 0 ? (float) sin(a->n_steps) : 0;
                }
        }
}

static int agents_reset(void *instance, ActordRandom *random, void *ret_observation) {
        Agents *a = instance;

        memset(a->sums, 0, sizeof(a->sums));
        a->n_steps = 0;
        a->fair = a->weather > 0 ? actord_random_u32(random) & 1 : 0;
        show(a, random, ret_observation);
        return 0;
}

static int agents_step(void *instance, const void *action, ActordRandom *random, void *ret_observation,
                ActordStep *ret) {
        int32_t choices[ACTORD_AGENTS_MAX];
        Agents *a = instance;
        uint8_t ends = actord_random_u32(random) % 50 == 0;

        memcpy(choices, action, (size_t) a->n * sizeof(choices[0]));
        for (int i = 0; i < (int) a->n; i++) {
                int named = a->others > 0 ? (i + 1) % (int) a->n : i;

                ret[i] = (ActordStep){ .reward = choices[i] == (a->signs[named] > 0), .terminated = ends };
                ret[i].reward += a->fair;
                if (!is_there(a, i))
                        ret[i].reward = a->garbage > 0;
                if (a->apart > 0 && i > 0)
                        ret[i].terminated = !ends;
                a->sums[i] += is_there(a, i) ? ret[i].reward : 0;
        }
        a->n_steps++;
        show(a, random, ret_observation);
        return 0;
}

static int agents_active(const void *instance, uint8_t *ret) {
        const Agents *a = instance;

        for (int i = 0; i < (int) a->n; i++)
                ret[i] = (uint8_t) is_there(a, i);
        return 0;
}

/* The shared state: 1 in fair weather, otherwise -1. The spec has it only with Weather=2. */
static int agents_shared(const void *instance, float *ret) {
        const Agents *a = instance;

        ret[0] = a->fair > 0 ? 1 : -1;
        return 0;
}

/* The mean of the agents' returns, and how far apart they are. */
static int agents_metrics(const void *instance, double *ret) {
        const Agents *a = instance;
        double low = INFINITY, high = 0, sum = 0;

        for (int i = 0; i < (int) a->n; i++) {
                sum += a->sums[i];
                low = fmin(low, a->sums[i]);
                high = fmax(high, a->sums[i]);
        }
        ret[0] = sum / a->n;
        ret[1] = high - low;
        return 0;
}

static int agents_snapshot(const void *instance, void *ret_snapshot) {
        memcpy(ret_snapshot, instance, sizeof(Agents));
        return 0;
}

static int agents_restore(void *instance, const void *snapshot) {
        memcpy(instance, snapshot, sizeof(Agents));
        return 0;
}

static void agents_close(void *instance) {
        (void) instance;
}

extern const ActordEnv actord_env;
const ActordEnv actord_env = {
        .abi = ACTORD_ENV_ABI,
        .struct_bytes = TABLE_BYTES,
        .spec = agents_spec,
        .init = agents_init,
        .reset = agents_reset,
        .step = agents_step,
        .snapshot = agents_snapshot,
        .restore = agents_restore,
        .close = agents_close,
        .metrics = agents_metrics,
        .active = agents_active,
        .shared = agents_shared,
};
