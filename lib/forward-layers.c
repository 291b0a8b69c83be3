/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The memory of a forward pass and its layers, for one row or several at once. Each number is the same sum
 * that the learner's product computes (lib/kernel.h). So a row has the same bits on each machine, in actors
 * and in learners.
 *
 * A vector holds adjacent outputs, so weights must be transposed from their order in a policy. This is done
 * once for each policy, in panels of PANEL outputs. The largest layers are the exception: a transposed copy
 * would cost every actor more memory than it saves time, so their panels are transposed at each use. */
#include "lib/forward-internal.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/kernel.h"
#include "lib/network.h"
#include "lib/sampler.h"
#include "lib/slot.h"

enum {
        PANEL = 64,         /* outputs of a panel */
        KEPT_MAX = 1 << 21, /* the most weights of which a transposed copy is kept: 8 MiB */
};

DEFINE_CLEANUP(Forward *, forward_free)

static size_t max_of(size_t a, size_t b) {
        return a > b ? a : b;
}

/* Whether all squares lie inside the padded image, and the image inside the layer's input. */
static bool convolution_possible(const Layer *layer) {
        const Convolution *c = &layer->convolution;
        uint64_t reads = (uint64_t) c->channels * c->kernel * c->kernel;
        uint64_t last = (uint64_t) (c->channels - UINT64_C(1)) * c->channel_step +
                        (uint64_t) (c->height - UINT64_C(1)) * c->row_step +
                        (uint64_t) (c->width - UINT64_C(1)) * c->column_step;

        return c->channels > 0 && c->height > 0 && c->width > 0 && c->kernel > 0 && c->stride > 0 &&
               c->out_height > 0 && c->out_width > 0 && c->padding < c->kernel && last < layer->n_in &&
               layer->n_reads == reads && reads <= FORWARD_SCRATCH_MAX &&
               layer->n_out == (uint64_t) layer->n_units * c->out_height * c->out_width &&
               (uint64_t) (c->out_height - 1) * c->stride + c->kernel <=
                               c->height + UINT64_C(2) * c->padding &&
               (uint64_t) (c->out_width - 1) * c->stride + c->kernel <= c->width + UINT64_C(2) * c->padding;
}

static bool layer_possible(const Network *network, uint32_t i) {
        const Layer *layer = &network->layers[i];
        uint32_t n_in;

        if (layer->n_out < 1 || layer->n_out > FORWARD_SCRATCH_MAX || layer->input > i)
                return false;
        if (layer->kind == LAYER_PARAMETER)
                return layer->bias_at + layer->n_out <= network->n_parameters;
        if (layer->kind > LAYER_CONVOLUTION || network->layers[layer->input].kind == LAYER_PARAMETER)
                return false;

        /* A layer may read just the first numbers of an observation. */
        n_in = layer->input == i ? layer->n_in : network->layers[layer->input].n_out;
        if (layer->input == i && (n_in < 1 || n_in > network_inputs(network)))
                return false;
        if (layer->input == i && layer->kind == LAYER_CONVOLUTION &&
                        (n_in != network->n_observation || network->n_edited > 0))
                return false;
        if (layer->kind == LAYER_DENSE ? layer->n_units != layer->n_out || layer->n_reads != n_in
                                       : !convolution_possible(layer))
                return false;
        return layer->n_in == n_in &&
               layer->weight_at + (uint64_t) layer->n_units * layer->n_reads <= network->n_parameters &&
               layer->bias_at + layer->n_units <= network->n_parameters;
}

static bool bounds_possible(const Network *network) {
        return action_bounds_possible(network->action_low, network->action_high) &&
               isfinite(network->action_noise) && network->action_noise >= 0;
}

/* Whether each number of an action has outputs of its own, and every output belongs to one number. */
static bool choices_possible(const Network *network) {
        uint64_t n = 0;

        if (network->n_choices < 1 || network->n_choices > ACTORD_CHOICES_MAX)
                return false;
        for (uint32_t k = 0; k < network->n_choices; k++) {
                if (network->choices[k] < 1)
                        return false;
                n += network->choices[k];
        }
        return n == network->n_action;
}

