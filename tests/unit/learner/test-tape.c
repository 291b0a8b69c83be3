/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Each operation of the tape is executed in columns and compared with tape_jet(), which computes in double
 * precision. The derivatives of tape_jet() are compared with finite differences. */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "learner/kernel/kernels.h"
#include "learner/tape/tape.h"
#include "lib/width.h"
#include "tests/unit/tape-fixture.h"

typedef struct Case {
        const char *name;
        void (*record)(Tape *t, Node x, Node y, Node c);
} Case;

static void shift(Tape *t, Node x, Node y, Node c) {
        tape_loss(t, tape_multiply(t, tape_shift(t, x, 0.75), y), 1);
}
static void scale(Tape *t, Node x, Node y, Node c) {
        tape_loss(t, tape_scale(t, tape_multiply(t, x, x), -0.75), 2);
}
static void clamp(Tape *t, Node x, Node y, Node c) {
        tape_loss(t, tape_half_square(t, tape_clamp(t, x, -0.25, 0.5)), 1);
}
static void clip(Tape *t, Node x, Node y, Node c) {
        Node ratio = tape_exp(t, x);

        tape_loss(t, tape_min(t, tape_multiply(t, c, tape_clip(t, ratio, 0.2)), tape_multiply(t, c, ratio)),
                        -1);
}
static void absolute(Tape *t, Node x, Node y, Node c) {
        tape_loss(t, tape_multiply(t, tape_abs(t, x), y), 1);
}
static void exponential(Tape *t, Node x, Node y, Node c) {
        tape_loss(t, tape_exp(t, tape_subtract(t, x, tape_multiply(t, y, c))), 1);
}
static void half_square(Tape *t, Node x, Node y, Node c) {
        tape_loss(t, tape_half_square(t, tape_subtract(t, x, y)), 0.5);
}
static void huber(Tape *t, Node x, Node y, Node c) {
        tape_loss(t, tape_huber(t, tape_subtract(t, x, y), 0.5), 1);
}
static void divergence(Tape *t, Node x, Node y, Node c) {
        tape_loss(t, tape_divergence(t, tape_multiply(t, x, y)), 1);
}
static void divergence_by_exp(Tape *t, Node x, Node y, Node c) {
        tape_loss(t, tape_divergence_by_exp(t, tape_exp(t, tape_add(t, x, y))), 1);
}
static void hyperbolic(Tape *t, Node x, Node y, Node c) {
        tape_loss(t, tape_multiply(t, tape_tanh(t, tape_scale(t, x, 3)), y), 1);
}
static void log_tanh_slope(Tape *t, Node x, Node y, Node c) {
        tape_loss(t, tape_multiply(t, tape_log_tanh_slope(t, tape_scale(t, x, 3)), y), 1);
}
static void minimum(Tape *t, Node x, Node y, Node c) {
        tape_loss(t, tape_min(t, tape_multiply(t, x, y), tape_half_square(t, x)), 1);
}
static void maximum(Tape *t, Node x, Node y, Node c) {
        tape_loss(t, tape_max(t, tape_multiply(t, x, y), tape_multiply(t, y, c)), 1);
}
static void where(Tape *t, Node x, Node y, Node c) {
        tape_loss(t, tape_where(t, tape_exceeds(t, c, 0.1), tape_exp(t, x), tape_multiply(t, x, y)), 1);
}
/* One node is an operand of two others, and the loss has several parts. */
static void several(Tape *t, Node x, Node y, Node c) {
        Node e = tape_exp(t, x), product = tape_multiply(t, e, y);

        tape_loss(t, tape_multiply(t, product, e), 0.5);
        tape_loss(t, product, -0.25);
        tape_loss(t, tape_half_square(t, tape_add(t, x, c)), 2);
}

static const Case cases[] = {
        { "shift", shift },
        { "scale", scale },
        { "clamp", clamp },
        { "clip", clip },
        { "abs", absolute },
        { "exp", exponential },
        { "half-square", half_square },
        { "huber", huber },
        { "divergence", divergence },
        { "divergence-by-exp", divergence_by_exp },
        { "tanh", hyperbolic },
        { "log-tanh-slope", log_tanh_slope },
        { "min", minimum },
        { "max", maximum },
        { "where", where },
        { "several", several },
};

