/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A loss is written once, as a function that records operations on columns: one number, or several, for each
 * row of a shard. The recording is then executed shard by shard, forwards, and backwards for the gradient
 * (reverse mode). For first and second derivatives (learner/curvature/) it is executed row by row in double
 * precision. An operation runs over a whole column, so reading the tape costs almost nothing. A network is
 * an operation, too. If its parameters are fixed, a gradient goes through it to its input.
 *
 * Recording is cheap compared with any minibatch. So a loss is recorded again for each gradient. The current
 * numbers (a scheduled clip, the mean of the advantages) enter as constants, and operations that they make
 * unnecessary are left out.
 *
 * At a corner of an operation, its gradient is that of the chosen side. A number that is clipped to a bound
 * has gradient 0. A gradient of 0 stays 0 even if exp() has overflowed before it on the tape. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "include/policy.h"
#include "learner/gradient.h"

enum {
        TAPE_NODES_MAX = 192,
        TAPE_OUTPUTS_MAX = 8,
        TAPE_NETS_MAX = 16,
        TAPE_PASSES_MAX = 32, /* applications of networks */
        TAPE_WIDE_MAX = 24,   /* for each pass, the most nodes that have as many columns as an action */
};

/* The columns of the batch, one number for each row. */
typedef enum Column {
        COLUMN_ADVANTAGE,
        COLUMN_TARGET,
        COLUMN_OLD_LOG_PROBABILITY, /* this column and the next: from the last runtime_recompute() */
        COLUMN_OLD_VALUE,
        COLUMN_BEHAVIOUR_LOG_PROBABILITY, /* as the actor reported it */
        COLUMN_REWARD,
        COLUMN_DISCOUNT, /* the factor on the value after a replayed window; 0: the episode terminated */
        _COLUMN_MAX,
} Column;

/* Inputs with several numbers for each row. */
typedef enum Input {
        INPUT_OBSERVATION,
        INPUT_ACTION,
        INPUT_NORMAL, /* standard normal numbers, one for each number of an action; if the policy acts by
                        * passes, as many again for each pass */
        /* if the policy acts by passes: the Moments (lib/sampler.h) at a boundary t' and at the boundary t
         * before it, then 1 / (t' - t); for ACT_DIFFUSION only the Moment at a step */
        INPUT_MOMENTS,
        _INPUT_MAX,
} Input;

/* The network's present output for a row. If the network estimates the value of each action, TERM_VALUE is
 * the value of the action that was taken, and there is no probability. */
typedef enum Term { TERM_LOG_PROBABILITY, TERM_ENTROPY, TERM_VALUE, _TERM_MAX } Term;

typedef enum TapeOp {
        TAPE_COLUMN,
        TAPE_TERM,
        TAPE_INPUT,
        TAPE_CONSTANTS,
        TAPE_SPREAD,
        TAPE_NETWORK,
        TAPE_OUTPUT,
        TAPE_JOIN,
        TAPE_TOTAL,
        TAPE_EDIT,
        TAPE_SHIFT,
        TAPE_SCALE,
        TAPE_CLAMP,
        TAPE_ABS,
        TAPE_EXP,
        TAPE_TANH,
        TAPE_LOG_TANH_SLOPE,
        TAPE_HALF_SQUARE,
        TAPE_HUBER,
        TAPE_DIVERGENCE,
        TAPE_DIVERGENCE_BY_EXP,
        TAPE_ADD,
        TAPE_SUBTRACT,
        TAPE_MULTIPLY,
        TAPE_MIN,
        TAPE_MAX,
        TAPE_EXCEEDS,
        TAPE_DIFFERS,
        TAPE_WHERE,
        _TAPE_OP_MAX,
} TapeOp;

typedef uint32_t Node; /* the index of a node on the tape */

