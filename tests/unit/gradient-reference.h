/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A second implementation of networks, in double precision and plain loops, for finite differences of
 * losses. */
#pragma once

#include "tests/unit/learner-fixture.h"

/* A convolution computes output number `square` of a channel as a sum over weights. Returns the index of the
 * input that weight k multiplies there; -1: the place is outside of the image, where inputs are 0. */
static inline int64_t reference_place(const Convolution *c, uint32_t square, uint32_t k) {
        int64_t y = square / c->out_width * c->stride + k / c->kernel % c->kernel - (int64_t) c->padding;
        int64_t x = square % c->out_width * c->stride + k % c->kernel - (int64_t) c->padding;
        int64_t channel = k / (c->kernel * c->kernel);

        if (y < 0 || y >= c->height || x < 0 || x >= c->width)
                return -1;
        return channel * c->channel_step + y * c->row_step + x * c->column_step;
}

static inline void reference_forward(const Network *network, const double *parameters,
                const float *observation, double *ret[LAYERS_MAX]) {
        for (uint32_t i = 0; i < network->n_layers; i++) {
                const Layer *l = &network->layers[i];

                for (uint32_t o = 0; o < l->n_out; o++) {
                        uint32_t unit = o / (l->n_out / l->n_units), square = o % (l->n_out / l->n_units);
                        double y = parameters[l->bias_at + unit];

                        for (uint32_t k = 0; k < l->n_reads; k++) {
                                int64_t at = l->kind == LAYER_CONVOLUTION
                                                             ? reference_place(&l->convolution, square, k)
                                                             : k;
                                double x = 0;

                                if (at >= 0)
                                        x = l->input == i ? (double) observation[at] : ret[l->input][at];
                                y += parameters[l->weight_at + unit * l->n_reads + k] * x;
                        }
                        if (l->activation == LAYER_TANH)
                                y = tanh(y);
                        else if (l->activation == LAYER_RELU)
                                y = fmax(y, 0);
                        else if (l->activation == LAYER_SILU)
                                y /= 1 + exp(-y);
                        else if (l->activation == LAYER_MISH)
                                y *= tanh(log1p(exp(y)));
                        ret[i][o] = y;
                }
        }
}

static inline double reference_log_probability(const Network *network, const Batch *b, size_t row,
                double *outputs[LAYERS_MAX], double *ret_entropy) {
        const double *y = outputs[network_find(network, OUTPUT_ACTION)];
        double log_probability = 0, entropy = 0;

        if (network->act == ACT_CATEGORICAL)
                for (uint32_t k = 0; k < network->n_choices; y += network->choices[k++]) {
                        double sum = 0;

                        for (uint32_t a = 0; a < network->choices[k]; a++)
                                sum += exp(y[a]);
                        for (uint32_t a = 0; a < network->choices[k]; a++)
                                entropy -= exp(y[a]) / sum * (y[a] - log(sum));
                        log_probability += y[b->choices[row * network->n_choices + k]] - log(sum);
                }
        else {
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

/* Asserts that each number of the gradient equals the central difference of `loss` for its parameter. */
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
