/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Compares products with the Hessian, and the ends of its spectrum, with the whole matrix. This test
 * computes each entry of the matrix from plain formulas of the loss, with numbers that carry two derivatives
 * and their product along ("hyper-dual", Fike and Alonso 2011). So the results may differ by rounding
 * alone. */
#include "tests/unit/learner-fixture.h"

#include "learner/curvature/curvature.h"

typedef struct Dual { /* the hyper-dual number f + a e1 + b e2 + ab e1 e2, with e1^2 = e2^2 = 0 */
        double f, a, b, ab;
} Dual;

static Dual constant(double f) {
        return (Dual){ .f = f };
}

static Dual add(Dual x, Dual y) {
        return (Dual){ x.f + y.f, x.a + y.a, x.b + y.b, x.ab + y.ab };
}

static Dual times(Dual x, Dual y) {
        return (Dual){ x.f * y.f, x.a * y.f + x.f * y.a, x.b * y.f + x.f * y.b,
                x.ab * y.f + x.a * y.b + x.b * y.a + x.f * y.ab };
}

static Dual scaled(double c, Dual x) {
        return times(constant(c), x);
}

/* Applies a function of one number to x. f, d, dd: its value at x.f, its derivative and its second
 * derivative. */
static Dual of(Dual x, double f, double d, double dd) {
        return (Dual){ f, d * x.a, d * x.b, d * x.ab + dd * x.a * x.b };
}

static Dual dual_exp(Dual x) {
        return of(x, exp(x.f), exp(x.f), exp(x.f));
}

static Dual dual_log(Dual x) {
        return of(x, log(x.f), 1 / x.f, -1 / (x.f * x.f));
}

static Dual dual_activate(Dual x, uint32_t activation) {
        double t = tanh(x.f);

        if (activation == LAYER_TANH)
                return of(x, t, 1 - t * t, -2 * t * (1 - t * t));
        return activation == LAYER_RELU && x.f < 0 ? constant(0) : x;
}

typedef Dual Outputs[LAYERS_MAX][16];

static void reference_forward(
                const Network *network, const Dual *parameters, const float *observation, Outputs ret) {
        for (uint32_t i = 0; i < network->n_layers; i++) {
                const Layer *l = &network->layers[i];

                for (uint32_t o = 0; o < l->n_out; o++) {
                        Dual y = parameters[l->bias_at + o];

                        for (uint32_t k = 0; k < l->n_in; k++)
                                y = add(y, times(parameters[l->weight_at + o * l->n_in + k],
                                                           l->input == i ? constant((double) observation[k])
                                                                         : ret[l->input][k]));
                        ret[i][o] = dual_activate(y, l->activation);
                }
        }
}

static Dual reference_log_probability(
                const Network *network, const Batch *b, size_t row, Outputs outputs, Dual *ret_entropy) {
        const Dual *y = outputs[network_find(network, OUTPUT_ACTION)];
        Dual log_probability = {};

        *ret_entropy = constant(0);
        if (network->act == ACT_CATEGORICAL) {
                for (uint32_t k = 0; k < network->n_choices; y += network->choices[k++]) {
                        int32_t chosen = b->choices[row * network->n_choices + k];
                        Dual sum = {};

                        for (uint32_t a = 0; a < network->choices[k]; a++)
                                sum = add(sum, dual_exp(y[a]));
                        for (uint32_t a = 0; a < network->choices[k]; a++) {
                                Dual l = add(y[a], scaled(-1, dual_log(sum)));

                                *ret_entropy = add(*ret_entropy, scaled(-1, times(dual_exp(l), l)));
                                if (chosen == (int32_t) a)
                                        log_probability = add(log_probability, l);
                        }
                }
                return log_probability;
        }

        for (uint32_t a = 0; a < network->n_action; a++) {
                Dual log_sd = outputs[network_find(network, OUTPUT_LOG_STD)][a];
                Dual z = times(add(constant((double) b->actions[row * network->n_action + a]),
                                               scaled(-1, y[a])),
                                dual_exp(scaled(-1, log_sd)));

                log_probability = add(log_probability, add(scaled(-0.5, times(z, z)), scaled(-1, log_sd)));
                *ret_entropy = add(*ret_entropy, log_sd);
        }
        return log_probability;
}

