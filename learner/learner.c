/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Carries out the invoker's orders (include/turn.h). TAKE only copies and checks a rollout. LEARN alone
 * changes the state that lasts, and goes through the actors in the order of their numbers. So a rollout that
 * is rejected or taken twice has no effect. */
#include "learner/learner.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learner/init.h"
#include "lib/algorithm-traits.h"
#include "lib/cleanup.h"
#include "lib/forward.h"
#include "lib/slot.h"
#include "lib/width.h"

DEFINE_CLEANUP(Learner *, learner_free)

Learner *learner_free(Learner *learner) {
        if (!learner)
                return NULL;

        serve_free(learner->serve);
        curvature_free(learner->curvature);
        runtime_free(learner->runtime);
        validation_free(learner->validation);
        episode_statistics_free(learner->episodes);
        batch_free(learner->batch);
        normaliser_free(learner->observation);
        normaliser_free(learner->discounted);
        free(learner->banks);
        free(learner);
        return NULL;
}

static void statistics_clear(Statistics *statistics) {
        *statistics = (Statistics){
#define X(name, unit) .name = NAN,
                STATISTICS(X)
#undef X
        };
}

static int learner_allocate(Learner *l) {
        const JobSettings *settings = l->context.settings;
        const JobPage *page = l->context.page;
        uint32_t n = page->network.n_observation;
        int r;

        r = batch_new(settings, page, &l->batch);
        if (r < 0)
                return r;
        r = episode_statistics_new(settings_actors_max(settings) * page->segment.envs,
                        algorithm_pair_steps(settings) > 0, &l->episodes);
        if (r < 0)
                return r;
        r = validation_new(settings, page, l->episodes, l->batch, &l->validation);
        if (r < 0)
                return r;
        r = normaliser_new(n, &l->observation);
        if (r < 0)
                return r;
        r = normaliser_new(1, &l->discounted);
        if (r < 0)
                return r;
        r = runtime_new(settings, page, l->batch, &l->runtime);
        if (r < 0)
                return r;
        if (l->context.n_learners > 1)
                runtime_share(l->runtime, page, l->context.reduce, l->context.learner, l->context.n_learners,
                                l->context.n_updaters);
        if (l->context.asks_fd > 0) {
                r = serve_new(settings, page, l->context.worker, l->context.segments, l->context.policy,
                                l->runtime->threads, l->context.asks_fd, &l->serve);
                if (r < 0)
                        return r;
        }

        /* Only the first learner's statistics are reported, so only it measures curvature. The loss of a
         * policy without probabilities cannot be differentiated in this way. */
        if (settings_curvature(settings) != CURVATURE_NONE && l->context.learner == 0 &&
                        (page->network.act == ACT_CATEGORICAL || page->network.act == ACT_GAUSSIAN)) {
                r = curvature_new(l->runtime, &l->curvature);
                if (r < 0)
                        return r;
        }

        l->banks = calloc(l->batch->n_blocks, sizeof(uint32_t));
        return l->banks ? 0 : -ENOMEM;
}

/* Several learners share the policy; each has its own copy of the other networks. */
static int learner_init_parameters(Learner *l) {
        const Runtime *rt = l->runtime;
        int r;

        r = parameters_init(rt->settings, rt->network, NET_POLICY, rt->learner, rt->n_learners,
                        rt->nets[NET_POLICY]->parameters);
        if (r < 0)
                return r;
        for (Net net = NET_OF(1); net < NETS_MAX; net += 2) {
                if (!rt->nets[net])
                        continue;
                r = parameters_init(rt->settings, rt->networks[net], net, 0, 1, rt->nets[net]->parameters);
                if (r < 0)
                        return r;
        }
        return 0;
}

int learner_new(const LearnerContext *context, Learner **ret) {
        _cleanup_(learner_freep) Learner *l = NULL;
        int r;

        assert(context);
        assert(ret);

        if (!width_present(width_of_class(context->settings->kernel_class)))
                return -ENODEV;
        width_choose(width_of_class(context->settings->kernel_class));

        l = calloc(1, sizeof(*l));
        if (!l)
                return -ENOMEM;
        l->context = *context;
        l->algorithm = algorithm_find(context->settings->algorithm);
        if (!l->algorithm)
                return -EINVAL;
        r = learner_allocate(l);
        if (r < 0)
                return r;

        statistics_clear(&l->statistics);
        if (l->algorithm->init)
                l->algorithm->init(context->settings, l->runtime->state);
        r = learner_init_parameters(l);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(l);
        return 0;
}

static void obey_serve(Learner *l, const Order *order, Answer *ret) {
        int r;

        threads_meter(l->runtime->threads);
        r = l->serve ? serve_run(l->serve, order) : -EOPNOTSUPP;
        l->take_nsec += threads_metered_nsec(l->runtime->threads);
        if (r < 0) {
                ret->fault = FAULT_INTERNAL;
                ret->detail = -r;
        }
}

