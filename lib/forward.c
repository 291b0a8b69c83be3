/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The forward pass: from observations to the parameters of actions, for one row or several at once. A row
 * has the same bits in a batch of any size (lib/forward-layers.c).
 *
 * Some policies make actions out of noise, in passes (lib/sampler.h). Such a policy may make several
 * candidates for each observation, each from noise of its own. Two critics judge every candidate, and the
 * lesser of their values is its value. action_sample() chooses one by these values. */
#include "lib/forward.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "lib/forward-internal.h"
#include "lib/network.h"
#include "lib/normals.h"
#include "lib/slot.h"

/* Copies the outputs of layer i for row r to their place among the parameters of the action's distribution,
 * if they are such parameters. */
static void row_tell(const Forward *forward, uint32_t i, size_t r, float *ret_parameters) {
        const Network *network = &forward->network;
        const Layer *layer = &network->layers[i];
        size_t first = r * padded(layer->n_out);

        switch ((LayerOutput) layer->output) {
        case OUTPUT_HIDDEN:
        case OUTPUT_VALUE: break;
        case OUTPUT_ACTION:
                memcpy(ret_parameters, forward->outputs[i] + first, network->n_action * sizeof(float));
                if (network->act == ACT_EPSILON_GREEDY || network->act == ACT_DETERMINISTIC)
                        ret_parameters[network->n_action] = (float) forward->bank->epsilon;
                else if (network->act == ACT_SQUASHED)
                        ret_parameters[2 * (size_t) network->n_action] = (float) forward->bank->epsilon;
                break;
        case OUTPUT_LOG_STD:
                memcpy(ret_parameters + network->n_action,
                                layer->kind == LAYER_PARAMETER ? forward->parameters + layer->bias_at
                                                               : forward->outputs[i] + first,
                                network->n_action * sizeof(float));
                break;
        }
}

void forward_draw(Forward *forward, size_t row, ActordRandom *random) {
        size_t n = forward_noise(&forward->network);

        assert(row < FORWARD_ROWS_MAX);

        if (n > 0)
                random_draw_normals(random, (uint32_t) n, forward->noise + row * n);
}

/* The noise of a candidate: [passes][n_action]. After the passes, the last part is its action. */
static float *candidate_noise(const Forward *forward, size_t row, size_t candidate) {
        const Network *network = &forward->network;

        return forward->noise +
               (row * network->candidates + candidate) * network->passes * network->n_action;
}

/* Adds the noise of pass k to the actions that the last pass left, and writes the network's input. noise: of
 * the first of n_rows rows. */
static void pass_begin(Forward *forward, float *noise, uint32_t k, size_t n_rows) {
        const Network *network = &forward->network;
        const SamplerPass *pass = &forward->passes[k];
        uint32_t n = network->n_action;

        for (size_t r = 0; r < n_rows; r++, noise += (size_t) network->passes * n) {
                float *x = forward->observation + r * padded(network_inputs(network)) +
                           network->n_observation;
                float *action = noise + (size_t) k * n;
                const float *before = k > 0 ? action - n : NULL;

                for (uint32_t i = 0; i < n; i++) {
                        action[i] = pass->spread * action[i] + (before ? before[i] : 0.0f);
                        x[i] = pass->moment.in * action[i];
                }
                memcpy(x + n, pass->moment.embedding, sizeof(pass->moment.embedding));
        }
}

/* Replaces x, the action with noise, by a combination of x and F, the network's output in `layer`
 * (lib/sampler.h). The result has less noise. */
static void pass_end(Forward *forward, float *noise, uint32_t k, uint32_t layer, size_t n_rows) {
        const SamplerPass *pass = &forward->passes[k];
        const Moment *moment = &pass->moment;
        uint32_t n = forward->network.n_action;

        for (size_t r = 0; r < n_rows; r++, noise += (size_t) forward->network.passes * n) {
                float *action = noise + (size_t) k * n;
                const float *y = forward->outputs[layer] + r * padded(n);

                for (uint32_t i = 0; i < n; i++) {
                        float a = moment->skip * action[i] + moment->out * y[i];

                        a = a > 1.0f ? 1.0f : a;
                        a = a < -1.0f ? -1.0f : a;
                        action[i] = pass->keep * action[i] + pass->take * a;
                }
        }
}

/* The layer with this output, which the network must have. */
static uint32_t layer_of(const Network *network, LayerOutput output) {
        return (uint32_t) (network_output(network, output) - network->layers);
}

/* Makes n_rows actions out of noise, for the observations that are in forward->observation, and copies them
 * to ret_shares [n_rows], `stride` numbers apart. */