typedef struct TapeNode {
        uint32_t op;
        uint32_t of;          /* a Column, Term or Input, or the number of a network or layer */
        uint32_t width, at;   /* how many columns it has, and the place of the first */
        Node a, b, c;         /* its operands, which are earlier nodes */
        float number, other;  /* constants, rounded for jets too, so that the loss is the same */
        bool moves;           /* it depends on a term or on trained parameters, and so has a gradient */
        bool late;            /* the row's weight multiplies its gradient late: tape_term_late() */
        uint32_t pass;        /* NETWORK: its number among the passes */
        const float *numbers; /* CONSTANTS */
        bool again;           /* NETWORK: a later node applies the same trained network again */
} TapeNode;

typedef struct TapeLoss {
        Node node;
        float coefficient;
} TapeLoss;

typedef struct TapeSum {
        Node node;
        unsigned number;
        float coefficient;
} TapeSum;

/* The data that a tape may read, and the networks that it may apply. */
typedef struct TapeShape {
        uint32_t n_inputs[_INPUT_MAX];
        const Network *networks[TAPE_NETS_MAX];
        /* The passes of each network: n_passes from first_pass on. Networks of one shape may share them. */
        uint32_t first_pass[TAPE_NETS_MAX], n_passes[TAPE_NETS_MAX];
        uint32_t trained; /* the index of the network that gets a gradient; all others are fixed */
} TapeShape;

typedef struct Tape {
        const TapeShape *shape; /* NULL: the tape has only terms and columns */
        uint32_t n_nodes, n_losses, n_sums, n_columns;
        TapeNode nodes[TAPE_NODES_MAX];
        Node result;
        TapeLoss losses[TAPE_OUTPUTS_MAX];
        TapeSum sums[TAPE_OUTPUTS_MAX];
} Tape;

/* Recording: learner/tape/record.c. The tape has room for all existing losses; if a loss is longer, an
 * assertion fails. */
typedef void (*Loss)(Tape *tape, const void *arg);

void tape_begin(Tape *tape);
void tape_begin_with(Tape *tape, const TapeShape *shape);
Node tape_column(Tape *tape, Column column);
Node tape_term(Tape *tape, Term term);
/* Like tape_term(), but the row's weight multiplies the gradient at the term, and not already at the loss.
 * The results differ only by rounding. A loss reads each term in one of the two ways, and no operation joins
 * terms of both kinds. */
Node tape_term_late(Tape *tape, Term term);

Node tape_input(Tape *tape, Input input);
/* Applies a network to the columns of `input`. Then tape_output() can read its outputs. Each application
 * needs a pass of its own. The gradients of the trained network are added up over its passes, the last pass
 * first. */
Node tape_network(Tape *tape, uint32_t net, Node input);
Node tape_output(Tape *tape, Node network, LayerOutput output);
/* `width` columns of an input, from `first` on. */
Node tape_input_part(Tape *tape, Input input, uint32_t first, uint32_t width);
/* `width` columns of constants: column i has numbers[i] in each row. `numbers` must outlive the tape. */
Node tape_constants(Tape *tape, const float *numbers, uint32_t width);
Node tape_spread(Tape *tape, Node x, uint32_t width); /* repeats one column `width` times */
Node tape_join(Tape *tape, Node a, Node b);           /* the columns of a, then those of b */
/* The input of an edited network (Network.monomials), made from x; without editing, x itself. */
Node tape_edit(Tape *tape, uint32_t net, Node x);
Node tape_total(Tape *tape, Node x); /* one column: the sum over all columns */

/* Operations on each column. Two operands must have the same width. */
Node tape_shift(Tape *tape, Node x, double by);                  /* x + by */
Node tape_scale(Tape *tape, Node x, double by);                  /* x * by */
Node tape_clamp(Tape *tape, Node x, double lowest, double most); /* lowest <= most; both may be infinite */
/* Limits a ratio of probabilities to [1 - clip, 1 + clip]. */
Node tape_clip(Tape *tape, Node ratio, double clip);
Node tape_abs(Tape *tape, Node x);
Node tape_exp(Tape *tape, Node x);
Node tape_tanh(Tape *tape, Node x);
Node tape_log_tanh_slope(Tape *tape, Node x); /* log(1 - tanh(x)^2), exact where tanh(x) is nearly 1 */
Node tape_half_square(Tape *tape, Node x);    /* x * x / 2 */
/* Half the square up to the bound, and linear beyond it. */
Node tape_huber(Tape *tape, Node x, double bound);
/* exp(x) - 1 - x. The result is never negative, and is exact for any small x. */
Node tape_divergence(Tape *tape, Node x);
/* Like tape_divergence(x), but its operand is tape_exp(x). This is less exact, but needs no second exp().
 * The gradient goes to x directly, and skips the exponential. */
