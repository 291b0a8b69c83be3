/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The forward pass: from observations to the parameters of actions, for one row or several at once. Each
 * number is the same sum that the learner's product computes (lib/kernel.h). So a row has the same bits on
 * each machine, in actors and in learners.
 *
 * A vector holds adjacent outputs, so weights must be transposed from their order in a policy. This is done
 * once for each policy, in panels of PANEL outputs. The largest layers are the exception: a transposed copy
 * would cost every actor more memory than it saves time, so their panels are transposed at each use. */
#include "lib/forward.h"

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
        LANES = KERNEL_LANES,
        PANEL = 64,         /* outputs of a panel */
        KEPT_MAX = 1 << 21, /* the most weights of which a transposed copy is kept: 8 MiB */
};

struct Forward {
        Network network;
        ActordSpace space;
        SamplerPass passes[PASSES_MAX];
        uint64_t acts; /* bit i: layer i is needed to choose an action */

        const PolicyHead *bank; /* the bank of the last forward_load() */
        const PolicyLayout *layout;
        float *kept[LAYERS_MAX]; /* panels, each [padded n_reads][padded outputs]; or NULL */
        float *panel;            /* for a layer whose panels are not kept */

        float *observation; /* [FORWARD_ROWS_MAX], each padded to LANES, as outputs are */
        float *given;       /* one observation before it is edited; NULL: the network is not edited */
        float *squares;     /* [FORWARD_ROWS_MAX]: the input of one unit of a convolution, padded */
        float *noise;       /* for passes: [FORWARD_ROWS_MAX][passes][n_action] */
        float *units;       /* [FORWARD_ROWS_MAX]: the outputs of all units for `squares`, padded */
        float *outputs[LAYERS_MAX]; /* of the layers that are computed, not of PARAMETER layers */
};

static size_t max_of(size_t a, size_t b) {
        return a > b ? a : b;
}

