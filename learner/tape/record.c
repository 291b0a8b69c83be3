/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Appends nodes, and knows of each whether a gradient has to go through it. */
#include <assert.h>

#include "learner/tape/tape.h"

void tape_begin(Tape *tape) {
        tape->n_nodes = tape->n_losses = tape->n_sums = 0;
}

static Node append(Tape *tape, TapeNode node) {
        assert(tape->n_nodes < TAPE_NODES_MAX);

        tape->nodes[tape->n_nodes] = node;
        return tape->n_nodes++;
}

Node tape_column(Tape *tape, Column column) {
        return append(tape, (TapeNode){ .op = TAPE_COLUMN, .of = column });
}

/* One node for each term: what reads it adds up there. */
static Node term_append(Tape *tape, Term term, bool late) {
        for (Node k = 0; k < tape->n_nodes; k++)
                if (tape->nodes[k].op == TAPE_TERM && tape->nodes[k].of == term) {
                        assert(tape->nodes[k].late == late);
                        return k;
                }
        return append(tape, (TapeNode){ .op = TAPE_TERM, .of = term, .moves = true, .late = late });
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
        assert(!x->moves || !y->moves || x->late == y->late);
        return append(tape, (TapeNode){
                                            .op = op,
                                            .a = a,
                                            .b = b,
                                            .moves = x->moves || y->moves,
                                            .late = x->late || y->late,
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

/* The bounds are rounded as the executed sums would be. */
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

/* What jumps has no gradient. */
Node tape_exceeds(Tape *tape, Node x, double bound) {
        assert(x < tape->n_nodes);

        return append(tape, (TapeNode){ .op = TAPE_EXCEEDS, .a = x, .number = (float) bound });
}

Node tape_differs(Tape *tape, Node a, Node b) {
        assert(a < tape->n_nodes && b < tape->n_nodes);

        return append(tape, (TapeNode){ .op = TAPE_DIFFERS, .a = a, .b = b });
}

Node tape_where(Tape *tape, Node condition, Node yes, Node no) {
        Node node = binary(tape, TAPE_WHERE, yes, no);

        assert(condition < node && !tape->nodes[condition].moves);
        tape->nodes[node].c = condition;
        return node;
}

void tape_loss(Tape *tape, Node x, double coefficient) {
        assert(tape->n_losses < TAPE_OUTPUTS_MAX);
        assert(x < tape->n_nodes && tape->nodes[x].moves);

        tape->losses[tape->n_losses++] = (TapeLoss){ .node = x, .coefficient = (float) coefficient };
}

void tape_sum(Tape *tape, unsigned number, Node x, double coefficient) {
        assert(tape->n_sums < TAPE_OUTPUTS_MAX);
        assert(x < tape->n_nodes);

        tape->sums[tape->n_sums++] =
                        (TapeSum){ .node = x, .number = (float) number, .coefficient = (float) coefficient };
}
