/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Estimates how long a round would take under each distribution. A round has three parts: acting, learning,
 * and hand-over. Hand-over is the time of wake-ups and of waiting orders. Several learners share the
 * learning, and a single process needs no hand-over. No distribution makes acting shorter. The constants are
 * from the measurements in docs/experiments/distribution.md. */
#include "daemon/distribution.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/algorithm-traits.h"
#include "lib/fragment.h"
#include "lib/settings/print.h"

enum { ROUNDS_LEAST = 4, ROUNDS_MOST = 64 };
#define MEASURED_NSEC \
        (200ull * 1000 * 1000) /* short rounds are measured for this long, up to ROUNDS_MOST of them */

/* The part of an update that each of several learners does alone (taking rollouts, values, Adam). */
#define OWN_SHARE   0.1
#define REDUCE_NSEC 60e3 /* the time for sharing a gradient, for each doubling of the learners */
/* The time of an invocation's order and answer if CPUs are free, in nanoseconds. If they take longer, the
 * host is busy. */
#define HAND_OVER    20e3
#define WAITING_MOST 0.25  /* the host is busy if updates last longer than 1.25 times their own time */
#define RESTART_NSEC 150e6 /* between two lives of a job, besides their own end and start */
#define SAVES_LEAST  0.05  /* the least gain that counts, as a part of a round's time */

static uint64_t clamp_sub(uint64_t a, uint64_t b) {
        return a > b ? a - b : 0;
}

static uint64_t max_u64(uint64_t a, uint64_t b) {
        return a > b ? a : b;
}

static void add_rollout(DistributionMeter *meter, const JobSettings *settings, const Record *record) {
        uint64_t nsec = settings->clock == CLOCK_MODEL ? record->metered.emulated_nsec
                                                       : record->metered.cpu_nsec;

        meter->round.n_invocations++;
        meter->round.n_steps += record->metered.n_steps;
        meter->round.actors_nsec += nsec;
        meter->round.slowest_nsec = max_u64(meter->round.slowest_nsec, nsec);
        meter->acted_nsec = max_u64(meter->acted_nsec, record->metered.end_nsec);
}

static void add_update(DistributionMeter *meter, const Record *record) {
        meter->round.learner_nsec = max_u64(meter->round.learner_nsec, record->metered.emulated_nsec);
        meter->updated_nsec = max_u64(meter->updated_nsec, record->metered.end_nsec);
}

/* Whether the learner learned in the round, so that it is like later rounds. It did not if the round only
 * filled a replay store. */
static bool learns(const JobSettings *settings, const Record *closed) {
        return algorithm_row(settings->algorithm)->store != STORE_REPLAY ||
               closed->statistics.n_env_steps > settings->replay_min;
}

static void add_round(DistributionMeter *meter, const JobSettings *settings, const Record *closed) {
        DistributionFacts *sum = &meter->facts, *round = &meter->round;

        if (settings->clock == CLOCK_MODEL)
                round->round_nsec = closed->emulated_round_nsec;
        else {
                round->round_nsec = clamp_sub(meter->updated_nsec, closed->metered.start_nsec);
                round->waiting_nsec = clamp_sub(
                                clamp_sub(meter->updated_nsec, meter->acted_nsec), round->learner_nsec);
        }
        if (!meter->warm) {
                /* The first round is left out: in it containers start, caches are cold, and the
                 * arithmetic (learner/kernel/) runs for the first time. */
                meter->warm = true;
                sum->start_nsec = clamp_sub(meter->updated_nsec, meter->born_nsec);
                return;
        }
        if (!learns(settings, closed) || distribution_measured(sum, settings))
                return;
        sum->n_rounds++;
        sum->n_steps += round->n_steps;
        sum->n_invocations += round->n_invocations;
        sum->round_nsec += round->round_nsec;
        sum->learner_nsec += round->learner_nsec;
        sum->waiting_nsec += round->waiting_nsec;
        sum->actors_nsec += round->actors_nsec;
        sum->slowest_nsec += round->slowest_nsec;
}

static void round_clear(DistributionMeter *meter) {
        meter->round = (DistributionFacts){};
        meter->acted_nsec = meter->updated_nsec = 0;
}

void distribution_measure(DistributionMeter *meter, const JobSettings *settings, const Record *record) {
        assert(meter);
        assert(settings);
        assert(record);

        if (settings->distribution != DISTRIBUTION_AUTO)
                return;
        if (record->life != meter->life) {
                meter->life = record->life;
                meter->warm = false;
                round_clear(meter);
        }
        if (record->kind == RECORD_STARTED)
                meter->born_nsec = record->metered.start_nsec;
        else if (record->kind == RECORD_ROLLOUT && !record->wasted)
                add_rollout(meter, settings, record);
        else if (record->kind == RECORD_UPDATE && !record->wasted)
                add_update(meter, record);
        else if (record->kind == RECORD_ROUND) {
                if (!record->wasted)
                        add_round(meter, settings, record);
                round_clear(meter);
        }
}

