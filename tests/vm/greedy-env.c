/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An environment that takes memory ([Environment] Take=, MiB) or time (Spin=, microseconds a step) on demand. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include "actord/env.h"

typedef struct Greedy {
        uint32_t take_mib, spin_usec, steps;
} Greedy;

static uint32_t option_number(const ActordOption *options, uint32_t n, const char *key) {
        for (uint32_t i = 0; i < n; i++)
                if (strcmp(options[i].key, key) == 0)
                        return (uint32_t) strtoul(options[i].value, NULL, 10);
        return 0;
}

static int greedy_spec(const ActordOption *options, uint32_t n_options, ActordEnvSpec *ret) {
        *ret = (ActordEnvSpec){
                .name = "greedy",
                .observation = { ACTORD_BOX, ACTORD_F32, 1, 0, { 1 }, -10, 10 },
                .action = { ACTORD_DISCRETE, ACTORD_I32, 0, 2 },
                .horizon_steps = 50,
                .n_agents = 1,
                .reward_low = -1,
                .reward_high = 1,
                .solved_return = NAN,
                .instance_bytes = sizeof(Greedy),
                .snapshot_bytes = sizeof(Greedy),
        };
        return 0;
}

static int greedy_init(void *instance, const ActordOption *options, uint32_t n_options) {
        Greedy *g = instance;

        g->take_mib = option_number(options, n_options, "Take");
        g->spin_usec = option_number(options, n_options, "Spin");
        return 0;
}

static int greedy_reset(void *instance, ActordRandom *random, void *ret_observation) {
        *(float *) ret_observation = (float) actord_random_uniform(random, -1, 1);
        ((Greedy *) instance)->steps = 0;
        return 0;
}

static int greedy_step(void *instance, const void *action, ActordRandom *random, void *ret_observation,
                ActordStep *ret) {
        Greedy *g = instance;
        clock_t end = clock() + (clock_t) ((uint64_t) g->spin_usec * CLOCKS_PER_SEC / 1000000);

        if (g->take_mib > 0 && g->steps == 10) {
                size_t n = (size_t) g->take_mib << 20;
                char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

                if (p == MAP_FAILED)
                        return -12;
                memset(p, 1, n);
        }
        while (clock() < end)
                ;
        g->steps++;
        *(float *) ret_observation = (float) g->steps / 50;
        *ret = (ActordStep){ .reward = *(const int32_t *) action ? 1 : 0 };
        return 0;
}

static int greedy_snapshot(const void *instance, void *ret_snapshot) {
        memcpy(ret_snapshot, instance, sizeof(Greedy));
        return 0;
}

static int greedy_restore(void *instance, const void *snapshot) {
        memcpy(instance, snapshot, sizeof(Greedy));
        return 0;
}

static void greedy_close(void *instance) {
}

extern const ActordEnv actord_env;
const ActordEnv actord_env = {
        ACTORD_ENV_ABI,
        sizeof(ActordEnv),
        greedy_spec,
        greedy_init,
        greedy_reset,
        greedy_step,
        greedy_snapshot,
        greedy_restore,
        greedy_close,
};