static LossRow bench_row(const Bench *bench, unsigned i) {
        LossRow row;

        for (unsigned c = 0; c < _COLUMN_MAX; c++)
                row.columns[c] = (double) bench->columns[c][i];
        for (unsigned k = 0; k < _TERM_MAX; k++)
                row.terms[k] = (double) bench->terms[k][i];
        return row;
}

static void record(Tape *tape, const Case *of, bool late) {
        Node (*term)(Tape *, Term) = late ? tape_term_late : tape_term;
        Node x, y;

        tape_begin(tape);
        x = term(tape, TERM_LOG_PROBABILITY);
        y = term(tape, TERM_VALUE);
        of->record(tape, x, y, tape_column(tape, COLUMN_ADVANTAGE));
        for (uint32_t k = 0; k < tape->n_losses; k++)
                tape_sum(tape, 1, tape->losses[k].node, tape->losses[k].coefficient);
}

/* Compares the row's first derivatives with central differences of its value, and its second derivatives
 * with central differences of the first. */
static void differences(const Tape *tape, LossRow row) {
        const double h = 1e-5;
        LossJet here;

        tape_jet(tape, &row, &here);
        for (unsigned k = 0; k < _TERM_MAX; k++) {
                double kept = row.terms[k];
                LossJet up, down;

                row.terms[k] = kept + h;
                tape_jet(tape, &row, &up);
                row.terms[k] = kept - h;
                tape_jet(tape, &row, &down);
                row.terms[k] = kept;
                g_assert_cmpfloat_with_epsilon(here.d[k], (up.value - down.value) / (2 * h), 1e-8);
                for (unsigned l = 0; l < _TERM_MAX; l++)
                        g_assert_cmpfloat_with_epsilon(here.dd[k][l], (up.d[l] - down.d[l]) / (2 * h), 1e-8);
        }
}

static void test_operation(const void *arg) {
        double loss = 0, greatest = 0;
        Bench bench;
        Tape tape;

        record(&tape, arg, false);
        bench_fill(&bench);
        bench_execute(&bench, &tape, ROWS);

        for (unsigned i = 0; i < ROWS; i++) {
                LossRow row = bench_row(&bench, i);
                LossJet jet;

                tape_jet(&tape, &row, &jet);
                loss += (double) bench.weight[i] * jet.value;
                for (unsigned k = 0; k < _TERM_MAX; k++) {
                        double expected = (double) bench.weight[i] * jet.d[k];

                        g_assert_cmpfloat_with_epsilon((double) bench.d_terms[k][i], expected, 1e-7);
                        greatest = fmax(greatest, fabs(expected));
                }
                if (i < REAL)
                        differences(&tape, row);
        }
        g_assert_cmpfloat(greatest, >, 1e-3);
        g_assert_cmpfloat_with_epsilon(bench.sums[1], loss, 1e-6);
        g_assert_cmpfloat(bench.sums[0], ==, 0);
}

/* A loss that is weighted at the end has the same gradient, up to rounding, as one that is weighted at the
 * start. If it is weighted at the end, the gradient is exactly the weight times the gradient without
 * weights. */
static void test_late(const void *arg) {
        Bench early, late, unweighted;
        Tape tape;

        bench_fill(&early);
        record(&tape, arg, false);
        bench_execute(&early, &tape, ROWS);
        bench_fill(&late);
        record(&tape, arg, true);
        bench_execute(&late, &tape, ROWS);
        bench_fill(&unweighted);
        for (unsigned i = 0; i < ROWS; i++)
                unweighted.weight[i] = 1;
        bench_execute(&unweighted, &tape, ROWS);

        for (unsigned k = 0; k < _TERM_MAX; k++)
                for (unsigned i = 0; i < ROWS; i++) {
                        g_assert_cmpfloat_with_epsilon(late.d_terms[k][i], early.d_terms[k][i], 1e-7f);
                        g_assert_cmpfloat(late.d_terms[k][i], ==, unweighted.d_terms[k][i] * late.weight[i]);
                }
}

