/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A problem with a known solution, for PI-FT (learner/algorithm/pi-ft.c): "Stochastic Control for
 * Fine-tuning Diffusion Models" (Han, Razaviyayn & Xu, ICML 2025). In each pass of a diffusion policy a
 * function F of x estimates the noise in x. F' is the F before training.
 *
 * An action is one number. Before training it follows N(mean, sd^2), so F' is linear. The reward of x is
 * quadratic: -(curvature / 2) (x - goal)^2. Then the best F of each pass is linear, too, and the value after
 * a pass is quadratic in x. So a few numbers for each pass describe the optimum, and also the policy after
 * each iteration of the paper. The passes and the weights of the divergences are those of lib/sampler.h. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "lib/sampler.h"

enum { LQ_PASSES_MAX = 64 };

/* slope x + start */
typedef struct Linear {
        double slope, start;
} Linear;

typedef struct LinearQuadratic {
        uint32_t n;
        double curvature, goal;
        double beta;                /* of the paper: the weight of all divergences */
        double by_x[LQ_PASSES_MAX]; /* pass k replaces x by by_x x + by_f F + noise */
        double by_f[LQ_PASSES_MAX];
        double weight[LQ_PASSES_MAX]; /* of |F - F'|^2 */
        Linear before[LQ_PASSES_MAX]; /* F' */
} LinearQuadratic;

/* A linear F for each pass. f[0] is the first pass. */
typedef struct LinearPolicy {
        Linear f[LQ_PASSES_MAX];
} LinearPolicy;

/* The value of all passes after a given pass depends on x. Its slope at x is start - bend * x. */
typedef struct Worth {
        double bend, start;
} Worth;

static inline void lq_make(LinearQuadratic *ret, uint32_t n, double mean, double sd) {
        ret->n = n;
        for (uint32_t k = 0; k < n; k++) {
                double left = diffusion_left(n, n - k), variance = left * sd * sd + 1 - left;
                SamplerPass pass;

                sampler_pass(ACT_DIFFUSION, n, k, &pass);
                ret->by_x[k] = (double) pass.keep + (double) pass.take * (double) pass.moment.skip;
                ret->by_f[k] = (double) pass.take * (double) pass.moment.out;
                ret->weight[k] = (double) pass.divergence;
                ret->before[k].slope = sqrt(1 - left) / variance;
                ret->before[k].start = -ret->before[k].slope * sqrt(left) * mean;
        }
}

static inline Worth lq_last(const LinearQuadratic *lq) {
        return (Worth){ .bend = lq->curvature, .start = lq->curvature * lq->goal };
}

/* The Worth before pass k, if the pass estimates the noise with F = f. after: the Worth after the pass. */
static inline Worth lq_worth(const LinearQuadratic *lq, uint32_t k, Linear f, Worth after) {
        double cost = 2 * lq->beta * lq->weight[k];
        double away = f.slope - lq->before[k].slope, off = f.start - lq->before[k].start;
        double by_x = lq->by_x[k] + lq->by_f[k] * f.slope, constant = lq->by_f[k] * f.start;

        return (Worth){
                .bend = after.bend * by_x * by_x + cost * away * away,
                .start = by_x * (after.start - after.bend * constant) - cost * away * off,
        };
}

/* Computes the optimum, from the last pass to the first: the F of a pass at which the derivative of the
 * value is 0. ret_ratio: the factor by which an iteration multiplies the error of each pass's F. */
static inline void lq_optimum(
                const LinearQuadratic *lq, LinearPolicy *ret, double ret_ratio[LQ_PASSES_MAX]) {
        Worth after = lq_last(lq);

        for (uint32_t k = lq->n; k-- > 0;) {
                double cost = 2 * lq->beta * lq->weight[k], b = lq->by_f[k];
                double whole = cost + b * b * after.bend;

                ret->f[k].slope = (cost * lq->before[k].slope - b * after.bend * lq->by_x[k]) / whole;
                ret->f[k].start = (cost * lq->before[k].start + b * after.start) / whole;
                ret_ratio[k] = b * b * after.bend / cost;
                after = lq_worth(lq, k, ret->f[k], after);
        }
}

