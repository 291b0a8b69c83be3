/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A probe asks an environment for its spec before a job starts, and tries to begin an episode. If this
 * fails, the job fails without another try, unless the process was killed from outside. Each later process
 * is probed, too: the first answer decided the layout of slots, and an environment with another spec would
 * write beyond its slot. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "actor/host.h"
#include "lib/cleanup.h"
#include "lib/company.h"
#include "lib/rng.h"
#include "lib/slot.h"

/* Begins one episode, with the random stream of episode 0. A job's episodes count from 1, so no job uses
 * this stream. */
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

        observation = calloc(spec->n_agents * space_numbers(&spec->observation),
                        element_bytes(spec->observation.element));
        if (!observation)
                return -ENOMEM;
        instance = instance_memory_take(bytes);
        if (!instance)
                return -ENOMEM;

        r = episode_try(context->settings, env, instance, observation);
        instance_memory_give_back(instance, bytes);
        return r;
}

static void dataset_try(const ActorContext *context, const ActordEnvSpec *spec, Answer *ret) {
        const JobSettings *settings = context->settings;
        uint64_t n_slots = (uint64_t) settings_actors_max(settings) * settings->envs_per_actor;
        Dataset *dataset = NULL;
        int32_t detail;

        detail = context->dataset_module->read(context->dataset, context->dataset_bytes, spec, &dataset);
        if (detail == 0 && dataset->n_steps < n_slots)
                detail = dataset_detail(DATASET_SLOTS, 0);
        if (detail != 0)
                answer_fault(ret, FAULT_DATASET, detail);
        dataset_free(dataset);
}

/* Whether the environment's spec agrees with `first`, the spec in the job page. Only its snapshots may be
 * shorter. */
static bool spec_agrees(const JobSettings *settings, const ActordEnvSpec *spec, const ActordEnvSpec *first) {
        ActordEnvSpec own = *spec, same;

        if (spec->snapshot_bytes > first->snapshot_bytes || regulation_spec(settings, &own) < 0 ||
                        company_spec(settings, &own, &same) < 0)
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
                memcpy(context->worker->spec.name, spec.name, sizeof(spec.name));
                answer_fault(ret, FAULT_LOAD, -r);
                return;
        }
        memcpy(&context->worker->spec, &spec, sizeof(spec));

        if (spec_check(&spec, &field) < 0) {
                answer_fault(ret, FAULT_SPEC, field);
                return;
        }
        if (env_lacks(env, &spec) != SPEC_FIELD_NONE) {
                answer_fault(ret, FAULT_SPEC, env_lacks(env, &spec));
                return;
        }
        if (context->page && !spec_agrees(context->settings, &spec, &context->page->spec)) {
                answer_fault(ret, FAULT_SPEC, SPEC_FIELD_OTHER);
                return;
        }

        r = environment_try(context, env, &spec);
        if (r < 0) {
                answer_fault(ret, FAULT_ENVIRONMENT, -r);
                return;
        }

        /* a later probe need not read the file: each container checks all of it at its first rollout */
        if (context->dataset_module && !context->page)
                dataset_try(context, &spec, ret);
}