Node tape_divergence_by_exp(Tape *tape, Node exponential);
Node tape_add(Tape *tape, Node a, Node b);
Node tape_subtract(Tape *tape, Node a, Node b); /* a - b */
Node tape_multiply(Tape *tape, Node a, Node b);
Node tape_min(Tape *tape, Node a, Node b);                      /* if they are equal: b, with its gradient */
Node tape_max(Tape *tape, Node a, Node b);                      /* if they are equal: as tape_min() */
Node tape_exceeds(Tape *tape, Node x, double bound);            /* x > bound: 1 or 0, without gradient */
Node tape_differs(Tape *tape, Node a, Node b);                  /* a != b: 1 or 0, without gradient */
Node tape_where(Tape *tape, Node condition, Node yes, Node no); /* condition: 1 or 0 */

/* Adds coefficient * the mean of x over the minibatch's rows to the loss. */
void tape_loss(Tape *tape, Node x, double coefficient);
/* Adds coefficient * the mean of x over the minibatch's rows to sum `number`, a statistic without
 * gradient. */
void tape_sum(Tape *tape, unsigned number, Node x, double coefficient);
/* Makes x the number that tape_evaluate() computes for each row. */
void tape_result(Tape *tape, Node x);

/* Divides a loss that reads only columns and terms. The first part has the losses and sums that read
 * TERM_VALUE, the second part all others. Together they compute what the tape computes, bit for bit. Returns
 * false, if this is not possible: a loss or a sum reads TERM_VALUE and another term, both parts would add to
 * one sum, or a part would have no loss. */
bool tape_divide(const Tape *tape, Tape ret_parts[2]);

/* Executing: learner/tape/tape.c. Columns have `stride` rows, a multiple of 16 and at most SHARD_ROWS_MAX.
 * `weight` is 1 / rows of the minibatch, and 0 for rows that only fill the shard up, so that weighted sums
 * are means. */
typedef struct TapePlace {
        uint32_t stride;
        const float *weight;
        const float *columns[_COLUMN_MAX];
        const float *terms[_TERM_MAX];
        float *d_terms[_TERM_MAX]; /* out; NULL: this term is not used */
        float *values, *d;         /* [columns][stride], aligned to 64 */
        double *sums;              /* results are added to these */

        /* For tapes with networks: */
        const float *inputs[_INPUT_MAX]; /* [width][stride] */
        Pass *passes[TAPE_PASSES_MAX];   /* numbered as in TapeShape */
        const float *parameters[TAPE_NETS_MAX];
        float *d_input;  /* [the widest input of a network][stride] */
        float *gradient; /* of the trained network */
        bool accumulate; /* the result is added to `gradient` */
} TapePlace;

/* Computes the sums, and the gradients of the loss with respect to the terms or to the trained network's
 * parameters. A tape without a loss has only sums. */
void tape_execute(const Tape *tape, const TapePlace *place);
/* Executes the tape forwards only. Returns the result of each row. */
const float *tape_evaluate(const Tape *tape, const TapePlace *place);

/* One row in double precision, for a tape without networks: learner/tape/jet.c */
typedef struct LossRow {
        double columns[_COLUMN_MAX], terms[_TERM_MAX];
} LossRow;

typedef struct LossJet {
        double value;
        double d[_TERM_MAX], dd[_TERM_MAX][_TERM_MAX]; /* dd is symmetric */
} LossJet;

/* Computes the row's loss, and its derivatives with respect to the terms. */
void tape_jet(const Tape *tape, const LossRow *row, LossJet *ret);
