/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Adds up how workers spent their time, and counts operations from the shapes of networks. */
#include "lib/spent.h"

#include <assert.h>

#include "lib/network.h"

void spent_add(Spent *sum, const Spent *spent) {
        assert(sum);
        assert(spent);

        sum->busy_nsec += spent->busy_nsec;
        for (uint32_t i = 0; i < _PROFILE_PART_MAX; i++)
                sum->nsec[i] += spent->nsec[i];
        for (uint32_t i = 0; i < _PRODUCT_MAX; i++) {
                sum->rates[i].operations += spent->rates[i].operations;
                sum->rates[i].core_nsec += spent->rates[i].core_nsec;
        }
}

static uint64_t layer_operations(const Layer *l) {
        uint64_t n = 2 * (uint64_t) l->n_units * l->n_reads;

        switch ((LayerKind) l->kind) {
        case LAYER_PARAMETER: return 0;
        case LAYER_DENSE: return n;
        case LAYER_CONVOLUTION: return n * l->convolution.out_height * l->convolution.out_width;
        }
        return 0;
}

uint64_t network_acting_operations(const Network *network, const Network *judge) {
        uint64_t sum = 0, acts;

        assert(network);
        assert(judge || network->candidates <= 1);

        acts = network_acting_layers(network);
        for (uint32_t i = 0; i < network->n_layers; i++)
                if (acts >> i & 1)
                        sum += layer_operations(&network->layers[i]);
        if (network->passes > 0)
                sum *= network->candidates * network->passes;
        if (network->candidates > 1)
                sum += network->candidates * JUDGES * network_forward_operations(judge);
        return sum;
}

uint64_t network_forward_operations(const Network *network) {
        uint64_t sum = 0;

        assert(network);

        for (uint32_t i = 0; i < network->n_layers; i++)
                sum += layer_operations(&network->layers[i]);
        return sum;
}

uint64_t network_gradient_operations(const Network *network) {
        uint64_t sum = 0;

        assert(network);

        for (uint32_t i = 0; i < network->n_layers; i++)
                sum += (network->layers[i].input == i ? 2 : 3) * layer_operations(&network->layers[i]);
        return sum;
}
