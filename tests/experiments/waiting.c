/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An environment whose steps only wait, as for a slow simulator elsewhere, and need no CPU. An experiment
 * loads it instead of env-box2d.so, so that one host can run as many actors as many hosts would. WAIT_USEC:
 * how long a step takes. NUMBERS: how many numbers an observation has. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "actord/env.h"

typedef struct Waiting {
        uint32_t n_steps, pad;
        float position;
} Waiting;

static int waiting_spec(const ActordOption *options, uint32_t n_options, ActordEnvSpec *ret) {
        (void) options;
        (void) n_options;
        *ret = (ActordEnvSpec){
                .name = "LunarLander-v3",
                .observation = { ACTORD_BOX, ACTORD_F32, 1, 0, { NUMBERS }, -10, 10 },
                .action = { ACTORD_DISCRETE, ACTORD_I32, 0, 2 },
                .horizon_steps = 200,
                .n_agents = 1,
                .reward_low = -1,
                .reward_high = 1,
                .solved_return = NAN,
                .instance_bytes = sizeof(Waiting),
                .snapshot_bytes = sizeof(Waiting),
        };
        return 0;
}

static int waiting_init(void *instance, const ActordOption *options, uint32_t n_options) {
        (void) options;
        (void) n_options;
        *(Waiting *) instance = (Waiting){};
        return 0;
}

static void show(const Waiting *w, float *ret) {
        for (uint32_t i = 0; i < NUMBERS; i++)
                ret[i] = w->position * (float) (1 + i % 3);
}

static int waiting_reset(void *instance, ActordRandom *random, void *ret_observation) {
        Waiting *w = instance;

        (void) random;
        *w = (Waiting){};
        show(w, ret_observation);
        return 0;
}

static int waiting_step(void *instance, const void *action, ActordRandom *random, void *ret_observation,
                ActordStep *ret) {
        const struct timespec wait = { .tv_sec = WAIT_USEC / 1000000,
                .tv_nsec = WAIT_USEC % 1000000 * 1000L };
        Waiting *w = instance;
        int32_t choice;

        (void) random;
        memcpy(&choice, action, sizeof(choice));
        (void) nanosleep(&wait, NULL);
        w->n_steps++;
        w->position = 0.9f * w->position + (choice == 1 ? 0.1f : -0.1f);
        show(w, ret_observation);
        *ret = (ActordStep){ .reward = 1 - fabsf(w->position) };
        return 0;
}

static int waiting_snapshot(const void *instance, void *ret_snapshot) {
        memcpy(ret_snapshot, instance, sizeof(Waiting));
        return 0;
}

static int waiting_restore(void *instance, const void *snapshot) {
        memcpy(instance, snapshot, sizeof(Waiting));
        return 0;
}

static void waiting_close(void *instance) {
        (void) instance;
}

static const ActordEnv waiting = {
        ACTORD_ENV_ABI,
        sizeof(ActordEnv),
        waiting_spec,
        waiting_init,
        waiting_reset,
        waiting_step,
        waiting_snapshot,
        waiting_restore,
        waiting_close,
};

__attribute__((visibility("default"))) const ActordEnv *actord_env_find(const char *name);

const ActordEnv *actord_env_find(const char *name) {
        return strcmp(name, "LunarLander-v3") == 0 ? &waiting : NULL;
}
