/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Executes a tape: the loops of tape-wide.h for each width of vectors, and the parts that are the same for
 * all widths. */
#include "learner/tape/tape.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "learner/kernel/kernels.h"
#include "lib/doubles.h"
#include "lib/elementary.h"
#include "lib/width.h"

/* Computes exp(x) - 1 - x, by expm1() since a difference near x = 0 would lose digits. The result stays in
 * the range of a float. */
static void divergence(const float *x, uint32_t n, float *ret) {
        for (uint32_t i = 0; i < n; i++)
                ret[i] = (float) fmin(double_expm1((double) x[i]) - (double) x[i], (double) FLT_MAX);
}

static void divergence_backward(const float *x, const float *d, uint32_t n, float *ret) {
        for (uint32_t i = 0; i < n; i++)
                ret[i] += d[i] * (float) fmin(double_expm1((double) x[i]), (double) FLT_MAX);
}

ELEMENTARY float held(float x, float lowest, float most) {
        x = x < lowest ? lowest : x;
        return x > most ? most : x;
}

/* log(1 - tanh(x)^2), with 1 - tanh(x)^2 = 4 / (e^x + e^-x)^2: "Soft Actor-Critic Algorithms and
 * Applications" (Haarnoja et al. 2018), appendix C. */
ELEMENTARY float log_tanh_slope(float x) {
        float size = fabsf(x);

        return 2.0f * (0.693147181f - size - elementary_log(1.0f + elementary_exp(-2.0f * size)));
}

ELEMENTARY float huber(float x, float bound) {
        float size = fabsf(x), square = 0.5f * x * x, line = bound * (size - 0.5f * bound);

        return size <= bound ? square : line;
}

typedef struct Kernels {
        void (*forward)(const Tape *tape, const TapePlace *place);
        void (*backward)(const Tape *tape, const TapePlace *place);
} Kernels;

/* The numbers of a node, [width][stride]. For a node that applies a network: the network's inputs. */
static const float *value_of(const Tape *tape, const TapePlace *place, Node node) {
        const TapeNode *n = &tape->nodes[node];

        if (n->op == TAPE_COLUMN)
                return place->columns[n->of];
        if (n->op == TAPE_TERM)
                return place->terms[n->of];
        if (n->op == TAPE_INPUT)
                return place->inputs[n->of] + (size_t) n->at * place->stride;
        if (n->op == TAPE_OUTPUT)
                return place->passes[tape->nodes[n->a].pass]->output[n->of];
        if (n->op == TAPE_NETWORK)
                return place->passes[n->pass]->input;
        return place->values + (size_t) n->at * place->stride;
}

static float *d_of(const Tape *tape, const TapePlace *place, Node node) {
        const TapeNode *n = &tape->nodes[node];

        if (n->op == TAPE_TERM)
                return place->d_terms[n->of];
        if (n->op == TAPE_OUTPUT)
                return place->passes[tape->nodes[n->a].pass]->d_output[n->of];
        return place->d + (size_t) n->at * place->stride;
}

static void network_forward(const Tape *tape, const TapePlace *place, Node k) {
        const TapeNode *node = &tape->nodes[k];
        const float *x = value_of(tape, place, node->a);
        Pass *pass = place->passes[node->pass];

        pass->stride = place->stride;
        if (x != pass->input)
                memcpy(pass->input, x, (size_t) node->width * place->stride * sizeof(float));
        pass_forward(pass, place->parameters[node->of]);
}

/* Clears the gradients of a network's outputs: an output that no node reads gets no other gradient. */
static void network_clear(const Tape *tape, const TapePlace *place, Node k) {
        const Pass *pass = place->passes[tape->nodes[k].pass];

        for (uint32_t i = 0; i < pass->network->n_layers; i++)
                if (pass->network->layers[i].output != OUTPUT_HIDDEN)
                        memset(pass->d_output[i], 0,
                                        (size_t) pass->network->layers[i].n_out * place->stride *
                                                        sizeof(float));
}

/* Passes the gradient on to the network's input and, if the network is trained, to its parameters. If a
 * later node applies the same network, that node has written the parameters' gradient already, and this node
 * adds to it. */
static void network_backward(const Tape *tape, const TapePlace *place, Node k) {
        const TapeNode *node = &tape->nodes[k];
        float *d_input = tape->nodes[node->a].moves ? place->d_input : NULL;
        float *gradient = node->of == tape->shape->trained ? place->gradient : NULL;

        pass_backward(place->passes[node->pass], place->parameters[node->of],
                        place->accumulate || node->again, gradient, d_input);
        if (!d_input)
                return;
        assert(tape->nodes[node->a].width == node->width);
        kernel_add(d_of(tape, place, node->a), d_input, (size_t) node->width * place->stride);
}

#define KERNEL_TEMPLATE "learner/tape/tape-wide.h"
#include "lib/each-width.h"

/* Adds in the order of the rows, so that the sum is the same for every width of vectors. */
static void sums_add(const Tape *tape, const TapePlace *place) {
        for (uint32_t k = 0; k < tape->n_sums; k++) {
                const TapeSum *s = &tape->sums[k];
                const float *x = value_of(tape, place, s->node);
                float coefficient = s->coefficient;
                double sum = 0.0;

                for (uint32_t i = 0; i < place->stride; i++)
                        sum += (double) (place->weight[i] * (coefficient * x[i]));
                place->sums[s->number] += sum;
        }
}

void tape_execute(const Tape *tape, const TapePlace *place) {
        const Kernels *kernels = kernels_chosen();

        assert(place->stride % KERNEL_LANES == 0 && place->stride <= SHARD_ROWS_MAX);

        kernels->forward(tape, place);
        if (tape->n_losses > 0)
                kernels->backward(tape, place);
        sums_add(tape, place);
}

const float *tape_evaluate(const Tape *tape, const TapePlace *place) {
        assert(place->stride % KERNEL_LANES == 0 && place->stride <= SHARD_ROWS_MAX);

        kernels_chosen()->forward(tape, place);
        return value_of(tape, place, tape->result);
}