bool distribution_measured(const DistributionFacts *facts, const JobSettings *settings) {
        assert(facts);
        assert(settings);

        /* An invoker may report rounds without a step. They tell nothing about a round's time. */
        if (facts->n_rounds < ROUNDS_LEAST || facts->n_steps == 0)
                return false;
        return settings->clock == CLOCK_MODEL || facts->round_nsec >= MEASURED_NSEC ||
               facts->n_rounds >= ROUNDS_MOST;
}

/* The most gradients that a round can have. It has fewer if the algorithm ends its epochs early. */
static double gradients(const JobSettings *settings, double n_rows) {
        bool divides = algorithm_uses(settings->algorithm, SETTING_Learner_MinibatchSize);
        double n = 1;

        if (algorithm_row(settings->algorithm)->store == STORE_REPLAY)
                return n_rows * settings->train_ratio;
        if (divides && settings->updates == UPDATES_PER_DATA)
                n = ceil(n_rows / settings->minibatch_size);
        else if (divides && settings->updates == UPDATES_PER_ROUND)
                n = ceil((double) settings->rollout_steps * settings->envs_per_actor /
                                settings->minibatch_size);
        return n * algorithm_epochs(settings);
}

static double own_share(const JobSettings *settings, uint32_t n_learners) {
        return n_learners == 1 || settings->clock == CLOCK_MODEL ? 0 : OWN_SHARE;
}

/* The time for sharing the gradients of a round. Learners wait for one another at each gradient, in a
 * tree. */
static double reduce_nsec(const JobSettings *settings, uint32_t n_learners, double n_rows) {
        return settings->clock == CLOCK_MODEL ? 0
                                              : gradients(settings, n_rows) * REDUCE_NSEC * log2(n_learners);
}

double distribution_learner_nsec(
                const JobSettings *settings, double one_nsec, uint32_t n_learners, double n_rows) {
        double own;

        assert(settings);
        assert(n_learners > 0);

        own = own_share(settings, n_learners);
        return one_nsec * (own + (1 - own) / n_learners) + reduce_nsec(settings, n_learners, n_rows);
}

double distribution_alone_nsec(
                const JobSettings *settings, double nsec, uint32_t n_learners, double n_rows) {
        double own;

        assert(settings);
        assert(n_learners > 0);

        /* The time of the exchange is an estimate, and may exceed the whole time. So at least 1/n of the
         * whole time counts as computing. */
        own = own_share(settings, n_learners);
        return fmax(nsec - reduce_nsec(settings, n_learners, n_rows), nsec / n_learners) /
               (own + (1 - own) / n_learners);
}

typedef struct Mean { /* of a measured round */
        double round, learner, actors, slowest, hand_over, n_invocations, n_rows;
} Mean;

/* The time of acting in a round. With Clock=model each actor has a CPU of its own; otherwise the actors
 * share the CPUs of this host. */
static double acting_nsec(const DistributionInput *input, const Mean *mean, double n_workers) {
        if (input->settings->clock == CLOCK_MODEL)
                return mean->slowest;
        return fmax(mean->slowest, mean->actors / fmax(1, fmin(n_workers, input->n_cpus)));
}

static Mean mean_make(const DistributionInput *input) {
        const DistributionFacts *f = input->facts;
        double n = (double) f->n_rounds;
        Mean mean = {
                .learner = (double) f->learner_nsec / n,
                .actors = (double) f->actors_nsec / n,
                .slowest = (double) f->slowest_nsec / n,
                .n_invocations = (double) f->n_invocations / n,
                .n_rows = (double) f->n_steps / n,
        };
        double most = HAND_OVER * mean.n_invocations;

        if (input->settings->clock == CLOCK_MODEL)
                most = 0;
        /* In a single process no hand-over was measured, so half of the upper bound is assumed. */
        if (input->distribution == DISTRIBUTION_FUSED)
                mean.hand_over = most / 2;
        else
                mean.hand_over = fmin(
                                most, fmax(0, (double) f->round_nsec / n - mean.learner -
                                                                      acting_nsec(input, &mean,
                                                                                      mean.n_invocations)));
        return mean;
}

/* Estimates a round's time on a host that does nothing else. The current distribution and the candidates are
 * estimated by the same terms, so that they can be compared. */
static double round_nsec(const DistributionInput *input, const Mean *mean, uint32_t distribution,
                uint32_t n_learners) {
        const JobSettings *s = input->settings;

        if (distribution == DISTRIBUTION_FUSED)
                return acting_nsec(input, mean, s->n_threads) + mean->learner;
        return acting_nsec(input, mean, mean->n_invocations) + mean->hand_over +
               distribution_learner_nsec(s, mean->learner, n_learners, mean->n_rows);
}