static bool version_is_there(const Learner *l, const Order *order) {
        const PolicyLayout *layout = &l->context.page->policy;

        return order->policy_bank < layout->n_banks &&
               policy_bank(l->context.policy, layout, order->policy_bank)->policy_version ==
                               order->policy_version;
}

static void obey_take(Learner *l, const Order *order, Answer *ret) {
        Spent *spent = l->context.settings->profile ? &ret->spent : NULL;
        uint64_t start_nsec = thread_cpu_nsec(), begun_nsec = spent_begin(spent);

        if (order->actor >= l->batch->n_actors_max || !version_is_there(l, order)) {
                ret->fault = FAULT_INTERNAL;
                ret->detail = ENXIO;
                return;
        }

        l->banks[batch_block_of(l->batch, order->actor)] = order->policy_bank;
        ret->fault = validation_take(l->validation, order->actor, l->context.segments[order->actor],
                        order->snapshot_bank, &ret->detail);
        if (order->hashes && ret->fault == FAULT_NONE)
                validation_hash(l->validation, order->actor, ret->sha256);
        l->take_nsec += thread_cpu_nsec() - start_nsec;
        spent_end(spent, PROFILE_validation, begun_nsec);
        if (spent)
                spent->busy_nsec = spent->nsec[PROFILE_validation];
}

/* Makes the rewards that are learned from. With NormalizeRewards= the raw rewards are divided by the
 * deviation of discounted returns, which includes this batch, and then clipped. */
static void rewards_scale(Learner *l, uint32_t n_actors) {
        const JobSettings *s = l->context.settings;
        double scale = s->normalize_rewards ? 1.0 / sqrt(normaliser_variance(l->discounted, 0) + 1e-8) : 1.0;
        double clip = s->normalize_rewards && s->reward_clip > 0 ? s->reward_clip : INFINITY;

        for (uint32_t a = 0; a < n_actors; a++)
                for (size_t i = batch_block(l->batch, a), end = i + l->batch->step_rows; i < end; i++)
                        l->batch->scaled[i] = (float) fmin(fmax(l->batch->rewards[i] * scale, -clip), clip);
}

/* Normalises observations as the actors did: by the statistics of the policy version with which they acted,
 * not by the newest statistics. */
static void observations_normalise(Learner *l, uint32_t n_actors) {
        const PolicyLayout *layout = &l->context.page->policy;
        double clip = learner_observation_clip(l->context.settings);
        Batch *b = l->batch;
        size_t n = b->n_observation;

        for (uint32_t a = 0; a < n_actors; a++) {
                const PolicyHead *bank = policy_bank(l->context.policy, layout, l->banks[a]);
                const float *mean = policy_numbers(bank, layout->mean_at),
                            *inverse_sd = policy_numbers(bank, layout->inverse_sd_at);

                for (uint32_t i = 0; i < b->next_rows + b->n_finals[a]; i++)
                        observation_normalise(mean, inverse_sd, clip, n,
                                        b->observations + (batch_block(b, a) + i) * n);
        }
}

/* Turns the taken rollouts into a batch from which an algorithm can learn. */
static void round_enter(Learner *l, uint32_t n_actors) {
        const JobSettings *s = l->context.settings;
        bool reset = s->carry == CARRY_RESET;

        statistics_clear(&l->statistics);
        if (s->normalize_observations)
                normaliser_observe(l->observation, l->batch, n_actors);
        if (s->normalize_rewards)
                episode_statistics_discount(l->episodes, l->batch, n_actors, reset, s->gamma, l->discounted);
        episode_statistics_enter(l->episodes, l->batch, n_actors, reset, &l->statistics);

        rewards_scale(l, n_actors);
        if (s->normalize_observations)
                observations_normalise(l, n_actors);
}

static bool round_complete(const Learner *l, uint32_t n_actors) {
        if (n_actors < 1 || n_actors > l->batch->n_blocks)
                return false;
        for (uint32_t a = 0; a < n_actors; a++)
                if (!l->batch->taken[a])
                        return false;
        return true;
}

/* Runs the algorithm. Its time outside of gradients and optimiser steps counts as PROFILE_advantage. */
static int algorithm_learn(Learner *l) {
        Spent *spent = l->runtime->spent;
        uint64_t begun_nsec = spent_begin(spent);
        int r = l->algorithm->learn(l->runtime);

        spent_end(spent, PROFILE_advantage, begun_nsec);
        if (spent)
                spent->nsec[PROFILE_advantage] -= spent->nsec[PROFILE_gradient] + spent->nsec[PROFILE_apply];
        return r;
}

/* A phase occupies all threads: each computes its part of the matrix products and then waits for the others.
 * So the time of its cores is its wall time, times the number of threads. */