static bool layers_possible(const Network *network) {
        if (network->n_layers < 1 || network->n_layers > LAYERS_MAX || network->n_observation < 1)
                return false;
        for (uint32_t i = 0; i < network->n_layers; i++)
                if (!layer_possible(network, i))
                        return false;
        return true;
}

/* Whether this is a network of critics that read an observation of the policy and an action. judge: NULL or
 * without layers: there is none. */
static bool judge_possible(const Network *policy, const Network *judge) {
        const Layer *value;

        if (!judge || judge->passes > 0 || judge->n_edited > 0 || !layers_possible(judge) ||
                        judge->n_observation != (uint64_t) policy->n_observation + policy->n_action)
                return false;
        value = network_output(judge, OUTPUT_VALUE);
        return value && value->n_out == 1 && value->kind == LAYER_DENSE;
}

static bool network_possible(const Network *network, const Network *judge) {
        const Layer *action, *value, *log_std;

        if (!network_edit_possible(network) || !layers_possible(network))
                return false;
        if (network->candidates > 1 && !judge_possible(network, judge))
                return false;

        action = network_output(network, OUTPUT_ACTION);
        value = network_output(network, OUTPUT_VALUE);
        log_std = network_output(network, OUTPUT_LOG_STD);
        if (!action || action->n_out != network->n_action || action->kind != LAYER_DENSE)
                return false;
        if (log_std && log_std->n_out != network->n_action)
                return false;
        if ((network->passes > 0 || network->candidates > 0) && !act_passes(network->act))
                return false;
        switch ((ActKind) network->act) {
        case ACT_CATEGORICAL: return (!value || value->kind == LAYER_DENSE) && choices_possible(network);
        case ACT_GAUSSIAN:
                return (!value || value->kind == LAYER_DENSE) && log_std && log_std->kind == LAYER_PARAMETER;
        case ACT_EPSILON_GREEDY: return !value;
        case ACT_CONSISTENCY:
        case ACT_DIFFUSION:
                return !value && network->passes >= 1 && network->passes <= PASSES_MAX &&
                       network->candidates >= 1 && network->candidates <= CANDIDATES_MAX &&
                       bounds_possible(network);
        case ACT_DETERMINISTIC: return !value && bounds_possible(network);
        case ACT_SQUASHED:
                return !value && log_std && log_std->kind == LAYER_DENSE && bounds_possible(network);
        }
        return false;
}

/* The number of floats in all panels (transposed blocks of weights) of a layer. */
static size_t layer_numbers(const Layer *layer) {
        return padded(layer->n_reads) * padded(layer->n_units);
}

/* The number of floats in a layer's largest panel. */
static size_t panel_numbers(const Layer *layer) {
        size_t n = padded(layer->n_units);

        return padded(layer->n_reads) * (n < PANEL ? n : PANEL);
}

/* The number of floats in each part of the memory of a Forward. */
typedef struct Sizes {
        size_t observation, given, noise, squares, units, panel;
        size_t outputs[LAYERS_MAX], kept[LAYERS_MAX]; /* 0: it has none */
} Sizes;

/* Counts the floats for the layers that are needed to act, which are the bits of `acts`. A layer's
 * transposed weights are kept if they still fit into KEPT_MAX; layers get room in the network's order. */
static void sizes_count(const Network *network, uint64_t acts, Sizes *ret) {
        size_t n_kept = 0;

        *ret = (Sizes){ .observation = FORWARD_ROWS_MAX * padded(network_inputs(network)) };
        ret->given = network->n_edited > 0 ? padded(network->n_observation) : 0;
        ret->noise = FORWARD_ROWS_MAX * forward_noise(network);
        for (uint32_t i = 0; i < network->n_layers; i++) {
                const Layer *layer = &network->layers[i];

                if (layer->kind == LAYER_PARAMETER || !(acts >> i & 1))
                        continue;
                ret->outputs[i] = FORWARD_ROWS_MAX * padded(layer->n_out);
                if (layer->kind == LAYER_CONVOLUTION) {
                        ret->squares = max_of(ret->squares, FORWARD_ROWS_MAX * padded(layer->n_reads));
                        ret->units = max_of(ret->units, FORWARD_ROWS_MAX * padded(layer->n_units));
                }
                if (n_kept + layer_numbers(layer) <= KEPT_MAX) {
                        ret->kept[i] = layer_numbers(layer);
                        n_kept += ret->kept[i];
                } else
                        ret->panel = max_of(ret->panel, panel_numbers(layer));
        }
}

