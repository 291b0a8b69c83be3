/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Functions that follow from an algorithm's row, the same for all algorithms. */
#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "lib/algorithm-traits.h"
#include "lib/checkpoint/checkpoint.h"
#include "lib/fragment.h"

const NetworkRow *algorithm_net(uint32_t algorithm, Net net, uint32_t *ret_member) {
        const AlgorithmRow *row = algorithm_row(algorithm);
        uint32_t member = net / 2;

        for (uint32_t k = 0; k < NETWORKS_MAX && row->networks[k].name; k++) {
                const NetworkRow *network = &row->networks[k];

                if (member >= network->n) {
                        member -= network->n;
                        continue;
                }
                if (net_is_target(net) && network->follows == FOLLOWS_NONE)
                        return NULL;
                *ret_member = member;
                return network;
        }
        return NULL;
}

void algorithm_net_name(uint32_t algorithm, Net net, char ret[NET_NAME_MAX]) {
        uint32_t member;
        const NetworkRow *row = algorithm_net(algorithm, net, &member);
        const char *target = net_is_target(net) ? "-target" : "";

        assert(row);

        if (net == NET_TARGET)
                (void) snprintf(ret, NET_NAME_MAX, NETWORK_TARGET);
        else if (member == 0)
                (void) snprintf(ret, NET_NAME_MAX, "%s%s", row->name, target);
        else
                (void) snprintf(ret, NET_NAME_MAX, "%s-%" PRIu32 "%s", row->name, member + 1, target);
}

uint32_t algorithm_pair_steps(const JobSettings *settings) {
        assert(settings);

        if (!algorithm_row(settings->algorithm)->pairs)
                return 0;
        return settings_present(settings, SETTING_Actor_PairSteps) ? settings->pair_steps
                                                                   : settings->rollout_steps;
}

uint64_t algorithm_replay_steps(const JobSettings *settings) {
        return settings->replay_size / ((uint64_t) settings_actors_max(settings) * settings->envs_per_actor);
}

uint64_t algorithm_slot_windows(uint64_t n_stored, uint64_t capacity, uint64_t n_steps) {
        uint64_t n = n_stored < capacity ? n_stored : capacity;

        return n >= n_steps ? n - n_steps + 1 : 0;
}

uint64_t algorithm_store_bytes(const JobSettings *settings, uint64_t observation_bytes, uint32_t frames,
                uint64_t n_action) {
        uint64_t slots = (uint64_t) settings_actors_max(settings) * settings->envs_per_actor;
        uint64_t n_rows = 0, row_bytes = 0, n;

        /* The number of rows does not overflow: slots, steps and rounds are at most 2^24, 2^20 and 2^6. */
        switch ((Store) algorithm_row(settings->algorithm)->store) {
        case STORE_ROLLOUT: break;
        case STORE_BUFFER: /* observations, actions, rewards, probabilities, ends */
                slots = (uint64_t) distribution_rollouts(
                                        distribution_of(settings), settings_actors_max(settings)) *
                        settings->envs_per_actor;
                n_rows = settings->buffer_batches * slots * (settings->rollout_steps + (uint64_t) frames);
                row_bytes = observation_bytes / frames + 4 * n_action + 9;
                break;
        case STORE_REPLAY: /* observations before and after, actions, rewards, ends */
                n_rows = slots * (algorithm_replay_steps(settings) + frames - 1);
                row_bytes = 2 * (observation_bytes / frames) + 5;
                row_bytes += algorithm_row(settings->algorithm)->acting == ACTING_VALUES ? 4 : 4 * n_action;
                break;
        }
        return __builtin_mul_overflow(n_rows, row_bytes, &n) ? UINT64_MAX : n;
}

uint32_t algorithm_epochs(const JobSettings *settings) {
        assert(settings);

        return algorithm_uses(settings->algorithm, SETTING_Learner_Epochs) ? settings->epochs : 1;
}

uint32_t algorithm_acting_passes(const JobSettings *settings) {
        uint32_t usual = algorithm_row(settings->algorithm)->acting_passes;

        return usual > 0 && settings_present(settings, SETTING_Learner_Passes) ? settings->passes : usual;
}

double algorithm_epsilon(const JobSettings *settings, uint64_t n_env_steps, uint64_t n_windows) {
        const AlgorithmRow *row;

        assert(settings);

        row = algorithm_row(settings->algorithm);
        if (row->store != STORE_REPLAY || settings->dataset[0])
                return 0;
        if (row->acting != ACTING_VALUES && n_windows < settings->replay_min)
                return 1;
        if (!algorithm_uses(settings->algorithm, SETTING_Learner_EpsilonStart))
                return 0;
        if (n_env_steps >= settings->epsilon_steps)
                return settings->epsilon_end;
        return settings->epsilon_start + (settings->epsilon_end - settings->epsilon_start) *
                                                         (double) n_env_steps /
                                                         (double) settings->epsilon_steps;
}

double algorithm_passes(const JobSettings *settings) {
        assert(settings);

        if (algorithm_row(settings->algorithm)->store == STORE_REPLAY)
                return settings->train_ratio * settings->minibatch_size;
        return algorithm_epochs(settings);
}
