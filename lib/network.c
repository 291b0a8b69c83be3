/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes the network from settings and spec, as data. An actor-critic has two sequences of convolutions and
 * hidden layers, or one sequence whose last layer both heads read. Other networks have one sequence. Most
 * tensors have the names of CleanRL's scripts or Stable-Baselines3's policies, so that weights can be
 * exchanged without a table. There a layer's number counts the activations between layers (actor.0, actor.2,
 * ...) and the flattening of images. */
#include "lib/network.h"

#include <assert.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/algorithm-traits.h"
#include "lib/forward.h"
#include "lib/slot.h"

/* n_read: how many of the observation's first numbers the layer reads, if it reads the observation
 * itself. */
static Layer *network_append(
                Network *network, LayerKind kind, LayerOutput output, uint32_t input, uint32_t n_read) {
        uint32_t i = network->n_layers++;
        Layer *layer = &network->layers[i];

        assert(i < LAYERS_MAX);
        assert(input <= i);

        layer->kind = kind;
        layer->output = output;
        layer->input = input;
        if (kind != LAYER_PARAMETER)
                layer->n_in = input == i ? n_read : network->layers[input].n_out;
        return layer;
}

/* Places the layer's parameters behind the parameters of the earlier layers. */
static void layer_place(Network *network, Layer *layer, uint32_t n_units, uint32_t n_reads) {
        layer->n_units = n_units;
        layer->n_reads = n_reads;
        layer->weight_at = network->n_parameters;
        layer->bias_at = layer->weight_at + (uint64_t) n_units * n_reads;
        network->n_parameters = layer->bias_at + n_units;
}

static Layer *network_append_dense(
                Network *network, LayerOutput output, uint32_t input, uint32_t n_read, uint32_t n_out) {
        Layer *layer = network_append(network, LAYER_DENSE, output, input, n_read);

        layer->n_out = n_out;
        layer_place(network, layer, n_out, layer->n_in);
        return layer;
}

static void network_append_log_std(Network *network, const char *name) {
        Layer *layer = network_append(network, LAYER_PARAMETER, OUTPUT_LOG_STD, network->n_layers, 0);

        layer->n_out = network->n_action;
        layer_place(network, layer, network->n_action, 0);
        (void) snprintf(layer->name, sizeof(layer->name), "%s", name);
}

/* Interprets an observation's shape as an image: [height][width], or three sizes. With three sizes, the
 * smaller one of the first and the last is the number of channels: it comes first in a stack of frames, and
 * last in a picture. */
static int image_of(const ActordSpace *space, Convolution *ret) {
        const uint32_t *shape = space->shape;

        if (space->kind != ACTORD_BOX || space->n_dims < 2 || space->n_dims > 3)
                return -EDOM;

        if (space->n_dims == 2)
                *ret = (Convolution){ .channels = 1, .height = shape[0], .width = shape[1] };
        else if (shape[0] <= shape[2])
                *ret = (Convolution){ .channels = shape[0], .height = shape[1], .width = shape[2] };
        else {
                *ret = (Convolution){ .channels = shape[2], .height = shape[0], .width = shape[1] };
                ret->channel_step = 1;
                ret->column_step = shape[2];
                ret->row_step = shape[1] * shape[2];
                return 0;
        }
        ret->column_step = 1;
        ret->row_step = ret->width;
        ret->channel_step = ret->height * ret->width;
        return 0;
}

/* How many places the kernel has along a side of the image; 0: it does not fit. */
static uint32_t squares_of(uint32_t side, const Convolution *c) {
        uint32_t padded = side + 2 * c->padding;

        return padded < c->kernel ? 0 : (padded - c->kernel) / c->stride + 1;
}

/* The output of convolution c, as the image that the next layer reads. channels: how many the output has. */
static Convolution convolution_image(const Convolution *c, uint32_t channels) {
        return (Convolution){
                .channels = channels,
                .height = c->out_height,
                .width = c->out_width,
                .channel_step = c->out_height * c->out_width,
                .row_step = c->out_width,
                .column_step = 1,
        };
}

static void layer_is_hidden(Layer *layer, const JobSettings *settings, const char *prefix, uint32_t number) {
        static const LayerActivation activations[_ACTIVATION_MAX] = {
                [ACTIVATION_TANH] = LAYER_TANH,
                [ACTIVATION_RELU] = LAYER_RELU,
                [ACTIVATION_SILU] = LAYER_SILU,
                [ACTIVATION_MISH] = LAYER_MISH,
        };

        assert(settings->activation < _ACTIVATION_MAX);

        layer->activation = activations[settings->activation];
        layer->init_gain = M_SQRT2;
        (void) snprintf(layer->name, sizeof(layer->name), "%s.%u", prefix, number);
}

