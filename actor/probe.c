/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What an environment is, asked before a job starts: its spec, and whether it can begin an episode at
 * all, so that a job with an environment that cannot is refused and not retried. Asked of each later
 * process too: the slots are laid out by what the first one said, and an environment that says something
 * else would write where it must not. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "actor/host.h"
#include "lib/cleanup.h"
#include "lib/rng.h"
#include "lib/slot.h"

/* One episode's beginning, on a stream that no job has: ordinals of episodes count from 1. */
static int environment_try(const ActorContext *context, const ActordEnv *env, const ActordEnvSpec *spec) {
        const JobSettings *settings = context->settings;
        size_t bytes = spec->instance_bytes > 0 ? spec->instance_bytes : 1;
        _cleanup_free_ void *observation = NULL;
        ActordRandom random;
        void *instance;
        int r;

        observation = calloc(space_numbers(&spec->observation), element_bytes(spec->observation.element));
        if (!observation)
                return -ENOMEM;
        instance = instance_memory_take(bytes);
        if (!instance)
                return -ENOMEM;

        r = env->init(instance, settings->options, settings->n_options);
        if (r >= 0) {
                random_begin(&random, settings->seed, RANDOM_RESET, 0, 0, 0);
                r = env->reset(instance, &random, observation);
                env->close(instance);
        }

        instance_memory_give_back(instance, bytes);
        return r;
}

/* A snapshot may be shorter than its place. */
static bool spec_agrees(const ActordEnvSpec *spec, const ActordEnvSpec *first) {
        ActordEnvSpec same = *spec;

        if (spec->snapshot_bytes > first->snapshot_bytes)
                return false;
        same.snapshot_bytes = first->snapshot_bytes;
        return memcmp((const void *) &same, (const void *) first, sizeof(same)) == 0;
}

void probe(const ActorContext *context, const ActordEnv *env, Answer *ret) {
        ActordEnvSpec spec;
        int field, r;

        assert(context);
        assert(env);
        assert(ret);

        memset(&spec, 0, sizeof(spec));
        r = env->spec(context->settings->options, context->settings->n_options, &spec);
        if (r < 0) {
                ret->fault = FAULT_LOAD;
                ret->detail = -r;
                return;
        }
        memcpy(&context->worker->spec, &spec, sizeof(spec));

        if (spec_check(&spec, &field) < 0) {
                ret->fault = FAULT_SPEC;
                ret->detail = field;
                return;
        }
        if (context->page && !spec_agrees(&spec, &context->page->spec)) {
                ret->fault = FAULT_SPEC;
                ret->detail = SPEC_FIELD_OTHER;
                return;
        }

        r = environment_try(context, env, &spec);
        if (r < 0) {
                ret->fault = FAULT_ENVIRONMENT;
                ret->detail = -r;
        }
}