/* Each width of vectors that this CPU has, and each stride, gives the same bits. */
static void test_widths(const void *arg) {
        Bench first, other;
        Tape tape;

        record(&tape, arg, false);
        for (Width width = 0; width < _WIDTH_MAX; width++) {
                if (!width_present(width))
                        continue;
                width_choose(width);
                bench_fill(&other);
                bench_execute(&other, &tape, ROWS);
                if (width == 0)
                        first = other;
                g_assert_cmpmem(first.d_terms, sizeof(first.d_terms), other.d_terms, sizeof(other.d_terms));
                g_assert_true(first.sums[1] == other.sums[1]);

                bench_fill(&other);
                bench_execute(&other, &tape, 32);
                for (unsigned k = 0; k < _TERM_MAX; k++)
                        g_assert_cmpmem(first.d_terms[k], 32 * sizeof(float), other.d_terms[k],
                                        32 * sizeof(float));
        }
}

/* A ratio that has overflowed is clipped like any other that is too great. */
static void test_overflow(void) {
        Bench bench;
        Tape tape;

        tape_begin(&tape);
        clip(&tape, tape_term(&tape, TERM_LOG_PROBABILITY), 0, tape_column(&tape, COLUMN_ADVANTAGE));
        bench_fill(&bench);
        bench.terms[TERM_LOG_PROBABILITY][0] = 1000;
        bench.columns[COLUMN_ADVANTAGE][0] = 1;
        bench_execute(&bench, &tape, ROWS);
        g_assert_cmpfloat(bench.d_terms[TERM_LOG_PROBABILITY][0], ==, 0);
}

/* Where the two operands are equal, the gradient goes to the second operand. */
static void test_ties(void) {
        Bench bench;
        Tape tape;

        tape_begin(&tape);
        tape_loss(&tape,
                        tape_min(&tape, tape_term(&tape, TERM_LOG_PROBABILITY),
                                        tape_term(&tape, TERM_VALUE)),
                        1);
        tape_loss(&tape,
                        tape_max(&tape, tape_term(&tape, TERM_LOG_PROBABILITY),
                                        tape_term(&tape, TERM_VALUE)),
                        1);
        bench_fill(&bench);
        bench.terms[TERM_LOG_PROBABILITY][0] = bench.terms[TERM_VALUE][0] = 0.5f;
        bench_execute(&bench, &tape, ROWS);
        g_assert_cmpfloat(bench.d_terms[TERM_LOG_PROBABILITY][0], ==, 0);
        g_assert_cmpfloat(bench.d_terms[TERM_VALUE][0], ==, 2 * bench.weight[0]);
}

/* A divergence near 0 must not be computed as a difference of two floats, which would have only rounding
 * errors. */
static void test_small_divergence(void) {
        Bench bench;
        Tape tape;

        tape_begin(&tape);
        tape_sum(&tape, 0, tape_divergence(&tape, tape_column(&tape, COLUMN_ADVANTAGE)), 1);
        bench_fill(&bench);
        for (unsigned i = 0; i < ROWS; i++)
                bench.columns[COLUMN_ADVANTAGE][i] = 1e-5f;
        bench_execute(&bench, &tape, ROWS);
        g_assert_cmpfloat(fabs(bench.sums[0] / 5e-11 - 1), <, 1e-4);
}

/* The networks of the tests: an actor that reads the observation, and a critic that reads the observation
 * and an action. The action is made of the actor's output and normally distributed noise. */

enum { OBSERVATIONS = 3, ACTIONS = 2, UNITS = 5, ACTOR = 2, CRITIC = 5 };

static void layer_add(Network *network, uint32_t input, uint32_t n_in, uint32_t n_out, uint32_t activation,
                uint32_t output) {
        uint32_t i = network->n_layers++;

        network->layers[i] = (Layer){
                .kind = LAYER_DENSE,
                .activation = activation,
                .output = output,
                .input = input,
                .n_in = n_in,
                .n_out = n_out,
                .n_units = n_out,
                .n_reads = n_in,
                .weight_at = network->n_parameters,
                .bias_at = network->n_parameters + (uint64_t) n_in * n_out,
        };
        network->n_parameters += (uint64_t) (n_in + 1) * n_out;
}

static void networks_make(Network *actor, Network *critic) {
        *actor = (Network){ .n_observation = OBSERVATIONS, .n_action = ACTIONS };
        layer_add(actor, 0, OBSERVATIONS, UNITS, LAYER_TANH, OUTPUT_HIDDEN);
        layer_add(actor, 0, UNITS, ACTIONS, LAYER_NONE, OUTPUT_ACTION);
        layer_add(actor, 0, UNITS, ACTIONS, LAYER_TANH, OUTPUT_LOG_STD);
        *critic = (Network){ .n_observation = OBSERVATIONS + ACTIONS, .n_action = ACTIONS };
        layer_add(critic, 0, OBSERVATIONS + ACTIONS, UNITS, LAYER_TANH, OUTPUT_HIDDEN);
        layer_add(critic, 0, UNITS, 1, LAYER_NONE, OUTPUT_VALUE);
}

