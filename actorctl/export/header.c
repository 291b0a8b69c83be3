/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A C header for machines without an operating system: the numbers of the policy as constants, and one
 * function that computes the policy's output for an observation. From <math.h> it needs at most tanhf(),
 * expf(), log1pf(), fmaxf(), fminf() and INFINITY. It allocates no memory, and needs two arrays on the
 * stack, each as long as the observation or the widest layer. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "actorctl/export/model.h"
#include "lib/forward.h"

static void append(GByteArray *file, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void append(GByteArray *file, const char *format, ...) {
        g_autofree char *text = NULL;
        va_list arguments;

        va_start(arguments, format);
        text = g_strdup_vprintf(format, arguments);
        va_end(arguments);
        g_byte_array_append(file, (const uint8_t *) text, (guint) strlen(text));
}

/* Appends a number with nine digits, which restore a float, and with a point or an exponent, which a float
 * constant in C needs. */
static void append_number(GByteArray *file, float value) {
        char digits[G_ASCII_DTOSTR_BUF_SIZE];

        if (isinf(value)) {
                append(file, value > 0 ? "INFINITY" : "-INFINITY");
                return;
        }
        (void) g_ascii_formatd(digits, sizeof(digits), "%.9g", value);
        append(file, "%s%sf", digits, strpbrk(digits, ".e") ? "" : ".0");
}

static void append_array(GByteArray *file, const char *name, const float *values, size_t n) {
        append(file, "static const float %s[%zu] = {", name, n);
        for (size_t i = 0; i < n; i++) {
                append(file, i % 6 == 0 ? "\n        " : " ");
                append_number(file, values[i]);
                append(file, ",");
        }
        append(file, "\n};\n\n");
}

/* The text, with a question mark for each character that a comment in C cannot have. */
static char *comment_of(const char *text) {
        char *plain = g_strdup(text);

        for (char *p = plain; *p; p++)
                if (!g_ascii_isprint(*p) || *p == '*' || *p == '/' || *p == '\\')
                        *p = '?';
        return plain;
}

static size_t widest(const Model *model) {
        size_t n = model->network.n_observation;

        for (uint32_t i = 0; i < model->network.n_layers; i++)
                if (model->acts >> i & 1)
                        n = MAX(n, model->network.layers[i].n_out);
        return n;
}

/* Whether the layer is exported. Exported are the layers from the observation to the action, without a layer
 * that computes the deviation. A constant deviation is exported, too. */
static bool is_exported(const Model *model, uint32_t i) {
        const Layer *layer = &model->network.layers[i];

        return layer->kind == LAYER_PARAMETER || ((model->acts >> i & 1) && layer->output != OUTPUT_LOG_STD);
}

static void append_choices(GByteArray *file, const Network *network) {
        append(file,
                        "/* An action is several choices at once, each with so many of the outputs. */\n"
                        "#define POLICY_CHOICES %u\nstatic const unsigned policy_choices[%u] = {",
                        network->n_choices, network->n_choices);
        for (uint32_t k = 0; k < network->n_choices; k++)
                append(file, "%s%u", k > 0 ? ", " : " ", network->choices[k]);
        append(file, " };\n\n");
}

static void append_head(GByteArray *file, const Model *model) {
        g_autofree char *environment = comment_of(model->settings.environment),
                        *sha256 = comment_of(model->sha256), *round = comment_of(model->round);
        const Network *network = &model->network;

        append(file,
                        "/* A policy for %s, written by actorctl %s.\n * policy_sha256 %s, round %s */\n"
                        "#ifndef ACTORD_POLICY_H\n#define ACTORD_POLICY_H\n\n#include <math.h>\n\n",
                        environment, ACTORD_VERSION, sha256, round);
        append(file, "#define POLICY_OBSERVATIONS %u /* numbers in an observation */\n",
                        network->n_observation);
        append(file, "#define POLICY_ACTIONS %u /* numbers in an output: %s */\n\n", network->n_action,
                        model_output_name(model));
        if (network->n_choices > 1)
                append_choices(file, network);
        if (model->normalised) {
                append_array(file, "policy_mean", model->mean, network->n_observation);
                append_array(file, "policy_inverse_sd", model->inverse_sd, network->n_observation);
        }
}

static void append_numbers(GByteArray *file, const Model *model) {
        for (uint32_t i = 0; i < model->network.n_layers; i++) {
                const Layer *layer = &model->network.layers[i];
                g_autofree char *weight = g_strdup_printf("policy_weight_%u", i),
                                *bias = layer->kind == LAYER_PARAMETER
                                                        ? g_strdup("policy_log_std")
                                                        : g_strdup_printf("policy_bias_%u", i);

                if (!is_exported(model, i))
                        continue;
                if (layer->kind == LAYER_PARAMETER)
                        append(file, "/* %s: of each number of an action; exp() of it scales noise */\n",
                                        layer->name);
                else {
                        append(file, "/* %s: %u outputs of %u inputs each, row by row */\n", layer->name,
                                        layer->n_units, layer->n_reads);
                        append_array(file, weight, model->parameters + layer->weight_at,
                                        (size_t) layer->n_units * layer->n_reads);
                }
                append_array(file, bias, model->parameters + layer->bias_at,
                                layer->kind == LAYER_PARAMETER ? layer->n_out : layer->n_units);
        }
}

static const char dense[] =
                "static void policy_dense(const float *weight, const float *bias, unsigned n_in,\n"
                "                unsigned n_out, const float *x, float *y) {\n"
                "        for (unsigned o = 0; o < n_out; o++) {\n"
                "                y[o] = bias[o];\n"
                "                for (unsigned i = 0; i < n_in; i++)\n"
                "                        y[o] += weight[o * n_in + i] * x[i];\n"
                "        }\n"
                "}\n\n";

static void append_reading(GByteArray *file, const Model *model) {
        append(file, "        for (unsigned i = 0; i < POLICY_OBSERVATIONS; i++) {\n"
                     "                a[i] = observation[i];\n");
        if (model->normalised) {
                append(file, "                a[i] = (a[i] - policy_mean[i]) * policy_inverse_sd[i];\n");
                if (isfinite(model->clip)) {
                        append(file, "                a[i] = fminf(fmaxf(a[i], ");
                        append_number(file, (float) -model->clip);
                        append(file, "), ");
                        append_number(file, (float) model->clip);
                        append(file, ");\n");
                }
        }
        append(file, "        }\n");
}

static void append_activation(GByteArray *file, const Layer *layer, const char *x) {
        if (layer->activation == LAYER_NONE)
                return;
        append(file, "        for (unsigned i = 0; i < %u; i++)\n                %s[i] = ", layer->n_out, x);
        switch ((LayerActivation) layer->activation) {
        case LAYER_NONE: break;
        case LAYER_TANH: append(file, "tanhf(%s[i]);\n", x); break;
        case LAYER_RELU: append(file, "fmaxf(%s[i], 0.0f);\n", x); break;
        case LAYER_SILU: append(file, "%s[i] / (1.0f + expf(-%s[i]));\n", x, x); break;
        case LAYER_MISH: append(file, "%s[i] * tanhf(log1pf(expf(%s[i])));\n", x, x); break;
        }
}

static void append_layer(GByteArray *file, const Model *model, uint32_t i, char *newest) {
        const Layer *layer = &model->network.layers[i];
        bool last = layer->output == OUTPUT_ACTION;
        char next = *newest == 'a' ? 'b' : 'a';
        g_autofree char *to = last ? g_strdup("output") : g_strdup_printf("%c", next);

        append(file, "        policy_dense(policy_weight_%u, policy_bias_%u, %u, %u, %c, %s);\n", i, i,
                        layer->n_reads, layer->n_units, *newest, to);
        append_activation(file, layer, to);
        *newest = next;
}

GByteArray *model_to_header(const Model *model) {
        GByteArray *file = g_byte_array_new();
        char newest = 'a';

        append_head(file, model);
        append_numbers(file, model);
        append(file, "%s", dense);
        append(file,
                        "/* output: POLICY_ACTIONS numbers, %s. observation: POLICY_OBSERVATIONS numbers,\n"
                        " * %s. */\n"
                        "static void policy_forward(const float *observation, float *output) {\n"
                        "        float a[%zu], b[%zu];\n\n",
                        model_output_name(model),
                        model->spec.observation.kind != ACTORD_BOX
                                        ? "0 everywhere, except a 1 at the place of each number of it"
                                        : "as the environment has them",
                        widest(model), widest(model));
        append_reading(file, model);
        for (uint32_t i = 0; i < model->network.n_layers; i++)
                if (is_exported(model, i) && model->network.layers[i].kind == LAYER_DENSE)
                        append_layer(file, model, i, &newest);
        append(file, "}\n\n#endif\n");
        return file;
}