static int network_append_convolutions(Network *network, const JobSettings *settings,
                const ActordSpace *space, const char *prefix) {
        Convolution image;
        int r;

        if (settings->convolutions.n == 0)
                return 0;
        assert(space);
        r = image_of(space, &image);
        if (r < 0)
                return r;

        for (uint32_t k = 0; k < settings->convolutions.n; k++) {
                uint32_t channels = settings->convolutions.layers[k].channels, kernel;
                Layer *layer = network_append(network, LAYER_CONVOLUTION, OUTPUT_HIDDEN,
                                k == 0 ? network->n_layers : network->n_layers - 1, network->n_observation);
                Convolution *c = &layer->convolution;

                *c = image;
                c->kernel = kernel = settings->convolutions.layers[k].kernel;
                c->stride = settings->convolutions.layers[k].stride;
                c->padding = settings->convolutions.layers[k].padding;
                c->out_height = squares_of(c->height, c);
                c->out_width = squares_of(c->width, c);
                if (c->out_height == 0 || c->out_width == 0)
                        return -EDOM;
                if ((uint64_t) c->out_height * c->out_width * channels > FORWARD_SCRATCH_MAX)
                        return -E2BIG;

                layer->n_out = c->out_height * c->out_width * channels;
                layer_place(network, layer, channels, c->channels * kernel * kernel);
                layer_is_hidden(layer, settings, prefix, 2 * k);
                image = convolution_image(c, channels);
        }
        return 0;
}

/* A layer's number in its sequence. An activation follows each convolution and each hidden layer, and the
 * output of a convolution is flattened before a dense layer reads it. */
static uint32_t dense_number(const JobSettings *settings, uint32_t k) {
        return 2 * (settings->convolutions.n + k) + (settings->convolutions.n > 0);
}

/* Appends convolutions and hidden layers, PREFIX.0, PREFIX.2, ... Returns the index of the last one, or a
 * negative errno. */
static int network_append_trunk_of(Network *network, const JobSettings *settings, const ActordSpace *space,
                const char *prefix, uint32_t n_read) {
        bool first = settings->convolutions.n == 0;
        int r;

        r = network_append_convolutions(network, settings, space, prefix);
        if (r < 0)
                return r;

        for (uint32_t k = 0; k < settings_hidden_layers(settings); k++, first = false) {
                uint32_t input = first ? network->n_layers : network->n_layers - 1;

                if (settings->hidden_layers.values[k] < 1)
                        return -EINVAL;
                if (settings->hidden_layers.values[k] > FORWARD_SCRATCH_MAX)
                        return -E2BIG;
                layer_is_hidden(network_append_dense(network, OUTPUT_HIDDEN, input, n_read,
                                                settings->hidden_layers.values[k]),
                                settings, prefix, dense_number(settings, k));
        }
        return (int) network->n_layers - 1;
}

/* network_append_trunk_of() for a sequence that reads whole observations. */
static int network_append_trunk(Network *network, const JobSettings *settings, const ActordSpace *space,
                const char *prefix) {
        return network_append_trunk_of(network, settings, space, prefix, (uint32_t) network_inputs(network));
}

/* Appends an output layer, a head. number < 0: the head of a shared sequence of layers has no number. */
static void network_append_head(Network *network, LayerOutput output, const char *prefix, int number,
                uint32_t input, uint32_t n_out, double gain) {
        Layer *layer = network_append_dense(network, output, input, 0, n_out);

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
        /* Each number of the observation becomes n_choices numbers: 1 for the observed choice, 0 for the
         * others. */
        case ACTORD_DISCRETE:
        case ACTORD_MULTI_DISCRETE:
                n_observation = space_numbers(&spec->observation) * spec->observation.n_choices;
                break;
        case ACTORD_BOX: n_observation = space_numbers(&spec->observation); break;
        default: return -EINVAL;
        }

        switch ((ActordSpaceKind) spec->action.kind) {
        case ACTORD_DISCRETE:
        case ACTORD_MULTI_DISCRETE:
                if (space_numbers(&spec->action) > ACTORD_CHOICES_MAX)
                        return -EINVAL;
                ret->act = ACT_CATEGORICAL;
                ret->n_choices = (uint32_t) space_numbers(&spec->action);
                for (uint32_t k = 0; k < ret->n_choices; k++)
                        ret->choices[k] = spec_choices(spec, k);
                break;
        case ACTORD_BOX: ret->act = ACT_GAUSSIAN; break;
        default: return -EINVAL;
        }
        n_action = spec_action_numbers(spec);

        if (n_observation < 1 || n_action < 1)
                return -EINVAL;
        if (n_observation > FORWARD_SCRATCH_MAX || n_action > FORWARD_SCRATCH_MAX)
                return -E2BIG;

        ret->n_observation = (uint32_t) n_observation;
        ret->n_action = (uint32_t) n_action;
        return 0;
}