/* Records a loss: the log-probability of an action of a normal distribution squashed by tanh, and the
 * critic's value of this action. */
static void networks_record(Tape *t) {
        Node observation = tape_input(t, INPUT_OBSERVATION), normal = tape_input(t, INPUT_NORMAL);
        Node actor = tape_network(t, ACTOR, observation), log_sd = tape_output(t, actor, OUTPUT_LOG_STD);
        Node spread = tape_multiply(t, tape_exp(t, log_sd), normal);
        Node x = tape_add(t, tape_output(t, actor, OUTPUT_ACTION), spread);
        Node action = tape_scale(t, tape_tanh(t, x), 1.5);
        Node critic = tape_network(t, CRITIC, tape_join(t, observation, action));
        Node value = tape_output(t, critic, OUTPUT_VALUE);
        Node log_probability =
                        tape_scale(t, tape_total(t, tape_add(t, log_sd, tape_log_tanh_slope(t, x))), -1);
        Node loss = tape_subtract(t, tape_scale(t, log_probability, 0.3), value);

        tape_loss(t, loss, 1);
        tape_sum(t, 1, loss, 1);
        tape_result(t, loss);
}

static void plain_forward(
                const Network *network, const double *parameters, const double *input, double ret[][UNITS]) {
        for (uint32_t i = 0; i < network->n_layers; i++) {
                const Layer *l = &network->layers[i];
                const double *x = i == 0 ? input : ret[l->input];

                for (uint32_t o = 0; o < l->n_out; o++) {
                        double y = parameters[l->bias_at + o];

                        for (uint32_t k = 0; k < l->n_in; k++)
                                y += parameters[l->weight_at + o * l->n_in + k] * x[k];
                        ret[i][o] = l->activation == LAYER_TANH ? tanh(y) : y;
                }
        }
}

/* A loss with two networks. It applies the actor twice, so the actor has two of the three passes. */
typedef struct NetworksBed {
        Network actor, critic;
        Tape tape;
        Bench bench;
        TapeShape shape;
        float inputs[_INPUT_MAX][OBSERVATIONS * ROWS];
        float parameters[2][64] __attribute__((aligned(64)));
        float d_input[(OBSERVATIONS + ACTIONS) * ROWS] __attribute__((aligned(64)));
        float gradient[64] __attribute__((aligned(64)));
        float values[64 * ROWS] __attribute__((aligned(64))), d[64 * ROWS] __attribute__((aligned(64)));
        Pass *passes[3];
        uint32_t trained;
        double (*plain)(const struct NetworksBed *bed, double parameters[2][64], unsigned i);
} NetworksBed;

/* Computes the loss of networks_record() for row i in double precision, with the C library. */
static double plain_row(const NetworksBed *bed, double parameters[2][64], unsigned i) {
        double input[OBSERVATIONS + ACTIONS], actor[3][UNITS], critic[2][UNITS], log_probability = 0;

        for (unsigned k = 0; k < OBSERVATIONS; k++)
                input[k] = (double) bed->inputs[INPUT_OBSERVATION][k * ROWS + i];
        plain_forward(&bed->actor, parameters[0], input, actor);
        for (unsigned k = 0; k < ACTIONS; k++) {
                double x = actor[1][k] + exp(actor[2][k]) * (double) bed->inputs[INPUT_NORMAL][k * ROWS + i];

                input[OBSERVATIONS + k] = 1.5 * tanh(x);
                log_probability -= actor[2][k] + log(1 - tanh(x) * tanh(x));
        }
        plain_forward(&bed->critic, parameters[1], input, critic);
        return 0.3 * log_probability - critic[1][0];
}

