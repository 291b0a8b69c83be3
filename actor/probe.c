/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A probe asks an environment for its spec before a job starts, and tries to begin an episode: if it cannot,
 * the job is refused and not retried. Each later process is probed, too: slots are laid out by the first
 * answer, and an environment with another spec would write beyond its slot. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "actor/host.h"
#include "lib/cleanup.h"
#include "lib/rng.h"
#include "lib/slot.h"

/* Begins one episode, on a stream that no job uses: a job's episodes count from 1. */
static int episode_try(
                const JobSettings *settings, const ActordEnv *env, void *instance, void *observation) {
        ActordRandom random;
        int r;

        r = env->init(instance, settings->options, settings->n_options);
        if (r < 0)
                return r;
        random_begin(&random, settings->seed, RANDOM_RESET, 0, 0, 0);
        r = env->reset(instance, &random, observation);
        env->close(instance);
        return r;
}

static int environment_try(const ActorContext *context, const ActordEnv *env, const ActordEnvSpec *spec) {
        size_t bytes = spec->instance_bytes > 0 ? spec->instance_bytes : 1;
        _cleanup_free_ void *observation = NULL;
        void *instance;
        int r;

        observation = calloc(space_numbers(&spec->observation), element_bytes(spec->observation.element));
        if (!observation)
                return -ENOMEM;
        instance = instance_memory_take(bytes);
        if (!instance)
                return -ENOMEM;

        r = episode_try(context->settings, env, instance, observation);
        instance_memory_give_back(instance, bytes);
        return r;
}

/* Equal, except that snapshots may be shorter. */
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
                answer_fault(ret, FAULT_LOAD, -r);
                return;
        }
        memcpy(&context->worker->spec, &spec, sizeof(spec));

        if (spec_check(&spec, &field) < 0) {
                answer_fault(ret, FAULT_SPEC, field);
                return;
        }
        if (context->page && !spec_agrees(&spec, &context->page->spec)) {
                answer_fault(ret, FAULT_SPEC, SPEC_FIELD_OTHER);
                return;
        }

        r = environment_try(context, env, &spec);
        if (r < 0)
                answer_fault(ret, FAULT_ENVIRONMENT, -r);
}
