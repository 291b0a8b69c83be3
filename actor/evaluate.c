/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An evaluation: one whole episode with its own random streams. It touches no slot, so a job learns the same
 * with and without evaluations. With the same seed, episode k has the same random numbers for every policy
 * and for all other settings. So two policies can be compared on common random numbers. */
#include <assert.h>
#include <errno.h>

#include "actor/host.h"
#include "lib/noise.h"
#include "lib/rng.h"
#include "lib/slot.h"

/* A limit for environments without a horizon: these may never end an episode by themselves. */
enum { EVALUATION_STEPS_MAX = 1000000 };

/* Evaluations have their own RANDOM_ purposes, so this number collides with no slot of the job. */
enum { EVALUATION_SLOT = 0 };

/* The noise of an evaluation's agent. It is stored after the noise of the slots. */
static double *evaluation_noise(const Host *host, uint32_t agent) {
        return host->noise + (size_t) (host->envs + agent) * host->context->page->network.n_action;
}

static void act(Host *host, uint64_t episode, uint32_t t) {
        const JobSettings *settings = host->context->settings;
        const JobPage *page = host->context->page;
        const SegmentLayout *l = &page->segment;
        ActordRandom random;

        for (uint32_t a = 0; a < l->agents; a++) {
                random_begin(&random, settings->seed, RANDOM_EVALUATE_ACTION, EVALUATION_SLOT + a, episode,
                                t);
                forward_draw(host->forward, 0, &random);
                forward_row(host->forward, (uint8_t *) host->observation + a * l->observation_bytes,
                                host->parameters);
                action_sample(&page->network, host->parameters, !settings->evaluation_stochastic, &random,
                                host->sample, NULL);
                if (host->noise && settings->evaluation_stochastic)
                        noise_step(&page->network, evaluation_noise(host, a), &random, host->sample);
                host_act(host, (uint8_t *) host->observation + a * l->observation_bytes, host->sample,
                                (uint8_t *) host->action + a * l->action_bytes);
        }
}

/* The result of a step for the whole environment: the mean of its agents' rewards, as a job's returns are
 * means over agents. */
static ActordStep step_of_all(const Host *host) {
        uint32_t n_agents = host->context->page->segment.agents;
        ActordStep all = host->steps[0];

        for (uint32_t a = 1; a < n_agents; a++)
                all.reward += host->steps[a].reward;
        all.reward /= n_agents;
        return all;
}

int evaluation_step(Host *host, Instance *instance, uint64_t episode, uint32_t t, ActordStep *ret) {
        ActordRandom random;
        int r;

        act(host, episode, t);
        memcpy(host->before, host->observation, host->context->page->segment.observation_bytes);
        random_begin(&random, host->context->settings->seed, RANDOM_EVALUATE_STEP, EVALUATION_SLOT, episode,
                        t);
        r = host_step(host, instance, &random, host->observation);
        if (r < 0)
                return r;
        host_regulate(host, host->before, host->observation, &host->counts, host->steps);
        *ret = step_of_all(host);
        return 0;
}

int evaluation_begin(Host *host, uint64_t episode, Instance **ret) {
        ActordRandom random;
        Instance *instance;
        int r;

        r = host_evaluation_instance(host, &instance);
        if (r < 0)
                return r;

        random_begin(&random, host->context->settings->seed, RANDOM_EVALUATE_RESET, EVALUATION_SLOT, episode,
                        0);
        host->counts = (RegulationCounts){};
        if (host->noise)
                memset(evaluation_noise(host, 0), 0,
                                host->context->page->spec.n_agents *
                                                noise_bytes(&host->context->page->network));
        r = host_reset(host, instance, &random, host->observation);
        if (r < 0)
                return r;

        *ret = instance;
        return 0;
}

int evaluation_set_state(Host *host, Instance *instance, const double *state) {
        void *shown = host->own ? host->own : host->observation;
        int r;

        assert(env_has_state(host->env));

        r = host->env->set_state(instance->memory, state, shown);
        if (r < 0)
                return r;
        return host_show(host, instance, NULL, host->observation);
}

bool evaluation_ended(const Host *host, const ActordStep *step, uint32_t t) {
        uint32_t horizon = host->context->page->spec.horizon_steps;

        return step->terminated || step->truncated || t >= (horizon > 0 ? horizon : EVALUATION_STEPS_MAX);
}

static int evaluation_episode(Host *host, uint64_t episode, Answer *ret) {
        double sum = 0;
        ActordStep step = {};
        Instance *instance;
        uint32_t t;
        int r;

        r = evaluation_begin(host, episode, &instance);
        if (r < 0)
                return r;

        for (t = 0; !evaluation_ended(host, &step, t); t++) {
                r = evaluation_step(host, instance, episode, t, &step);
                if (r < 0)
                        return r;
                sum += step.reward;
        }

        ret->episode_return = sum;
        ret->n_steps = t;
        return host_metrics(host, instance, &host->counts, ret->metrics);
}

void evaluation_run(Host *host, const Order *order, Answer *ret) {
        int r;

        assert(host);
        assert(order);
        assert(ret);

        r = host_policy(host, order);
        if (r < 0) {
                answer_fault(ret, FAULT_INTERNAL, -r);
                return;
        }

        r = evaluation_episode(host, order->ordinal, ret);
        if (r < 0)
                answer_fault(ret, FAULT_ENVIRONMENT, -r);
}