static void networks_execute(NetworksBed *bed, bool evaluate, bool accumulate) {
        TapePlace place = {
                .stride = ROWS,
                .weight = bed->bench.weight,
                .values = bed->values,
                .d = bed->d,
                .sums = bed->bench.sums,
                .inputs = { bed->inputs[0], bed->inputs[1], bed->inputs[2] },
                .d_input = bed->d_input,
                .gradient = bed->gradient,
                .accumulate = accumulate,
        };

        memcpy(place.passes, bed->passes, sizeof(bed->passes));
        place.parameters[ACTOR] = bed->parameters[0];
        place.parameters[CRITIC] = bed->parameters[1];
        g_assert_cmpuint(bed->tape.n_columns, <=, 64);
        if (!evaluate) {
                tape_execute(&bed->tape, &place);
                return;
        }
        memcpy(bed->bench.d_terms[0], tape_evaluate(&bed->tape, &place), ROWS * sizeof(float));
}

static void networks_open(NetworksBed *bed) {
        g_autoptr(GRand) rand = g_rand_new_with_seed(2);

        bench_fill(&bed->bench);
        for (unsigned net = 0; net < 2; net++)
                for (unsigned i = 0; i < 64; i++)
                        bed->parameters[net][i] = (float) g_rand_double_range(rand, -0.7, 0.7);
        for (unsigned k = 0; k < _INPUT_MAX; k++)
                for (unsigned i = 0; i < OBSERVATIONS * ROWS; i++)
                        bed->inputs[k][i] = i % ROWS < REAL ? (float) g_rand_double_range(rand, -1, 1) : 0;
        for (unsigned k = 0; k < 3; k++)
                g_assert_cmpint(pass_new(k < 2 ? &bed->actor : &bed->critic, &bed->passes[k]), ==, 0);

        bed->shape = (TapeShape){ .n_inputs = { OBSERVATIONS, ACTIONS, ACTIONS }, .trained = bed->trained };
        bed->shape.networks[ACTOR] = &bed->actor;
        bed->shape.networks[CRITIC] = &bed->critic;
        bed->shape.n_passes[ACTOR] = bed->shape.first_pass[CRITIC] = 2;
        bed->shape.n_passes[CRITIC] = 1;
        tape_begin_with(&bed->tape, &bed->shape);
}

static double networks_mean(const NetworksBed *bed, double parameters[2][64]) {
        double sum = 0;

        for (unsigned i = 0; i < REAL; i++)
                sum += bed->plain(bed, parameters, i) / REAL;
        return sum;
}

/* Compares the gradient, the sum and each row's result with the same numbers in double precision. */
static void networks_check(NetworksBed *bed) {
        double parameters[2][64] = {};
        unsigned which = bed->trained == ACTOR ? 0 : 1;
        size_t n = which == 0 ? bed->actor.n_parameters : bed->critic.n_parameters;

        for (unsigned net = 0; net < 2; net++)
                for (unsigned i = 0; i < 64; i++)
                        parameters[net][i] = (double) bed->parameters[net][i];
        networks_execute(bed, false, false);
        networks_execute(bed, false, true);
        for (size_t p = 0; p < n; p++) {
                double *at = &parameters[which][p], kept = *at, up, down;

                *at = kept + 1e-5;
                up = networks_mean(bed, parameters);
                *at = kept - 1e-5;
                down = networks_mean(bed, parameters);
                *at = kept;
                /* twice the gradient, since the second execution added to the first */
                g_assert_cmpfloat_with_epsilon((double) bed->gradient[p], 2 * (up - down) / 2e-5, 2e-6);
        }
        g_assert_cmpfloat_with_epsilon(bed->bench.sums[1], 2 * networks_mean(bed, parameters), 1e-5);

        networks_execute(bed, true, false);
        for (unsigned i = 0; i < REAL; i++)
                g_assert_cmpfloat_with_epsilon(
                                (double) bed->bench.d_terms[0][i], bed->plain(bed, parameters, i), 1e-5);
        for (unsigned k = 0; k < 3; k++)
                pass_free(bed->passes[k]);
}

static NetworksBed *networks_bed_new(void) {
        size_t bytes = (sizeof(NetworksBed) + 63) / 64 * 64;

        return memset(aligned_alloc(64, bytes), 0, bytes);
}

/* The loss goes through two networks, of which one is trained. The actor's gradient goes through the critic;
 * the critic's gradient does not go on into the actor. */
static void test_networks(const void *arg) {
        g_autofree NetworksBed *bed = networks_bed_new();

        bed->trained = arg ? ACTOR : CRITIC;
        bed->plain = plain_row;
        networks_make(&bed->actor, &bed->critic);
        networks_open(bed);
        networks_record(&bed->tape);
        networks_check(bed);
}

