/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Small matrices, row by row. Sums run in one fixed order and in double precision, so that a reward has the
 * same bits wherever it is computed. */
#include "lib/regulation.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/forward.h"
#include "lib/slot.h"

#define ALPHA_MOST 1e6 /* regulation_least_alpha() searches up to this alpha */

static const char metric_names[REGULATION_METRICS][ACTORD_METRIC_BYTES] = { "violations", "outside" };

bool regulation_asked(const JobSettings *s) {
        assert(s);

        return s->model_a.n > 0 || s->model_b.n > 0 || s->controller_f.n > 0 || s->envelope_p.n > 0;
}

bool regulation_shaped(const JobSettings *s, uint32_t *ret_n_state, uint32_t *ret_n_action) {
        uint32_t n = 0, m;

        assert(s);
        assert(ret_n_state && ret_n_action);

        while (n * n < s->envelope_p.n)
                n++;
        if (n == 0 || n > REGULATED_STATE_MAX || n * n != s->envelope_p.n || s->model_a.n != n * n)
                return false;
        m = s->model_b.n / n;
        if (m == 0 || s->model_b.n != n * m || s->controller_f.n != m * n)
                return false;
        if (s->safety_set.n > 0 && s->safety_set.n != n)
                return false;

        *ret_n_state = n;
        *ret_n_action = m;
        return true;
}

static uint32_t state_numbers(const JobSettings *s) {
        uint32_t n = 0, m;

        if (!regulation_shaped(s, &n, &m))
                assert(!"a job without matrices that fit each other");
        return n;
}

bool regulation_symmetric(const JobSettings *s) {
        uint32_t n = state_numbers(s);

        for (uint32_t i = 0; i < n; i++)
                for (uint32_t k = 0; k < i; k++)
                        if (s->envelope_p.values[i * n + k] != s->envelope_p.values[k * n + i])
                                return false;
        return true;
}

/* Replaces the lower half of a [n][n] by its factor L, with a = L L'. Returns whether a is positive
 * definite. */
static bool cholesky(double *a, uint32_t n) {
        for (uint32_t i = 0; i < n; i++)
                for (uint32_t k = 0; k <= i; k++) {
                        double sum = a[i * n + k];

                        for (uint32_t l = 0; l < k; l++)
                                sum -= a[i * n + l] * a[k * n + l];
                        if (i == k && !(sum > 0))
                                return false;
                        a[i * n + k] = i == k ? sqrt(sum) : sum / a[k * n + k];
                }
        return true;
}

bool regulation_positive(const JobSettings *s) {
        double p[MATRIX_MAX];
        uint32_t n = state_numbers(s);

        memcpy(p, s->envelope_p.values, sizeof(p));
        return cholesky(p, n);
}

/* S = A + B F */
static void closed_loop(const JobSettings *s, uint32_t n, double ret[MATRIX_MAX]) {
        uint32_t m = s->model_b.n / n;

        for (uint32_t i = 0; i < n; i++)
                for (uint32_t k = 0; k < n; k++) {
                        double sum = s->model_a.values[i * n + k];

                        for (uint32_t l = 0; l < m; l++)
                                sum += s->model_b.values[i * m + l] * s->controller_f.values[l * n + k];
                        ret[i * n + k] = sum;
                }
}

/* a b; or a' b */
static void product(const double *a, const double *b, uint32_t n, bool turned, double *ret) {
        for (uint32_t i = 0; i < n; i++)
                for (uint32_t k = 0; k < n; k++) {
                        double sum = 0;

                        for (uint32_t l = 0; l < n; l++)
                                sum += (turned ? a[l * n + i] : a[i * n + l]) * b[l * n + k];
                        ret[i * n + k] = sum;
                }
}

bool regulation_contracts(const JobSettings *s, double alpha) {
        double loop[MATRIX_MAX], ps[MATRIX_MAX], block[4 * MATRIX_MAX];
        uint32_t n = state_numbers(s);
        const double *p = s->envelope_p.values;

        closed_loop(s, n, loop);
        product(p, loop, n, false, ps);
        for (uint32_t i = 0; i < n; i++)
                for (uint32_t k = 0; k < n; k++) {
                        block[i * 2 * n + k] = alpha * p[i * n + k];
                        block[i * 2 * n + n + k] = ps[k * n + i];
                        block[(n + i) * 2 * n + k] = ps[i * n + k];
                        block[(n + i) * 2 * n + n + k] = p[i * n + k];
                }
        return cholesky(block, 2 * n);
}