static void consider(const DistributionInput *input, const Mean *mean, uint32_t distribution,
                uint32_t n_learners, DistributionChoice *best) {
        JobSettings settings = *input->settings;
        char reason[256];
        double nsec;
        Graph graph;

        settings.distribution = distribution;
        settings.n_learners = n_learners;
        graph_make(distribution_find(distribution), &settings, &graph);
        if (graph_validate(&graph, reason, sizeof(reason)) < 0)
                return;
        nsec = round_nsec(input, mean, distribution, n_learners);
        if (nsec >= best->then_nsec)
                return;
        best->distribution = distribution;
        best->n_learners = n_learners;
        best->then_nsec = nsec;
}

static void consider_all(const DistributionInput *input, const Mean *mean, DistributionChoice *best) {
        const JobSettings *s = input->settings;
        bool busy = (double) input->facts->waiting_nsec > WAITING_MOST * (double) input->facts->learner_nsec;

        if (!distribution_refuses_fused(s))
                consider(input, mean, DISTRIBUTION_FUSED, 1, best);
        if (busy)
                return;
        for (uint32_t n = 2; n <= GRADIENT_PARTS && n <= input->n_learners_max &&
                             n * s->n_threads <= input->n_cpus;
                        n *= 2)
                consider(input, mean, DISTRIBUTION_MULTI, n, best);
}

/* The cost of changing the distribution: a start as long as the previous one, an end of about the same
 * length, and a constant for work without a record, such as the spawner's. Under Clock=model: what a cold
 * start takes longer than a warm one. */
static double restart_nsec(const DistributionInput *input) {
        const JobSettings *s = input->settings;
        const DistributionFacts *f = input->facts;

        if (s->clock == CLOCK_MODEL)
                return (double) clamp_sub(s->cold_usec, s->warm_usec) * 1e3;
        return RESTART_NSEC +
               2 * fmax(0, (double) f->start_nsec - (double) f->round_nsec / (double) f->n_rounds);
}

static void say_time(double nsec, char ret[24]) {
        (void) snprintf(ret, 24, nsec < 1e9 ? "%.3g ms" : "%.3g s", nsec < 1e9 ? nsec / 1e6 : nsec / 1e9);
}

static void say_why(
                const DistributionInput *input, const Mean *mean, double restart, DistributionChoice *ret) {
        double acting = acting_nsec(input, mean,
                        input->distribution == DISTRIBUTION_FUSED ? input->settings->n_threads
                                                                  : mean->n_invocations);
        double hand_over = input->distribution == DISTRIBUTION_FUSED ? 0 : mean->hand_over;
        const char *bound = acting >= hand_over ? "actor-bound" : "hand-over-bound";
        char times[4][24], end[96];

        if (mean->learner >= acting && mean->learner >= hand_over)
                bound = "learner-bound";
        say_time(mean->learner, times[0]);
        say_time(acting, times[1]);
        say_time(hand_over, times[2]);
        if (ret->changes) {
                say_time(ret->then_nsec, times[3]);
                if (ret->n_learners > 1)
                        (void) snprintf(end, sizeof(end), "%u learners would take %s", ret->n_learners,
                                        times[3]);
                else
                        (void) snprintf(end, sizeof(end), "one process would take %s", times[3]);
        } else {
                say_time(restart, times[3]);
                (void) snprintf(end, sizeof(end),
                                "no other distribution would save the cost of a restart (%s)", times[3]);
        }
        (void) snprintf(ret->why, sizeof(ret->why),
                        "a round is %s (learning %s, acting %s, hand-over %s) and %s", bound, times[0],
                        times[1], times[2], end);
}

void distribution_decide(const DistributionInput *input, DistributionChoice *ret) {
        const JobSettings *s;
        double n_rounds, restart;
        Mean mean;

        assert(input && input->settings && input->facts && input->n_cpus > 0);
        assert(input->facts->n_rounds > 0 && input->facts->n_steps > 0);
        assert(input->distribution == DISTRIBUTION_COARSE || input->distribution == DISTRIBUTION_FUSED);
        assert(ret);

        s = input->settings;
        mean = mean_make(input);
        *ret = (DistributionChoice){ .distribution = input->distribution, .n_learners = 1 };
        ret->now_nsec = ret->then_nsec = round_nsec(input, &mean, input->distribution, 1);
        restart = restart_nsec(input);
        n_rounds = (double) clamp_sub(s->stop_steps, input->n_env_steps) / mean.n_rows;

        consider_all(input, &mean, ret);
        ret->changes = ret->distribution != input->distribution &&
                       ret->now_nsec - ret->then_nsec >= SAVES_LEAST * ret->now_nsec &&
                       (ret->now_nsec - ret->then_nsec) * n_rounds > restart;
        if (!ret->changes) {
                ret->distribution = input->distribution;
                ret->n_learners = 1;
                ret->then_nsec = ret->now_nsec;
        }
        say_why(input, &mean, restart, ret);
}
