/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Schedulers of one formula each: Nitro's as in its paper, and those with which other schedulers are
 * compared: constants, lists, and controls. A control uses less information than another scheduler. The
 * formula decides for the round k = view->round + 1. The first round is 1. */
#include <math.h>

#include "daemon/scheduler/window.h"
#include "lib/doubles.h"
#include "lib/rng.h"

/* Policy=fixed: Actors= in every round, one decision for the whole job. */
static uint32_t fixed_count(const SchedulerView *view, SchedulerState *state) {
        return view->settings->n_actors;
}

/* Policy=max: MaxActors= in every round, so one decision for the whole job. This is MinionsRL-Max (Yu et
 * al., AAAI 2024, "Ablation"), the fastest and most expensive baseline of that paper. */
static uint32_t max_count(const SchedulerView *view, SchedulerState *state) {
        return scheduler_highest(view->settings);
}

/* Policy=schedule: the numbers that Schedule= lists. "25*10 30*5" is 25 actors for ten rounds and 30 for
 * five; the last number stays. MinionsRL's motivation (Yu et al., AAAI 2024, figure 2) compares three such
 * lists of one length and one sum. */
static uint32_t schedule_count(const SchedulerView *view, SchedulerState *state) {
        const setting_counts *s = &view->settings->schedule;
        uint64_t left = view->round; /* rounds before the one to be decided */

        for (uint32_t i = 0; i + 1 < s->n; i++) {
                if (left < s->runs[i].n_rounds)
                        return s->runs[i].n_actors;
                left -= s->runs[i].n_rounds;
        }
        return s->n > 0 ? s->runs[s->n - 1].n_actors : 0;
}

#define ROUNDS_PER_DOUBLING 10u
#define DOUBLINGS_MAX       14u /* 2^14 > ACTORS_MAX */

/* Policy=hydrozoa: MinActors= at first, doubled every ten rounds up to MaxActors=, as Nitro's authors run
 * Hydrozoa's scaling of the batch (Guo et al., MLSys 2022) for comparison (Yu et al., PVLDB 18(1), section
 * 7). */
static uint32_t hydrozoa_count(const SchedulerView *view, SchedulerState *state) {
        uint64_t doublings = view->round / ROUNDS_PER_DOUBLING;

        if (doublings > DOUBLINGS_MAX)
                return scheduler_highest(view->settings);
        return scheduler_lowest(view->settings) << doublings;
}

/* Policy=decay-only: clip(Imax d^k, Imin, Imax), the upper limit in Nitro's formula, without Nitro's
 * measurements. It is a control for experiments: with d = 0.96 and 8 to 64 actors, 50 rounds have 1,317
 * rollouts. */
static uint32_t decay_only_count(const SchedulerView *view, SchedulerState *state) {
        double decayed = double_power(view->settings->decay, view->round + 1);

        return scheduler_clip(view->settings, scheduler_highest(view->settings) * decayed);
}

/* Policy=random: uniform between MinActors= and MaxActors=, from a stream of the job's seed that is keyed by
 * the round. A control: a scheduler that uses measurements should do better. */
static uint32_t random_count(const SchedulerView *view, SchedulerState *state) {
        uint32_t lowest = scheduler_lowest(view->settings), highest = scheduler_highest(view->settings);
        ActordRandom random;

        scheduler_random_begin(&random, view, SCHEDULER_STREAM_RANDOM);
        return lowest + random_below(&random, highest - lowest + 1);
}

/* Policy=nitro: Nitro's boosting as in its paper (Yu et al., PVLDB 18(1), 2024, sections 3 and 4). It uses
 * more actors where the surrogate objective is flat. R = -lambda_max / lambda_min of the objective's Hessian
 * (equation 2). The learner measures R at the end of the round before. Over the last n = Window= values, the
 * score is S_k = (Rmax - R_k) / (Rmax - Rmin) d^k with d = Decay=, and I_k = clip(Imax S_k, Imin, Imax). The
 * paper leaves some cases open. Here R is not a number unless there is curvature of both signs. A value that
 * is not finite never enters the window, and its score is 0. The score is also 0 while the window has only
 * one value or only equal values. */
static uint32_t nitro_count(const SchedulerView *view, SchedulerState *state) {
        return window_count(view, state, view->statistics ? view->statistics->curvature_ratio : NAN);
}

/* Policy=noise: Nitro's formula with random numbers in place of the curvature, from a stream of the job's
 * seed that is keyed by the round. A control: it spends as much as nitro, but measures nothing. */
static uint32_t noise_count(const SchedulerView *view, SchedulerState *state) {
        ActordRandom random;

        scheduler_random_begin(&random, view, SCHEDULER_STREAM_NOISE);
        return window_count(view, state, actord_random_normal(&random));
}

const Scheduler scheduler_FIXED = { .count = fixed_count }, scheduler_MAX = { .count = max_count },
                scheduler_SCHEDULE = { .count = schedule_count },
                scheduler_HYDROZOA = { .count = hydrozoa_count },
                scheduler_DECAY_ONLY = { .count = decay_only_count },
                scheduler_RANDOM = { .count = random_count }, scheduler_NITRO = { .count = nitro_count },
                scheduler_NOISE = { .count = noise_count };