/* Adds up all parts. -E2BIG: scratch memory exceeds its limit. Transposed weights, kept or in the panel, do
 * not count here. */
static int sizes_total(const Sizes *sizes, size_t *ret) {
        size_t n = sizes->observation + sizes->given + sizes->noise + sizes->squares + sizes->units;

        for (uint32_t i = 0; i < LAYERS_MAX; i++)
                n += sizes->outputs[i];
        if (n > FORWARD_ROWS_MAX * (3 * FORWARD_SCRATCH_MAX + KERNEL_LANES * (LAYERS_MAX + 3)))
                return -E2BIG;

        n += sizes->panel;
        for (uint32_t i = 0; i < LAYERS_MAX; i++)
                n += sizes->kept[i];
        *ret = n;
        return 0;
}

/* Takes the next n floats of the memory; NULL if n is 0. */
static float *take(float **next, size_t n) {
        float *part = *next;

        *next += n;
        return n > 0 ? part : NULL;
}

/* Allocates the memory for a network whose layers `acts` are computed. */
static int forward_take(const Network *network, uint64_t acts, Forward **ret) {
        const size_t header = (sizeof(Forward) + 63) / 64 * 64;
        Forward *forward;
        Sizes sizes;
        float *next;
        size_t n;
        int r;

        sizes_count(network, acts, &sizes);
        r = sizes_total(&sizes, &n);
        if (r < 0)
                return r;

        forward = aligned_alloc(64, header + n * sizeof(float));
        if (!forward)
                return -ENOMEM;
        memset(forward, 0, header + n * sizeof(float));

        forward->network = *network;
        forward->acts = acts;
        next = (float *) ((uint8_t *) forward + header);
        forward->observation = take(&next, sizes.observation);
        forward->given = take(&next, sizes.given);
        forward->noise = take(&next, sizes.noise);
        forward->squares = take(&next, sizes.squares);
        forward->units = take(&next, sizes.units);
        forward->panel = take(&next, sizes.panel);
        for (uint32_t i = 0; i < network->n_layers; i++) {
                forward->outputs[i] = take(&next, sizes.outputs[i]);
                forward->kept[i] = take(&next, sizes.kept[i]);
        }

        *ret = forward;
        return 0;
}

int forward_new_judged(
                const Network *network, const Network *judge, const ActordEnvSpec *spec, Forward **ret) {
        _cleanup_(forward_freep) Forward *forward = NULL;
        int r;

        assert(network);
        assert(spec);
        assert(ret);

        if (!network_possible(network, judge))
                return -EINVAL;
        r = forward_take(network, network_acting_layers(network), &forward);
        if (r < 0)
                return r;
        forward->space = spec->observation;
        for (uint32_t k = 0; k < network->passes; k++)
                sampler_pass(network->act, network->passes, k, &forward->passes[k]);
        for (uint32_t k = 0; network->candidates > 1 && k < JUDGES; k++) {
                r = forward_take(judge, (UINT64_C(1) << judge->n_layers) - 1, &forward->judges[k]);
                if (r < 0)
                        return r;
        }

        *ret = TAKE_PTR(forward);
        return 0;
}

int forward_new(const Network *network, const ActordEnvSpec *spec, Forward **ret) {
        return forward_new_judged(network, NULL, spec, ret);
}

Forward *forward_free(Forward *forward) {
        if (!forward)
                return NULL;

        for (uint32_t k = 0; k < JUDGES; k++)
                (void) forward_free(forward->judges[k]);
        free(forward);
        return NULL;
}

