/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Executes a tape forwards and backwards, as a template for lib/each-width.h. Each number is computed from
 * its own row: no sum runs across rows, so the width changes nothing. The file has no include guard, on
 * purpose. */

/* One line of code for each operation. */
/* clang-format off */

#define EACH_ROW for (uint32_t i = 0; i < n; i++)

/* One input of an edited network: x_i, or x_i x_k. */
KERNEL_TARGET static void KERNEL(monomial)(Monomial m, const float *x, uint32_t n, float *restrict y) {
        const float *first = x + (size_t) m.first * n, *second = x;

        if (m.second == MONOMIAL_LINEAR) {
                memcpy(y, first, n * sizeof(float));
                return;
        }
        second += (size_t) m.second * n;
        EACH_ROW y[i] = first[i] * second[i];
}

/* Adds the gradient of a monomial's inputs to ret, which has the shape of x. Nothing is added for numbers
 * that no monomial reads. */
KERNEL_TARGET static void KERNEL(monomial_backward)(
                Monomial m, const float *x, const float *d, uint32_t n, float *ret) {
        float *d_first = ret + (size_t) m.first * n, *d_second = ret;
        const float *first = x + (size_t) m.first * n, *second = x;

        if (m.second == MONOMIAL_LINEAR) {
                EACH_ROW d_first[i] += d[i];
                return;
        }
        second += (size_t) m.second * n;
        d_second += (size_t) m.second * n;
        EACH_ROW d_first[i] += d[i] * second[i];
        EACH_ROW d_second[i] += d[i] * first[i];
}

KERNEL_TARGET static void KERNEL(forward)(const Tape *tape, const TapePlace *place) {
        for (Node k = 0; k < tape->n_nodes; k++) {
                const TapeNode *node = &tape->nodes[k];
                const uint32_t stride = place->stride, n = node->width * stride;
                const float *a = value_of(tape, place, node->a), *b = value_of(tape, place, node->b);
                const float *condition = value_of(tape, place, node->c);
                const float number = node->number, other = node->other;
                float *restrict y = place->values + (size_t) node->at * stride;

                switch ((TapeOp) node->op) {
                case TAPE_COLUMN:
                case TAPE_TERM:
                case TAPE_INPUT:
                case TAPE_OUTPUT: break;
                case TAPE_NETWORK: network_forward(tape, place, k); break;
                case TAPE_JOIN: {
                        uint32_t n_first = tape->nodes[node->a].width * stride;

                        memcpy(y, a, n_first * sizeof(float));
                        memcpy(y + n_first, b, (n - n_first) * sizeof(float));
                        break;
                }
                case TAPE_EDIT:
                        for (uint32_t column = 0; column < node->width; column++)
                                KERNEL(monomial)(tape->shape->networks[node->of]->monomials[column], a,
                                                stride, y + (size_t) column * stride);
                        break;
                case TAPE_CONSTANTS:
                        for (uint32_t column = 0; column < node->width; column++)
                                for (uint32_t i = 0; i < stride; i++)
                                        y[(size_t) column * stride + i] = node->numbers[column];
                        break;
                case TAPE_SPREAD:
                        for (uint32_t column = 0; column < node->width; column++)
                                memcpy(y + (size_t) column * stride, a, stride * sizeof(float));
                        break;
                case TAPE_TOTAL:
                        EACH_ROW y[i] = a[i];
                        for (uint32_t column = 1; column < tape->nodes[node->a].width; column++)
                                EACH_ROW y[i] += a[(size_t) column * stride + i];
                        break;
                case TAPE_SHIFT: EACH_ROW y[i] = a[i] + number; break;
                case TAPE_SCALE: EACH_ROW y[i] = a[i] * number; break;
                case TAPE_CLAMP: EACH_ROW y[i] = held(a[i], number, other); break;
                case TAPE_ABS: EACH_ROW y[i] = fabsf(a[i]); break;
                case TAPE_EXP: EACH_ROW y[i] = elementary_exp(a[i]); break;
                case TAPE_TANH: EACH_ROW y[i] = elementary_tanh(a[i]); break;
                case TAPE_LOG_TANH_SLOPE: EACH_ROW y[i] = log_tanh_slope(a[i]); break;
                case TAPE_HALF_SQUARE: EACH_ROW y[i] = 0.5f * a[i] * a[i]; break;
                case TAPE_HUBER: EACH_ROW y[i] = huber(a[i], number); break;
                case TAPE_DIVERGENCE: divergence(a, n, y); break;
                case TAPE_DIVERGENCE_BY_EXP: EACH_ROW y[i] = b[i] - 1.0f - a[i]; break;
                case TAPE_ADD: EACH_ROW y[i] = a[i] + b[i]; break;
                case TAPE_SUBTRACT: EACH_ROW y[i] = a[i] - b[i]; break;
                case TAPE_MULTIPLY: EACH_ROW y[i] = a[i] * b[i]; break;
                case TAPE_MIN: EACH_ROW y[i] = a[i] < b[i] ? a[i] : b[i]; break;
                case TAPE_MAX: EACH_ROW y[i] = a[i] > b[i] ? a[i] : b[i]; break;
                case TAPE_EXCEEDS: EACH_ROW y[i] = a[i] > number ? 1.0f : 0.0f; break;
                case TAPE_DIFFERS: EACH_ROW y[i] = a[i] != b[i] ? 1.0f : 0.0f; break;
                case TAPE_WHERE: EACH_ROW y[i] = condition[i] > 0.0f ? a[i] : b[i]; break;
                case _TAPE_OP_MAX: break;
                }
        }
}

