/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Appends nodes, and notes for each whether a gradient must go through it. */
#include <assert.h>

#include "learner/tape/tape.h"

void tape_begin(Tape *tape) {
        tape_begin_with(tape, NULL);
}

void tape_begin_with(Tape *tape, const TapeShape *shape) {
        tape->shape = shape;
        tape->n_nodes = tape->n_losses = tape->n_sums = tape->n_columns = 0;
}

/* Whether the results of an operation exist already, in the batch or in a network's output. Then the tape
 * needs no columns for them. */
static bool is_given(TapeOp op) {
        return op == TAPE_COLUMN || op == TAPE_TERM || op == TAPE_INPUT || op == TAPE_NETWORK ||
               op == TAPE_OUTPUT;
}

static Node append(Tape *tape, TapeNode node) {
        assert(tape->n_nodes < TAPE_NODES_MAX);
        assert(node.width > 0);

        if (!is_given(node.op)) {
                node.at = tape->n_columns;
                tape->n_columns += node.width;
        }
        tape->nodes[tape->n_nodes] = node;
        return tape->n_nodes++;
}

static const TapeNode *node_of(const Tape *tape, Node node) {
        assert(node < tape->n_nodes);

        return &tape->nodes[node];
}

Node tape_column(Tape *tape, Column column) {
        return append(tape, (TapeNode){ .op = TAPE_COLUMN, .of = column, .width = 1 });
}

/* Makes one node for each term, so that the gradients from all its readers add up there. */
static Node term_append(Tape *tape, Term term, bool late) {
        for (Node k = 0; k < tape->n_nodes; k++)
                if (tape->nodes[k].op == TAPE_TERM && tape->nodes[k].of == term) {
                        assert(tape->nodes[k].late == late);
                        return k;
                }
        return append(tape,
                        (TapeNode){ .op = TAPE_TERM, .of = term, .width = 1, .moves = true, .late = late });
}

Node tape_term(Tape *tape, Term term) {
        return term_append(tape, term, false);
}

Node tape_term_late(Tape *tape, Term term) {
        return term_append(tape, term, true);
}

static Node unary(Tape *tape, TapeOp op, Node x, double number, double other) {
        assert(x < tape->n_nodes);

        return append(tape, (TapeNode){
                                            .op = op,
                                            .a = x,
                                            .width = tape->nodes[x].width,
                                            .number = (float) number,
                                            .other = (float) other,
                                            .moves = tape->nodes[x].moves,
                                            .late = tape->nodes[x].late,
                            });
}

static Node binary(Tape *tape, TapeOp op, Node a, Node b) {
        const TapeNode *x, *y;

        assert(a < tape->n_nodes && b < tape->n_nodes);

        x = &tape->nodes[a];
        y = &tape->nodes[b];
        assert(x->width == y->width);
        assert(!x->moves || !y->moves || x->late == y->late);
        return append(tape, (TapeNode){
                                            .op = op,
                                            .a = a,
                                            .b = b,
                                            .width = x->width,
                                            .moves = x->moves || y->moves,
                                            .late = x->late || y->late,
                            });
}

Node tape_input(Tape *tape, Input input) {
        assert(tape->shape);

        return append(tape,
                        (TapeNode){ .op = TAPE_INPUT, .of = input, .width = tape->shape->n_inputs[input] });
}

Node tape_input_part(Tape *tape, Input input, uint32_t first, uint32_t width) {
        assert(tape->shape && first + width <= tape->shape->n_inputs[input]);

        return append(tape, (TapeNode){ .op = TAPE_INPUT, .of = input, .at = first, .width = width });
}

Node tape_constants(Tape *tape, const float *numbers, uint32_t width) {
        return append(tape, (TapeNode){ .op = TAPE_CONSTANTS, .numbers = numbers, .width = width });
}

Node tape_spread(Tape *tape, Node x, uint32_t width) {
        const TapeNode *of = node_of(tape, x);

        assert(of->width == 1);
        return append(tape, (TapeNode){
                                            .op = TAPE_SPREAD,
                                            .a = x,
                                            .width = width,
                                            .moves = of->moves,
                                            .late = of->late,
                            });
}

