/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The memory that a container keeps between orders: instances of the environment, and scratch memory. Its
 * actors take turns on the same instances, since a slot's state comes from a snapshot and goes back into
 * one.
 *
 * A sticky environment has no snapshots. So each slot has its own instance, and the state exists only there.
 * When the container dies, is never thawed again or repeats an invocation, the slot's present episode is
 * lost and a new one begins. */
#include "actor/host.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/algorithm-traits.h"
#include "lib/cleanup.h"
#include "lib/company.h"
#include "lib/noise.h"
#include "lib/slot.h"

DEFINE_CLEANUP(Host *, host_free)

static uint64_t host_sets(const ActorContext *context) {
        uint32_t n_actors = settings_actors_max(context->settings);

        if (!(context->page->spec.flags & ACTORD_ENV_STICKY))
                return 1;
        return (n_actors + context->n_containers - 1) / context->n_containers;
}

void *instance_memory_take(uint64_t bytes) {
        void *memory;

        /* cppcheck-suppress invalidFunctionArg ; anonymous memory is given -1 */
        memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return memory == MAP_FAILED ? NULL : memory;
}

void instance_memory_give_back(void *memory, uint64_t bytes) {
        if (memory)
                (void) munmap(memory, bytes);
}

static int host_take_instances(Host *host) {
        uint64_t stride = (host->context->page->spec.instance_bytes + 63) & ~UINT64_C(63);
        uint64_t n = host_sets(host->context) * host->envs + 1;
        void *memory;

        stride = stride > 0 ? stride : 64;
        if (n > UINT32_MAX || __builtin_mul_overflow(n, stride, &host->instance_memory_bytes))
                return -ENOMEM;

        host->instances = calloc(n, sizeof(Instance));
        if (!host->instances)
                return -ENOMEM;

        memory = instance_memory_take(host->instance_memory_bytes);
        if (!memory)
                return -ENOMEM;

        host->instance_memory = memory;
        host->n_instances = (uint32_t) n;
        for (uint64_t i = 0; i < n; i++)
                host->instances[i].memory = (uint8_t *) memory + i * stride;
        return 0;
}

int host_new(const ActorContext *context, const ActordEnv *env, Host **ret) {
        _cleanup_(host_freep) Host *host = NULL;
        const JobPage *page;
        uint32_t n_agents;
        int r;

        assert(context && context->page);
        assert(env);
        assert(ret);

        page = context->page;
        host = calloc(1, sizeof(*host));
        if (!host)
                return -ENOMEM;
        host->context = context;
        host->env = env;
        host->envs = page->segment.envs;
        n_agents = page->spec.n_agents;
        host->regulated = regulation_asked(context->settings);
        if (host->regulated)
                regulation_init(&host->regulation, context->settings, &page->spec);

        r = forward_new_judged(&page->network, &page->judge, &page->spec, &host->forward);
        if (r < 0)
                return r;
        r = host_take_instances(host);
        if (r < 0)
                return r;

        host->states = calloc(host->envs, sizeof(*host->states));
        if (algorithm_pair_steps(context->settings) > 0) {
                host->pairs = calloc(host->envs / 2, sizeof(*host->pairs));
                if (!host->pairs)
                        return -ENOMEM;
        }
        if (noise_bytes(&page->network) > 0) {
                /* one for each slot, and one for each agent of the environment that evaluates */
                host->noise = calloc(host->envs + n_agents, noise_bytes(&page->network));
                if (!host->noise)
                        return -ENOMEM;
        }
        host->parameters = calloc(FORWARD_ROWS_MAX * forward_parameters(&page->network), sizeof(float));
        host->action = calloc(n_agents, page->segment.action_bytes);
        host->steps = calloc(n_agents, sizeof(*host->steps));
        host->sample = calloc(1, page->segment.action_bytes);
        host->observation = calloc(n_agents, page->segment.observation_bytes);
        host->before = calloc(1, page->segment.observation_bytes);
        memset(host->active, 1, sizeof(host->active));
        memset(host->acted, 1, sizeof(host->acted));
        host->come_and_go = page->spec.flags & ACTORD_ENV_COME_AND_GO;
        if (algorithm_row(context->settings->algorithm)->company) {
                host->own = calloc(n_agents * page->n_own, sizeof(float));
                host->shared = calloc(page->spec.n_shared + UINT64_C(1), sizeof(float));
                if (!host->own || !host->shared)
                        return -ENOMEM;
        }
        if (page->segment.frames > 1)
                host->stacks = calloc((size_t) host->envs + n_agents, page->segment.observation_bytes);
        if (!host->states || (page->segment.frames > 1 && !host->stacks) || !host->parameters ||
                        !host->action || !host->steps || !host->sample || !host->observation ||
                        !host->before)
                return -ENOMEM;

        *ret = TAKE_PTR(host);
        return 0;
}