/* The gradient for the first operand of node k. Each loop adds, since other nodes may read the same
 * operand. */
KERNEL_TARGET static void KERNEL(backward_first)(const Tape *tape, const TapePlace *place, Node k) {
        const TapeNode *node = &tape->nodes[k];
        const float *a = value_of(tape, place, node->a), *b = value_of(tape, place, node->b);
        const float *condition = value_of(tape, place, node->c);
        const float *y = place->values + (size_t) node->at * place->stride;
        const float *d = d_of(tape, place, k);
        const float number = node->number, other = node->other;
        float *restrict ret = d_of(tape, place, node->a);
        const uint32_t stride = place->stride, n = node->width * stride;

        switch ((TapeOp) node->op) {
        case TAPE_ADD:
        case TAPE_SUBTRACT:
        case TAPE_SHIFT: EACH_ROW ret[i] += d[i]; break;
        case TAPE_SCALE: EACH_ROW ret[i] += d[i] * number; break;
        case TAPE_CLAMP: EACH_ROW ret[i] += a[i] < number || a[i] > other ? 0.0f : d[i]; break;
        case TAPE_ABS: EACH_ROW ret[i] += a[i] < 0.0f ? -d[i] : d[i]; break;
        case TAPE_EXP: EACH_ROW ret[i] += d[i] != 0.0f ? d[i] * y[i] : 0.0f; break;
        case TAPE_TANH: EACH_ROW ret[i] += d[i] * (1.0f - y[i] * y[i]); break;
        case TAPE_LOG_TANH_SLOPE: EACH_ROW ret[i] += d[i] * (-2.0f * elementary_tanh(a[i])); break;
        case TAPE_HALF_SQUARE: EACH_ROW ret[i] += d[i] * a[i]; break;
        case TAPE_HUBER: EACH_ROW ret[i] += d[i] * held(a[i], -number, number); break;
        case TAPE_DIVERGENCE: divergence_backward(a, d, n, ret); break;
        case TAPE_DIVERGENCE_BY_EXP: EACH_ROW ret[i] += d[i] * (b[i] - 1.0f); break;
        case TAPE_MULTIPLY: EACH_ROW ret[i] += d[i] * b[i]; break;
        case TAPE_MIN: EACH_ROW ret[i] += a[i] < b[i] ? d[i] : 0.0f; break;
        case TAPE_MAX: EACH_ROW ret[i] += a[i] > b[i] ? d[i] : 0.0f; break;
        case TAPE_WHERE: EACH_ROW ret[i] += condition[i] > 0.0f ? d[i] : 0.0f; break;
        case TAPE_NETWORK: network_backward(tape, place, k); break;
        case TAPE_JOIN:
                for (uint32_t i = 0; i < tape->nodes[node->a].width * stride; i++)
                        ret[i] += d[i];
                break;
        case TAPE_EDIT:
                for (uint32_t column = 0; column < node->width; column++)
                        KERNEL(monomial_backward)(tape->shape->networks[node->of]->monomials[column], a,
                                        d + (size_t) column * stride, stride, ret);
                break;
        case TAPE_SPREAD:
                for (uint32_t column = 0; column < node->width; column++)
                        for (uint32_t i = 0; i < stride; i++)
                                ret[i] += d[(size_t) column * stride + i];
                break;
        case TAPE_TOTAL:
                for (uint32_t column = 0; column < tape->nodes[node->a].width; column++)
                        EACH_ROW ret[(size_t) column * stride + i] += d[i];
                break;
        case TAPE_COLUMN:
        case TAPE_TERM:
        case TAPE_INPUT:
        case TAPE_CONSTANTS:
        case TAPE_OUTPUT:
        case TAPE_EXCEEDS:
        case TAPE_DIFFERS:
        case _TAPE_OP_MAX: break;
        }
}