/* Takes the network's first pass that no node uses yet. */
static uint32_t pass_take(Tape *tape, uint32_t net) {
        const TapeShape *shape = tape->shape;
        uint32_t n = 0;

        for (Node k = 0; k < tape->n_nodes; k++) {
                TapeNode *node = &tape->nodes[k];

                if (node->op != TAPE_NETWORK)
                        continue;
                if (shape->first_pass[node->of] == shape->first_pass[net])
                        n++;
                if (node->of == net && net == shape->trained)
                        node->again = true;
        }
        assert(n < shape->n_passes[net] && shape->first_pass[net] + n < TAPE_PASSES_MAX);
        return shape->first_pass[net] + n;
}

Node tape_network(Tape *tape, uint32_t net, Node input) {
        const TapeNode *x = node_of(tape, input);
        const Network *network;

        assert(tape->shape && net < TAPE_NETS_MAX && tape->shape->networks[net]);
        network = tape->shape->networks[net];
        assert(x->width == network_inputs(network));
        assert(!x->moves || !x->late);

        return append(tape, (TapeNode){
                                            .op = TAPE_NETWORK,
                                            .of = net,
                                            .pass = pass_take(tape, net),
                                            .a = input,
                                            .width = (uint32_t) network_inputs(network),
                                            .moves = x->moves || net == tape->shape->trained,
                            });
}

Node tape_output(Tape *tape, Node network, LayerOutput output) {
        const TapeNode *x = node_of(tape, network);
        const Network *of;
        uint32_t layer;

        assert(x->op == TAPE_NETWORK);
        of = tape->shape->networks[x->of];
        layer = network_find(of, output);
        assert(layer < of->n_layers);

        return append(tape, (TapeNode){
                                            .op = TAPE_OUTPUT,
                                            .of = layer,
                                            .a = network,
                                            .width = of->layers[layer].n_out,
                                            .moves = x->moves,
                            });
}

Node tape_join(Tape *tape, Node a, Node b) {
        const TapeNode *x = node_of(tape, a), *y = node_of(tape, b);

        assert(!x->moves || !y->moves || x->late == y->late);
        return append(tape, (TapeNode){
                                            .op = TAPE_JOIN,
                                            .a = a,
                                            .b = b,
                                            .width = x->width + y->width,
                                            .moves = x->moves || y->moves,
                                            .late = x->late || y->late,
                            });
}

Node tape_edit(Tape *tape, uint32_t net, Node x) {
        const TapeNode *of = node_of(tape, x);
        const Network *network;

        assert(tape->shape && net < TAPE_NETS_MAX && tape->shape->networks[net]);
        network = tape->shape->networks[net];
        if (network->n_edited == 0)
                return x;
        assert(of->width == network->n_observation);
        return append(tape, (TapeNode){
                                            .op = TAPE_EDIT,
                                            .of = net,
                                            .a = x,
                                            .width = network->n_edited,
                                            .moves = of->moves,
                                            .late = of->late,
                            });
}

Node tape_total(Tape *tape, Node x) {
        const TapeNode *of = node_of(tape, x);

        return append(tape, (TapeNode){
                                            .op = TAPE_TOTAL,
                                            .a = x,
                                            .width = 1,
                                            .moves = of->moves,
                                            .late = of->late,
                            });
}

Node tape_shift(Tape *tape, Node x, double by) {
        return unary(tape, TAPE_SHIFT, x, by, 0.0);
}

Node tape_scale(Tape *tape, Node x, double by) {
        return unary(tape, TAPE_SCALE, x, by, 0.0);
}

Node tape_clamp(Tape *tape, Node x, double lowest, double most) {
        assert(lowest <= most);

        return unary(tape, TAPE_CLAMP, x, lowest, most);
}

/* The bounds are computed in single precision, like the numbers that they are compared with. */
Node tape_clip(Tape *tape, Node ratio, double clip) {
        float by = (float) clip;

        return tape_clamp(tape, ratio, (double) (1.0f - by), (double) (1.0f + by));
}

Node tape_abs(Tape *tape, Node x) {
        return unary(tape, TAPE_ABS, x, 0.0, 0.0);
}

Node tape_exp(Tape *tape, Node x) {
        return unary(tape, TAPE_EXP, x, 0.0, 0.0);
}

Node tape_tanh(Tape *tape, Node x) {
        return unary(tape, TAPE_TANH, x, 0.0, 0.0);
}

