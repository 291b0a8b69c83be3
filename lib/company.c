/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Each number of an agent's observation or action has a mean over the other agents. It is computed from the
 * sum over all agents, minus the agent's own number. So each decision costs the same, however many agents
 * there are. */
#include "lib/company.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "lib/algorithm-traits.h"
#include "lib/slot.h"
#include "lib/space.h"

int company_spec(const JobSettings *settings, const ActordEnvSpec *spec, ActordEnvSpec *ret) {
        const ActordSpace *own = &spec->observation, *action = &spec->action;
        ActordEnvSpec joined = *spec;
        uint32_t company = algorithm_row(settings->algorithm)->company;
        uint64_t n;

        assert(settings);
        assert(ret);

        if (company == COMPANY_NONE) {
                *ret = joined;
                return 0;
        }
        if (own->kind != ACTORD_BOX || own->element != ACTORD_F32 || spec->stack > 0)
                return -ECHRNG;
        n = 2 * space_numbers(own) + spec_action_numbers(spec);
        if (company == COMPANY_ALL)
                n = spec->n_shared > 0 ? space_numbers(own) + spec->n_shared
                                       : spec->n_agents * space_numbers(own);
        if (n > UINT32_MAX)
                return -E2BIG;

        joined.observation = space_of_numbers((uint32_t) n, own->low, own->high);
        if (company == COMPANY_MEANS) {
                joined.observation.low =
                                fmin(own->low, action->kind == ACTORD_BOX ? fmin(action->low, 0) : 0);
                joined.observation.high =
                                fmax(own->high, action->kind == ACTORD_BOX ? fmax(action->high, 0) : 1);
        }
        *ret = joined;
        return 0;
}

/* Whether an agent took choice k: 1 or 0. k counts through the choices of all elements of an action: first
 * those of element 0, then those of element 1, and so on. */
static double took(const ActordEnvSpec *spec, const int32_t *action, uint64_t k) {
        uint64_t number = 0;

        while (k >= spec_choices(spec, number))
                k -= spec_choices(spec, number++);
        return action[number] >= 0 && (uint64_t) action[number] == k ? 1 : 0;
}

/* Element k of agent a's data: the elements of its observation come first, then those of its action. */
static double number_of(const JobPage *page, const CompanyIn *in, uint32_t a, uint64_t k) {
        const ActordSpace *action = &page->spec.action;

        if (k < page->n_own)
                return in->own[a * page->n_own + k];
        if (!in->actions)
                return 0;
        k -= page->n_own;
        if (action->kind != ACTORD_BOX)
                return took(&page->spec, (const int32_t *) in->actions + a * space_numbers(action), k);
        return ((const float *) in->actions)[a * space_numbers(action) + k];
}

/* Whether agent a counts in the mean of number k (number_of()): it is present and, if k belongs to actions,
 * it has acted. */
static bool counts(const JobPage *page, const CompanyIn *in, uint32_t a, uint64_t k) {
        return in->active[a] && (k < page->n_own || in->acted[a]);
}

static void join_shared(const JobPage *page, const CompanyIn *in, float *ret) {
        uint64_t n = page->n_own + page->spec.n_shared;

        for (uint64_t a = 0; a < page->spec.n_agents; a++) {
                memcpy(ret + a * n, in->own + a * page->n_own, page->n_own * sizeof(float));
                memcpy(ret + a * n + page->n_own, in->shared, page->spec.n_shared * sizeof(float));
        }
}

static void join_all(const JobPage *page, const float *own, float *ret) {
        uint64_t n = page->n_own, n_agents = page->spec.n_agents;

        for (uint64_t a = 0; a < n_agents; a++) {
                uint64_t n_after = (n_agents - a) * n, n_before = a * n;
                float *joined = ret + a * n_agents * n;

                memcpy(joined, own + n_before, n_after * sizeof(float));
                memcpy(joined + n_after, own, n_before * sizeof(float));
        }
}

float company_mean(double sum, double own, uint32_t n_others, double low, double high) {
        double mean = n_others > 0 ? (sum - own) / n_others : 0;

        /* The subtraction may round to a number outside of the bounds. */
        return (float) fmax(fmin(mean, high), low);
}

static void join_means(const JobPage *page, const CompanyIn *in, float *ret) {
        const ActordSpace *space = &page->spec.observation;
        uint64_t n = space_numbers(space);
        uint32_t n_agents = page->spec.n_agents;

        for (uint32_t a = 0; a < n_agents; a++)
                memcpy(ret + a * n, in->own + a * page->n_own, page->n_own * sizeof(float));
        for (uint64_t k = 0; k < n - page->n_own; k++) {
                uint32_t n_counted = 0;
                double sum = 0;

                for (uint32_t a = 0; a < n_agents; a++)
                        if (counts(page, in, a, k)) {
                                sum += number_of(page, in, a, k);
                                n_counted++;
                        }
                for (uint32_t a = 0; a < n_agents; a++) {
                        bool counted = counts(page, in, a, k);

                        ret[a * n + page->n_own + k] =
                                        company_mean(sum, counted ? number_of(page, in, a, k) : 0,
                                                        n_counted - counted, space->low, space->high);
                }
        }
}

void company_join(const JobSettings *settings, const JobPage *page, const CompanyIn *in, float *ret) {
        assert(settings);
        assert(in);
        assert(space_numbers(&page->spec.observation) >= page->n_own);

        if (algorithm_row(settings->algorithm)->company != COMPANY_ALL)
                join_means(page, in, ret);
        else if (page->spec.n_shared > 0)
                join_shared(page, in, ret);
        else
                join_all(page, in->own, ret);
}