static Dual greater(Dual x, Dual y) {
        return x.f > y.f ? x : y;
}

static Dual held(Dual x, double low, double high) {
        if (x.f < low)
                return constant(low);
        return x.f > high ? constant(high) : x;
}

/* The loss of a row by plain formulas, without terms that no parameter changes. */
static Dual reference_loss(const Bed *bed, size_t row, double advantage, Outputs outputs) {
        const JobSettings *s = &bed->settings;
        const Batch *b = bed->learner->runtime->batch;
        Dual entropy, value = outputs[network_find(&bed->page.network, OUTPUT_VALUE)][0];
        Dual log_ratio = add(reference_log_probability(&bed->page.network, b, row, outputs, &entropy),
                        constant(-(double) b->log_probability[row]));
        double kl_weight = s->algorithm == ALGORITHM_PPO ? bed->learner->runtime->state[0] : 0;
        Dual ratio, loss, error = add(value, constant(-(double) b->target[row]));

        /* reference_log_probability() leaves out the constant term of a normal distribution's density. The
         * actor's log probability has it, so the ratio needs it. */
        if (bed->page.network.act == ACT_GAUSSIAN)
                log_ratio = add(log_ratio, constant(-log(2 * M_PI) / 2 * bed->page.network.n_action));
        if (s->algorithm == ALGORITHM_IMPACT) {
                double old = (double) b->log_probability[row],
                       behaviour = (double) b->behaviour_log_probability[row];

                log_ratio = add(log_ratio,
                                constant(fmin(behaviour - old, (double) (float) M_LN2) - (behaviour - old)));
        }
        ratio = dual_exp(log_ratio);
        loss = greater(scaled(-advantage, ratio),
                        scaled(-advantage, held(ratio, 1 - (double) (float) s->clip,
                                                           1 + (double) (float) s->clip)));
        if (s->algorithm == ALGORITHM_A2C || s->algorithm == ALGORITHM_IMPALA)
                loss = scaled(-advantage, log_ratio);
        loss = add(loss, scaled(-(double) (float) s->entropy_weight, entropy));
        loss = add(loss, scaled((double) (float) kl_weight, add(ratio, scaled(-1, log_ratio))));
        error = times(error, error);
        if (settings_present(s, SETTING_Learner_ValueClip)) {
                double old = (double) b->value[row], clip = (double) (float) s->value_clip;
                Dual kept = add(held(add(value, constant(-old)), -clip, clip),
                                constant(old - (double) b->target[row]));

                if (fabs(value.f - old) > clip)
                        error = greater(error, times(kept, kept));
        }
        return add(loss, scaled((double) (float) s->value_weight / 2, error));
}

/* The second derivative by parameters i and j of the mean loss (or objective) over all rows. */
static double reference_entry(const Bed *bed, Dual *parameters, uint32_t i, uint32_t j, bool objective,
                const double *advantages) {
        const Network *network = &bed->page.network;
        const Batch *b = bed->learner->runtime->batch;
        uint32_t n = bed->settings.n_actors * b->step_rows;
        double sum = 0;

        parameters[i].a = parameters[j].b = 1;
        for (uint32_t k = 0; k < n; k++) {
                size_t row = batch_block(b, k / b->step_rows) + k % b->step_rows;
                Outputs outputs;
                Dual entropy;

                reference_forward(network, parameters, b->observations + row * b->n_observation, outputs);
                if (objective)
                        sum += advantages[k] *
                               reference_log_probability(network, b, row, outputs, &entropy).ab;
                else
                        sum += reference_loss(bed, row, advantages[k], outputs).ab;
        }
        parameters[i].a = parameters[j].b = 0;
        return sum / n;
}