static void rows_sample(Forward *forward, float *noise, size_t n_rows, float *ret_shares, size_t stride) {
        const Network *network = &forward->network;
        const float *last = noise + (size_t) (network->passes - 1) * network->n_action;
        uint32_t layer = layer_of(network, OUTPUT_ACTION);

        for (uint32_t k = 0; k < network->passes; k++) {
                pass_begin(forward, noise, k, n_rows);
                forward_layers(forward, n_rows);
                pass_end(forward, noise, k, layer, n_rows);
        }
        for (size_t r = 0; r < n_rows; r++)
                memcpy(ret_shares + r * stride, last + r * network->passes * network->n_action,
                                network->n_action * sizeof(float));
}

/* The value by a critic of each action [n_rows]. The critic reads the observation as the policy does, and
 * the action as the environment gets it. */
static void rows_judge(const Forward *forward, Forward *judge, const float *shares, size_t n_rows,
                float *ret_values) {
        const Network *network = &forward->network;
        uint32_t layer = layer_of(&judge->network, OUTPUT_VALUE), n = network->n_action;

        for (size_t r = 0; r < n_rows; r++) {
                float *x = judge->observation + r * padded(judge->network.n_observation);

                memcpy(x, forward->observation + r * padded(network_inputs(network)),
                                network->n_observation * sizeof(float));
                for (uint32_t i = 0; i < n; i++)
                        x[network->n_observation + i] = action_at_share(network, shares[r * n + i]);
        }
        forward_layers(judge, n_rows);
        for (size_t r = 0; r < n_rows; r++)
                ret_values[r] = judge->outputs[layer][r * padded(1)];
}

/* Of two values that are not both finite, the lesser one would mean nothing. */
static float value_least(float a, float b) {
        if (!isfinite(a) || !isfinite(b))
                return NAN;
        return b < a ? b : a;
}

/* Makes and judges the candidates of one row. */
static void row_propose(Forward *forward, const void *observation, size_t row, float *ret_parameters) {
        const Network *network = &forward->network;
        size_t n_all = network->candidates, n_action = network->n_action, n;
        float *values = ret_parameters + n_all * n_action + 1, other[FORWARD_ROWS_MAX];

        static_assert(JUDGES == 2, "the lesser of two values");

        for (size_t first = 0; first < n_all; first += n) {
                float *shares = ret_parameters + first * n_action;

                n = n_all - first < FORWARD_ROWS_MAX ? n_all - first : FORWARD_ROWS_MAX;
                forward_read(forward, observation, 0, n);
                rows_sample(forward, candidate_noise(forward, row, first), n, shares, n_action);
                rows_judge(forward, forward->judges[0], shares, n, values + first);
                rows_judge(forward, forward->judges[1], shares, n, other);
                for (size_t i = 0; i < n; i++)
                        values[first + i] = value_least(values[first + i], other[i]);
        }
}

/* For policies that act in passes. */
static void rows_sample_all(Forward *forward, const void *observations, size_t stride, size_t n_rows,
                float *ret_parameters) {
        const Network *network = &forward->network;
        size_t n = forward_parameters(network);

        if (network->candidates > 1)
                for (size_t r = 0; r < n_rows; r++)
                        row_propose(forward, (const uint8_t *) observations + r * stride, r,
                                        ret_parameters + r * n);
        else {
                forward_read(forward, observations, stride, n_rows);
                rows_sample(forward, forward->noise, n_rows, ret_parameters, n);
        }
        for (size_t r = 0; r < n_rows; r++)
                ret_parameters[r * n + (size_t) network->candidates * network->n_action] =
                                (float) forward->bank->epsilon;
}

/* For policies that act in one pass. */
static void rows_compute(Forward *forward, const void *observations, size_t stride, size_t n_rows,
                float *ret_parameters) {
        forward_read(forward, observations, stride, n_rows);
        forward_layers(forward, n_rows);
        for (uint32_t i = 0; i < forward->network.n_layers; i++)
                for (size_t r = 0; r < n_rows; r++)
                        row_tell(forward, i, r, ret_parameters + r * forward_parameters(&forward->network));
}

void forward_rows(Forward *forward, const void *observations, size_t stride, size_t n_rows,
                float *ret_parameters) {
        assert(forward->bank);
        assert(n_rows > 0 && n_rows <= FORWARD_ROWS_MAX);

        if (forward->network.passes > 0)
                rows_sample_all(forward, observations, stride, n_rows, ret_parameters);
        else
                rows_compute(forward, observations, stride, n_rows, ret_parameters);
}

void forward_row(Forward *forward, const void *observation, float *ret_parameters) {
        forward_rows(forward, observation, 0, 1, ret_parameters);
}
