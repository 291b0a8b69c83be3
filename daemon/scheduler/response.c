/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/scheduler/response.h"

#include <assert.h>
#include <math.h>

#define LOCAL       8u
#define CANDIDATES  21 /* candidates for b (response.h); the middle one is b by theory */
#define MIDDLE      10
#define LEAST       0.125 /* the middle candidate is at least this */
#define MISFIT_MOST 4.0   /* the most for one change, before errors divide it; none outweighs all others */
#define PLAUSIBLE   1.0   /* a candidate may be true if its misfit exceeds the best by at most this */
#define CHANGE_MOST 1000.0

/* The errors that response_fit() expects with each law (noise, sharp). The larger they are, the less it
 * counts that a candidate for b disagrees with the rounds or with theory. */
static const struct Errors {
        double round; /* the squared relative error of the progress of one round */
        /* the squared relative error from one stay to the next, since training changes */
        double drift;
        double theory;      /* by how many doublings the b from theory is usually wrong (response.h) */
        double theory_most; /* a candidate gets at most this misfit for its distance from that b */
} errors_noise = { 0.3, 0.1, 2, 2.5 }, errors_sharp = { 0.5, 0.2, 1.5, INFINITY };

static const struct Errors *errors_of(Law law) {
        return law.sharp ? &errors_sharp : &errors_noise;
}

double response_of(double n_actors, Law law) {
        return n_actors / (law.sharp ? sqrt(n_actors * n_actors + law.b * law.b) : n_actors + law.b);
}

/* The number that a round of n_actors reports as its progress, by the law. Under the sharp law the steps of
 * a round add up as in a random walk, so the reported number is the square root of the progress. */
static double measured(uint32_t n_actors, Law law) {
        double progress = response_of(n_actors, law);

        return law.sharp ? sqrt(progress) : progress;
}

static const Stay *stay_at(const Response *response, uint64_t back) {
        return &response->stays[(response->n_stays - 1 - back) % STAYS];
}

/* How many rounds at either end of a stay (response.h) are compared with the neighbouring stay. Rounds that
 * are further from the change of the number of actors show more of training than of this change. */
static uint32_t local(const Stay *stay) {
        return stay->n_rounds < LOCAL ? stay->n_rounds : LOCAL;
}

void response_add(Response *response, uint32_t n_actors, double progress) {
        Stay *stay;

        assert(response);

        if (!(progress >= 0))
                return;
        if (response->n_stays == 0 || stay_at(response, 0)->n_actors != n_actors) {
                response->stays[response->n_stays % STAYS] = (Stay){ .n_actors = n_actors };
                response->n_stays++;
        }
        stay = &response->stays[(response->n_stays - 1) % STAYS];
        stay->n_rounds++;
        if (stay->n_rounds <= LOCAL)
                stay->first += (progress - stay->first) / stay->n_rounds;
        stay->last += (progress - stay->last) / local(stay);
}

double response_begun(const Response *response) {
        assert(response);

        return response->n_stays == 1 ? stay_at(response, 0)->first : NAN;
}

uint32_t response_rounds(const Response *response) {
        assert(response);

        return response->n_stays > 0 ? stay_at(response, 0)->n_rounds : 0;
}

/* The mean progress of the first rounds of `after`, divided by that of the last rounds of `before` (Stay in
 * response.h). NaN: one of the two means is 0. */
static double change_between(const Stay *before, const Stay *after) {
        return before->last > 0 && after->first > 0 ? after->first / before->last : NAN;
}

/* How badly a candidate law fits the change of progress from one stay (response.h) to the next. */
static double misfit(const Stay *before, const Stay *after, Law law) {
        double ratio = change_between(before, after) * measured(before->n_actors, law) /
                       measured(after->n_actors, law);
        double off = ratio + 1 / ratio - 2;
        double sure = errors_of(law)->round * (1.0 / local(before) + 1.0 / local(after)) +
                      errors_of(law)->drift;

        return isfinite(off) ? fmin(off, MISFIT_MOST) / sure : 0;
}

void response_fit(const Response *response, Law theory, double *ret_best, double *ret_hopeful) {
        const struct Errors *errors = errors_of(theory);
        double misfits[CANDIDATES], candidates[CANDIDATES], least = INFINITY;
        uint64_t known;

        assert(response);
        assert(ret_best);
        assert(ret_hopeful);

        known = response->n_stays < STAYS ? response->n_stays : STAYS;
        for (int i = 0; i < CANDIDATES; i++) {
                double off = (i - MIDDLE) / errors->theory;

                candidates[i] = fmax(theory.b, LEAST) * ldexp(1, i - MIDDLE);
                misfits[i] = fmin(off * off, errors->theory_most);
                for (uint64_t back = 0; back + 1 < known; back++)
                        misfits[i] += misfit(stay_at(response, back + 1), stay_at(response, back),
                                        (Law){ candidates[i], theory.sharp });
                if (misfits[i] < least) {
                        least = misfits[i];
                        *ret_best = candidates[i];
                }
        }
        for (int i = 0; i < CANDIDATES; i++)
                if (misfits[i] <= least + PLAUSIBLE)
                        *ret_hopeful = candidates[i];
}

double response_change(const Response *response, bool sharp, uint32_t *ret_before) {
        double change;

        assert(response);
        assert(ret_before);

        *ret_before = response->n_stays > 1 ? stay_at(response, 1)->n_actors : 0;
        change = response->n_stays > 1 ? change_between(stay_at(response, 1), stay_at(response, 0)) : NAN;
        if (!(change >= 0))
                return NAN;
        return fmin(sharp ? change * change : change, CHANGE_MOST);
}
