/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Computes derivatives forwards, in double precision. Each node has its value, and its first and second
 * derivatives with respect to the network's outputs that a loss reads (Term). A loss reads few outputs, so
 * this is simpler than to compute second derivatives backwards. It is done only for a sub-sample of rows. */
#include <assert.h>
#include <math.h>

#include "learner/tape/tape.h"
#include "lib/doubles.h"

/* The value of an operation, and its first and second derivatives with respect to the two nodes a and b that
 * it reads. */
typedef struct Slopes {
        double value;
        double a, b, aa, ab, bb;
} Slopes;

static void chain(const Slopes *f, const LossJet *a, const LossJet *b, LossJet *ret) {
        *ret = (LossJet){ .value = f->value };
        for (unsigned t = 0; t < _TERM_MAX; t++) {
                ret->d[t] = f->a * a->d[t] + f->b * b->d[t];
                for (unsigned u = 0; u < _TERM_MAX; u++)
                        ret->dd[t][u] = f->a * a->dd[t][u] + f->b * b->dd[t][u] + f->aa * a->d[t] * a->d[u] +
                                        f->bb * b->d[t] * b->d[u] +
                                        f->ab * (a->d[t] * b->d[u] + b->d[t] * a->d[u]);
        }
}

/* The derivatives of an operation that chooses one of its operands (min, max, where): 1 for this operand, 0
 * for the other. */
static Slopes side(bool first, double a, double b) {
        return first ? (Slopes){ .value = a, .a = 1.0 } : (Slopes){ .value = b, .b = 1.0 };
}

static Slopes slopes_of(const TapeNode *node, double a, double b, double condition) {
        double number = (double) node->number, other = (double) node->other;

        switch ((TapeOp) node->op) {
        case TAPE_COLUMN:
        case TAPE_TERM:
        case TAPE_INPUT:
        case TAPE_NETWORK:
        case TAPE_OUTPUT:
        case TAPE_CONSTANTS:
        case TAPE_SPREAD:
        case TAPE_EDIT:
        case TAPE_JOIN: break;
        case TAPE_TOTAL: return (Slopes){ .value = a, .a = 1.0 }; /* of one column */
        case TAPE_SHIFT: return (Slopes){ .value = a + number, .a = 1.0 };
        case TAPE_SCALE: return (Slopes){ .value = a * number, .a = number };
        case TAPE_CLAMP:
                return (Slopes){
                        .value = fmin(fmax(a, number), other),
                        .a = a < number || a > other ? 0.0 : 1.0,
                };
        case TAPE_ABS: return (Slopes){ .value = fabs(a), .a = a < 0.0 ? -1.0 : 1.0 };
        case TAPE_EXP: {
                double e = double_exp(a);

                return (Slopes){ .value = e, .a = e, .aa = e };
        }
        case TAPE_TANH: {
                double y = double_tanh(a), slope = 1.0 - y * y;

                return (Slopes){ .value = y, .a = slope, .aa = -2.0 * y * slope };
        }
        case TAPE_LOG_TANH_SLOPE: {
                double y = double_tanh(a), size = fabs(a);
                double log_sum = double_log(1.0 + double_exp(-2.0 * size));

                return (Slopes){
                        .value = 2.0 * (M_LN2 - size - log_sum),
                        .a = -2.0 * y,
                        .aa = -2.0 * (1.0 - y * y),
                };
        }
        case TAPE_HALF_SQUARE: return (Slopes){ .value = 0.5 * a * a, .a = a, .aa = 1.0 };
        case TAPE_HUBER:
                if (fabs(a) <= number)
                        return (Slopes){ .value = 0.5 * a * a, .a = a, .aa = 1.0 };
                return (Slopes){ .value = number * (fabs(a) - 0.5 * number), .a = copysign(number, a) };
        case TAPE_DIVERGENCE:
        case TAPE_DIVERGENCE_BY_EXP: {
                double e = double_expm1(a);

                return (Slopes){ .value = e - a, .a = e, .aa = e + 1.0 };
        }
        case TAPE_ADD: return (Slopes){ .value = a + b, .a = 1.0, .b = 1.0 };
        case TAPE_SUBTRACT: return (Slopes){ .value = a - b, .a = 1.0, .b = -1.0 };
        case TAPE_MULTIPLY: return (Slopes){ .value = a * b, .a = b, .b = a, .ab = 1.0 };
        case TAPE_MIN: return side(a < b, a, b);
        case TAPE_MAX: return side(a > b, a, b);
        case TAPE_EXCEEDS: return (Slopes){ .value = a > number ? 1.0 : 0.0 };
        case TAPE_DIFFERS: return (Slopes){ .value = a != b ? 1.0 : 0.0 };
        case TAPE_WHERE: return side(condition > 0.0, a, b);
        case _TAPE_OP_MAX: break;
        }
        assert(!"unreachable: leaves have no slopes");
        return (Slopes){};
}

void tape_jet(const Tape *tape, const LossRow *row, LossJet *ret) {
        LossJet jets[TAPE_NODES_MAX];

        assert(!tape->shape);

        for (Node k = 0; k < tape->n_nodes; k++) {
                const TapeNode *node = &tape->nodes[k];
                const LossJet *a = &jets[node->a], *b = &jets[node->b];

                if (node->op == TAPE_COLUMN)
                        jets[k] = (LossJet){ .value = row->columns[node->of] };
                else if (node->op == TAPE_TERM) {
                        jets[k] = (LossJet){ .value = row->terms[node->of] };
                        jets[k].d[node->of] = 1.0;
                } else {
                        Slopes slopes = slopes_of(node, a->value, b->value, jets[node->c].value);

                        chain(&slopes, a, b, &jets[k]);
                }
        }

        *ret = (LossJet){};
        for (uint32_t k = 0; k < tape->n_losses; k++) {
                const LossJet *jet = &jets[tape->losses[k].node];
                double coefficient = (double) tape->losses[k].coefficient;

                ret->value += coefficient * jet->value;
                for (unsigned t = 0; t < _TERM_MAX; t++) {
                        ret->d[t] += coefficient * jet->d[t];
                        for (unsigned u = 0; u < _TERM_MAX; u++)
                                ret->dd[t][u] += coefficient * jet->dd[t][u];
                }
        }
}
