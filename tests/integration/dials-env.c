/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An environment whose action is several choices at once: three dials of 2, 3 and 4 positions. A signal
 * shows the right position of each dial. Each dial in its right position pays a third. With [Environment]
 * Equal=1 all dials have 3 positions, as the first version of the ABI describes them. With Choices=1 the
 * signals are observed as choices of 4. The tests compile this file with the installed header alone, or with
 * the header of the first version. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "actord/env.h"

enum { DIALS = 3, SHOWN = 9, HORIZON = 20 };

typedef struct Dials {
        uint32_t sizes[DIALS], signals[DIALS];
        int choices;
} Dials;

/* Last=N: how many positions the last dial has. */
static int parse(const ActordOption *options, uint32_t n, Dials *ret) {
        *ret = (Dials){ .sizes = { 2, 3, 4 } };
        for (uint32_t i = 0; i < n; i++)
                if (strcmp(options[i].key, "Equal") == 0)
                        ret->sizes[0] = ret->sizes[1] = ret->sizes[2] = 3;
                else if (strcmp(options[i].key, "Last") == 0)
                        ret->sizes[2] = (uint32_t) atoi(options[i].value);
                else if (strcmp(options[i].key, "Choices") == 0)
                        ret->choices = 1;
                else
                        return -EINVAL;
        return 0;
}

static int dials_spec(const ActordOption *options, uint32_t n_options, ActordEnvSpec *ret) {
        Dials d;
        int r;

        r = parse(options, n_options, &d);
        if (r < 0)
                return r;
        *ret = (ActordEnvSpec){
                .name = "dials",
                .observation = { ACTORD_BOX, ACTORD_F32, 1, 0, { SHOWN }, 0, 1 },
                .action = { ACTORD_MULTI_DISCRETE, ACTORD_I32, 1, 0, { DIALS } },
                .horizon_steps = HORIZON,
                .n_agents = 1,
                .reward_low = 0,
                .reward_high = 1,
                .solved_return = NAN,
                .instance_bytes = sizeof(Dials),
                .snapshot_bytes = sizeof(Dials),
        };
        if (d.choices)
                ret->observation = (ActordSpace){ ACTORD_MULTI_DISCRETE, ACTORD_I32, 1, 4, { DIALS } };
        if (d.sizes[0] == d.sizes[1])
                ret->action.n_choices = d.sizes[0];
#if ACTORD_ENV_ABI >= 2
        else
                memcpy(ret->action_choices, d.sizes, sizeof(d.sizes));
#endif
        return 0;
}

static int dials_init(void *instance, const ActordOption *options, uint32_t n_options) {
        return parse(options, n_options, instance);
}

static int dials_reset(void *instance, ActordRandom *random, void *ret_observation) {
        float *shown = ret_observation;
        Dials *d = instance;

        for (int i = 0; i < DIALS; i++)
                d->signals[i] = actord_random_u32(random) % d->sizes[i];
        if (d->choices) {
                memcpy(ret_observation, d->signals, sizeof(d->signals));
                return 0;
        }
        memset(shown, 0, SHOWN * sizeof(float));
        for (int i = 0; i < DIALS; i++) {
                shown[d->signals[i]] = 1;
                shown += d->sizes[i];
        }
        return 0;
}

static int dials_step(void *instance, const void *action, ActordRandom *random, void *ret_observation,
                ActordStep *ret) {
        int32_t positions[DIALS], n_right = 0;
        Dials *d = instance;

        memcpy(positions, action, sizeof(positions));
        for (int i = 0; i < DIALS; i++) {
                if (positions[i] < 0 || (uint32_t) positions[i] >= d->sizes[i])
                        return -ERANGE;
                n_right += (uint32_t) positions[i] == d->signals[i];
        }
        *ret = (ActordStep){ .reward = (double) n_right / DIALS };
        return dials_reset(instance, random, ret_observation);
}

static int dials_snapshot(const void *instance, void *ret_snapshot) {
        memcpy(ret_snapshot, instance, sizeof(Dials));
        return 0;
}

static int dials_restore(void *instance, const void *snapshot) {
        memcpy(instance, snapshot, sizeof(Dials));
        return 0;
}

static void dials_close(void *instance) {
        (void) instance;
}

extern const ActordEnv actord_env;
const ActordEnv actord_env = {
        .abi = ACTORD_ENV_ABI,
        .struct_bytes = sizeof(ActordEnv),
        .spec = dials_spec,
        .init = dials_init,
        .reset = dials_reset,
        .step = dials_step,
        .snapshot = dials_snapshot,
        .restore = dials_restore,
        .close = dials_close,
};
