/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ONNX: a graph of operators, as a message of Protocol Buffers. It uses only operators of set 13, which
 * every runtime since 2020 knows. The graph reads observations as the environment returns them. Scaling of
 * bytes, one-hot vectors and normalisation are operators before the first layer. */
#include <stdio.h>
#include <string.h>

#include "actorctl/export/model.h"
#include "actorctl/protobuf.h"
#include "lib/forward.h"
#include "lib/network.h"

enum { ONNX_IR = 7, ONNX_OPERATORS = 13 };

/* Numbers of fields and types, from onnx.proto3. */
enum {
        MODEL_IR = 1,
        MODEL_PRODUCER = 2,
        MODEL_VERSION = 3,
        MODEL_GRAPH = 7,
        MODEL_OPERATORS = 8,
        MODEL_PROPERTY = 14
};
enum { GRAPH_NODE = 1, GRAPH_NAME = 2, GRAPH_INITIALIZER = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12 };
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_OPERATOR = 4, NODE_ATTRIBUTE = 5 };
enum { ATTRIBUTE_NAME = 1, ATTRIBUTE_INT = 3, ATTRIBUTE_INTS = 8, ATTRIBUTE_TYPE = 20 };
enum { ATTRIBUTE_IS_INT = 2, ATTRIBUTE_IS_INTS = 7 };
enum { TENSOR_DIM = 1, TENSOR_TYPE = 2, TENSOR_NAME = 8, TENSOR_RAW = 9 };
enum { TYPE_FLOAT = 1, TYPE_UINT8 = 2, TYPE_INT64 = 7 };
enum { PROPERTY_KEY = 1, PROPERTY_VALUE = 2 };

typedef struct Onnx {
        const Model *model;
        GByteArray *graph;
        char value[64]; /* the name of the newest value, which the next operator reads */
        unsigned n_values;
} Onnx;

static void add_tensor(Onnx *o, const char *name, unsigned type, const uint64_t *dims, size_t n_dims,
                const void *data, size_t n) {
        GByteArray *tensor = g_byte_array_new();

        for (size_t i = 0; i < n_dims; i++)
                proto_unsigned(tensor, TENSOR_DIM, dims[i]);
        proto_unsigned(tensor, TENSOR_TYPE, type);
        proto_string(tensor, TENSOR_NAME, name);
        proto_bytes(tensor, TENSOR_RAW, data, n);
        proto_message(o->graph, GRAPH_INITIALIZER, tensor);
}

static void add_floats(Onnx *o, const char *name, const uint64_t *dims, size_t n_dims, const float *data) {
        size_t n = 1;

        for (size_t i = 0; i < n_dims; i++)
                n *= dims[i];
        add_tensor(o, name, TYPE_FLOAT, dims, n_dims, data, n * sizeof(float));
}

static void add_scalar(Onnx *o, const char *name, float value) {
        add_floats(o, name, NULL, 0, &value);
}

static void attribute_int(GByteArray *node, const char *name, uint64_t value) {
        GByteArray *attribute = g_byte_array_new();

        proto_string(attribute, ATTRIBUTE_NAME, name);
        proto_unsigned(attribute, ATTRIBUTE_INT, value);
        proto_unsigned(attribute, ATTRIBUTE_TYPE, ATTRIBUTE_IS_INT);
        proto_message(node, NODE_ATTRIBUTE, attribute);
}

static void attribute_ints(GByteArray *node, const char *name, const uint32_t *values, size_t n) {
        GByteArray *attribute = g_byte_array_new();

        proto_string(attribute, ATTRIBUTE_NAME, name);
        for (size_t i = 0; i < n; i++)
                proto_unsigned(attribute, ATTRIBUTE_INTS, values[i]);
        proto_unsigned(attribute, ATTRIBUTE_TYPE, ATTRIBUTE_IS_INTS);
        proto_message(node, NODE_ATTRIBUTE, attribute);
}

