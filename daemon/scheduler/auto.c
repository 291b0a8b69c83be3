/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* [Scaling] Policy=auto: chooses the number of actors that minimises time and money together. It knows
 * the time and the cost of earlier rounds, how much progress they made, and the gradient's noise scale.
 * The law of noise and the product of allocation and time come from the papers named below. Four parts
 * are actord's own: the sharp law, the combination of all these, the trial of more actors, and the first
 * numbers of actors.
 *
 *         A    actors in a round
 *         b    the number of actors above which more help little: by the law of noise, a round of b actors
 *              makes half the progress of a round with unlimited actors
 *         n    rows that each actor brings to a round
 *         s    the gradient's noise scale, in rows
 *         K    rounds that training takes with unlimited actors
 *         Ta   the time of a round's slowest actor, in seconds on the emulated clock
 *         Tm   the mean time of a round's actors, in seconds; Ta and Tm are without start-up
 *         tl   the learner's time for one actor's rows, in seconds
 *         w    the value of a second: TimePrice= times what the price sheet charges for a learner's second
 *         C(A) what a round of A actors adds to the full total, in the sheet's currency
 *
 * Noise. With batches of B rows training takes 1 + s/B times the steps that it takes without noise ("An
 * Empirical Model of Large-Batch Training", McCandlish et al. 2018, equation 2.11). A round of A actors is
 * such a batch, of B = A n rows:
 *
 *         rounds of a training = K (1 + b/A),   b = s/n
 *
 * Cost of a round. A round takes the time of its slowest actor, and then the time of its update, which grows
 * with the rows. The price code computes the cost of a round (price_round(), daemon/bill/price.h): it bills
 * the records that a round of A actors would leave, just as it bills those of past rounds. So the decision
 * includes requests, rounding, idle actors, and any charge that is added later. This file has no prices.
 *
 *         time of a round = Ta + A tl
 *         cost of a round = w time + C(A)
 *
 * The best A. A whole training costs
 *
 *         K (1 + b/A) (w (Ta + A tl) + C(A))
 *
 * K is the same for each A, so it is not needed. Prices have steps, so many A are tried (next_tried()). If a
 * round cost c0 + c1 A, with constants c0 and c1, the best A would be sqrt(b c0 / c1). This is so with
 * proportional prices, as in MinionsRL's equation 2 (Yu et al., AAAI 2024: allocation times time).
 *
 * Convention=server bills MaxActors= places for any number of working actors. There a round costs the same
 * with few actors and with many, so all of them act.
 *
 * The sharp law. With PPO and Updates=per-data, more rows also mean more gradient steps. Runs with constant
 * numbers of actors on four tasks (docs/experiments/auto.md) show that rounds times actors hardly change up
 * to some thousand rows a round, and that the number of rounds hardly changes beyond:
 *
 *         rounds of a training = K sqrt(1 + (b/A)^2)
 *
 * with b n between 3,200 and 8,000 rows. Theory does not predict b: the noise scale is a tenth of b n, and
 * the divergence of a round's updates says little, since learning rates differ. So at first b n is
 * USUAL_ROWS, or a minibatch if that is more. Noise is added to b in quadrature. Measured rounds refine b
 * (below). If a round costs c0 + c1 A, the minimum is at the cube root of b b c0 / c1, which depends little
 * on prices. Below half of b, this law gives nearly the same cost for all numbers of actors. Among numbers
 * of nearly the same cost the fastest is taken, since a round of very few rows is worse than the law says
 * (Pendulum: 107 rounds of one actor, 29 of two).
 *
 * Which law. The sharp law holds while more gradient steps take the policy further within a round. Then the
 * surrogate objective of a round (below) is FURTHEST with unlimited actors. With fewer actors it is smaller,
 * in proportion to the square root of progress. If the first rounds exceed this, they do not lack steps, and
 * more rows only make their gradient less noisy. Then the law of noise holds, with the same b. In three
 * rounds of 1, 4 and 16 actors HalfCheetah's surrogate is 0.014, 0.018 and 0.013, and CartPole's is 0.0034,
 * 0.0089 and 0.019 (means of ten seeds). A surrogate that does not grow with actors does not measure
 * progress, so then only theory counts.
 *
 * Progress. The above is theory. With PPO and normalised advantages, the learner measures the progress of a
 * round: the surrogate objective is 0 before the round's first step, and afterwards it is the gain that the
 * advantages predict. Rounds of A actors are compared with neighbouring rounds of other numbers, which shows
 * how progress grows with A (response.h). b begins with the value from theory, and later is the value that
 * fits these measurements best. Under the law of noise, b is the largest plausible value while it is unknown
 * whether more actors pay. So more actors are tried, for at least two rounds. Where more rows mean more
 * gradient steps, the first change comes after three rounds, and each further change after five; a change
 * may go all the way up. A change that did not pay is undone. This procedure is actord's own.
 *
 * Objective. cost-time is described above. With budget, w is 0. With deadline, only numbers with which
 * training ends in time are considered, and the one with the smallest C(A) times rounds is taken; if there
 * is none, the fastest is taken. The rounds that are left follow from StopSteps=, and from the mean return,
 * if it keeps growing as it has since the first round. The progress of training so far is the sum of the
 * rounds' progress by the law.
 *
 * Measurements. The noise scale of one round is a ratio of two estimates. It has heavy tails. Where noise
 * hides the gradient, it is not a number, and counts as a large one. So the median of the newest values is
 * used; a mean of ratios would follow the tails. For times, the minimum of the newest values is used: the
 * time of a round without disturbance. Under Clock=model it is the same whether or not an actor was killed
 * and started cold again.
 *
 * Starts. If a round has more actors than any round before, the new ones start cold (ColdStartSec=). All
 * actors wait for this, and the new ones are paid for it. So the start is part of the cost of a larger
 * number until the end of training. The end is not known. For training that is m rows old, the end is
 * assumed to be as likely before 2 m rows as between 2 m and 4 m, and so on until StopSteps=, unless the
 * returns tell more. */
#include <math.h>
#include <string.h>

#include "daemon/scheduler/response.h"
#include "daemon/scheduler/scheduler.h"
#include "lib/fragment.h"
#include "lib/saturate.h"

#define NEWEST 15u
#define SURE \
        5u                /* measurements of the noise scale that are needed before it is added to the usual
                           * b */
#define USUAL_ROWS 5632.0 /* b n of the sharp law, in rows: about the middle of four tasks (see above) */
#define NOISE_MOST 4.0    /* the most that noise may add to b, as a multiple of the usual b */
#define FURTHEST   0.028  /* the surrogate of the first rounds with unlimited actors, by the sharp law */
#define ALIKE      1.12   /* costs within this ratio count as equal. By the sharp law: sqrt(1 + 1/4) */
#define FAR        2.0    /* sharp law: a number so many times as large is taken even if it saves little */
#define WORTH_IT   0.05   /* if a change saves a smaller share than this, nothing changes */
#define STEP       2.0    /* the most by which the number changes at once; steps_grow(): only downwards */
#define STEP_BLIND 4.0    /* the same where no progress is measured */
#define SEEN       2u     /* a number of actors is kept for so many rounds at least */
#define SEEN_FIRST 3u     /* steps_grow(): so many rounds at least are made with the first number */
#define SEEN_SHARP 5u     /* steps_grow(): a later number of actors is kept for so many rounds at least */
#define RATIO_MOST 1e6    /* the largest ratio of costs or of progress that a decision reports */
#define B_MOST     1e9    /* the largest b that is stored; any number of actors is small beside it */

typedef struct Newest {
        uint64_t n; /* values seen; the newest lie at i % NEWEST */
        double values[NEWEST];
} Newest;

typedef struct Auto {
        Newest noise;                  /* values of b = s/n, from the gradient's noise scale */
        Newest slowest, mean, learner; /* Ta, Tm, tl; in nanoseconds */
        Response response;
        double n_warm;       /* the most actors that a round had; further ones start cold */
        double advanced;     /* the progress so far; a round of unlimited actors would add 1 */
        double return_first; /* the first mean return, if there was one */
        uint64_t elapsed_nsec;
        uint32_t has_return;
        uint32_t n_newest, n_same; /* the newest round's actors; how many rounds in a row had as many */
        uint32_t gets_far;         /* the first rounds got further than the sharp law allows */
} Auto;
static_assert(sizeof(Auto) <= sizeof(((SchedulerState *) 0)->own), "it must fit");

static void newest_add(Newest *newest, double value) {
        newest->values[newest->n % NEWEST] = value;
        newest->n++;
}

/* The median. Of an even number of values, the upper one of the two in the middle. */
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

/* Whether more rows also mean more gradient steps. */
static bool steps_grow(const JobSettings *s) {
        return s->algorithm == ALGORITHM_PPO && s->updates == UPDATES_PER_DATA;
}

/* The b of the sharp law before a measurement: USUAL_ROWS, or a minibatch if that is more, divided by n. */
static double usual_b(const JobSettings *s) {
        return fmax(USUAL_ROWS, s->minibatch_size) / ((double) s->envs_per_actor * s->rollout_steps);
}

/* The law before rounds of different numbers of actors are compared. */
static Law auto_theory(const Auto *a, const JobSettings *s) {
        double noise = newest_median(&a->noise), usual = usual_b(s);

        if (!steps_grow(s))
                return (Law){ .b = noise };
        if (a->noise.n < SURE)
                return (Law){ .b = usual, .sharp = !a->gets_far };
        noise = fmin(noise, NOISE_MOST * usual);
        return (Law){ .b = sqrt(usual * usual + noise * noise), .sharp = !a->gets_far };
}

/* The progress of a round, if it is measured. PPO's surrogate objective is 0 before the first step.
 * Afterwards it is the gain that the advantages predict, in their standard deviations. The learner reports
 * the mean of this gain over the steps of the round, as a loss. NaN: it is not measured, or does not begin
 * at 0. */
static double round_progress(const SchedulerView *view) {
        const JobSettings *s = view->settings;

        if (s->algorithm != ALGORITHM_PPO || !s->normalize_advantages ||
                        !isfinite(view->statistics->loss_policy))
                return NAN;
        return fmax(-view->statistics->loss_policy, 0);
}

/* Notes whether the first rounds got further than the sharp law allows. By this law the surrogate is in
 * proportion to the square root of progress, and is FURTHEST with unlimited actors. */
static void look_how_far(Auto *a, const JobSettings *s) {
        double share = response_begun(&a->response) / FURTHEST;

        if (steps_grow(s) && isfinite(share))
                a->gets_far = share * share > response_of(a->n_newest, (Law){ usual_b(s), true });
}

static void look_at_times(Auto *a, const SchedulerView *view) {
        const RoundFacts *f = view->facts;
        double now = (double) f->n_actors, n_cold = fmax(now - a->n_warm, 0),
               cold = (double) view->settings->cold_usec * 1e3,
               warm = (double) view->settings->warm_usec * 1e3;

        /* The times are stored without start-up. */
        newest_add(&a->slowest, fmax((double) f->actor_slowest_nsec - (n_cold > 0 ? cold : warm), 0));
        newest_add(&a->mean,
                        fmax((double) f->actor_mean_nsec - (n_cold * cold + (now - n_cold) * warm) / now,
                                        0));
        newest_add(&a->learner, (double) f->learner_nsec / now);
        a->n_warm = fmax(a->n_warm, now);
        a->elapsed_nsec = saturating_add(a->elapsed_nsec, f->round_nsec);
}

static void auto_look(Auto *a, const SchedulerView *view) {
        const JobSettings *s = view->settings;
        double rows = (double) s->envs_per_actor * s->rollout_steps;
        double noise = view->statistics->noise_scale, hopeful;
        Law law;

        if (view->facts->n_actors == 0)
                return;
        look_at_times(a, view);
        newest_add(&a->noise, isfinite(noise) && rows > 0 ? fmin(fmax(noise / rows, 0), B_MOST) : B_MOST);
        a->n_same = view->facts->n_actors == a->n_newest ? a->n_same + 1 : 1;
        a->n_newest = (uint32_t) view->facts->n_actors;
        response_add(&a->response, a->n_newest, round_progress(view));
        look_how_far(a, s);
        law = auto_theory(a, s);
        if (!a->gets_far)
                response_fit(&a->response, law, &law.b, &hopeful);
        a->advanced += response_of(a->n_newest, law);
        if (!a->has_return && isfinite(view->statistics->return_mean)) {
                a->return_first = view->statistics->return_mean;
                a->has_return = 1;
        }
}

/* The inputs of one decision. */
typedef struct Trade {
        const SchedulerView *view;
        const Auto *a;
        Law law;
        double second;          /* the value of a second, in the sheet's currency */
        double lowest, highest; /* the range of numbers that may be tried */
        double now, left;       /* the newest round's actors; how many rounds like it are left */
} Trade;

/* How many started actors are kept idle while n act. */
static uint32_t parked(const Trade *t, double n) {
        const JobSettings *s = t->view->settings;
        double kept = t->a->n_warm;

        if (distribution_fuses(distribution_of(s)))
                return 0;
        if (settings_present(s, SETTING_Scaling_WarmActors) &&
                        !settings_present(s, SETTING_Scaling_KeepAliveSec))
                kept = fmin(kept, s->n_actors_warm);
        return kept > n ? (uint32_t) (kept - n) : 0;
}

/* The price of a round of n actors. n_cold: how many of these actors start for the round. */
static RoundPrice trade_price(const Trade *t, double n, double n_cold) {
        RoundShape shape = {
                .n_actors = (uint32_t) n,
                .n_cold = (uint32_t) n_cold,
                .n_parked = parked(t, n),
                .actor_nsec = saturate_double(newest_least(&t->a->mean)),
                .slowest_nsec = saturate_double(newest_least(&t->a->slowest)),
                .learner_nsec = saturate_double(newest_least(&t->a->learner) * n),
        };
        RoundPrice price;

        price_round(t->view->sheet, t->view->settings, &shape, &price);
        return price;
}

/* The sum of a round's cost on the bill and the value of its time. */
static double trade_worth(const Trade *t, double n, double n_cold) {
        RoundPrice price = trade_price(t, n, n_cold);

        return price.full + t->second * (double) price.nsec / 1e9;
}

/* Whether a round costs the same with the fewest as with the most actors, since the price is for a whole
 * fleet of servers. */
static bool trade_is_settled(const Trade *t) {
        RoundShape shape = { .n_actors = (uint32_t) t->lowest,
                .actor_nsec = 1000000000,
                .slowest_nsec = 1000000000,
                .learner_nsec = 1000000000 };
        RoundPrice few, many;

        price_round(t->view->sheet, t->view->settings, &shape, &few);
        shape.n_actors = (uint32_t) t->highest;
        price_round(t->view->sheet, t->view->settings, &shape, &many);
        return t->highest > t->lowest && few.full > 0 && few.full == many.full;
}

/* The next number to try. Numbers up to sixteen are all tried, and larger ones in steps of an eighth. Prices
 * have steps, so the cost may have several minima. */
static uint32_t next_tried(uint32_t n) {
        return n < 16 ? n + 1 : n + n / 8;
}

/* Estimates the rounds that are left from the growth of the returns. Once half of the way to the target is
 * done, the other half is assumed to take as long. */
static double rounds_to_target(const Trade *t) {
        const JobSettings *s = t->view->settings;
        const Statistics *now = t->view->statistics;
        double gained = now->return_mean - t->a->return_first, missing = s->stop_return - now->return_mean;

        if (!settings_present(s, SETTING_Job_StopReturn) || !isfinite(now->return_mean))
                return INFINITY;
        if (gained < missing)
                return INFINITY;
        return t->a->advanced * missing / gained / response_of(t->now, t->law);
}

/* Estimates how many rounds like the newest one are left. Training is taken to end with equal
 * probability in each doubling of its age (in environment steps) until StopSteps=. The result is at most
 * rounds_to_target(). */
static double rounds_left(const Trade *t) {
        const SchedulerView *view = t->view;
        const JobSettings *s = view->settings;
        double age = (double) view->statistics->n_env_steps, most = (double) s->stop_steps;
        double rows = (double) view->facts->n_actors * s->envs_per_actor * s->rollout_steps;
        double sum = 0, n = 0, at = age;

        if (!(rows > 0) || !(age > 0))
                return 1;
        while (at < most) {
                sum += fmin(1.5 * at, most) - age;
                at *= 2;
                n++;
        }
        return n > 0 ? fmax(fmin(sum / n / rows, rounds_to_target(t)), 1) : 1;
}

/* The cost of the rest of training if n actors do it. The rest is `left` rounds of `now` actors. */
static double trade_cost(const Trade *t, double n, bool starts) {
        double rounds = t->left * response_of(t->now, t->law) / response_of(n, t->law);
        double worth = trade_worth(t, n, 0), cost = rounds * worth, n_cold = n - t->a->n_warm;

        if (starts && n_cold > 0)
                cost += trade_worth(t, n, n_cold) - worth;
        return cost;
}

static double trade_best(const Trade *t, bool starts) {
        double best = t->highest, least = trade_cost(t, t->highest, starts);

        for (uint32_t n = (uint32_t) t->lowest; n < t->highest; n = next_tried(n)) {
                double cost = trade_cost(t, n, starts);

                if (cost < least) {
                        best = n;
                        least = cost;
                }
        }
        return best;
}

/* By the sharp law, the product of rounds and actors changes by at most the factor ALIKE up to b / 2 actors,
 * and the law is no more exact than this. So this function returns the largest number up to b / 2 that costs
 * at most ALIKE times as much as the best one. */
static double trade_alike(const Trade *t, double best) {
        double most = ALIKE * trade_cost(t, best, true), half = fmin(t->law.b / 2, t->highest);

        if (!t->law.sharp || !(half > best))
                return best;
        for (uint32_t n = (uint32_t) half; n > best; n--)
                if (trade_cost(t, n, true) <= most)
                        return n;
        return best;
}

static double best_by_worth(const Trade *t, DecisionWhy *why) {
        double wanted = trade_best(t, false), best = trade_best(t, true), n = trade_alike(t, best);
        double stays = trade_cost(t, t->now, true);

        why->reason = REASON_STAYS;
        if (trade_cost(t, n, true) < (1 - WORTH_IT) * stays || (t->law.sharp && n >= FAR * t->now)) {
                why->reason = n > t->now ? REASON_GROWS : REASON_SHRINKS;
                return n;
        }
        if (best == t->now && wanted > t->now) {
                why->reason = REASON_STARTS;
                why->wanted = (uint64_t) wanted;
        }
        return t->now;
}

/* How many rounds of n actors are left: until StopSteps=, or until the mean return, if it keeps growing as
 * it has, reaches its target. */
static double rounds_until_end(const Trade *t, double n) {
        const JobSettings *s = t->view->settings;
        const Statistics *now = t->view->statistics;
        double rows = n * s->envs_per_actor * s->rollout_steps,
               gained = now->return_mean - t->a->return_first;
        double rounds = fmax((double) s->stop_steps - (double) now->n_env_steps, 0) / rows;

        if (settings_present(s, SETTING_Job_StopReturn) && t->a->has_return && gained > 0)
                rounds = fmin(rounds, t->a->advanced * (s->stop_return - now->return_mean) / gained /
                                                      response_of(n, t->law));
        return fmax(ceil(rounds), 1);
}

/* The cheapest number with which training ends by Deadline=; if there is none, the fastest one. */
static double best_by_deadline(const Trade *t, DecisionWhy *why) {
        double best = t->now, best_money = INFINITY, best_nsec = INFINITY;
        double left = (double) t->view->settings->deadline_usec * 1e3 - (double) t->a->elapsed_nsec;

        for (uint32_t n = (uint32_t) t->lowest; n <= t->highest; n = next_tried(n)) {
                double n_cold = fmax(n - t->a->n_warm, 0), rounds = rounds_until_end(t, n);
                RoundPrice price = trade_price(t, n, 0), first = trade_price(t, n, n_cold);
                double nsec = (rounds - 1) * (double) price.nsec + (double) first.nsec;
                double money = nsec <= left ? (rounds - 1) * price.full + first.full : INFINITY;

                if (money < best_money || (!isfinite(best_money) && nsec < best_nsec)) {
                        best = n;
                        best_money = money;
                        best_nsec = nsec;
                }
        }
        why->expected_nsec = saturating_add(t->a->elapsed_nsec, saturate_double(best_nsec));
        if (!isfinite(best_money))
                why->reason = REASON_LATE;
        else if (best == t->now)
                why->reason = REASON_STAYS;
        else
                why->reason = best > t->now ? REASON_GROWS : REASON_SHRINKS;
        return best;
}

static uint64_t permille(double ratio) {
        return ratio >= 0 ? saturate_double(fmin(ratio, RATIO_MOST) * 1000 + 0.5) : 0;
}

/* Reports the figures behind a decision: of the round before it, of the last change of the number of actors,
 * and of the round that follows. */
static void tell(const Trade *t, double n, DecisionWhy *why) {
        RoundPrice before = trade_price(t, t->now, 0), after = trade_price(t, n, 0), seen;
        double change;
        uint32_t from;

        why->charge = before.dearest;
        why->share_permille = permille(before.charges[before.dearest] / before.full);
        if (n != t->now) {
                why->progress_permille = permille(response_of(n, t->law) / response_of(t->now, t->law));
                why->money_permille = permille(after.full / before.full);
        }
        change = response_change(&t->a->response, t->law.sharp, &from);
        if (t->a->gets_far || !(change >= 0) || response_rounds(&t->a->response) < SEEN)
                return;
        seen = trade_price(t, from, 0);
        why->seen_before = from;
        why->seen_progress_permille = permille(change);
        why->seen_money_permille = permille(before.full / seen.full);
        if (why->reason == REASON_SHRINKS && from < t->now)
                why->reason = REASON_TAKES_BACK;
}

/* Chooses the law, and its b from theory and measurements. If gets_far is set, only theory counts. Under the
 * sharp law, b is the best estimate. Under the law of noise the first rounds show little, so b is the
 * largest plausible value, and more actors are tried while they may pay. */
static Law trade_law(const Trade *t) {
        Law law = auto_theory(t->a, t->view->settings);
        double best, hopeful;

        if (t->a->gets_far)
                return law;
        response_fit(&t->a->response, law, &best, &hopeful);
        if (law.sharp)
                law.b = best;
        else if (response_rounds(&t->a->response) > 0)
                law.b = hopeful;
        return law;
}

static void trade_begin(Trade *t) {
        const JobSettings *s = t->view->settings;

        t->now = (double) t->view->facts->n_actors;
        t->law = trade_law(t);
        t->left = rounds_left(t);
        if (s->objective == OBJECTIVE_COST_TIME)
                t->second = s->time_price * price_learner_second(t->view->sheet, s);
}

/* Whether the current number must be observed for longer before another one is tried. */
static bool trade_looks(const Trade *t) {
        if (response_rounds(&t->a->response) == 0)
                return false;
        if (steps_grow(t->view->settings))
                return t->a->n_same < (t->a->response.n_stays > 1 ? SEEN_SHARP : SEEN_FIRST);
        return t->a->n_same < SEEN;
}

static double auto_decide(Trade *t, DecisionWhy *why) {
        bool measured = response_rounds(&t->a->response) > 0, direct = steps_grow(t->view->settings);
        double step = direct || measured ? STEP : STEP_BLIND, n;
        /* Where gradient steps grow with the actors, the number goes all the way up at once: all actors
         * would wait for a cold start at each smaller step. */
        double few = fmax(t->lowest, ceil(t->now / step)),
               many = direct ? t->highest : fmin(t->highest, t->now * step);

        if (t->view->settings->objective == OBJECTIVE_DEADLINE) {
                /* best_by_deadline() looks at all numbers; several changes may lead to its number. */
                n = fmin(fmax(best_by_deadline(t, why), few), many);
        } else {
                t->lowest = few;
                t->highest = many;
                n = best_by_worth(t, why);
        }
        tell(t, n, why);
        return n;
}

static uint32_t auto_count(const SchedulerView *view, SchedulerState *state) {
        DecisionWhy *why = &state->why;
        Auto a;
        Trade trade = { .view = view, .a = &a };

        trade.lowest = scheduler_lowest(view->settings);
        trade.highest = scheduler_highest(view->settings);
        memcpy(&a, state->own, sizeof(a));
        if (view->facts)
                auto_look(&a, view);
        memcpy(state->own, &a, sizeof(a));

        why->reason = REASON_SETTLED;
        if (trade_is_settled(&trade))
                return (uint32_t) trade.highest;
        why->reason = REASON_FIRST;
        if (!view->facts || a.noise.n == 0)
                return (uint32_t) trade.lowest;

        trade_begin(&trade);
        why->reason = REASON_LOOKS;
        if (!(trade_worth(&trade, trade.now, 0) > 0)) /* rounds take no time and cost nothing */
                return (uint32_t) trade.now;
        if (trade_looks(&trade))
                return (uint32_t) trade.now;
        return (uint32_t) auto_decide(&trade, why);
}
const Scheduler scheduler_AUTO = { .count = auto_count };
