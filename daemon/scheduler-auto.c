/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Policy=auto: as many actors as make time and money together least, from the gradient's noise scale and what rounds took. Nobody's paper; the parts are.
 *
 * "An Empirical Model of Large-Batch Training" (McCandlish et al. 2018, equation 2.11): where a batch of B rows is used, a result takes Smin (1 + s/B) steps, s being the noise
 * scale in rows. Taken for rounds, whose A actors bring n rows each: a result takes K (1 + b/A) rounds, with b = s/n. A round takes Ta + A tl on the emulated clock: its slowest
 * actor, then an update as long as its rows are many. It costs, by MinionsRL's equation 2 (Yu et al., AAAI 2024), dl A tl + da A Tm: allocation times time, of the learner and of
 * actors, Tm being their mean with start-up. With w = TimePrice= dl for a second of anybody's time, a round costs c0 + c1 A in all,
 *
 *         c0 = w Ta,   c1 = (w + dl) tl + da Tm,
 *
 * and the result K (1 + b/A) (c0 + c1 A) = K (c0 + b c1 + c1 A + b c0 / A), which is least at A = sqrt(b c0 / c1). K is not needed, nor is a currency: all that is
 * weighed is memory for a time. What idle actors cost, and requests, is left aside. Under Convention=server a fleet is paid by time, whoever works:
 * c0 = Ta, c1 = tl.
 *
 * With PPO and Updates=per-data more rows are more gradient steps as well, and those carry the policy further: by as much as its trust region allows, and no further. How far a round got is
 * d = sqrt(KL), as the divergence is a squared distance (Schulman et al. 2015); the region ends at D = sqrt(limit). Taken for d = D A / (A + b), which is A steps of equal length
 * at first and never more than D, a result takes as many times the rounds that it would take with D in each: 1 + b/A once more, with b = A (D/d - 1). Both hold rounds up, and
 * for b that are small beside A it is their sum that does.
 *
 * The noise scale of one round is a ratio of two estimates, with heavy tails, and no number where noise hides the gradient. So the median of the newest ones is taken, in which no number
 * is a large one; a mean of ratios would follow the tails. Of times the least of the newest ones is taken: what a round takes that nothing disturbed, and the same
 * under Clock=model whether or not an actor was killed and started cold once more.
 *
 * More actors than there ever were start cold (ColdStartSec=): all wait for that, and the new ones are paid for it. Training lasts as long again as it has, as far as anybody can
 * tell, so they start if that would save more than their start. */
#include <math.h>
#include <string.h>

#include "daemon/scheduler.h"

#define NEWEST   15u
#define WORTH_IT 0.05 /* less than this share is saved: nothing is thawed and frozen for it */
#define STEP     4.0  /* nothing grows or shrinks by more in one round */
#define BEYOND   1e9  /* a noise scale, in actors, at which any number of them is few */

typedef struct Newest {
        uint64_t n; /* values seen; the newest lie at i % NEWEST */
        double values[NEWEST];
} Newest;

typedef struct Auto {
        Newest held_up;                /* b, in actors */
        Newest slowest, mean, learner; /* Ta, Tm, tl in nanoseconds */
        double spent;                  /* the sums of all rounds, at what they take when warm */
        double most;                   /* actors that a round had: others start cold */
} Auto;
static_assert(sizeof(Auto) <= sizeof(((SchedulerState *) 0)->own), "it must fit");

static void newest_add(Newest *newest, double value) {
        newest->values[newest->n % NEWEST] = value;
        newest->n++;
}

/* The upper one of two. */
static double newest_median(const Newest *newest) {
        uint64_t n = newest->n < NEWEST ? newest->n : NEWEST;
        double sorted[NEWEST];

        for (uint64_t i = 0; i < n; i++) {
                uint64_t at = i;

                for (; at > 0 && sorted[at - 1] > newest->values[i]; at--)
                        sorted[at] = sorted[at - 1];
                sorted[at] = newest->values[i];
        }
        return sorted[n / 2];
}

static double newest_least(const Newest *newest) {
        uint64_t n = newest->n < NEWEST ? newest->n : NEWEST;
        double least = INFINITY;

        for (uint64_t i = 0; i < n; i++)
                least = fmin(least, newest->values[i]);
        return least;
}

/* What a round's gradient steps fall short of their trust region by, in actors; 0 where more rows are no more steps, or where the divergence is not
 * that of a round's updates. The limits are on the divergence itself, or on a ratio exp(x) whose divergence is x^2 / 2. */