/* Transposes the panel of outputs from `first` on. */
static void panel_turn(const Layer *layer, const float *parameters, size_t first, float *ret) {
        size_t n = layer->n_units - first < PANEL ? layer->n_units - first : PANEL;

        kernel_transpose(parameters + layer->weight_at + first * layer->n_reads, (uint32_t) n,
                        layer->n_reads, ret);
}

static void parameters_load(Forward *forward, const float *parameters) {
        forward->parameters = parameters;
        for (uint32_t i = 0; i < forward->network.n_layers; i++) {
                const Layer *layer = &forward->network.layers[i];

                for (size_t o = 0; forward->kept[i] && o < layer->n_units; o += PANEL)
                        panel_turn(layer, parameters, o, forward->kept[i] + o * padded(layer->n_reads));
        }
}

void forward_load(Forward *forward, const PolicyHead *bank, const PolicyLayout *layout) {
        forward->bank = bank;
        forward->layout = layout;
        parameters_load(forward, policy_numbers(bank, layout->parameters_at));
        for (uint32_t k = 0; k < JUDGES && forward->judges[k]; k++)
                parameters_load(forward->judges[k],
                                policy_judge(bank, layout, &forward->judges[k]->network, k));
}

/* Adds the products of layer i's weights and x to y [n_rows]. The rows of x are x_stride apart. y is padded
 * to LANES; the numbers in the padding are never used. */
static void rows_add(const Forward *forward, uint32_t i, const float *x, size_t x_stride, size_t n_rows,
                float *y) {
        const Layer *layer = &forward->network.layers[i];

        for (size_t o = 0; o < layer->n_units; o += PANEL) {
                size_t n = layer->n_units - o < PANEL ? padded(layer->n_units - o) : PANEL;
                float *panel = forward->panel;

                if (forward->kept[i])
                        panel = forward->kept[i] + o * padded(layer->n_reads);
                else
                        panel_turn(layer, forward->parameters, o, panel);
                kernel_product(&(Product){
                                .m = (uint32_t) n_rows,
                                .n = (uint32_t) n,
                                .k = layer->n_reads,
                                .a = x,
                                .a_m = x_stride,
                                .a_k = 1,
                                .b = panel,
                                .b_k = n,
                                .goes_on = true,
                                .c = y + o,
                                .c_m = padded(layer->n_units),
                });
        }
}

/* Copies a square that lies inside an image whose columns are adjacent in memory. If the kernel's size is a
 * constant, the compiler copies each line by one or two instructions. */
static inline __attribute__((always_inline)) void square_copy(
                const Convolution *c, const float *x, uint32_t kernel, float *ret) {
        for (uint32_t channel = 0; channel < c->channels; channel++)
                for (uint32_t ky = 0; ky < kernel; ky++, ret += kernel)
                        memcpy(ret, x + (size_t) channel * c->channel_step + (size_t) ky * c->row_step,
                                        kernel * sizeof(float));
}

/* Reads any square, channel by channel and row by row, with zeros outside of the image. */
static void square_read_any(const Convolution *c, const float *x, int64_t top, int64_t left, float *ret) {
        uint32_t first = left < 0 ? (uint32_t) -left : 0;
        uint32_t end = left + c->kernel > c->width ? (uint32_t) (c->width - left) : c->kernel;

        memset(ret, 0, (size_t) c->channels * c->kernel * c->kernel * sizeof(float));
        for (uint32_t channel = 0; channel < c->channels; channel++)
                for (uint32_t ky = 0; ky < c->kernel; ky++, ret += c->kernel) {
                        int64_t row = top + ky;
                        const float *from;

                        if (row < 0 || row >= c->height)
                                continue;
                        from = x + (int64_t) channel * c->channel_step + row * c->row_step +
                               (left + first) * c->column_step;
                        for (uint32_t kx = first; kx < end; kx++, from += c->column_step)
                                ret[kx] = *from;
                }
}