/* Whether the numbers of one row fit into the scratch memory: inputs, outputs and noise. */
static int widths_check(const Network *network) {
        uint64_t n = network_inputs(network);

        for (uint32_t i = 0; i < network->n_layers; i++) {
                const Layer *layer = &network->layers[i];

                n += layer->n_out;
                if (layer->kind == LAYER_CONVOLUTION && layer->n_reads > FORWARD_SCRATCH_MAX)
                        return -E2BIG;
        }
        return n > FORWARD_SCRATCH_MAX || forward_noise(network) > 2 * FORWARD_SCRATCH_MAX ? -E2BIG : 0;
}

/* One network with an output for each choice. Its layers are named as in CleanRL's QNetwork. */
static int network_derive_values(const JobSettings *settings, const ActordSpace *space, Network *network) {
        int trunk;

        if (network->act != ACT_CATEGORICAL)
                return -EOPNOTSUPP;
        if (network->n_choices > 1)
                return -EDOTDOT;

        network->act = ACT_EPSILON_GREEDY;
        trunk = network_append_trunk(network, settings, space, "network");
        if (trunk < 0)
                return trunk;
        network_append_head(network, OUTPUT_ACTION, "network",
                        (int) dense_number(settings, settings_hidden_layers(settings)), (uint32_t) trunk,
                        network->n_action, 1.0);
        return 0;
}

static int network_derive_actor_critic(
                const JobSettings *settings, const ActordEnvSpec *spec, Network *network) {
        const ActordSpace *space = &spec->observation;
        const char *actor = network->act == ACT_GAUSSIAN ? "actor_mean" : "actor";
        uint32_t n_read = network->n_observation;
        int trunk, number = -1;

        if (!settings->shared_network)
                number = (int) dense_number(settings, settings_hidden_layers(settings));

        /* The critic reads all agents' observations, or the state that they share. The actor reads only its
         * own observation, which comes first. */
        if (algorithm_row(settings->algorithm)->company == COMPANY_ALL)
                n_read = spec->n_shared > 0 ? n_read - spec->n_shared : n_read / spec->n_agents;
        trunk = network_append_trunk_of(
                        network, settings, space, settings->shared_network ? "network" : actor, n_read);
        if (trunk < 0)
                return trunk;
        network_append_head(
                        network, OUTPUT_ACTION, actor, number, (uint32_t) trunk, network->n_action, 0.01);
        if (network->act == ACT_GAUSSIAN)
                network_append_log_std(network, "actor_logstd");
        if (algorithm_row(settings->algorithm)->no_value)
                return 0;
        if (!settings->shared_network) {
                trunk = network_append_trunk(network, settings, space, "critic");
                if (trunk < 0)
                        return trunk;
        }
        network_append_head(network, OUTPUT_VALUE, "critic", number, (uint32_t) trunk, 1, 1.0);
        return 0;
}

bool action_bounds_possible(double low, double high) {
        /* This check comes before the conversions to float: they are undefined for numbers that a float
         * cannot hold. */
        if (!(fabs(low) <= (double) FLT_MAX && fabs(high) <= (double) FLT_MAX))
                return false;
        return (float) low < (float) high;
}

/* Copies the space's bounds into the network, for a policy that scales its output to them. Errors are those
 * of network_derive(). */
static int network_take_bounds(const JobSettings *settings, const ActordSpace *space, Network *network) {
        if (network->act != ACT_GAUSSIAN)
                return network->n_choices > 1 ? -EDOTDOT : -EPROTOTYPE;
        if (!action_bounds_possible(space->low, space->high))
                return -ERANGE;

        network->action_low = space->low;
        network->action_high = space->high;
        if (settings_present(settings, SETTING_Learner_ResidualScale)) {
                double middle = action_middle(network);
                double reach = settings->residual_scale * action_reach(network);

                network->action_low = middle - reach;
                network->action_high = middle + reach;
        }
        network->action_noise = settings->action_noise;
        network->noise_carried = settings->noise_process == NOISE_PROCESS_OU &&
                                 algorithm_uses(settings->algorithm, SETTING_Learner_NoiseProcess);
        return 0;
}