/* One iteration of the paper. For each pass, the new F is F' plus a multiple of the mean slope of the value
 * after the pass. This value assumes that the later passes still use their old F. */
static inline void lq_iterate(const LinearQuadratic *lq, LinearPolicy *policy) {
        Worth after = lq_last(lq);

        for (uint32_t k = lq->n; k-- > 0;) {
                double much = lq->by_f[k] / (2 * lq->beta * lq->weight[k]);
                Linear last = policy->f[k];

                policy->f[k].slope = lq->before[k].slope -
                                     much * after.bend * (lq->by_x[k] + lq->by_f[k] * last.slope);
                policy->f[k].start = lq->before[k].start +
                                     much * (after.start - after.bend * lq->by_f[k] * last.start);
                after = lq_worth(lq, k, last, after);
        }
}

/* The greatest difference between the F of two policies, of all passes and for x from -3 to 3. */
static inline double lq_error(const LinearQuadratic *lq, const LinearPolicy *a, const LinearPolicy *b) {
        double most = 0;

        for (uint32_t k = 0; k < lq->n; k++) {
                double slope = a->f[k].slope - b->f[k].slope, start = a->f[k].start - b->f[k].start;

                most = fmax(most, fmax(fabs(start + 3 * slope), fabs(start - 3 * slope)));
        }
        return most;
}

/* How errors fall, iteration by iteration. */
typedef struct Descent {
        uint32_t n_to_goal; /* iterations until the error is at most 1e-8; 0: never */
        double ratio;     /* an iteration multiplies the error by this: from a line through the logarithms */
        double r_squared; /* of that line */
        double last;
} Descent;

enum { LQ_ITERATIONS = 20000 };

/* Iterates from F' on, and fits a line to the logarithms of the errors. Errors below 1e-11 are only
 * rounding, so they are left out. */
static inline void lq_descend(const LinearQuadratic *lq, Descent *ret) {
        double ignored[LQ_PASSES_MAX], n = 0, x = 0, y = 0, xx = 0, xy = 0, yy = 0;
        LinearPolicy optimum, policy = {};

        *ret = (Descent){};
        lq_optimum(lq, &optimum, ignored);
        memcpy(policy.f, lq->before, sizeof(policy.f));
        for (uint32_t m = 0; m < LQ_ITERATIONS; m++) {
                double error = lq_error(lq, &policy, &optimum), log_error = log(error);

                ret->last = error;
                if (ret->n_to_goal == 0 && error <= 1e-8)
                        ret->n_to_goal = m;
                if (!(error > 1e-11 && error < 1e11))
                        break;
                n++, x += m, y += log_error;
                xx += (double) m * m, xy += m * log_error, yy += log_error * log_error;
                lq_iterate(lq, &policy);
        }
        ret->ratio = exp((n * xy - x * y) / (n * xx - x * x));
        ret->r_squared = pow(n * xy - x * y, 2) / ((n * xx - x * x) * (n * yy - y * y));
}

/* The greatest ratio among those that lq_optimum() returns for the passes. */
static inline double lq_ratio(const LinearQuadratic *lq) {
        double ratios[LQ_PASSES_MAX], most = 0;
        LinearPolicy optimum = {};

        lq_optimum(lq, &optimum, ratios);
        for (uint32_t k = 0; k < lq->n; k++)
                most = fmax(most, ratios[k]);
        return most;
}

static inline bool lq_comes_near(const LinearQuadratic *lq) {
        return lq_ratio(lq) < 1;
}

static inline bool lq_comes_from_before(const LinearQuadratic *lq) {
        Descent descent;

        lq_descend(lq, &descent);
        return descent.n_to_goal > 0;
}

/* The least beta for which serves() is true. This assumes that serves() is true for all greater beta. */
static inline double lq_least_beta(LinearQuadratic lq, bool (*serves)(const LinearQuadratic *lq)) {
        double low = 1e-6, high = 1e6;

        for (unsigned i = 0; i < 60; i++) {
                lq.beta = sqrt(low * high);
                *(serves(&lq) ? &high : &low) = lq.beta;
        }
        return high;
}