static void square_read(const Convolution *c, const float *x, uint32_t oy, uint32_t ox, float *ret) {
        int64_t top = (int64_t) oy * c->stride - c->padding, left = (int64_t) ox * c->stride - c->padding;
        bool inside = top >= 0 && left >= 0 && top + c->kernel <= c->height && left + c->kernel <= c->width;

        if (!inside || c->column_step != 1) {
                square_read_any(c, x, top, left, ret);
                return;
        }

        x += (size_t) top * c->row_step + (size_t) left;
        switch (c->kernel) {
        case 3: square_copy(c, x, 3, ret); break;
        case 4: square_copy(c, x, 4, ret); break;
        case 8: square_copy(c, x, 8, ret); break;
        default: square_copy(c, x, c->kernel, ret); break;
        }
}

/* Computes a convolution: a dense layer for each square of each row's image, a few squares at once. A square
 * is the part of the image under the kernel. Biases are added last, as in the learner. */
static void squares_forward(Forward *forward, uint32_t i, const float *x, size_t n_rows, float *y) {
        const Layer *layer = &forward->network.layers[i];
        const Convolution *c = &layer->convolution;
        const float *bias = forward->parameters + layer->bias_at;
        size_t n_squares = (size_t) c->out_height * c->out_width, n_all = n_rows * n_squares, n;
        size_t units_stride = padded(layer->n_units), y_stride = padded(layer->n_out);

        for (size_t first = 0; first < n_all; first += n) {
                n = n_all - first < FORWARD_ROWS_MAX ? n_all - first : FORWARD_ROWS_MAX;
                for (size_t k = 0; k < n; k++) {
                        size_t row = (first + k) / n_squares, square = (first + k) % n_squares;

                        square_read(c, x + row * padded(layer->n_in), (uint32_t) (square / c->out_width),
                                        (uint32_t) (square % c->out_width),
                                        forward->squares + k * padded(layer->n_reads));
                }
                memset(forward->units, 0, n * units_stride * sizeof(float));
                rows_add(forward, i, forward->squares, padded(layer->n_reads), n, forward->units);
                for (size_t k = 0; k < n; k++) {
                        const float *units = forward->units + k * units_stride;
                        float *to = y + (first + k) / n_squares * y_stride + (first + k) % n_squares;

                        for (size_t u = 0; u < layer->n_units; u++)
                                to[u * n_squares] = units[u] + bias[u];
                }
        }
}

static void layer_forward(Forward *forward, uint32_t i, size_t n_rows) {
        const Layer *layer = &forward->network.layers[i];
        const float *x = layer->input == i ? forward->observation : forward->outputs[layer->input];
        size_t stride = padded(layer->n_out);
        size_t x_stride = padded(layer->input == i ? network_inputs(&forward->network) : layer->n_in);
        float *y = forward->outputs[i];

        if (layer->kind == LAYER_CONVOLUTION)
                squares_forward(forward, i, x, n_rows, y);
        else {
                for (size_t r = 0; r < n_rows; r++)
                        memcpy(y + r * stride, forward->parameters + layer->bias_at,
                                        layer->n_out * sizeof(float));
                rows_add(forward, i, x, x_stride, n_rows, y);
        }
        kernel_activate(y, n_rows * stride, layer->activation);
}

void forward_read(Forward *forward, const void *observations, size_t stride, size_t n_rows) {
        const PolicyHead *bank = forward->bank;
        const PolicyLayout *layout = forward->layout;
        size_t n = forward->network.n_observation;

        for (size_t r = 0; r < n_rows; r++) {
                float *read = forward->observation + r * padded(network_inputs(&forward->network));
                float *x = forward->given ? forward->given : read;

                observation_read(&forward->space, (const uint8_t *) observations + r * stride, x);
                if (forward->network.pixels)
                        for (size_t k = 0; k < n; k++)
                                x[k] *= FORWARD_PIXEL;
                if (bank->observation_clip > 0)
                        observation_normalise(policy_numbers(bank, layout->mean_at),
                                        policy_numbers(bank, layout->inverse_sd_at), bank->observation_clip,
                                        n, x);
                if (forward->given)
                        observation_edit(&forward->network, x, read);
        }
}

void forward_layers(Forward *forward, size_t n_rows) {
        for (uint32_t i = 0; i < forward->network.n_layers; i++)
                if (forward->network.layers[i].kind != LAYER_PARAMETER && (forward->acts >> i & 1))
                        layer_forward(forward, i, n_rows);
}