/* Lets layers also read products of the observation's numbers, and leaves out numbers and products for which
 * `links` has a 0. The numbers come first. Then come the products: of the first number with each number, of
 * the second with each from the second on, and so on. */
static int network_edit(Network *network, uint32_t augmentation, const setting_matrix *links) {
        uint32_t n = network->n_observation, n_kept = 0, at = 0;
        uint64_t n_augmented = n;

        if (augmentation > 1)
                n_augmented += (uint64_t) n * (n + 1) / 2;
        if (augmentation <= 1 && links->n == 0)
                return 0;
        if (n_augmented > EDITED_MAX || (links->n > 0 && links->n != n_augmented))
                return -EILSEQ;
        for (uint32_t i = 0; i < n; i++, at++)
                if (links->n == 0 || links->values[at] != 0)
                        network->monomials[n_kept++] = (Monomial){ (uint16_t) i, MONOMIAL_LINEAR };
        for (uint32_t i = 0; i < n && at < n_augmented; i++)
                for (uint32_t k = i; k < n; k++, at++)
                        if (links->n == 0 || links->values[at] != 0)
                                network->monomials[n_kept++] = (Monomial){ (uint16_t) i, (uint16_t) k };
        if (n_kept == 0)
                return -EILSEQ;
        network->n_edited = n_kept;
        return 0;
}

bool network_edit_possible(const Network *network) {
        if (network->n_edited > EDITED_MAX || (network->n_edited > 0 && network->passes > 0))
                return false;
        for (uint32_t i = 0; i < network->n_edited; i++) {
                const Monomial *m = &network->monomials[i];

                if (m->first >= network->n_observation ||
                                (m->second != MONOMIAL_LINEAR && m->second >= network->n_observation))
                        return false;
        }
        return true;
}

/* The layers are named as in Stable-Baselines3's policies for DDPG and TD3. */
static int network_derive_deterministic(
                const JobSettings *settings, const ActordEnvSpec *spec, Network *network) {
        uint32_t n_hidden = settings_hidden_layers(settings);
        int r, trunk;

        r = network_take_bounds(settings, &spec->action, network);
        if (r < 0)
                return r;
        network->act = ACT_DETERMINISTIC;
        if (algorithm_uses(settings->algorithm, SETTING_Learner_PolicyLinkEditing)) {
                r = network_edit(network, settings->policy_input_augmentation,
                                &settings->policy_link_editing);
                if (r < 0)
                        return -EBADR;
        }
        trunk = network_append_trunk(network, settings, &spec->observation, "actor.mu");
        if (trunk < 0)
                return trunk;
        network_append_head(network, OUTPUT_ACTION, "actor.mu", (int) dense_number(settings, n_hidden),
                        (uint32_t) trunk, network->n_action, 1.0);
        network->layers[network->n_layers - 1].activation = LAYER_TANH;
        return 0;
}

/* The layers are named as in Stable-Baselines3's policy for SAC. */
static int network_derive_squashed(
                const JobSettings *settings, const ActordEnvSpec *spec, Network *network) {
        int r, trunk;

        r = network_take_bounds(settings, &spec->action, network);
        if (r < 0)
                return r;
        network->act = ACT_SQUASHED;
        trunk = network_append_trunk(network, settings, &spec->observation, "actor.latent_pi");
        if (trunk < 0)
                return trunk;
        network_append_head(
                        network, OUTPUT_ACTION, "actor.mu", -1, (uint32_t) trunk, network->n_action, 1.0);
        network_append_head(network, OUTPUT_LOG_STD, "actor.log_std", -1, (uint32_t) trunk,
                        network->n_action, 1.0);
        network->layers[network->n_layers - 1].activation = LAYER_TANH;
        return 0;
}

/* Makes one sequence of hidden layers, which reads observation, noisy action and time. */
static int network_derive_denoiser(
                const JobSettings *settings, const ActordEnvSpec *spec, uint32_t act, Network *network) {
        uint32_t n_hidden = settings_hidden_layers(settings);
        int r, trunk;

        r = network_take_bounds(settings, &spec->action, network);
        if (r < 0)
                return r;
        network->act = act;
        network->passes = algorithm_acting_passes(settings);
        network->candidates = settings->candidates;
        trunk = network_append_trunk(network, settings, &spec->observation, "actor.denoiser");
        if (trunk < 0)
                return trunk;
        network_append_head(network, OUTPUT_ACTION, "actor.denoiser", (int) dense_number(settings, n_hidden),
                        (uint32_t) trunk, network->n_action, 1.0);
        return 0;
}