Host *host_free(Host *host) {
        if (!host)
                return NULL;

        for (uint32_t i = 0; i < host->n_instances; i++)
                if (host->instances[i].initialised)
                        host->env->close(host->instances[i].memory);

        dataset_free(host->dataset);
        free(host->stacks);
        free(host->before);
        free(host->shared);
        free(host->own);
        free(host->observation);
        free(host->sample);
        free(host->steps);
        free(host->action);
        free(host->parameters);
        free(host->pairs);
        free(host->noise);
        free(host->states);
        instance_memory_give_back(host->instance_memory, host->instance_memory_bytes);
        free(host->instances);
        (void) forward_free(host->forward);
        free(host);
        return NULL;
}

static int instance_acquire(Host *host, uint32_t i, Instance **ret) {
        const JobSettings *settings = host->context->settings;
        Instance *instance;
        int r;

        assert(i < host->n_instances);

        instance = &host->instances[i];
        if (!instance->initialised) {
                r = host->env->init(instance->memory, settings->options, settings->n_options);
                if (r < 0)
                        return r;
                instance->initialised = true;
        }

        *ret = instance;
        return 0;
}

int host_instance(Host *host, uint32_t actor, uint32_t e, Instance **ret) {
        uint32_t set = host_sets(host->context) > 1 ? actor / host->context->n_containers : 0;

        assert(e < host->envs);

        return instance_acquire(host, set * host->envs + e, ret);
}

int host_evaluation_instance(Host *host, Instance **ret) {
        return instance_acquire(host, host->n_instances - 1, ret);
}

void host_act(const Host *host, const void *observation, const void *policy, void *ret_action) {
        const void *whole = policy;

        if (host->regulated) {
                regulation_act(&host->regulation, observation, policy, ret_action);
                whole = ret_action;
        }
        action_clip(&host->context->page->spec, whole, ret_action);
}

void host_regulate(const Host *host, const void *before, const void *after, RegulationCounts *counts,
                ActordStep *step) {
        if (host->regulated)
                step->reward = regulation_step(&host->regulation, before, after, counts);
}

/* Writes the environment's own metrics and, behind them, those of the envelope (lib/regulation.h). */
int host_metrics(const Host *host, const Instance *instance, const RegulationCounts *counts, double *ret) {
        ActordEnvSpec own = host->context->page->spec;

        if (host->regulated) {
                own.n_metrics -= REGULATION_METRICS;
                regulation_metrics(counts, ret + own.n_metrics);
        }
        return env_metrics(host->env, &own, instance->memory, ret);
}

int host_policy(Host *host, const Order *order) {
        const PolicyLayout *layout = &host->context->page->policy;
        const PolicyHead *bank = policy_bank(host->context->policy, layout, order->policy_bank);

        if (bank->policy_version != order->policy_version)
                return -ESTALE;

        forward_load(host->forward, bank, layout);
        return 0;
}

int host_active(const Host *host, const Instance *instance, uint8_t *ret) {
        return env_active(host->env, &host->context->page->spec, instance->memory, ret);
}

/* Joins each agent's observation with the data about other agents, and with the state that they share. */
static int host_join(Host *host, const Instance *instance, const void *actions, void *ret_observations) {
        const JobPage *page = host->context->page;
        const CompanyIn in = {
                .own = host->own,
                .shared = host->shared,
                .actions = actions,
                .active = host->active,
                .acted = host->acted,
        };
        int r;

        if (page->spec.n_shared > 0) {
                r = host->env->shared(instance->memory, host->shared);
                if (r < 0)
                        return r;
        }
        company_join(host->context->settings, page, &in, ret_observations);
        return 0;
}

int host_show(Host *host, const Instance *instance, const void *actions, void *ret_observations) {
        int r;

        if (host->come_and_go) {
                r = host_active(host, instance, host->active);
                if (r < 0)
                        return r;
        }
        return host->own ? host_join(host, instance, actions, ret_observations) : 0;
}

int host_reset(Host *host, Instance *instance, ActordRandom *random, void *ret_observations) {
        int r;

        assert(host);
        assert(instance);

        r = host->env->reset(instance->memory, random, host->own ? host->own : ret_observations);
        if (r < 0 || (!host->own && !host->come_and_go))
                return r;
        return host_show(host, instance, NULL, ret_observations);
}

int host_step(Host *host, Instance *instance, ActordRandom *random, void *ret_observations) {
        uint32_t n_agents = host->context->page->spec.n_agents;
        int r;

        assert(host);
        assert(instance);

        if (host->come_and_go) {
                r = host_active(host, instance, host->acted);
                if (r < 0)
                        return r;
        }
        memset(host->steps, 0, n_agents * sizeof(*host->steps));
        r = host->env->step(instance->memory, host->action, random, host->own ? host->own : ret_observations,
                        host->steps);
        if (r < 0 || (!host->own && !host->come_and_go))
                return r;
        for (uint32_t a = 0; a < n_agents; a++)
                if (!host->acted[a])
                        host->steps[a].reward = 0;
        return host_show(host, instance, host->action, ret_observations);
}
