/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The network once more, in double precision and in the plainest words: what finite differences of losses are taken of. */
#pragma once

#include "tests/unit/learner-fixture.h"

static inline void reference_forward(const Network *network, const double *parameters,
                const float *observation, double *ret[LAYERS_MAX]) {
        for (uint32_t i = 0; i < network->n_layers; i++) {
                const Layer *l = &network->layers[i];

                for (uint32_t o = 0; o < l->n_out; o++) {
                        double y = parameters[l->bias_at + o];

                        for (uint32_t k = 0; k < l->n_in; k++)
                                y += parameters[l->weight_at + o * l->n_in + k] *
                                     (l->input == i ? (double) observation[k] : ret[l->input][k]);
                        if (l->activation == LAYER_TANH)
                                y = tanh(y);
                        else if (l->activation == LAYER_RELU)
                                y = fmax(y, 0);
                        ret[i][o] = y;
                }
        }
}

static inline double reference_log_probability(const Network *network, const Batch *b, size_t row,
                double *outputs[LAYERS_MAX], double *ret_entropy) {
        const double *y = outputs[network_find(network, OUTPUT_ACTION)];
        double log_probability = 0, entropy = 0, sum = 0;

        if (network->act == ACT_CATEGORICAL) {
                for (uint32_t a = 0; a < network->n_action; a++)
                        sum += exp(y[a]);
                for (uint32_t a = 0; a < network->n_action; a++)
                        entropy -= exp(y[a]) / sum * (y[a] - log(sum));
                log_probability = y[b->choices[row]] - log(sum);
        } else {
                const double *log_sd = outputs[network_find(network, OUTPUT_LOG_STD)];

                for (uint32_t a = 0; a < network->n_action; a++) {
                        double z = ((double) b->actions[row * network->n_action + a] - y[a]) /
                                   exp(log_sd[a]);

                        log_probability -= z * z / 2 + log_sd[a] + log(2 * M_PI) / 2;
                        entropy += log_sd[a] + (1 + log(2 * M_PI)) / 2;
                }
        }
        *ret_entropy = entropy;
        return log_probability;
}

/* The gradient against central differences of a loss, parameter by parameter. */
static inline void differences_check(const float *gradient, double *parameters, size_t n,
                double (*loss)(const void *arg, const double *parameters), const void *arg) {
        const double h = 1e-6;
        double greatest = 0;

        for (size_t i = 0; i < n; i++)
                greatest = fmax(greatest, fabs((double) gradient[i]));
        g_assert_cmpfloat(greatest, >, 1e-3);
        for (size_t i = 0; i < n; i++) {
                double kept = parameters[i], up, down, expected;

                parameters[i] = kept + h;
                up = loss(arg, parameters);
                parameters[i] = kept - h;
                down = loss(arg, parameters);
                parameters[i] = kept;
                expected = (up - down) / (2 * h);
                if (fabs(expected - (double) gradient[i]) > 1e-4 * greatest)
                        g_error("parameter %zu: the gradient is %g, differences say %g", i,
                                        (double) gradient[i], expected);
        }
}