static double auto_reach(const SchedulerView *view) {
        const JobSettings *s = view->settings;
        double kl = view->statistics->kl, limit = s->clip * s->clip / 2;

        if (s->algorithm != ALGORITHM_PPO || s->updates != UPDATES_PER_DATA || !(kl > 0))
                return 0;
        if (s->kl_weight > 0)
                limit = fmin(limit, s->kl_target);
        if (settings_present(s, SETTING_Learner_KLStop))
                limit = fmin(limit, s->kl_stop);
        return fmax(view->facts->n_actors * (sqrt(limit / kl) - 1), 0);
}

static void auto_look(Auto *a, const SchedulerView *view) {
        const RoundFacts *f = view->facts;
        double rows = (double) view->settings->envs_per_actor * view->settings->rollout_steps;
        double noise = view->statistics->noise_scale;

        if (f->n_actors == 0)
                return;
        newest_add(&a->slowest, (double) f->actor_slowest_nsec);
        newest_add(&a->mean, (double) f->actor_mean_nsec);
        newest_add(&a->learner, (double) f->learner_nsec / (double) f->n_actors);
        newest_add(&a->held_up, isfinite(noise) && rows > 0
                                                ? fmin(fmax(noise / rows, 0) + auto_reach(view), BEYOND)
                                                : BEYOND);
}

typedef struct Trade {
        double b, c0, c1;        /* as above */
        double c0_cold, c1_cold; /* of a start: for everybody's time, and for each actor */
} Trade;

static Trade trade_make(const Auto *a, const JobSettings *s) {
        double slowest = newest_least(&a->slowest), learner = newest_least(&a->learner);
        double time, allocated = (double) s->learner_memory_max_bytes;
        Trade t = { .b = newest_median(&a->held_up), .c0 = slowest, .c1 = learner };

        t.c0_cold = (double) s->cold_usec * 1e3;
        if (s->convention == CONVENTION_SERVER)
                return t;
        time = s->time_price * allocated;
        t.c0 = time * slowest;
        t.c1 = (time + allocated) * learner + (double) s->memory_max_bytes * newest_least(&a->mean);
        t.c1_cold = t.c0_cold * (double) s->memory_max_bytes;
        t.c0_cold *= time;
        return t;
}

static double trade_cost(const Trade *t, double n_actors) {
        return (1 + t->b / n_actors) * (t->c0 + t->c1 * n_actors);
}

/* Of whole numbers within limits. The cost has one valley, so the best one is beside its bottom. */
static double trade_best(const Trade *t, double lowest, double highest) {
        double bottom = sqrt(t->b * t->c0 / t->c1), below;

        if (!(bottom > lowest))
                return lowest;
        if (!(bottom < highest))
                return highest;
        below = floor(bottom);
        return trade_cost(t, below) <= trade_cost(t, below + 1) ? below : below + 1;
}

static uint32_t auto_count(const SchedulerView *view, SchedulerState *state) {
        double lowest = scheduler_lowest(view->settings), highest = scheduler_highest(view->settings);
        double now, best, saved;
        Trade trade;
        Auto a;

        memcpy(&a, state->own, sizeof(a));
        if (view->facts)
                auto_look(&a, view);
        memcpy(state->own, &a, sizeof(a));
        if (!view->facts || a.held_up.n == 0)
                return (uint32_t) lowest;

        trade = trade_make(&a, view->settings);
        now = (double) view->facts->n_actors;
        a.spent += trade.c0 + trade.c1 * now;
        a.most = fmax(a.most, now);
        memcpy(state->own, &a, sizeof(a));
        if (!(trade.c0 + trade.c1 > 0)) /* nothing takes time or costs anything */
                return (uint32_t) now;
        best = trade_best(&trade, lowest, highest);
        best = fmin(fmax(best, ceil(now / STEP)), now * STEP);
        saved = 1 - trade_cost(&trade, best) / trade_cost(&trade, now);
        /* Training lasts as long again as it has, as far as anybody can tell: so long must a start pay. */
        if (saved < WORTH_IT ||
                        (best > a.most && saved * a.spent < trade.c0_cold + (best - a.most) * trade.c1_cold))
                return (uint32_t) now;
        return (uint32_t) best;
}

const Scheduler scheduler_auto = { .count = auto_count };
