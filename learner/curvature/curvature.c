/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Curvature is measured on a random sample of the round's rows, which is treated as one minibatch: if
 * advantages are normalised, they are normalised within the sample. The objective is that of Nitro's paper:
 * the mean of log-probability times advantage, as a function of the policy's parameters. The loss is the
 * algorithm's own, as a function of all parameters. */
#include "learner/curvature/curvature.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/cleanup.h"
#include "lib/rng.h"

#define GRID_MARGIN 0.01  /* the margin around the spectrum in the published code */
#define FLAT        1e-10 /* an end of the spectrum below this share of the other end is only rounding */

enum { STREAM_ROWS, STREAM_START };

DEFINE_CLEANUP(Curvature *, curvature_free)

Curvature *curvature_free(Curvature *curvature) {
        if (!curvature)
                return NULL;

        hessian_free(curvature->hessian);
        lanczos_free(curvature->lanczos);
        free(curvature);
        return NULL;
}

int curvature_new(Runtime *rt, Curvature **ret) {
        _cleanup_(curvature_freep) Curvature *c = NULL;
        uint64_t rows_most;
        int r;

        assert(rt);
        assert(ret);

        c = calloc(1, sizeof(*c));
        if (!c)
                return -ENOMEM;
        c->runtime = rt;
        rows_most = (uint64_t) rt->batch->n_blocks * rt->batch->step_rows;
        if (rows_most > rt->settings->curvature_rows)
                rows_most = rt->settings->curvature_rows;
        r = hessian_new(rt->network, rt->threads, (uint32_t) rows_most, &c->hessian);
        if (r < 0)
                return r;
        r = lanczos_new(rt->network->n_parameters, rt->settings->curvature_steps, &c->lanczos);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(c);
        return 0;
}

double curvature_ratio(double min, double max) {
        double flat = FLAT * fmax(fabs(min), fabs(max));

        return min < -flat && max > flat ? -max / min : NAN;
}

double curvature_ratio_loss(double min, double max) {
        double ratio = -(max + GRID_MARGIN) / (min - GRID_MARGIN);

        return isfinite(ratio) ? ratio : NAN;
}

static void stream_begin(const Runtime *rt, uint32_t what, ActordRandom *ret) {
        random_begin(ret, rt->settings->seed, RANDOM_CURVATURE, 0, rt->update, what);
}

/* Draws rows of the round without replacement: the first draws of a shuffle. */
static Rows rows_draw(Runtime *rt) {
        Rows all = runtime_rows(rt);
        uint32_t *order = rt->batch->order, n = rt->settings->curvature_rows;
        ActordRandom random;

        if (all.n <= n)
                return all;

        stream_begin(rt, STREAM_ROWS, &random);
        for (uint32_t i = 0; i < n; i++) {
                uint32_t j = i + random_below(&random, all.n - i), other = order[j];

                order[j] = order[i];
                order[i] = other;
        }
        return (Rows){ .order = order, .n = n };
}

/* Draws random signs (Rademacher) for the parameters on which the function depends. */
static void start_draw(const Curvature *c) {
        const Network *network = c->runtime->network;
        ActordRandom random;

        stream_begin(c->runtime, STREAM_START, &random);
        for (uint32_t i = 0; i < network->n_layers; i++) {
                const Layer *l = &network->layers[i];

                for (uint64_t k = l->weight_at; k < l->bias_at + l->n_out && k < c->lanczos->n; k++) {
                        double sign = actord_random_u32(&random) >> 31 ? 1.0 : -1.0;

                        c->lanczos->basis[k] = c->hessian->wanted[i] ? sign : 0.0;
                }
        }
}

static void product(void *arg, const double *vector, double *ret) {
        Curvature *c = arg;

        hessian_times(c->hessian, vector, ret);
        c->n_products++;
}

static void objective(Runtime *runtime, Tape *t) {
        tape_loss(t, tape_multiply(t, tape_column(t, COLUMN_ADVANTAGE), tape_term(t, TERM_LOG_PROBABILITY)),
                        1.0);
}

/* Finds the least and the greatest eigenvalue of the Hessian. 0, or -ERANGE: see lanczos_extremes(). */
static int extremes(Curvature *c, Rows rows, void (*loss)(Runtime *runtime, Tape *tape), bool value,
                double *ret_min, double *ret_max) {
        Runtime *rt = c->runtime;
        AdvantageScale advantage = runtime_advantage_scale(rt, rows);
        HessianOf of = {
                .loss = &c->tape,
                .value = value,
                .parameters = rt->nets[NET_POLICY]->parameters,
                .batch = rt->batch,
                .rows = rows,
                .mean = advantage.mean,
                .scale = advantage.scale,
        };
        int r;

        tape_begin(&c->tape);
        loss(rt, &c->tape);
        hessian_load(c->hessian, &of);
        c->lanczos->n = c->hessian->n_wanted;
        start_draw(c);
        r = lanczos_extremes(c->lanczos, product, c, ret_min, ret_max);
        return r < 0 ? r : 0;
}

void curvature_measure(Curvature *c, void (*loss)(Runtime *runtime, Tape *tape)) {
        uint32_t what = settings_curvature(c->runtime->settings);
        bool bent = what == CURVATURE_OBJECTIVE || what == CURVATURE_BOTH;
        bool whole = loss && (what == CURVATURE_LOSS || what == CURVATURE_BOTH);
        Statistics *statistics = c->runtime->statistics;
        Rows rows = rows_draw(c->runtime);
        double min, max;

        c->n_products = 0;
        if (bent)
                if (extremes(c, rows, objective, false, &min, &max) == 0) {
                        statistics->curvature_min = min;
                        statistics->curvature_max = max;
                        statistics->curvature_ratio = curvature_ratio(min, max);
                }
        if (whole)
                if (extremes(c, rows, loss, true, &min, &max) == 0)
                        statistics->curvature_loss = curvature_ratio_loss(min, max);
        /* also counts products that gave no result */
        if (bent || whole)
                statistics->curvature_products = (double) rows.n * (double) c->n_products;
}