/* "Über ein leichtes Verfahren ..." (Jacobi 1846): turns planes until the numbers off the diagonal are 0. */
static void jacobi_extremes(double *m, uint32_t n, double *ret_min, double *ret_max) {
        for (unsigned sweep = 0; sweep < 30; sweep++)
                for (uint32_t p = 0; p < n; p++)
                        for (uint32_t q = p + 1; q < n; q++) {
                                double theta, t, c, s;

                                if (fabs(m[p * n + q]) < 1e-300)
                                        continue;
                                theta = (m[q * n + q] - m[p * n + p]) / (2 * m[p * n + q]);
                                t = copysign(1, theta) / (fabs(theta) + sqrt(theta * theta + 1));
                                c = 1 / sqrt(t * t + 1);
                                s = t * c;
                                for (uint32_t k = 0; k < n; k++) {
                                        double x = m[k * n + p], y = m[k * n + q];

                                        m[k * n + p] = c * x - s * y;
                                        m[k * n + q] = s * x + c * y;
                                }
                                for (uint32_t k = 0; k < n; k++) {
                                        double x = m[p * n + k], y = m[q * n + k];

                                        m[p * n + k] = c * x - s * y;
                                        m[q * n + k] = s * x + c * y;
                                }
                        }
        *ret_min = *ret_max = m[0];
        for (uint32_t i = 1; i < n; i++) {
                *ret_min = fmin(*ret_min, m[i * n + i]);
                *ret_max = fmax(*ret_max, m[i * n + i]);
        }
}

typedef struct Case {
        const char *name, *update, *settings;
        uint32_t n_choices, n_agents; /* n_agents 0: 1 */
} Case;

#define MINIBATCH "Updates=full-batch\nMinibatchSize=42\n"
#define EPOCHS    MINIBATCH "Epochs=2\n"

static Answer learn(Bed *bed, const Case *c) {
        g_autofree char *sections = g_strdup_printf(
                        "[Scaling]\nActors=2\n[Actor]\nEnvsPerActor=3\nRolloutSteps=7\n"
                        "[Learner]\nHiddenLayers=5 4\nLearningRate=0.1\nCurvature=both\nCurvatureSteps=40\n"
                        "Threads=2\n%s%s\n",
                        c->update, c->settings);
        ActordEnvSpec spec = bed_spec_box(3, 2, c->n_choices);

        spec.horizon_steps = 9;
        spec.n_agents = MAX(c->n_agents, 1);
        bed_start(bed, sections, &spec);
        bed_take_all(bed, 2, 0, 7);
        return bed_learn(bed, 0, 2);
}

static void objective_record(Runtime *runtime, Tape *t) {
        tape_loss(t, tape_multiply(t, tape_column(t, COLUMN_ADVANTAGE), tape_term(t, TERM_LOG_PROBABILITY)),
                        1);
}

/* Compares products with ten random vectors with products of the explicit Hessian, and returns the explicit
 * Hessian. */
static double *check_products(const Bed *bed, bool objective) {
        Runtime *rt = bed->learner->runtime;
        uint32_t n = (uint32_t) bed->page.network.n_parameters;
        g_autofree Dual *parameters = g_new0(Dual, n);
        g_autofree double *v = g_new0(double, n), *product = g_new0(double, n);
        double advantages[42], *h = g_new0(double, (size_t) n *n);
        AdvantageScale scale = bed_advantages(bed, advantages);
        Tape tape;
        HessianOf what = {
                .loss = &tape,
                .value = !objective,
                .parameters = rt->nets[NET_POLICY]->parameters,
                .batch = rt->batch,
                .rows = runtime_rows(rt),
                .mean = scale.mean,
                .scale = scale.scale,
        };
        Hessian *hessian;

        tape_begin(&tape);
        (objective ? objective_record : bed->learner->algorithm->loss)(rt, &tape);
        for (uint32_t i = 0; i < n; i++)
                parameters[i].f = (double) what.parameters[i];
        for (uint32_t i = 0; i < n; i++)
                for (uint32_t j = i; j < n; j++)
                        h[i * n + j] = h[j * n + i] =
                                        reference_entry(bed, parameters, i, j, objective, advantages);

        g_assert_cmpint(hessian_new(&bed->page.network, rt->threads, what.rows.n, &hessian), ==, 0);
        hessian_load(hessian, &what);
        for (unsigned t = 0; t < 10; t++) {
                double error = 0, norm = 0;

                for (uint32_t i = 0; i < n; i++)
                        v[i] = g_test_rand_double_range(-1, 1);
                hessian_times(hessian, v, product);
                for (uint32_t i = 0; i < n; i++) {
                        double expected = 0;

                        for (uint32_t j = 0; j < n; j++)
                                expected += h[i * n + j] * v[j];
                        error += pow(product[i] - expected, 2);
                        norm += expected * expected;
                }
                g_assert_cmpfloat(norm, >, 1e-6);
                if (t == 0)
                        g_test_message("%u parameters, products differ by %.1e", n, sqrt(error / norm));
                g_assert_cmpfloat(sqrt(error / norm), <, 1e-10);
        }
        hessian_free(hessian);
        return h;
}