/* Begins an operator with the newest value and these tensors as inputs; the list ends with NULL. */
static GByteArray *node_begin(Onnx *o, const char *operator, const char * const * tensors) {
        GByteArray *node = g_byte_array_new();

        proto_string(node, NODE_INPUT, o->value);
        for (; *tensors; tensors++)
                proto_string(node, NODE_INPUT, *tensors);
        proto_string(node, NODE_OPERATOR, operator);
        return node;
}

/* Ends a node; its output becomes the newest value. output NULL: the output gets a generated name. */
static void node_end(Onnx *o, GByteArray *node, const char *output) {
        if (output)
                g_strlcpy(o->value, output, sizeof(o->value));
        else
                (void) snprintf(o->value, sizeof(o->value), "value%u", o->n_values++);
        proto_string(node, NODE_OUTPUT, o->value);
        proto_string(node, NODE_NAME, o->value);
        proto_message(o->graph, GRAPH_NODE, node);
}

static void add_node(Onnx *o, const char *operator, const char * a, const char *b) {
        const char *const tensors[] = { a, a ? b : NULL, NULL };

        node_end(o, node_begin(o, operator, tensors), NULL);
}

/* Multiplies the newest value by the result of one or two operators on it. */
static void add_gated(Onnx *o, const char *first, const char *second) {
        g_autofree char *x = g_strdup(o->value);

        add_node(o, first, NULL, NULL);
        if (second)
                add_node(o, second, NULL, NULL);
        add_node(o, "Mul", x, NULL);
}

static void add_activation(Onnx *o, LayerActivation activation) {
        switch (activation) {
        case LAYER_NONE: break;
        case LAYER_TANH: add_node(o, "Tanh", NULL, NULL); break;
        case LAYER_RELU: add_node(o, "Relu", NULL, NULL); break;
        case LAYER_SILU: add_gated(o, "Sigmoid", NULL); break;
        case LAYER_MISH: add_gated(o, "Softplus", "Tanh"); break;
        }
}

static void add_cast(Onnx *o) {
        GByteArray *node = node_begin(o, "Cast", (const char *const[]){ NULL });

        attribute_int(node, "to", TYPE_FLOAT);
        node_end(o, node, NULL);
}

static void add_flatten(Onnx *o) {
        GByteArray *node = node_begin(o, "Flatten", (const char *const[]){ NULL });

        attribute_int(node, "axis", 1);
        node_end(o, node, NULL);
}

static void add_one_hot(Onnx *o) {
        const int64_t depth = o->model->spec.observation.n_choices;
        const float values[] = { 0, 1 };
        const uint64_t two = 2;

        add_tensor(o, "choices", TYPE_INT64, NULL, 0, &depth, sizeof(depth));
        add_floats(o, "off_on", &two, 1, values);
        add_node(o, "OneHot", "choices", "off_on");
}

static void add_normalisation(Onnx *o) {
        const uint64_t n = o->model->network.n_observation;

        add_floats(o, "observation.mean", &n, 1, o->model->mean);
        add_floats(o, "observation.inverse_sd", &n, 1, o->model->inverse_sd);
        add_scalar(o, "observation.lowest", (float) -o->model->clip);
        add_scalar(o, "observation.highest", (float) o->model->clip);
        add_node(o, "Sub", "observation.mean", NULL);
        add_node(o, "Mul", "observation.inverse_sd", NULL);
        add_node(o, "Clip", "observation.lowest", "observation.highest");
}

/* Turns observations into rows of numbers, as layers read them. */
static void add_reading(Onnx *o) {
        const ActordSpace *space = &o->model->spec.observation;

        if (space->kind != ACTORD_BOX) {
                add_one_hot(o);
                if (space->kind == ACTORD_MULTI_DISCRETE)
                        add_flatten(o);
        } else {
                if (space->element == ACTORD_U8)
                        add_cast(o);
                add_flatten(o);
        }
        if (o->model->network.pixels) {
                add_scalar(o, "pixel", (float) FORWARD_PIXEL);
                add_node(o, "Mul", "pixel", NULL);
        }
        if (o->model->normalised)
                add_normalisation(o);
}

