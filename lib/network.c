/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Settings + spec -> the network as data. Two MLPs, or one whose last hidden layer both heads read. Tensors are named as in CleanRL's
 * scripts, where a layer's number counts the activations between (actor.0, actor.2, ...), so that weights go over without a table. */
#include "lib/network.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/algorithms.h"
#include "lib/forward.h"
#include "lib/slot.h"

static Layer *network_append(
                Network *network, LayerKind kind, LayerOutput output, uint32_t input, uint32_t n_out) {
        uint32_t i = network->n_layers++;
        Layer *layer = &network->layers[i];

        assert(i < LAYERS_MAX);
        assert(input <= i);

        layer->kind = kind;
        layer->output = output;
        layer->input = input;
        layer->n_out = n_out;
        if (kind == LAYER_DENSE)
                layer->n_in = input == i ? network->n_observation : network->layers[input].n_out;

        layer->weight_at = network->n_parameters;
        layer->bias_at = layer->weight_at + (uint64_t) layer->n_in * n_out;
        network->n_parameters = layer->bias_at + n_out;
        return layer;
}

/* The hidden layers PREFIX.0, PREFIX.2, ... Returns the index of the last. */
static uint32_t network_append_hidden(Network *network, const JobSettings *settings, const char *prefix) {
        for (uint32_t k = 0; k < settings->hidden_layers.n; k++) {
                uint32_t input = k == 0 ? network->n_layers : network->n_layers - 1;
                Layer *layer = network_append(network, LAYER_DENSE, OUTPUT_HIDDEN, input,
                                settings->hidden_layers.values[k]);

                layer->activation = settings->activation == ACTIVATION_RELU ? LAYER_RELU : LAYER_TANH;
                layer->init_gain = M_SQRT2;
                (void) snprintf(layer->name, sizeof(layer->name), "%s.%u", prefix, 2 * k);
        }
        return network->n_layers - 1;
}

/* number < 0: a head of a shared trunk, which is no member of a sequence. */
static void network_append_head(Network *network, LayerOutput output, const char *prefix, int number,
                uint32_t input, uint32_t n_out, double gain) {
        Layer *layer = network_append(network, LAYER_DENSE, output, input, n_out);

        layer->activation = LAYER_NONE;
        layer->init_gain = gain;
        if (number >= 0)
                (void) snprintf(layer->name, sizeof(layer->name), "%s.%d", prefix, number);
        else
                (void) snprintf(layer->name, sizeof(layer->name), "%s", prefix);
}

static int spaces_derive(const ActordEnvSpec *spec, Network *ret) {
        uint64_t n_observation = 0, n_action = 0;

        switch ((ActordSpaceKind) spec->observation.kind) {
        case ACTORD_DISCRETE: /* one number for each choice: 1 for the one that is seen, 0 for the others */
                n_observation = spec->observation.n_choices;
                break;
        case ACTORD_BOX: n_observation = space_numbers(&spec->observation); break;
        case ACTORD_MULTI_DISCRETE:
        default: return -EINVAL;
        }

        switch ((ActordSpaceKind) spec->action.kind) {
        case ACTORD_DISCRETE:
                ret->act = ACT_CATEGORICAL;
                n_action = spec->action.n_choices;
                break;
        case ACTORD_BOX:
                ret->act = ACT_GAUSSIAN;
                n_action = space_numbers(&spec->action);
                break;
        case ACTORD_MULTI_DISCRETE:
        default: return -EINVAL;
        }

        if (n_observation < 1 || n_action < 1)
                return -EINVAL;
        if (n_observation > FORWARD_SCRATCH_MAX || n_action > FORWARD_SCRATCH_MAX)
                return -E2BIG;

        ret->n_observation = (uint32_t) n_observation;
        ret->n_action = (uint32_t) n_action;
        return 0;
}

/* Whether all that one row computes fits a caller's scratch. */
static int widths_check(const JobSettings *settings, const Network *network) {
        uint64_t n = (uint64_t) network->n_observation + 2ull * network->n_action;

        for (uint32_t k = 0; k < settings->hidden_layers.n; k++) {
                if (settings->hidden_layers.values[k] < 1)
                        return -EINVAL;
                n += 2ull * settings->hidden_layers.values[k];
        }
        return n > FORWARD_SCRATCH_MAX ? -E2BIG : 0;
}

/* One MLP, named as CleanRL's QNetwork, with a number for each choice. */
static int network_derive_values(const JobSettings *settings, Network *network) {
        uint32_t trunk;

        if (network->act != ACT_CATEGORICAL)
                return -EOPNOTSUPP;

        network->act = ACT_EPSILON_GREEDY;
        trunk = network_append_hidden(network, settings, "network");
        network_append_head(network, OUTPUT_ACTION, "network", (int) (2 * settings->hidden_layers.n), trunk,
                        network->n_action, 1.0);
        return 0;
}

int network_derive(const JobSettings *settings, const ActordEnvSpec *spec, Network *ret) {
        Network network;
        const char *actor;
        uint32_t trunk;
        int number, r;

        assert(settings);
        assert(spec);
        assert(ret);

        if (settings->hidden_layers.n < 1 || settings->hidden_layers.n > HIDDEN_LAYERS_MAX)
                return -EINVAL;

        memset(&network, 0, sizeof(network));
        r = spaces_derive(spec, &network);
        if (r < 0)
                return r;
        r = widths_check(settings, &network);
        if (r < 0)
                return r;

        if (algorithm_row(settings->algorithm)->values) {
                r = network_derive_values(settings, &network);
                if (r < 0)
                        return r;
                memcpy(ret, &network, sizeof(network));
                return 0;
        }

        actor = network.act == ACT_GAUSSIAN ? "actor_mean" : "actor";
        number = settings->shared_network ? -1 : (int) (2 * settings->hidden_layers.n);

        trunk = network_append_hidden(&network, settings, settings->shared_network ? "network" : actor);
        network_append_head(&network, OUTPUT_ACTION, actor, number, trunk, network.n_action, 0.01);
        if (network.act == ACT_GAUSSIAN) {
                Layer *layer = network_append(&network, LAYER_PARAMETER, OUTPUT_LOG_STD, network.n_layers,
                                network.n_action);

                (void) snprintf(layer->name, sizeof(layer->name), "actor_logstd");
        }
        if (!settings->shared_network)
                trunk = network_append_hidden(&network, settings, "critic");
        network_append_head(&network, OUTPUT_VALUE, "critic", number, trunk, 1, 1.0);

        memcpy(ret, &network, sizeof(network));
        return 0;
}

const Layer *network_output(const Network *network, LayerOutput output) {
        assert(network);

        for (uint32_t i = 0; i < network->n_layers && i < LAYERS_MAX; i++)
                if (network->layers[i].output == output)
                        return &network->layers[i];
        return NULL;
}