static void test_case(gconstpointer data) {
        Bed bed = {};
        Answer learned = learn(&bed, data);
        uint32_t n = (uint32_t) bed.page.network.n_parameters;
        const Statistics *s = &learned.statistics;
        double min, max;

        g_assert_cmpuint(n, <, 200);
        /* The loss has kinks where ratios are clipped, and some rows of this data must lie beyond them. */
        if (bed.settings.algorithm == ALGORITHM_PPO || bed.settings.algorithm == ALGORITHM_IMPACT)
                g_assert_cmpfloat(s->clip_fraction, >, 0);
        {
                g_autofree double *h = check_products(&bed, true);

                jacobi_extremes(h, n, &min, &max);
                g_test_message("objective: %g .. %g, measured %g .. %g", min, max, s->curvature_min,
                                s->curvature_max);
                g_assert_cmpfloat_with_epsilon(s->curvature_min / min, 1, 0.01);
                g_assert_cmpfloat_with_epsilon(s->curvature_max / max, 1, 0.01);
                g_assert_cmpfloat(s->curvature_ratio, ==, -s->curvature_max / s->curvature_min);
        }
        {
                g_autofree double *h = check_products(&bed, false);

                jacobi_extremes(h, n, &min, &max);
                g_test_message("loss: %g .. %g: %g, measured %g", min, max, curvature_ratio_loss(min, max),
                                s->curvature_loss);
                g_assert_cmpfloat_with_epsilon(s->curvature_loss / curvature_ratio_loss(min, max), 1, 0.01);
        }
        bed_close(&bed);
}

int main(int argc, char *argv[]) {
        static const Case cases[] = {
                { "discrete", EPOCHS, "", 3 },
                { "several", EPOCHS, "EntropyWeight=0.1", BED_SEVERAL },
                { "discrete-shared", EPOCHS, "SharedNetwork=yes\nEntropyWeight=0.1", 3 },
                { "discrete-relu", EPOCHS, "Activation=relu", 3 },
                { "discrete-relu-shared", EPOCHS, "Activation=relu\nSharedNetwork=yes\nValueClip=0.05", 3 },
                { "discrete-entropy", EPOCHS, "EntropyWeight=3\nValueWeight=0", 3 },
                { "discrete-kl", EPOCHS, "KLWeight=7\nNormalizeAdvantages=no", 3 },
                { "gaussian", EPOCHS, "", 0 },
                { "gaussian-shared", EPOCHS, "SharedNetwork=yes\nEntropyWeight=0.1\nKLWeight=0.3", 0 },
                { "gaussian-relu", EPOCHS, "Activation=relu\nNormalizeObservations=yes", 0 },
                { "gaussian-relu-shared", EPOCHS,
                                "Activation=relu\nSharedNetwork=yes\nNormalizeAdvantages=no", 0 },
                { "a2c", "", "EntropyWeight=0.25\n[Job]\nAlgorithm=a2c", 3 },
                { "impala-shared", MINIBATCH, "SharedNetwork=yes\n[Job]\nAlgorithm=impala", 0 },
                { "impact", EPOCHS, "EntropyWeight=0.25\n[Job]\nAlgorithm=impact", 0 },
                /* The policy reads three of the nine numbers that the value reads. */
                { "mappo", EPOCHS, "NormalizeObservations=yes\n[Job]\nAlgorithm=mappo", 3, 3 },
                { "gaussian-value-clip", EPOCHS, "ValueClip=0.05\nValueWeight=2", 0 },
        };

        g_test_init(&argc, &argv, NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *path = g_strdup_printf("/hessian/%s", cases[i].name);

                g_test_add_data_func(path, &cases[i], test_case);
        }
        return g_test_run();
}