/* Convolutions of ONNX need the channels first; an image may have them last. */
static void add_image(Onnx *o, const Layer *layer) {
        const Convolution *c = &layer->convolution;
        bool last = c->channel_step == 1 && c->channels > 1;
        const int64_t shape[2][4] = { { -1, c->channels, c->height, c->width },
                { -1, c->height, c->width, c->channels } };
        const uint32_t order[] = { 0, 3, 1, 2 };
        const uint64_t four = 4;
        g_autofree char *name = g_strconcat(layer->name, ".image", NULL);
        GByteArray *node;

        add_tensor(o, name, TYPE_INT64, &four, 1, shape[last], sizeof(shape[last]));
        add_node(o, "Reshape", name, NULL);
        if (!last)
                return;
        node = node_begin(o, "Transpose", (const char *const[]){ NULL });
        attribute_ints(node, "perm", order, G_N_ELEMENTS(order));
        node_end(o, node, NULL);
}

static void add_weights(Onnx *o, const Layer *layer, const char *weight, const char *bias) {
        const float *parameters = o->model->parameters;
        const Convolution *c = &layer->convolution;
        const uint64_t dense[] = { layer->n_units, layer->n_reads },
                       square[] = { layer->n_units, c->channels, c->kernel, c->kernel },
                       units = layer->n_units;
        bool convolution = layer->kind == LAYER_CONVOLUTION;

        add_floats(o, weight, convolution ? square : dense, convolution ? 4 : 2,
                        parameters + layer->weight_at);
        add_floats(o, bias, &units, 1, parameters + layer->bias_at);
}

static void add_layer(Onnx *o, const Layer *layer) {
        g_autofree char *weight = g_strconcat(layer->name, ".weight", NULL),
                        *bias = g_strconcat(layer->name, ".bias", NULL);
        const Convolution *c = &layer->convolution;
        const char *const tensors[] = { weight, bias, NULL };
        GByteArray *node;

        add_weights(o, layer, weight, bias);
        if (layer->kind == LAYER_CONVOLUTION) {
                add_image(o, layer);
                node = node_begin(o, "Conv", tensors);
                attribute_ints(node, "kernel_shape", (const uint32_t[]){ c->kernel, c->kernel }, 2);
                attribute_ints(node, "strides", (const uint32_t[]){ c->stride, c->stride }, 2);
                attribute_ints(node, "pads",
                                (const uint32_t[]){ c->padding, c->padding, c->padding, c->padding }, 4);
        } else {
                node = node_begin(o, "Gemm", tensors);
                attribute_int(node, "transB", 1);
        }
        node_end(o, node, NULL);
        add_activation(o, layer->activation);
        if (layer->kind == LAYER_CONVOLUTION)
                add_flatten(o);
}

/* Adds an input or output to the graph, with its name, type and shape. batch: whether the first dimension is
 * the batch. dims: the other dimensions; n_dims 0: one number for each row. */
static void add_place(Onnx *o, uint32_t field, const char *name, unsigned type, bool batch,
                const uint32_t *dims, size_t n_dims) {
        GByteArray *place = g_byte_array_new(), *value = g_byte_array_new(), *tensor = g_byte_array_new(),
                   *shape = g_byte_array_new();

        if (batch) {
                GByteArray *dim = g_byte_array_new();

                proto_string(dim, 2, "batch");
                proto_message(shape, 1, dim);
        }
        for (size_t i = 0; i < n_dims; i++) {
                GByteArray *dim = g_byte_array_new();

                proto_unsigned(dim, 1, dims[i]);
                proto_message(shape, 1, dim);
        }
        proto_unsigned(tensor, 1, type);
        proto_message(tensor, 2, shape);
        proto_message(value, 1, tensor);
        proto_string(place, 1, name);
        proto_message(place, 2, value);
        proto_message(o->graph, field, place);
}