static const float constants[ACTIONS] = { 0.3f, -0.6f };

/* A policy that refines its action in two passes, as samplers do: the second pass reads the action of the
 * first. */
static void refined_record(Tape *t) {
        Node observation = tape_input(t, INPUT_OBSERVATION);
        Node part = tape_spread(t, tape_input_part(t, INPUT_NORMAL, 1, 1), ACTIONS);
        Node normal = tape_add(t, part, tape_constants(t, constants, ACTIONS));
        Node first = tape_output(
                        t, tape_network(t, ACTOR, tape_join(t, observation, normal)), OUTPUT_ACTION);
        Node both = tape_spread(t, tape_total(t, first), ACTIONS);
        Node noisy = tape_add(t, both, tape_scale(t, normal, 0.5));
        Node second = tape_output(
                        t, tape_network(t, ACTOR, tape_join(t, observation, noisy)), OUTPUT_ACTION);
        Node value = tape_output(
                        t, tape_network(t, CRITIC, tape_join(t, observation, second)), OUTPUT_VALUE);
        Node loss = tape_subtract(t, tape_total(t, tape_half_square(t, first)), value);

        tape_loss(t, loss, 1);
        tape_sum(t, 1, loss, 1);
        tape_result(t, loss);
}

static double refined_row(const NetworksBed *bed, double parameters[2][64], unsigned i) {
        double input[OBSERVATIONS + ACTIONS], normal[ACTIONS], first[2][UNITS], second[2][UNITS];
        double critic[2][UNITS], squares = 0;

        for (unsigned k = 0; k < OBSERVATIONS; k++)
                input[k] = (double) bed->inputs[INPUT_OBSERVATION][k * ROWS + i];
        for (unsigned k = 0; k < ACTIONS; k++)
                input[OBSERVATIONS + k] = normal[k] =
                                (double) bed->inputs[INPUT_NORMAL][ROWS + i] + (double) constants[k];
        plain_forward(&bed->actor, parameters[0], input, first);
        for (unsigned k = 0; k < ACTIONS; k++) {
                input[OBSERVATIONS + k] = first[1][0] + first[1][1] + 0.5 * normal[k];
                squares += first[1][k] * first[1][k] / 2;
        }
        plain_forward(&bed->actor, parameters[0], input, second);
        memcpy(input + OBSERVATIONS, second[1], ACTIONS * sizeof(double));
        plain_forward(&bed->critic, parameters[1], input, critic);
        return squares - critic[1][0];
}

/* The loss applies the actor twice, and the second pass reads the first one's output. The actor's gradient
 * is the sum over both passes, and the second pass's part also goes through the first pass. */
static void test_passes(const void *arg) {
        g_autofree NetworksBed *bed = networks_bed_new();

        bed->trained = arg ? ACTOR : CRITIC;
        bed->plain = refined_row;
        networks_make(&bed->actor, &bed->critic);
        bed->actor = (Network){ .n_observation = OBSERVATIONS + ACTIONS, .n_action = ACTIONS };
        layer_add(&bed->actor, 0, OBSERVATIONS + ACTIONS, UNITS, LAYER_TANH, OUTPUT_HIDDEN);
        layer_add(&bed->actor, 0, UNITS, ACTIONS, LAYER_NONE, OUTPUT_ACTION);
        networks_open(bed);
        refined_record(&bed->tape);
        networks_check(bed);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);

        for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *operation = g_strdup_printf("/tape/operation/%s", cases[i].name);
                g_autofree char *late = g_strdup_printf("/tape/late/%s", cases[i].name);
                g_autofree char *widths = g_strdup_printf("/tape/widths/%s", cases[i].name);

                g_test_add_data_func(operation, &cases[i], test_operation);
                g_test_add_data_func(late, &cases[i], test_late);
                g_test_add_data_func(widths, &cases[i], test_widths);
        }
        g_test_add_data_func("/tape/networks/actor", "", test_networks);
        g_test_add_data_func("/tape/networks/critic", NULL, test_networks);
        g_test_add_data_func("/tape/passes/actor", "", test_passes);
        g_test_add_data_func("/tape/passes/critic", NULL, test_passes);
        g_test_add_func("/tape/overflow", test_overflow);
        g_test_add_func("/tape/ties", test_ties);
        g_test_add_func("/tape/small-divergence", test_small_divergence);
        return g_test_run();
}