static size_t padded(size_t n) {
        return (n + LANES - 1) / LANES * LANES;
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

static bool network_possible(const Network *network) {
        const Layer *action, *value, *log_std;

        if (network->n_layers < 1 || network->n_layers > LAYERS_MAX || network->n_observation < 1 ||
                        !network_edit_possible(network))
                return false;
        for (uint32_t i = 0; i < network->n_layers; i++)
                if (!layer_possible(network, i))
                        return false;

        action = network_output(network, OUTPUT_ACTION);
        value = network_output(network, OUTPUT_VALUE);
        log_std = network_output(network, OUTPUT_LOG_STD);
        if (!action || action->n_out != network->n_action || action->kind != LAYER_DENSE)
                return false;
        if (log_std && log_std->n_out != network->n_action)
                return false;
        if (network->passes > 0 && !act_passes(network->act))
                return false;
        switch ((ActKind) network->act) {
        case ACT_CATEGORICAL: return (!value || value->kind == LAYER_DENSE) && choices_possible(network);
        case ACT_GAUSSIAN:
                return (!value || value->kind == LAYER_DENSE) && log_std && log_std->kind == LAYER_PARAMETER;
        case ACT_EPSILON_GREEDY: return !value;
        case ACT_CONSISTENCY:
        case ACT_DIFFUSION:
                return !value && network->passes >= 1 && network->passes <= PASSES_MAX &&
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
        ret->noise = (size_t) FORWARD_ROWS_MAX * network->passes * network->n_action;
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
        if (n > FORWARD_ROWS_MAX * (3 * FORWARD_SCRATCH_MAX + LANES * (LAYERS_MAX + 3)))
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

int forward_new(const Network *network, const ActordEnvSpec *spec, Forward **ret) {
        const size_t header = (sizeof(Forward) + 63) / 64 * 64;
        Forward *forward;
        Sizes sizes;
        uint64_t acts;
        float *next;
        size_t n;
        int r;

        assert(network);
        assert(spec);
        assert(ret);

        if (!network_possible(network))
                return -EINVAL;

        acts = network_acting_layers(network);
        sizes_count(network, acts, &sizes);
        r = sizes_total(&sizes, &n);
        if (r < 0)
                return r;

        forward = aligned_alloc(64, header + n * sizeof(float));
        if (!forward)
                return -ENOMEM;
        memset(forward, 0, header + n * sizeof(float));

        forward->network = *network;
        forward->space = spec->observation;
        forward->acts = acts;
        for (uint32_t k = 0; k < network->passes; k++)
                sampler_pass(network->act, network->passes, k, &forward->passes[k]);

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

Forward *forward_free(Forward *forward) {
        free(forward);
        return NULL;
}

/* Transposes the panel of outputs from `first` on. */
static void panel_turn(const Layer *layer, const float *parameters, size_t first, float *ret) {
        size_t n = layer->n_units - first < PANEL ? layer->n_units - first : PANEL;

        kernel_transpose(parameters + layer->weight_at + first * layer->n_reads, (uint32_t) n,
                        layer->n_reads, ret);
}

void forward_load(Forward *forward, const PolicyHead *bank, const PolicyLayout *layout) {
        const float *parameters = policy_numbers(bank, layout->parameters_at);

        forward->bank = bank;
        forward->layout = layout;
        for (uint32_t i = 0; i < forward->network.n_layers; i++) {
                const Layer *layer = &forward->network.layers[i];

                for (size_t o = 0; forward->kept[i] && o < layer->n_units; o += PANEL)
                        panel_turn(layer, parameters, o, forward->kept[i] + o * padded(layer->n_reads));
        }
}

/* Adds the products of layer i's weights and x to y [n_rows]. The rows of x are x_stride apart. y is padded
 * to LANES; the numbers in the padding are never used. */
static void rows_add(const Forward *forward, const float *parameters, uint32_t i, const float *x,
                size_t x_stride, size_t n_rows, float *y) {
        const Layer *layer = &forward->network.layers[i];

        for (size_t o = 0; o < layer->n_units; o += PANEL) {
                size_t n = layer->n_units - o < PANEL ? padded(layer->n_units - o) : PANEL;
                float *panel = forward->panel;

                if (forward->kept[i])
                        panel = forward->kept[i] + o * padded(layer->n_reads);
                else
                        panel_turn(layer, parameters, o, panel);
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
static void squares_forward(Forward *forward, const float *parameters, uint32_t i, const float *x,
                size_t n_rows, float *y) {
        const Layer *layer = &forward->network.layers[i];
        const Convolution *c = &layer->convolution;
        const float *bias = parameters + layer->bias_at;
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
                rows_add(forward, parameters, i, forward->squares, padded(layer->n_reads), n,
                                forward->units);
                for (size_t k = 0; k < n; k++) {
                        const float *units = forward->units + k * units_stride;
                        float *to = y + (first + k) / n_squares * y_stride + (first + k) % n_squares;

                        for (size_t u = 0; u < layer->n_units; u++)
                                to[u * n_squares] = units[u] + bias[u];
                }
        }
}

static void layer_forward(Forward *forward, const float *parameters, uint32_t i, size_t n_rows) {
        const Layer *layer = &forward->network.layers[i];
        const float *x = layer->input == i ? forward->observation : forward->outputs[layer->input];
        size_t stride = padded(layer->n_out);
        size_t x_stride = padded(layer->input == i ? network_inputs(&forward->network) : layer->n_in);
        float *y = forward->outputs[i];

        if (layer->kind == LAYER_CONVOLUTION)
                squares_forward(forward, parameters, i, x, n_rows, y);
        else {
                for (size_t r = 0; r < n_rows; r++)
                        memcpy(y + r * stride, parameters + layer->bias_at, layer->n_out * sizeof(float));
                rows_add(forward, parameters, i, x, x_stride, n_rows, y);
        }
        kernel_activate(y, n_rows * stride, layer->activation);
}

static void rows_read(Forward *forward, const PolicyHead *bank, const PolicyLayout *layout,
                const void *observations, size_t stride, size_t n_rows) {
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

/* Copies the outputs of layer i for row r to their place among the parameters of the action's distribution,
 * if they are such parameters. */
static void row_tell(const Forward *forward, const PolicyHead *bank, const float *parameters, uint32_t i,
                size_t r, float *ret_parameters) {
        const Network *network = &forward->network;
        const Layer *layer = &network->layers[i];
        size_t first = r * padded(layer->n_out);

        switch ((LayerOutput) layer->output) {
        case OUTPUT_HIDDEN:
        case OUTPUT_VALUE: break;
        case OUTPUT_ACTION:
                memcpy(ret_parameters, forward->outputs[i] + first, network->n_action * sizeof(float));
                if (network->act == ACT_EPSILON_GREEDY || network->act == ACT_DETERMINISTIC ||
                                act_passes(network->act))
                        ret_parameters[network->n_action] = (float) bank->epsilon;
                else if (network->act == ACT_SQUASHED)
                        ret_parameters[2 * (size_t) network->n_action] = (float) bank->epsilon;
                break;
        case OUTPUT_LOG_STD:
                memcpy(ret_parameters + network->n_action,
                                layer->kind == LAYER_PARAMETER ? parameters + layer->bias_at
                                                               : forward->outputs[i] + first,
                                network->n_action * sizeof(float));
                break;
        }
}

void forward_draw(Forward *forward, size_t row, ActordRandom *random) {
        size_t n = (size_t) forward->network.passes * forward->network.n_action;

        assert(row < FORWARD_ROWS_MAX);

        for (size_t k = 0; k < n; k++)
                forward->noise[row * n + k] = (float) actord_random_normal(random);
}

/* The action of row r so far. It still has the noise that later passes will remove. */
static float *row_action(const Forward *forward, size_t r, uint32_t pass) {
        const Network *network = &forward->network;

        return forward->noise + (r * network->passes + pass) * network->n_action;
}

/* Adds the noise of pass k to the action that the last pass left, and writes the network's input. */
static void pass_begin(Forward *forward, const SamplerPass *pass, uint32_t k, size_t n_rows) {
        const Network *network = &forward->network;
        const Moment *moment = &pass->moment;
        uint32_t n = network->n_action;

        for (size_t r = 0; r < n_rows; r++) {
                float *x = forward->observation + r * padded(network_inputs(network)) +
                           network->n_observation;
                float *action = row_action(forward, r, k);
                const float *before = k > 0 ? row_action(forward, r, k - 1) : NULL;

                for (uint32_t i = 0; i < n; i++) {
                        action[i] = pass->spread * action[i] + (before ? before[i] : 0.0f);
                        x[i] = moment->in * action[i];
                }
                memcpy(x + n, moment->embedding, sizeof(moment->embedding));
        }
}

/* Replaces x, the action with noise, by a combination of x and F, the network's output (lib/sampler.h). The
 * result has less noise. */
static void pass_end(Forward *forward, const SamplerPass *pass, uint32_t k, uint32_t layer, size_t n_rows) {
        const Moment *moment = &pass->moment;
        uint32_t n = forward->network.n_action;

        for (size_t r = 0; r < n_rows; r++) {
                float *action = row_action(forward, r, k), *y = forward->outputs[layer] + r * padded(n);

                for (uint32_t i = 0; i < n; i++) {
                        float a = moment->skip * action[i] + moment->out * y[i];

                        a = a > 1.0f ? 1.0f : a;
                        a = a < -1.0f ? -1.0f : a;
                        action[i] = y[i] = pass->keep * action[i] + pass->take * a;
                }
        }
}

static void rows_forward(Forward *forward, const float *parameters, size_t n_rows) {
        for (uint32_t i = 0; i < forward->network.n_layers; i++)
                if (forward->network.layers[i].kind != LAYER_PARAMETER && (forward->acts >> i & 1))
                        layer_forward(forward, parameters, i, n_rows);
}

static void rows_sample(Forward *forward, const float *parameters, size_t n_rows) {
        uint32_t layer = 0;

        while (forward->network.layers[layer].output != OUTPUT_ACTION)
                layer++;
        for (uint32_t k = 0; k < forward->network.passes; k++) {
                pass_begin(forward, &forward->passes[k], k, n_rows);
                rows_forward(forward, parameters, n_rows);
                pass_end(forward, &forward->passes[k], k, layer, n_rows);
        }
}

void forward_rows(Forward *forward, const void *observations, size_t stride, size_t n_rows,
                float *ret_parameters) {
        const Network *network = &forward->network;
        const float *parameters;

        assert(forward->bank);
        assert(n_rows > 0 && n_rows <= FORWARD_ROWS_MAX);

        parameters = policy_numbers(forward->bank, forward->layout->parameters_at);
        rows_read(forward, forward->bank, forward->layout, observations, stride, n_rows);
        if (network->passes > 0)
                rows_sample(forward, parameters, n_rows);
        else
                rows_forward(forward, parameters, n_rows);
        for (uint32_t i = 0; i < network->n_layers; i++) {
                for (size_t r = 0; r < n_rows; r++)
                        row_tell(forward, forward->bank, parameters, i, r,
                                        ret_parameters + r * forward_parameters(network));
        }
}

void forward_row(Forward *forward, const void *observation, float *ret_parameters) {
        forward_rows(forward, observation, 0, 1, ret_parameters);
}