static void add_input(Onnx *o) {
        const ActordSpace *space = &o->model->spec.observation;

        g_strlcpy(o->value, "observation", sizeof(o->value));
        if (space->kind == ACTORD_DISCRETE)
                add_place(o, GRAPH_INPUT, o->value, TYPE_INT64, true, NULL, 0);
        else if (space->kind == ACTORD_MULTI_DISCRETE)
                add_place(o, GRAPH_INPUT, o->value, TYPE_INT64, true, space->shape, space->n_dims);
        else
                add_place(o, GRAPH_INPUT, o->value, space->element == ACTORD_U8 ? TYPE_UINT8 : TYPE_FLOAT,
                                true, space->shape, space->n_dims);
}

static void add_output(Onnx *o, const char *name, bool batch) {
        GByteArray *node = node_begin(o, "Identity", (const char *const[]){ NULL });

        node_end(o, node, name);
        add_place(o, GRAPH_OUTPUT, name, TYPE_FLOAT, batch, &o->model->network.n_action, 1);
}

/* Adds the logarithm of a Gaussian policy's deviation, which does not depend on the observation. */
static void add_log_std(Onnx *o, const Layer *layer) {
        const uint64_t n = layer->n_out;

        add_floats(o, layer->name, &n, 1, o->model->parameters + layer->bias_at);
        g_strlcpy(o->value, layer->name, sizeof(o->value));
        add_output(o, "log_std", false);
}

static void add_layers(Onnx *o) {
        const Network *network = &o->model->network;
        char values[LAYERS_MAX][sizeof(o->value)], input[sizeof(o->value)];

        g_strlcpy(input, o->value, sizeof(input));
        for (uint32_t i = 0; i < network->n_layers; i++) {
                const Layer *layer = &network->layers[i];

                if (layer->kind == LAYER_PARAMETER)
                        add_log_std(o, layer);
                if (!(o->model->acts >> i & 1))
                        continue;
                g_strlcpy(o->value, layer->input == i ? input : values[layer->input], sizeof(o->value));
                add_layer(o, layer);
                g_strlcpy(values[i], o->value, sizeof(values[i]));
                if (layer->output == OUTPUT_ACTION)
                        add_output(o, model_output_name(o->model), true);
                else if (layer->output == OUTPUT_LOG_STD)
                        add_output(o, "log_std", true);
        }
}

static void add_property(GByteArray *message, const char *key, const char *value) {
        GByteArray *property = g_byte_array_new();

        proto_string(property, PROPERTY_KEY, key);
        proto_string(property, PROPERTY_VALUE, value);
        proto_message(message, MODEL_PROPERTY, property);
}

GByteArray *model_to_onnx(const Model *model) {
        GByteArray *message = g_byte_array_new(), *operators = g_byte_array_new();
        Onnx o = { .model = model, .graph = g_byte_array_new() };

        proto_string(o.graph, GRAPH_NAME, "policy");
        add_input(&o);
        add_reading(&o);
        add_layers(&o);

        proto_unsigned(message, MODEL_IR, ONNX_IR);
        proto_string(message, MODEL_PRODUCER, "actord");
        proto_string(message, MODEL_VERSION, ACTORD_VERSION);
        proto_unsigned(operators, 2, ONNX_OPERATORS);
        proto_message(message, MODEL_OPERATORS, operators);
        proto_message(message, MODEL_GRAPH, o.graph);
        add_property(message, "environment", model->settings.environment);
        add_property(message, "policy_sha256", model->sha256);
        add_property(message, "round", model->round);
        if (model->choices)
                add_property(message, METADATA_CHOICES, model->choices);
        return message;
}