Node tape_log_tanh_slope(Tape *tape, Node x) {
        return unary(tape, TAPE_LOG_TANH_SLOPE, x, 0.0, 0.0);
}

Node tape_half_square(Tape *tape, Node x) {
        return unary(tape, TAPE_HALF_SQUARE, x, 0.0, 0.0);
}

Node tape_huber(Tape *tape, Node x, double bound) {
        assert(bound > 0.0);

        return unary(tape, TAPE_HUBER, x, bound, 0.0);
}

Node tape_divergence(Tape *tape, Node x) {
        return unary(tape, TAPE_DIVERGENCE, x, 0.0, 0.0);
}

Node tape_divergence_by_exp(Tape *tape, Node exponential) {
        assert(exponential < tape->n_nodes && tape->nodes[exponential].op == TAPE_EXP);

        return binary(tape, TAPE_DIVERGENCE_BY_EXP, tape->nodes[exponential].a, exponential);
}

Node tape_add(Tape *tape, Node a, Node b) {
        return binary(tape, TAPE_ADD, a, b);
}

Node tape_subtract(Tape *tape, Node a, Node b) {
        return binary(tape, TAPE_SUBTRACT, a, b);
}

Node tape_multiply(Tape *tape, Node a, Node b) {
        return binary(tape, TAPE_MULTIPLY, a, b);
}

Node tape_min(Tape *tape, Node a, Node b) {
        return binary(tape, TAPE_MIN, a, b);
}

Node tape_max(Tape *tape, Node a, Node b) {
        return binary(tape, TAPE_MAX, a, b);
}

/* This function of x has jumps, so no gradient goes through it. */
Node tape_exceeds(Tape *tape, Node x, double bound) {
        assert(x < tape->n_nodes);

        return append(tape, (TapeNode){ .op = TAPE_EXCEEDS,
                                            .a = x,
                                            .width = tape->nodes[x].width,
                                            .number = (float) bound });
}

Node tape_differs(Tape *tape, Node a, Node b) {
        const TapeNode *x = node_of(tape, a), *y = node_of(tape, b);

        assert(x->width == y->width);
        return append(tape, (TapeNode){ .op = TAPE_DIFFERS, .a = a, .b = b, .width = x->width });
}

Node tape_where(Tape *tape, Node condition, Node yes, Node no) {
        Node node = binary(tape, TAPE_WHERE, yes, no);

        assert(condition < node && !tape->nodes[condition].moves);
        assert(tape->nodes[condition].width == tape->nodes[node].width);
        tape->nodes[node].c = condition;
        return node;
}

void tape_loss(Tape *tape, Node x, double coefficient) {
        assert(tape->n_losses < TAPE_OUTPUTS_MAX);
        assert(x < tape->n_nodes && tape->nodes[x].moves && tape->nodes[x].width == 1);

        tape->losses[tape->n_losses++] = (TapeLoss){ .node = x, .coefficient = (float) coefficient };
}

void tape_sum(Tape *tape, unsigned number, Node x, double coefficient) {
        assert(tape->n_sums < TAPE_OUTPUTS_MAX);
        assert(x < tape->n_nodes && tape->nodes[x].width == 1);

        tape->sums[tape->n_sums++] =
                        (TapeSum){ .node = x, .number = (float) number, .coefficient = (float) coefficient };
}

void tape_result(Tape *tape, Node x) {
        assert(x < tape->n_nodes && tape->nodes[x].width == 1);

        tape->result = x;
}

/* Dividing */

enum { READS_VALUE = 1, READS_OTHER = 2 };

static unsigned n_operands(TapeOp op) {
        switch (op) {
        case TAPE_COLUMN:
        case TAPE_TERM:
        case TAPE_INPUT:
        case TAPE_CONSTANTS: return 0;
        case TAPE_JOIN:
        case TAPE_DIVERGENCE_BY_EXP:
        case TAPE_ADD:
        case TAPE_SUBTRACT:
        case TAPE_MULTIPLY:
        case TAPE_MIN:
        case TAPE_MAX:
        case TAPE_DIFFERS: return 2;
        case TAPE_WHERE: return 3;
        case TAPE_SPREAD:
        case TAPE_NETWORK:
        case TAPE_OUTPUT:
        case TAPE_TOTAL:
        case TAPE_EDIT:
        case TAPE_SHIFT:
        case TAPE_SCALE:
        case TAPE_CLAMP:
        case TAPE_ABS:
        case TAPE_EXP:
        case TAPE_TANH:
        case TAPE_LOG_TANH_SLOPE:
        case TAPE_HALF_SQUARE:
        case TAPE_HUBER:
        case TAPE_DIVERGENCE:
        case TAPE_EXCEEDS:
        case _TAPE_OP_MAX: break;
        }
        return 1;
}