int network_derive_beside(
                const JobSettings *settings, const Network *policy, const NetworkRow *row, Network *ret) {
        Network network;
        uint64_t n_reads = 0;
        int r, trunk;

        assert(settings);
        assert(policy);
        assert(row);
        assert(ret);

        if (row->reads & READS_OBSERVATION)
                n_reads += policy->n_observation;
        if (row->reads & READS_ACTION)
                n_reads += policy->n_action;
        if (n_reads > FORWARD_SCRATCH_MAX)
                return -E2BIG;

        memset(&network, 0, sizeof(network));
        network.act = policy->act;
        network.n_observation = (uint32_t) n_reads;
        network.n_action = policy->n_action;
        if (row->reads & READS_ACTION && algorithm_uses(settings->algorithm, SETTING_Learner_LinkEditing)) {
                r = network_edit(&network, settings->input_augmentation, &settings->link_editing);
                if (r < 0)
                        return r;
        }
        trunk = network_append_trunk(&network, settings, NULL, row->layers);
        if (trunk < 0)
                return trunk;
        network_append_head(&network, row->tells, row->layers,
                        (int) dense_number(settings, settings_hidden_layers(settings)), (uint32_t) trunk,
                        row->tells == OUTPUT_ACTION ? network.n_action : 1, 1.0);
        r = widths_check(&network);
        if (r < 0)
                return r;

        memcpy(ret, &network, sizeof(network));
        return 0;
}

int network_derive_judge(const JobSettings *settings, const Network *policy, Network *ret) {
        const NetworkRow *row;

        assert(settings);
        assert(policy);
        assert(ret);

        if (policy->candidates <= 1) {
                memset(ret, 0, sizeof(*ret));
                return 0;
        }
        row = &algorithm_row(settings->algorithm)->networks[1];
        assert(row->name && row->n >= JUDGES && row->follows != FOLLOWS_NONE);
        return network_derive_beside(settings, policy, row, ret);
}

static int network_derive_layers(const JobSettings *settings, const ActordEnvSpec *spec, Network *network) {
        switch ((ActsBy) algorithm_row(settings->algorithm)->acting) {
        case ACTING_DISTRIBUTION: return network_derive_actor_critic(settings, spec, network);
        case ACTING_VALUES: return network_derive_values(settings, &spec->observation, network);
        case ACTING_DETERMINISTIC: return network_derive_deterministic(settings, spec, network);
        case ACTING_SQUASHED: return network_derive_squashed(settings, spec, network);
        case ACTING_CONSISTENCY: return network_derive_denoiser(settings, spec, ACT_CONSISTENCY, network);
        case ACTING_DIFFUSION: return network_derive_denoiser(settings, spec, ACT_DIFFUSION, network);
        }
        return -EINVAL;
}

int network_derive(const JobSettings *settings, const ActordEnvSpec *spec, Network *ret) {
        uint32_t n_hidden = settings_hidden_layers(settings);
        Network network;
        int r;

        assert(settings);
        assert(spec);
        assert(ret);

        if (settings->hidden_layers.n > HIDDEN_LAYERS_MAX || settings->convolutions.n > CONVOLUTIONS_MAX ||
                        n_hidden + settings->convolutions.n < 1)
                return -EINVAL;

        memset(&network, 0, sizeof(network));
        r = spaces_derive(spec, &network);
        if (r < 0)
                return r;
        network.pixels = settings->convolutions.n > 0 && spec->observation.element == ACTORD_U8;
        r = network_derive_layers(settings, spec, &network);
        if (r < 0)
                return r;
        r = widths_check(&network);
        if (r < 0)
                return r;

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

/* Goes backwards from the action, since the list has inputs before the layers that read them. */
uint64_t network_acting_layers(const Network *network) {
        uint64_t acts = 0;

        assert(network);
        assert(network->n_layers <= LAYERS_MAX);
        static_assert(LAYERS_MAX <= 64, "a bit for each layer");

        for (uint32_t i = network->n_layers; i-- > 0;) {
                const Layer *layer = &network->layers[i];

                if (layer->output == OUTPUT_ACTION ||
                                (layer->output == OUTPUT_LOG_STD && layer->kind != LAYER_PARAMETER))
                        acts |= UINT64_C(1) << i;
                if (acts >> i & 1)
                        acts |= UINT64_C(1) << layer->input;
        }
        return acts;
}