/* The gradient for the second operand of node k. */
KERNEL_TARGET static void KERNEL(backward_second)(const Tape *tape, const TapePlace *place, Node k) {
        const TapeNode *node = &tape->nodes[k];
        const float *a = value_of(tape, place, node->a), *b = value_of(tape, place, node->b);
        const float *condition = value_of(tape, place, node->c);
        const float *d = d_of(tape, place, k);
        float *restrict ret = d_of(tape, place, node->b);
        const uint32_t stride = place->stride, n = node->width * stride;

        switch ((TapeOp) node->op) {
        case TAPE_ADD: EACH_ROW ret[i] += d[i]; break;
        case TAPE_SUBTRACT: EACH_ROW ret[i] -= d[i]; break;
        case TAPE_MULTIPLY: EACH_ROW ret[i] += d[i] * a[i]; break;
        case TAPE_MIN: EACH_ROW ret[i] += a[i] < b[i] ? 0.0f : d[i]; break;
        case TAPE_MAX: EACH_ROW ret[i] += a[i] > b[i] ? 0.0f : d[i]; break;
        case TAPE_WHERE: EACH_ROW ret[i] += condition[i] > 0.0f ? 0.0f : d[i]; break;
        case TAPE_JOIN:
                d += tape->nodes[node->a].width * stride;
                for (uint32_t i = 0; i < tape->nodes[node->b].width * stride; i++)
                        ret[i] += d[i];
                break;
        case TAPE_COLUMN:
        case TAPE_TERM:
        case TAPE_INPUT:
        case TAPE_CONSTANTS:
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
        case TAPE_DIVERGENCE_BY_EXP:
        case TAPE_EXCEEDS:
        case TAPE_DIFFERS:
        case _TAPE_OP_MAX: break;
        }
}

KERNEL_TARGET static void KERNEL(backward)(const Tape *tape, const TapePlace *place) {
        uint32_t n = place->stride;

        memset(place->d, 0, (size_t) tape->n_columns * n * sizeof(float));
        for (Node k = 0; k < tape->n_nodes; k++)
                if (tape->nodes[k].op == TAPE_NETWORK && tape->nodes[k].moves)
                        network_clear(tape, place, k);
        for (unsigned t = 0; t < _TERM_MAX; t++)
                if (place->d_terms[t])
                        memset(place->d_terms[t], 0, n * sizeof(float));

        for (uint32_t k = 0; k < tape->n_losses; k++) {
                const TapeLoss *loss = &tape->losses[k];
                const float coefficient = loss->coefficient, *weight = place->weight;
                float *restrict d = d_of(tape, place, loss->node);

                if (tape->nodes[loss->node].late)
                        EACH_ROW d[i] += coefficient;
                else
                        EACH_ROW d[i] += coefficient * weight[i];
        }

        for (Node k = tape->n_nodes; k-- > 0;) {
                const TapeNode *node = &tape->nodes[k];

                if (!node->moves)
                        continue;
                if (node->op == TAPE_TERM) {
                        float *restrict d = place->d_terms[node->of];

                        if (node->late)
                                EACH_ROW d[i] *= place->weight[i];
                        continue;
                }
                /* backward_first() of its TAPE_NETWORK node reads this gradient */
                if (node->op == TAPE_OUTPUT)
                        continue;
                if (node->op == TAPE_NETWORK || tape->nodes[node->a].moves)
                        KERNEL(backward_first)(tape, place, k);
                if (tape->nodes[node->b].moves)
                        KERNEL(backward_second)(tape, place, k);
        }
}

static const Kernels KERNEL(table) = { .forward = KERNEL(forward), .backward = KERNEL(backward) };
#undef EACH_ROW
/* clang-format on */
