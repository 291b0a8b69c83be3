/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An environment with metrics that a test can compute itself. [Environment] How= chooses in which way the
 * metrics are wrong. The tests compile this file with the installed header alone. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "actord/env.h"

#ifndef TABLE_BYTES
#define TABLE_BYTES sizeof(ActordEnv)
#endif

enum { N_METRICS = 4, HORIZON = 50 };

typedef struct Measured {
        double how, sum, n_steps;
} Measured;

static const char *const words[] = { "", "infinite", "huge", "many", "capital", "twice", "error", "forget" };
enum { HOW_HONEST, HOW_INFINITE, HOW_HUGE, HOW_MANY, HOW_CAPITAL, HOW_TWICE, HOW_ERROR, HOW_FORGET, N_HOW };

static int how_of(const ActordOption *options, uint32_t n) {
        for (uint32_t i = 0; i < n; i++) {
                if (strcmp(options[i].key, "How") != 0)
                        return -EINVAL;
                for (int how = 0; how < N_HOW; how++)
                        if (strcmp(options[i].value, words[how]) == 0)
                                return how;
                return -EINVAL;
        }
        return HOW_HONEST;
}

static int measured_spec(const ActordOption *options, uint32_t n_options, ActordEnvSpec *ret) {
        int how = how_of(options, n_options);

        if (how < 0)
                return how;
        *ret = (ActordEnvSpec){
                .name = "measured",
                .observation = { ACTORD_BOX, ACTORD_F32, 1, 0, { 1 }, -10, 10 },
                .action = { ACTORD_DISCRETE, ACTORD_I32, 0, 2 },
                .horizon_steps = HORIZON,
                .n_agents = 1,
                .reward_low = -1,
                .reward_high = 1,
                .solved_return = NAN,
                .instance_bytes = sizeof(Measured),
                .snapshot_bytes = sizeof(Measured),
                .n_metrics = how == HOW_MANY ? ACTORD_METRICS_MAX + 1 : N_METRICS,
                .metrics = { "sum", "length", "never", "if_positive" },
        };
        if (how == HOW_CAPITAL)
                strcpy(ret->metrics[1], "Steps");
        if (how == HOW_TWICE)
                strcpy(ret->metrics[1], "sum");
        return 0;
}

static int measured_init(void *instance, const ActordOption *options, uint32_t n_options) {
        ((Measured *) instance)->how = how_of(options, n_options);
        return 0;
}

static int measured_reset(void *instance, ActordRandom *random, void *ret_observation) {
        Measured *m = instance;

        (void) random;
        m->sum = m->n_steps = 0;
        memset(ret_observation, 0, sizeof(float));
        return 0;
}

static int measured_step(void *instance, const void *action, ActordRandom *random, void *ret_observation,
                ActordStep *ret) {
        float seen = (float) actord_random_uniform(random, -1, 1);
        Measured *m = instance;
        int32_t choice;

        memcpy(&choice, action, sizeof(choice));
        memcpy(ret_observation, &seen, sizeof(seen));
        *ret = (ActordStep){ .reward = choice == 0 ? seen : -seen, .terminated = seen > 0.99 };
        m->sum += ret->reward;
        m->n_steps++;
        return 0;
}

static int measured_metrics(const void *instance, double *ret) {
        const Measured *m = instance;

        if (m->how == HOW_ERROR)
                return -EIO;
        ret[0] = m->sum;
        ret[1] = m->n_steps;
        if (m->how == HOW_INFINITE || m->how == HOW_HUGE)
                ret[1] = m->how == HOW_INFINITE ? INFINITY : -1e308;
        ret[2] = NAN;
        ret[3] = m->sum > 0 ? 1 : NAN;
        return 0;
}

static int measured_snapshot(const void *instance, void *ret_snapshot) {
        Measured m = *(const Measured *) instance;

        if (m.how == HOW_FORGET)
                m.sum = 0;
        memcpy(ret_snapshot, &m, sizeof(m));
        return 0;
}

static int measured_restore(void *instance, const void *snapshot) {
        memcpy(instance, snapshot, sizeof(Measured));
        return 0;
}

static void measured_close(void *instance) {
        (void) instance;
}

extern const ActordEnv actord_env;
const ActordEnv actord_env = {
        .abi = ACTORD_ENV_ABI,
        .struct_bytes = TABLE_BYTES,
        .spec = measured_spec,
        .init = measured_init,
        .reset = measured_reset,
        .step = measured_step,
        .snapshot = measured_snapshot,
        .restore = measured_restore,
        .close = measured_close,
        .metrics = measured_metrics,
};
