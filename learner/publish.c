/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A policy version is written once, into a bank that no order names yet. It does not change while an actor
 * may act with it. */
#include <assert.h>
#include <math.h>
#include <nettle/sha2.h>
#include <string.h>

#include "learner/learner.h"

/* For an actor, a clip of 0 means raw observations. So if normalised observations need no clip, the clip is
 * infinity. */
double learner_observation_clip(const JobSettings *settings) {
        if (!settings->normalize_observations)
                return 0.0;
        return settings->observation_clip > 0 ? settings->observation_clip : INFINITY;
}

void learner_hash_policy(const Learner *l, uint8_t ret_sha256[32]) {
        const Adam *net = l->runtime->nets[NET_POLICY];
        const Normaliser *m = l->observation;
        struct sha256_ctx sha;

        sha256_init(&sha);
        sha256_update(&sha, net->n * sizeof(float), (const uint8_t *) net->parameters);
        sha256_update(&sha, m->n * sizeof(double), (const uint8_t *) m->mean);
        for (uint32_t i = 0; i < m->n; i++) {
                double variance = normaliser_variance(m, i);

                sha256_update(&sha, sizeof(variance), (const uint8_t *) &variance);
        }
        sha256_update(&sha, sizeof(m->count), (const uint8_t *) &m->count);
        sha256_digest(&sha, 32, ret_sha256);
}

static double learner_epsilon(const Learner *l) {
        uint64_t n_windows = l->runtime->replay ? replay_count(l->runtime->replay) : 0;

        return algorithm_epsilon(l->context.settings, l->episodes->n_env_steps, n_windows);
}

void learner_publish(Learner *l, uint64_t policy_version, uint32_t policy_bank) {
        const PolicyLayout *layout = &l->context.page->policy;
        const Adam *const *nets = (const Adam *const *) l->runtime->nets;
        uint8_t *bank = (uint8_t *) l->context.policy + policy_bank * layout->bank_bytes;

        assert(policy_bank < layout->n_banks);

        l->policy_version = policy_version;
        l->policy_bank = policy_bank;
        l->statistics.policy_version = policy_version;

        *(PolicyHead *) bank = (PolicyHead){
                .policy_version = policy_version,
                .n_env_steps = l->episodes->n_env_steps,
                .observation_clip = learner_observation_clip(l->context.settings),
                .epsilon = learner_epsilon(l),
        };
        normaliser_scale(l->observation, (float *) (bank + layout->mean_at),
                        (float *) (bank + layout->inverse_sd_at));
        memcpy(bank + layout->parameters_at, nets[NET_POLICY]->parameters,
                        nets[NET_POLICY]->n * sizeof(float));
        for (uint32_t k = 0; layout->judges_at > 0 && k < JUDGES; k++) {
                const Adam *judge = nets[net_judge(k)];

                memcpy(bank + layout->judges_at + k * judge->n * sizeof(float), judge->parameters,
                                judge->n * sizeof(float));
        }
}