/* Which terms each node reads, itself or through its operands. */
static void terms_find(const Tape *tape, unsigned ret[TAPE_NODES_MAX]) {
        for (Node k = 0; k < tape->n_nodes; k++) {
                const TapeNode *node = &tape->nodes[k];
                const Node operands[] = { node->a, node->b, node->c };

                ret[k] = 0;
                if (node->op == TAPE_TERM)
                        ret[k] = node->of == TERM_VALUE ? READS_VALUE : READS_OTHER;
                for (unsigned i = 0; i < n_operands(node->op); i++)
                        ret[k] |= ret[operands[i]];
        }
}

/* Copies the nodes that are needed, in their order, and gives them new numbers. */
static void nodes_copy(
                const Tape *tape, bool needed[TAPE_NODES_MAX], Tape *ret, Node ret_to[TAPE_NODES_MAX]) {
        for (Node k = tape->n_nodes; k-- > 0;) {
                const TapeNode *node = &tape->nodes[k];
                const Node operands[] = { node->a, node->b, node->c };

                for (unsigned i = 0; needed[k] && i < n_operands(node->op); i++)
                        needed[operands[i]] = true;
        }
        for (Node k = 0; k < tape->n_nodes; k++) {
                TapeNode node = tape->nodes[k];
                Node *const operands[] = { &node.a, &node.b, &node.c };

                if (!needed[k])
                        continue;
                for (unsigned i = 0; i < n_operands(node.op); i++)
                        *operands[i] = ret_to[*operands[i]];
                ret_to[k] = append(ret, node);
        }
}

/* Copies the losses and sums whose nodes read TERM_VALUE, or those of all other nodes. */
static void part_copy(const Tape *tape, const unsigned terms[TAPE_NODES_MAX], bool value, Tape *ret) {
        bool needed[TAPE_NODES_MAX] = {};
        Node to[TAPE_NODES_MAX] = {};

        tape_begin_with(ret, tape->shape);
        for (uint32_t k = 0; k < tape->n_losses; k++)
                if ((terms[tape->losses[k].node] == READS_VALUE) == value) {
                        needed[tape->losses[k].node] = true;
                        ret->losses[ret->n_losses++] = tape->losses[k];
                }
        for (uint32_t k = 0; k < tape->n_sums; k++)
                if ((terms[tape->sums[k].node] == READS_VALUE) == value) {
                        needed[tape->sums[k].node] = true;
                        ret->sums[ret->n_sums++] = tape->sums[k];
                }
        nodes_copy(tape, needed, ret, to);
        for (uint32_t k = 0; k < ret->n_losses; k++)
                ret->losses[k].node = to[ret->losses[k].node];
        for (uint32_t k = 0; k < ret->n_sums; k++)
                ret->sums[k].node = to[ret->sums[k].node];
}

bool tape_divide(const Tape *tape, Tape ret_parts[2]) {
        unsigned terms[TAPE_NODES_MAX];

        terms_find(tape, terms);
        for (uint32_t k = 0; k < tape->n_losses; k++)
                if (terms[tape->losses[k].node] == (READS_VALUE | READS_OTHER))
                        return false;
        for (uint32_t k = 0; k < tape->n_sums; k++) {
                unsigned reads = terms[tape->sums[k].node];

                if (reads == (READS_VALUE | READS_OTHER))
                        return false;
                for (uint32_t i = 0; i < k; i++)
                        if (tape->sums[i].number == tape->sums[k].number &&
                                        (terms[tape->sums[i].node] == READS_VALUE) != (reads == READS_VALUE))
                                return false;
        }
        part_copy(tape, terms, true, &ret_parts[0]);
        part_copy(tape, terms, false, &ret_parts[1]);
        return ret_parts[0].n_losses > 0 && ret_parts[1].n_losses > 0;
}
