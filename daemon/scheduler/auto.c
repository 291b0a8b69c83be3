/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Policy=auto: as many actors as make time and money together least, from the gradient's noise scale and
 * what rounds took. Nobody's paper; the parts are.
 *
 *         A    actors in a round
 *         b    so many actors get half as far in a round as any number of them could
 *         n    rows that each actor brings to a round
 *         s    the gradient's noise scale, in rows
 *         K    rounds that a result takes if there is nothing that more actors help against
 *         Ta   what the slowest actor takes in a round, in seconds on the emulated clock
 *         Tm   what actors take on average, with start-up, in seconds
 *         tl   what the learner takes for one actor's rows, in seconds
 *         da   memory allocated for an actor, in bytes
 *         dl   memory allocated for the learner, in bytes
 *         w    what a second of anybody's time is worth: TimePrice= dl, in byte-seconds a second
 *         c0   the part of a round's worth that A does not change, in byte-seconds
 *         c1   the part that each actor adds, in byte-seconds
 *         d    how far a round carries the policy: the root of its divergence, which is in nats
 *         D    how far it may: the root of the limit on that divergence
 *
 * Noise. With batches of B rows a result takes 1 + s/B times the steps that it takes without noise ("An
 * Empirical Model of Large-Batch Training", McCandlish et al. 2018, equation 2.11). Taken for rounds, of A n
 * rows each:
 *
 *         rounds of a result = K (1 + b/A),   b = s/n
 *
 * Worth. A round lasts as long as its slowest actor, and then as its update, which is as long as its rows
 * are many. It costs allocation times time, of learner and actors (MinionsRL's equation 2; Yu et al., AAAI
 * 2024):
 *
 *         time of a round = Ta + A tl
 *         cost of a round = dl A tl + da A Tm
 *         worth of a round = w time + cost = c0 + c1 A
 *         c0 = w Ta
 *         c1 = (w + dl) tl + da Tm
 *
 * The best A. The worth of a result is
 *
 *         K (1 + b/A) (c0 + c1 A) = K (c0 + b c1 + c1 A + b c0/A)
 *
 * and least at
 *
 *         A = sqrt(b c0 / c1)
 *
 * K is not needed, nor is a currency: all that is weighed is memory for a time. What idle actors cost, and
 * requests, is left aside. Under Convention=server a fleet is paid by time, whoever works: c0 = Ta, c1 = tl.
 *
 * Reach. With PPO and Updates=per-data more rows are more gradient steps as well, and those carry the policy
 * further: by as much as its trust region allows, and no further. The divergence is a squared distance
 * (Schulman et al. 2015):
 *
 *         d = sqrt(KL)
 *         D = sqrt(limit)
 *
 * Taken for A steps of equal length at first, and never more than D in all, a round gets
 *
 *         d = D A / (A + b)
 *
 * so that a result takes 1 + b/A times the rounds that it would take with D in each, once more, with
 *
 *         b = A (D/d - 1)
 *
 * Noise and reach both hold rounds up, and for b that are small beside A it is their sum that does.
 *
 * The KL that the learner reports is no round's end: it is the mean over the round's steps
 * (include/record.h), about a third of the divergence at the end for equal steps in one direction. So a
 * round that ends exactly at its limit reports d = D / sqrt(3) and still counts as held up by
 *
 *         b = (sqrt(3) - 1) A = 0.73 A
 *
 * b errs upward, towards more actors.
 *
 * What is measured. The noise scale of one round is a ratio of two estimates, with heavy tails, and no
 * number where noise hides the gradient. So the median of the newest ones is taken, in which no number is a
 * large one; a mean of ratios would follow the tails. Of times the least of the newest ones is taken: what a
 * round takes that nothing disturbed, and the same under Clock=model whether or not an actor was killed and
 * started cold once more.
 *
 * Starts. More actors than there ever were start cold (ColdStartSec=): all wait for that, and the new ones
 * are paid for it. Training lasts as long again as it has, as far as anybody can tell, so they start if that
 * would save more than their start. */
#include <math.h>
#include <string.h>

#include "daemon/scheduler/scheduler.h"
#include "lib/schedule.h"

#define NEWEST   15u
#define WORTH_IT 0.05 /* less than this share is saved: nothing is thawed and frozen for it */
#define STEP     4.0  /* nothing grows or shrinks by more in one round */
#define B_MOST   1e9  /* at which any number of actors is few */

typedef struct Newest {
        uint64_t n; /* values seen; the newest lie at i % NEWEST */
        double values[NEWEST];
} Newest;

typedef struct Auto {
        Newest b;                      /* as above, and all below */
        Newest slowest, mean, learner; /* Ta, Tm, tl; in nanoseconds */
        double spent;                  /* the sums of all rounds, at what they take when warm */
        double n_warm;                 /* the most actors that a round had: others start cold */
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

/* The divergence at which a round's trust region ends. Limits are on the divergence itself, or on a ratio
 * exp(x) whose divergence is x^2 / 2: the clip range, as it was in that round. */
static double reach_limit(const SchedulerView *view) {
        const JobSettings *s = view->settings;
        uint64_t now = view->statistics->n_env_steps;
        uint64_t rows = view->facts->n_actors * s->envs_per_actor * s->rollout_steps;
        double clip = schedule_value(s, s->clip, s->clip_schedule, now > rows ? now - rows : 0);
        double limit = clip * clip / 2;

        if (s->kl_weight > 0)
                limit = fmin(limit, s->kl_target);
        if (settings_present(s, SETTING_Learner_KLStop))
                limit = fmin(limit, s->kl_stop);
        return limit;
}

/* The part of b by which a round's gradient steps fall short of their trust region; 0 where more rows are no
 * more steps, or where the divergence is not that of a round's updates. */
static double auto_reach(const SchedulerView *view) {
        const JobSettings *s = view->settings;
        double kl = view->statistics->kl;

        if (s->algorithm != ALGORITHM_PPO || s->updates != UPDATES_PER_DATA || !(kl > 0))
                return 0;
        return fmax(view->facts->n_actors * (sqrt(reach_limit(view) / kl) - 1), 0);
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
        newest_add(&a->b, isfinite(noise) && rows > 0
                                          ? fmin(fmax(noise / rows, 0) + auto_reach(view), B_MOST)
                                          : B_MOST);
}

typedef struct Trade {
        double b, c0, c1;        /* as above */
        double c0_cold, c1_cold; /* of a start: for everybody's time, and for each actor */
} Trade;

static Trade trade_make(const Auto *a, const JobSettings *s) {
        double slowest = newest_least(&a->slowest), learner = newest_least(&a->learner);
        double time, allocated = (double) s->learner_memory_max_bytes;
        Trade t = { .b = newest_median(&a->b), .c0 = slowest, .c1 = learner };

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
        if (!view->facts || a.b.n == 0)
                return (uint32_t) lowest;

        trade = trade_make(&a, view->settings);
        now = (double) view->facts->n_actors;
        a.spent += trade.c0 + trade.c1 * now;
        a.n_warm = fmax(a.n_warm, now);
        memcpy(state->own, &a, sizeof(a));
        if (!(trade.c0 + trade.c1 > 0)) /* nothing takes time or costs anything */
                return (uint32_t) now;
        best = trade_best(&trade, lowest, highest);
        best = fmin(fmax(best, ceil(now / STEP)), now * STEP);
        saved = 1 - trade_cost(&trade, best) / trade_cost(&trade, now);
        /* Training lasts as long again as it has, as far as anybody can tell: so long must a start pay. */
        if (saved < WORTH_IT ||
                        (best > a.n_warm &&
                                        saved * a.spent < trade.c0_cold + (best - a.n_warm) * trade.c1_cold))
                return (uint32_t) now;
        return (uint32_t) best;
}

const Scheduler scheduler_AUTO = { .count = auto_count };
