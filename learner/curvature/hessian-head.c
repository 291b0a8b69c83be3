/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Derivatives of distributions up to second order. Let x be the outputs, t the terms and L the loss. A
 * subscript is a derivative with respect to that variable, and ' is the derivative along a vector. Then the
 * gradient is L_t t_x, and its derivative along the vector is (L_tt t') t_x + L_t (t_x)'. */
#include <math.h>

#include "learner/curvature/hessian.h"
#include "lib/doubles.h"

/* Adds one number of an action to each row's terms: log-probability and entropy. Its logits in y become
 * log-probabilities. */
static void choice_terms(
                double *y, uint32_t n, const int32_t *choices, double ret[_TERM_MAX][HESSIAN_ROWS]) {
        for (uint32_t r = 0; r < HESSIAN_ROWS; r++) {
                double top = y[r], sum = 0.0, entropy = 0.0;

                for (uint32_t a = 1; a < n; a++)
                        top = fmax(top, y[a * HESSIAN_ROWS + r]);
                for (uint32_t a = 0; a < n; a++)
                        sum += double_exp(y[a * HESSIAN_ROWS + r] - top);
                top += double_log(sum);
                for (uint32_t a = 0; a < n; a++) {
                        double *l = &y[a * HESSIAN_ROWS + r];

                        *l -= top;
                        entropy -= double_exp(*l) * *l;
                }
                ret[TERM_LOG_PROBABILITY][r] += y[(uint32_t) choices[r] * HESSIAN_ROWS + r];
                ret[TERM_ENTROPY][r] += entropy;
        }
}

static void categorical_terms(const Hessian *h, uint32_t shard, double ret[_TERM_MAX][HESSIAN_ROWS]) {
        const Network *network = h->network;
        double *y = shard_columns(h->layers[h->layer_action].y, network->n_action, shard);
        const int32_t *choices = shard_choices(h, shard);

        for (uint32_t r = 0; r < HESSIAN_ROWS; r++)
                ret[TERM_LOG_PROBABILITY][r] = ret[TERM_ENTROPY][r] = 0.0;
        for (uint32_t k = 0; k < network->n_choices; k++) {
                choice_terms(y, network->choices[k], choices, ret);
                y += (size_t) network->choices[k] * HESSIAN_ROWS;
                choices += HESSIAN_ROWS;
        }
}

static void gaussian_terms(const Hessian *h, uint32_t shard, double ret[_TERM_MAX][HESSIAN_ROWS]) {
        const double half_log_2pi = 0.91893853320467274178;
        uint32_t n = h->network->n_action;
        const double *mean = shard_columns(h->layers[h->layer_action].y, n, shard);
        const double *log_sd = shard_columns(h->layers[h->layer_log_sd].y, n, shard);
        const double *actions = shard_columns(h->actions, n, shard);

        for (uint32_t r = 0; r < HESSIAN_ROWS; r++) {
                double log_probability = 0.0, entropy = 0.0;

                for (uint32_t i = r; i < n * HESSIAN_ROWS; i += HESSIAN_ROWS) {
                        double z = (actions[i] - mean[i]) * double_exp(-log_sd[i]);

                        log_probability -= 0.5 * z * z + log_sd[i] + half_log_2pi;
                        entropy += log_sd[i] + 0.5 + half_log_2pi;
                }
                ret[TERM_LOG_PROBABILITY][r] = log_probability;
                ret[TERM_ENTROPY][r] = entropy;
        }
}

void head_terms(const Hessian *h, uint32_t shard, double ret[_TERM_MAX][HESSIAN_ROWS]) {
        const double *value = shard_columns(h->layers[h->layer_value].y, 1, shard);

        switch ((ActKind) h->network->act) {
        case ACT_CATEGORICAL: categorical_terms(h, shard, ret); break;
        case ACT_GAUSSIAN: gaussian_terms(h, shard, ret); break;
        case ACT_EPSILON_GREEDY:
        case ACT_CONSISTENCY:
        case ACT_DIFFUSION:
        case ACT_DETERMINISTIC:
        case ACT_SQUASHED: assert(!"only distributions are differentiated"); break;
        }
        for (uint32_t r = 0; r < HESSIAN_ROWS; r++)
                ret[TERM_VALUE][r] = h->wanted[h->layer_value] ? value[r] : NAN;
}

/* The derivatives with respect to the logit of choice a, whose probability is p: chosen - p for the
 * log-probability, and -p (log p + H) for the entropy H. `chosen` is 1 or 0. */
static void choice_gradient(
                const double *y, uint32_t n, const int32_t *choices, const LossJet *jets, double *d) {
        for (uint32_t r = 0; r < HESSIAN_ROWS; r++) {
                const double *jet = jets[r].d;
                double entropy = 0.0;

                for (uint32_t i = r; i < n * HESSIAN_ROWS; i += HESSIAN_ROWS)
                        entropy -= double_exp(y[i]) * y[i];
                for (uint32_t a = 0, i = r; a < n; a++, i += HESSIAN_ROWS) {
                        double p = double_exp(y[i]), chosen = choices[r] == (int32_t) a ? 1.0 : 0.0;

                        d[i] = jet[TERM_LOG_PROBABILITY] * (chosen - p) -
                               jet[TERM_ENTROPY] * p * (y[i] + entropy);
                }
        }
}

static void categorical_gradient(const Hessian *h, uint32_t shard) {
        const Network *network = h->network;
        const double *y = shard_columns(h->layers[h->layer_action].y, network->n_action, shard);
        const int32_t *choices = shard_choices(h, shard);
        double *d = shard_columns(h->layers[h->layer_action].d, network->n_action, shard);

        for (uint32_t k = 0; k < network->n_choices; k++) {
                size_t n = (size_t) network->choices[k] * HESSIAN_ROWS;

                choice_gradient(y, network->choices[k], choices, h->jets + (size_t) shard * HESSIAN_ROWS, d);
                y += n;
                d += n;
                choices += HESSIAN_ROWS;
        }
}

static void gaussian_gradient(const Hessian *h, uint32_t shard) {
        uint32_t n = h->network->n_action;
        const double *mean = shard_columns(h->layers[h->layer_action].y, n, shard);
        const double *log_sd = shard_columns(h->layers[h->layer_log_sd].y, n, shard);
        const double *actions = shard_columns(h->actions, n, shard);
        const LossJet *jets = h->jets + (size_t) shard * HESSIAN_ROWS;
        double *d_mean = shard_columns(h->layers[h->layer_action].d, n, shard);
        double *d_log_sd = shard_columns(h->layers[h->layer_log_sd].d, n, shard);

        for (uint32_t i = 0; i < n * HESSIAN_ROWS; i++) {
                const double *jet = jets[i % HESSIAN_ROWS].d;
                double inverse = double_exp(-log_sd[i]), z = (actions[i] - mean[i]) * inverse;

                d_mean[i] = jet[TERM_LOG_PROBABILITY] * z * inverse;
                d_log_sd[i] = jet[TERM_LOG_PROBABILITY] * (z * z - 1.0) + jet[TERM_ENTROPY];
        }
}

void head_gradient(const Hessian *h, uint32_t shard) {
        const LossJet *jets = h->jets + (size_t) shard * HESSIAN_ROWS;
        double *d_value = shard_columns(h->layers[h->layer_value].d, 1, shard);

        switch ((ActKind) h->network->act) {
        case ACT_CATEGORICAL: categorical_gradient(h, shard); break;
        case ACT_GAUSSIAN: gaussian_gradient(h, shard); break;
        case ACT_EPSILON_GREEDY:
        case ACT_CONSISTENCY:
        case ACT_DIFFUSION:
        case ACT_DETERMINISTIC:
        case ACT_SQUASHED: assert(!"only distributions are differentiated"); break;
        }
        for (uint32_t r = 0; r < HESSIAN_ROWS; r++)
                d_value[r] = jets[r].d[TERM_VALUE];
}

/* (L_t)' = L_tt t' */
static void jet_along(const LossJet *jet, const double along[_TERM_MAX], double ret[_TERM_MAX]) {
        for (unsigned t = 0; t < _TERM_MAX; t++) {
                ret[t] = 0.0;
                for (unsigned u = 0; u < _TERM_MAX; u++)
                        ret[t] += jet->dd[t][u] * along[u];
        }
}

/* Derivatives along a direction x' of the logits, for one number of one row's action. The choices for this
 * number have the probabilities p and the entropy H: p' = p (x' - sum p x'), (log p)' = p' / p, and
 * H' = -sum p' (log p + H). */
typedef struct Along {
        double entropy, mean; /* H, sum p x' */
        double d_entropy;     /* H' */
} Along;

static Along choice_along(const double *y, const double *along, uint32_t n, uint32_t r) {
        Along ret = {};

        for (uint32_t i = r; i < n * HESSIAN_ROWS; i += HESSIAN_ROWS) {
                ret.entropy -= double_exp(y[i]) * y[i];
                ret.mean += double_exp(y[i]) * along[i];
        }
        for (uint32_t i = r; i < n * HESSIAN_ROWS; i += HESSIAN_ROWS)
                ret.d_entropy -= double_exp(y[i]) * (along[i] - ret.mean) * (y[i] + ret.entropy);
        return ret;
}

/* A row's log-probability and entropy are sums over all numbers of its action. So the first loop over the
 * numbers adds up the derivatives of these sums, and the second loop writes the result for each number. */
static void categorical_along(const Hessian *h, uint32_t shard, const double *y, double *const *along_y,
                double *const *ret) {
        const Network *network = h->network;
        const int32_t *choices = shard_choices(h, shard);
        const LossJet *jets = h->jets + (size_t) shard * HESSIAN_ROWS;
        const double *along = along_y[h->layer_action], *value = along_y[h->layer_value];
        double *d = ret[h->layer_action], *d_value = ret[h->layer_value];

        for (uint32_t r = 0; r < HESSIAN_ROWS; r++) {
                double terms[_TERM_MAX] = { [TERM_VALUE] = value[r] }, jets_along[_TERM_MAX];
                const double *jet = jets[r].d;
                Along of[ACTORD_CHOICES_MAX];
                size_t at = 0;

                for (uint32_t k = 0; k < network->n_choices; k++) {
                        size_t chosen = (size_t) choices[k * HESSIAN_ROWS + r] * HESSIAN_ROWS + r;

                        of[k] = choice_along(y + at, along + at, network->choices[k], r);
                        terms[TERM_ENTROPY] += of[k].d_entropy;
                        terms[TERM_LOG_PROBABILITY] += along[at + chosen] - of[k].mean;
                        at += (size_t) network->choices[k] * HESSIAN_ROWS;
                }
                jet_along(&jets[r], terms, jets_along);

                at = r;
                for (uint32_t k = 0; k < network->n_choices; k++)
                        for (uint32_t a = 0; a < network->choices[k]; a++, at += HESSIAN_ROWS) {
                                double chosen = choices[k * HESSIAN_ROWS + r] == (int32_t) a ? 1.0 : 0.0;
                                double p = double_exp(y[at]), entropy = y[at] + of[k].entropy;
                                double log_along = along[at] - of[k].mean, p_along = p * log_along;

                                d[at] = jets_along[TERM_LOG_PROBABILITY] * (chosen - p) -
                                        jet[TERM_LOG_PROBABILITY] * p_along -
                                        jets_along[TERM_ENTROPY] * p * entropy -
                                        jet[TERM_ENTROPY] *
                                                        (p_along * entropy +
                                                                        p * (log_along + of[k].d_entropy));
                        }
                d_value[r] = jets_along[TERM_VALUE];
        }
}

/* z = (action - mean) / sd. Its derivative along the direction is z' = -mean' / sd - z (log sd)'. */
static void gaussian_along(const Hessian *h, uint32_t shard, const double *mean, double *const *along_y,
                double *const *ret) {
        uint32_t n = h->network->n_action;
        const double *log_sd = shard_columns(h->layers[h->layer_log_sd].y, n, shard);
        const double *actions = shard_columns(h->actions, n, shard);
        const LossJet *jets = h->jets + (size_t) shard * HESSIAN_ROWS;
        const double *along_mean = along_y[h->layer_action], *along_sd = along_y[h->layer_log_sd];
        double *d_mean = ret[h->layer_action], *d_log_sd = ret[h->layer_log_sd];

        for (uint32_t r = 0; r < HESSIAN_ROWS; r++) {
                double terms[_TERM_MAX] = { [TERM_VALUE] = along_y[h->layer_value][r] };
                double along[_TERM_MAX], d = jets[r].d[TERM_LOG_PROBABILITY];

                for (uint32_t i = r; i < n * HESSIAN_ROWS; i += HESSIAN_ROWS) {
                        double inverse = double_exp(-log_sd[i]), z = (actions[i] - mean[i]) * inverse;

                        terms[TERM_LOG_PROBABILITY] +=
                                        z * along_mean[i] * inverse + (z * z - 1.0) * along_sd[i];
                        terms[TERM_ENTROPY] += along_sd[i];
                }
                jet_along(&jets[r], terms, along);

                for (uint32_t i = r; i < n * HESSIAN_ROWS; i += HESSIAN_ROWS) {
                        double inverse = double_exp(-log_sd[i]), z = (actions[i] - mean[i]) * inverse;
                        double z_along = -along_mean[i] * inverse - z * along_sd[i];

                        d_mean[i] = along[TERM_LOG_PROBABILITY] * z * inverse +
                                    d * (z_along - z * along_sd[i]) * inverse;
                        d_log_sd[i] = along[TERM_LOG_PROBABILITY] * (z * z - 1.0) + d * 2.0 * z * z_along +
                                      along[TERM_ENTROPY];
                }
                ret[h->layer_value][r] = along[TERM_VALUE];
        }
}

void head_along(const Hessian *h, uint32_t shard, double *const *along_y, double *const *ret_along_d) {
        const double *y = shard_columns(h->layers[h->layer_action].y, h->network->n_action, shard);

        switch ((ActKind) h->network->act) {
        case ACT_CATEGORICAL: categorical_along(h, shard, y, along_y, ret_along_d); break;
        case ACT_GAUSSIAN: gaussian_along(h, shard, y, along_y, ret_along_d); break;
        case ACT_EPSILON_GREEDY:
        case ACT_CONSISTENCY:
        case ACT_DIFFUSION:
        case ACT_DETERMINISTIC:
        case ACT_SQUASHED: assert(!"only distributions are differentiated"); break;
        }
}