double regulation_least_alpha(const JobSettings *s) {
        double low = 0, high = 1;

        while (!regulation_contracts(s, high)) {
                low = high;
                high *= 2;
                if (high > ALPHA_MOST)
                        return INFINITY;
        }
        while (high - low > 1e-6) {
                double middle = 0.5 * low + 0.5 * high;

                if (regulation_contracts(s, middle))
                        high = middle;
                else
                        low = middle;
        }
        return high;
}

/* Computes (P^-1)_ii as x' x, where P = L L' (Cholesky) and L x = e_i. */
double regulation_reach(const JobSettings *s, uint32_t i) {
        double l[MATRIX_MAX], x[REGULATED_STATE_MAX] = {}, sum = 0;
        uint32_t n = state_numbers(s);

        assert(i < n);

        memcpy(l, s->envelope_p.values, sizeof(l));
        if (!cholesky(l, n))
                return INFINITY;
        for (uint32_t k = i; k < n; k++) {
                x[k] = k == i ? 1 : 0;
                for (uint32_t j = i; j < k; j++)
                        x[k] -= l[k * n + j] * x[j];
                x[k] /= l[k * n + k];
                sum += x[k] * x[k];
        }
        return sqrt(sum);
}

static bool metric_is_named(const ActordEnvSpec *spec, const char *name) {
        for (uint32_t i = 0; i < spec->n_metrics; i++)
                if (strncmp(spec->metrics[i], name, ACTORD_METRIC_BYTES) == 0)
                        return true;
        return false;
}

int regulation_spec(const JobSettings *s, ActordEnvSpec *spec) {
        uint32_t n, m;

        assert(spec);

        if (!regulation_asked(s))
                return 0;
        if (!regulation_shaped(s, &n, &m) || spec->stack > 0 || spec->n_agents != 1 ||
                        spec->observation.kind != ACTORD_BOX || spec->action.kind != ACTORD_BOX ||
                        space_numbers(&spec->observation) != n || space_numbers(&spec->action) != m)
                return -EXDEV;
        if (spec->n_metrics + REGULATION_METRICS > ACTORD_METRICS_MAX)
                return -EXDEV;

        for (uint32_t i = 0; i < REGULATION_METRICS; i++) {
                if (metric_is_named(spec, metric_names[i]))
                        return -EXDEV;
                memcpy(spec->metrics[spec->n_metrics++], metric_names[i], ACTORD_METRIC_BYTES);
        }
        spec->reward_low = -INFINITY;
        spec->reward_high = INFINITY;
        return 0;
}

void regulation_init(Regulation *r, const JobSettings *s, const ActordEnvSpec *spec) {
        double loop[MATRIX_MAX], ps[MATRIX_MAX];
        uint32_t n = state_numbers(s);

        assert(r);
        assert(spec);

        *r = (Regulation){ .settings = s, .spec = spec, .n_state = n, .n_action = s->model_b.n / n };
        closed_loop(s, n, loop);
        product(s->envelope_p.values, loop, n, false, ps);
        product(loop, ps, n, true, r->h);
}

void regulation_act(const Regulation *r, const void *observation, const void *policy, void *ret_action) {
        float s[REGULATED_STATE_MAX], action[MATRIX_MAX];

        observation_read(&r->spec->observation, observation, s);
        memcpy(action, policy, r->n_action * sizeof(float));
        for (uint32_t i = 0; i < r->n_action; i++) {
                double sum = 0;

                for (uint32_t k = 0; k < r->n_state; k++)
                        sum += r->settings->controller_f.values[i * r->n_state + k] * (double) s[k];
                action[i] = (float) ((double) action[i] + r->settings->controller_gain * sum);
        }
        memcpy(ret_action, action, r->n_action * sizeof(float));
}

/* s' M s */
static double form(const Regulation *r, const double *matrix, const void *observation) {
        float s[REGULATED_STATE_MAX];
        double sum = 0;

        observation_read(&r->spec->observation, observation, s);
        for (uint32_t i = 0; i < r->n_state; i++)
                for (uint32_t k = 0; k < r->n_state; k++)
                        sum += (double) s[i] * matrix[i * r->n_state + k] * (double) s[k];
        return sum;
}

double regulation_value(const Regulation *r, const void *observation) {
        return form(r, r->settings->envelope_p.values, observation);
}

double regulation_reward(const Regulation *r, const void *before, const void *after) {
        return form(r, r->h, before) - regulation_value(r, after);
}

double regulation_step(
                const Regulation *r, const void *before, const void *after, RegulationCounts *counts) {
        double reward = regulation_reward(r, before, after);

        if (!(reward >= r->settings->alpha - 1))
                counts->n_violations++;
        if (!(regulation_value(r, after) <= 1))
                counts->n_outside++;
        return reward;
}

void regulation_metrics(const RegulationCounts *counts, double *ret) {
        ret[0] = counts->n_violations;
        ret[1] = counts->n_outside;
}