static void learn_sum_up(const Learner *l, uint64_t begun_nsec) {
        Spent *spent = l->runtime->spent;

        if (!spent)
                return;
        spent->rates[PRODUCT_advantage].core_nsec =
                        spent->nsec[PROFILE_advantage] * threads_count(l->runtime->threads);
        spent->rates[PRODUCT_gradient].core_nsec =
                        spent->nsec[PROFILE_gradient] * threads_count(l->runtime->threads);
        spent->busy_nsec = clock_boottime() - begun_nsec;
}

static void learn_publish(Learner *l, const Order *order) {
        uint64_t begun_nsec = spent_begin(l->runtime->spent);

        learner_publish(l, l->policy_version + 1, order->policy_bank);
        spent_end(l->runtime->spent, PROFILE_publish, begun_nsec);
        if (!l->curvature)
                return;

        begun_nsec = spent_begin(l->runtime->spent);
        curvature_measure(l->curvature, l->algorithm->loss);
        spent_end(l->runtime->spent, PROFILE_curvature, begun_nsec);
}

static void obey_learn(Learner *l, const Order *order, Answer *ret) {
        uint64_t n_env_steps_before = l->episodes->n_env_steps, begun_nsec;
        int r;

        l->runtime->spent = l->context.settings->profile ? &ret->spent : NULL;
        begun_nsec = spent_begin(l->runtime->spent);
        threads_meter(l->runtime->threads);
        threads_rouse(l->runtime->threads);
        if (!round_complete(l, order->n_actors) || order->policy_bank >= l->context.page->policy.n_banks) {
                ret->fault = FAULT_INTERNAL;
                ret->detail = EPROTO;
                return;
        }

        round_enter(l, order->n_actors);
        spent_end(l->runtime->spent, PROFILE_validation, begun_nsec);
        /* Random streams are numbered by policy versions, and each update makes a version. So the streams
         * continue where a checkpoint ended. */
        runtime_begin(l->runtime, order->n_actors, l->policy_version, n_env_steps_before, &l->statistics);
        r = algorithm_learn(l);
        if (r == -ETIMEDOUT) {
                (void) fprintf(stderr, "actord-learner: another learner has stopped in update %llu\n",
                                (unsigned long long) order->ordinal);
                ret->fault = FAULT_INTERNAL;
                ret->detail = -r;
                return;
        }
        if (r < 0) {
                (void) fprintf(stderr,
                                "actord-learner: update %llu computed numbers that are not finite; "
                                "a smaller LearningRate= or MaxGradNorm= may help\n",
                                (unsigned long long) order->ordinal);
                ret->fault = FAULT_NUMERIC;
                ret->detail = (int32_t) order->ordinal;
                return;
        }

        memset(l->batch->taken, 0, l->batch->n_blocks);
        l->round = order->round;
        learn_publish(l, order);

        ret->policy_version = l->policy_version;
        ret->statistics = l->statistics;
        if (order->hashes)
                learner_hash_policy(l, ret->sha256);
        ret->slowest_thread_nsec = threads_metered_nsec(l->runtime->threads) + l->take_nsec;
        l->take_nsec = 0;
        learn_sum_up(l, begun_nsec);
}

static void obey_checkpoint(Learner *l, const Order *order, Answer *ret) {
        int r;

        r = learner_write_checkpoint(l, order, ret->file_sha256);
        if (r < 0) {
                ret->fault = FAULT_CHECKPOINT;
                ret->detail = -r;
        }
        ret->round = order->round;
        ret->policy_version = l->policy_version;
        learner_hash_policy(l, ret->sha256);
}

static void obey_restore(Learner *l, const Order *order, Answer *ret) {
        int r;

        r = learner_restore(l, order->plays != 0);
        if (r < 0) {
                ret->fault = FAULT_CHECKPOINT;
                ret->detail = -r;
                return;
        }

        if (order->last)
                learner_reserve_checkpoint(l);
        ret->round = l->round;
        ret->policy_version = l->policy_version;
        ret->statistics = l->statistics;
        learner_hash_policy(l, ret->sha256);
}

void learner_obey(Learner *l, const Order *order, Answer *ret) {
        assert(l);
        assert(order);
        assert(ret);

        memset(ret, 0, sizeof(*ret));
        statistics_clear(&ret->statistics);

        switch (order->kind) {
        case ORDER_RESTORE: obey_restore(l, order, ret); break;
        case ORDER_SERVE: obey_serve(l, order, ret); break;
        case ORDER_TAKE: obey_take(l, order, ret); break;
        case ORDER_LEARN: obey_learn(l, order, ret); break;
        case ORDER_CHECKPOINT: obey_checkpoint(l, order, ret); break;
        default: /* the number comes from another program, so it may be any */
                ret->fault = FAULT_INTERNAL;
                ret->detail = ENOTSUP;
        }
        l->runtime->spent = NULL;
}
