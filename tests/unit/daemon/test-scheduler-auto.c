/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Compares Policy=auto with every constant number of actors, in trainings that follow the law of noise
 * (daemon/scheduler/auto.c). For each round the gradients of its A actors are drawn, and the noise scale s
 * is estimated from them as the learner does. The round makes 1 / (1 + s / rows) of the progress of a round
 * without noise. */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "daemon/scheduler/scheduler.h"
#include "tests/unit/sheet-fixture.h"

#define ROWS         128u /* rows that an actor brings to a round */
#define DIMENSIONS   40u
#define MOST         64u
#define NOISE_ACTORS 32u /* Learner.NoiseActors= */
#define PARTS_ALONE  8u  /* into which the learner divides the rows of a single actor */

/* The formulas of these tests hold if GB-seconds are the only charge; their rate does not matter. */
static const char memory_alone[] = SHEET("[Execution]\nGBSecond=0.0000166667\n");

static JobSettings settings_new(uint32_t lowest, uint32_t highest, double time_price) {
        JobSettings s = {
                .scheduler = { .kind = SCHEDULER_AUTO },
                .n_actors_min = lowest,
                .n_actors_max = highest,
                .envs_per_actor = 4,
                .rollout_steps = ROWS / 4,
                .stop_steps = 1000000,
                /* More rows make larger minibatches, but no more gradient steps: the law of noise holds. */
                .updates = UPDATES_PER_ROUND,
                .minibatch_size = 64,
                .n_threads = 1,
                .memory_max_bytes = 1769ull << 20,
                .learner_memory_max_bytes = 1769ull << 20,
                .time_price = time_price,
        };

        s.present[SETTING_Scaling_MaxActors / 64] |= 1ull << (SETTING_Scaling_MaxActors % 64);
        return s;
}

/* A task and a fleet. Times in seconds. */
typedef struct Task {
        double noise_first, noise_last; /* in rows; it grows by equal factors as training goes on */
        double n_rounds;                /* how many rounds a training without noise takes */
        double actor_s, learner_s;      /* an actor's time in a round, and the learner's for each actor */
        double time_price;
} Task;

static double normal(GRand *rand) {
        return sqrt(-2 * log(1 - g_rand_double(rand))) * cos(2 * G_PI * g_rand_double(rand));
}

/* A measurement of the noise scale, from drawn gradients whose mean has length 1 and whose dimensions have
 * equal noise. */
static double measured(GRand *rand, double noise, uint32_t n_actors) {
        uint32_t n = n_actors == 1 ? PARTS_ALONE : MIN(n_actors, NOISE_ACTORS);
        double share = n_actors == 1 ? (double) ROWS / PARTS_ALONE : ROWS, rows = n * share;
        double small = 0, big = 0, mean[DIMENSIONS] = {}, sd = sqrt(noise / share / DIMENSIONS);
        double gradient, trace;

        for (uint32_t a = 0; a < n; a++)
                for (uint32_t i = 0; i < DIMENSIONS; i++) {
                        double g = (i == 0 ? 1 : 0) + sd * normal(rand);

                        small += g * g / n;
                        mean[i] += g / n;
                }
        for (uint32_t i = 0; i < DIMENSIONS; i++)
                big += mean[i] * mean[i];
        gradient = (rows * big - share * small) / (rows - share);
        trace = (small - big) / (1.0 / share - 1.0 / rows);
        return gradient > 0 ? trace / gradient : NAN;
}

typedef struct Outcome {
        double cost, mean_actors;
        uint32_t n_changes;
} Outcome;

/* Trains with a constant number of actors or, if constant is 0, with the number that auto decides. Before
 * round `restored` auto's state is saved and restored, as by a checkpoint. */
static Outcome train(const Task *task, uint32_t constant, uint32_t seed, uint32_t restored) {
        JobSettings settings = settings_new(1, MOST, task->time_price);
        g_autoptr(PriceSheet) sheet = sheet_new(memory_alone);
        g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
        Statistics statistics = {};
        RoundFacts facts = {};
        SchedulerState state;
        Outcome o = {};
        double at = 0;
        uint32_t before = 0, round = 0;

        settings.cold_usec = 300000;
        scheduler_init(&state, SCHEDULER_AUTO);
        for (; at < task->n_rounds; round++) {
                SchedulerView view = {
                        .settings = &settings,
                        .statistics = round > 0 ? &statistics : NULL,
                        .facts = round > 0 ? &facts : NULL,
                        .round = round,
                        .sheet = sheet,
                };
                double noise = task->noise_first *
                               pow(task->noise_last / task->noise_first, at / task->n_rounds);
                uint32_t n = constant;

                if (round == restored) {
                        SchedulerState row = state;

                        memset(&state, 0xff, sizeof(state));
                        g_assert_cmpint(scheduler_restore(&state, SCHEDULER_AUTO, &row, sizeof(row)), ==, 0);
                }
                if (n == 0) {
                        (void) scheduler_decide(&view, &state);
                        n = state.n_actors;
                }
                /* Actors that were not there before start cold. */
                double slowest = task->actor_s + (n > before ? 0.3 : 0), learner = task->learner_s * n;

                facts = (RoundFacts){
                        .n_actors = n,
                        .learner_nsec = (uint64_t) (learner * 1e9),
                        .actor_slowest_nsec = (uint64_t) (slowest * 1e9),
                        .actor_mean_nsec = (uint64_t) (slowest * 1e9),
                };
                statistics.noise_scale = measured(rand, noise, n);
                statistics.loss_policy = NAN;
                statistics.n_env_steps += n * ROWS;
                at += 1 / (1 + noise / ((double) n * ROWS));
                o.cost += task->time_price * (slowest + learner) + learner + n * slowest;
                o.mean_actors += n;
                o.n_changes += n != before;
                before = n;
        }
        o.mean_actors /= round;
        return o;
}

static void test_constants(void) {
        static const Task tasks[] = {
                { 2000, 2000, 100, 0.5, 0.05, 1 },
                { 300, 30000, 100, 0.5, 0.05, 1 },
                { 300, 30000, 100, 0.5, 0.05, 10 },
                { 1000, 100000, 50, 1, 0.01, 3 },
                { 100, 2000, 200, 0.2, 0.2, 5 },
        };

        for (size_t t = 0; t < G_N_ELEMENTS(tasks); t++) {
                enum { SEEDS = 5 };
                double best = INFINITY, worst = 0, cost = 0, actors = 0, changes = 0;
                uint32_t best_n = 0;

                for (uint32_t n = 1; n <= MOST; n++) {
                        double c = train(&tasks[t], n, 1, UINT32_MAX).cost;

                        worst = fmax(worst, c);
                        if (c < best) {
                                best = c;
                                best_n = n;
                        }
                }
                for (uint32_t seed = 1; seed <= SEEDS; seed++) {
                        Outcome o = train(&tasks[t], 0, seed, UINT32_MAX);

                        cost += o.cost / SEEDS;
                        actors += o.mean_actors / SEEDS;
                        changes += (double) o.n_changes / SEEDS;
                }
                g_test_message("task %zu: best constant %u at 1, auto at %.3f with %.1f actors and %.0f "
                               "changes, worst at %.2f",
                                t, best_n, cost / best, actors, changes, worst / best);
                g_assert_cmpfloat(cost, <, 1.1 * best);
                g_assert_cmpfloat(cost, <, worst / 1.3);
        }
}

/* A round of A actors reports the policy loss -furthest A / (A + truth). truth NaN: it reports none. */
static double truth = NAN, furthest = 0.01;

/* Lets a scheduler decide for sixty rounds, all with this noise and these times (in seconds). Returns its
 * last number of actors. */
static uint32_t settle_priced(
                const char *prices, JobSettings settings, double noise, double slowest, double learner) {
        g_autoptr(PriceSheet) sheet = sheet_new(prices);
        Statistics statistics = { .noise_scale = noise, .loss_policy = NAN };
        RoundFacts facts = {};
        SchedulerState state;
        uint32_t before = 0;

        scheduler_init(&state, SCHEDULER_AUTO);
        for (uint32_t round = 0; round < 60; round++) {
                SchedulerView view = { &settings, round > 0 ? &statistics : NULL, round > 0 ? &facts : NULL,
                        round, NULL, 0, sheet };

                (void) scheduler_decide(&view, &state);
                if (before > 0) {
                        if (settings.updates != UPDATES_PER_DATA)
                                g_assert_cmpuint(state.n_actors, <=, 4 * before);
                        g_assert_cmpuint(4 * state.n_actors, >=, before);
                }
                before = state.n_actors;
                statistics.loss_policy = -furthest * before / (before + truth);
                statistics.n_env_steps += before * ROWS;
                facts = (RoundFacts){
                        .n_actors = before,
                        .learner_nsec = (uint64_t) (learner * before * 1e9),
                        .actor_slowest_nsec = (uint64_t) (slowest * 1e9),
                        .actor_mean_nsec = (uint64_t) (slowest * 1e9),
                };
        }
        return before;
}

static uint32_t settle(JobSettings settings, double noise, double slowest, double learner) {
        return settle_priced(memory_alone, settings, noise, slowest, learner);
}

/* Asserts that the cost with n actors is at most 5 % above the lowest cost, and that n is near the best
 * number. The cost with A actors is (1 + b/A) (c0 + c1 A). */
static void assert_good(uint32_t n, double b, double c0, double c1) {
        double best = INFINITY;

        for (uint32_t a = 1; a <= MOST; a++)
                best = fmin(best, (1 + b / a) * (c0 + c1 * a));
        g_assert_cmpfloat((1 + b / n) * (c0 + c1 * n), <=, 1.05 * best);
        g_assert_cmpfloat(n, >, 0.5 * fmin(sqrt(b * c0 / c1), MOST) - 1);
        g_assert_cmpfloat(n, <, 2 * sqrt(b * c0 / c1) + 1);
}

static void test_equation(void) {
        JobSettings settings = settings_new(1, MOST, 1), other = settings;
        uint32_t n = settle(settings, 100 * ROWS, 1, 0.25);

        assert_good(n, 100, 1, 2 * 0.25 + 1);
        /* auto takes the same number of actors if all times are a tenth, or if all prices are fourfold. */
        g_assert_cmpuint(settle(settings, 100 * ROWS, 0.1, 0.025), ==, n);
        other.memory_max_bytes *= 4;
        other.learner_memory_max_bytes *= 4;
        g_assert_cmpuint(settle(other, 100 * ROWS, 1, 0.25), ==, n);
        /* auto takes more actors if they are cheap. */
        other.memory_max_bytes = settings.memory_max_bytes / 100;
        other.learner_memory_max_bytes = settings.learner_memory_max_bytes;
        assert_good(settle(other, 100 * ROWS, 1, 0.01), 100, 1, 2 * 0.01 + 0.01);
        /* If time costs nothing, auto adds no actors. If time is very expensive, it adds actors whose rows
         * are worth the time of their updates. */
        settings.time_price = 0;
        g_assert_cmpuint(settle(settings, ROWS, 1, 0.25), ==, 1);
        settings.time_price = 1000;
        assert_good(settle(settings, 100 * ROWS, 1, 0.25), 100, 1000, 1001 * 0.25 + 1);
        g_assert_cmpuint(settle(settings, 100 * ROWS, 1, 0), ==, MOST);
}

/* auto weighs all charges of a price sheet, since it asks the bill's own code for the cost of a round. */
static void test_charges(void) {
        JobSettings settings = settings_new(1, MOST, 1);
        uint32_t n = settle(settings, 100 * ROWS, 1, 0.25);

        /* If only requests cost much (one for each actor and one for the learner), or if all times are
         * rounded up to an hour, a round costs 1 + A. So the best A is the square root of b. */
        assert_good(settle_priced(SHEET("[Execution]\nGBSecond=0.0000166667\nRequest=0.1\n"), settings,
                                    100 * ROWS, 1, 0.25),
                        100, 1, 1);
        assert_good(settle_priced(SHEET("[Execution]\nGBSecond=0.0000166667\nGranularityMSec=3600000\n"),
                                    settings, 100 * ROWS, 1, 0.25),
                        100, 1, 1);
        g_assert_cmpuint(n, <, 5);
        /* An actor has a quarter of a vCPU, and the learner has a whole one. If only whole vCPUs are billed,
         * an actor costs as much as the learner, so auto takes fewer actors. */
        settings.memory_max_bytes /= 4;
        settings.cold_usec = 0;
        g_assert_cmpuint(settle_priced(SHEET("[Execution]\nVCPUSecond=0.00001\nVCPUStep=1\n"), settings,
                                         100 * ROWS, 1, 0.25),
                        <,
                        settle_priced(SHEET("[Execution]\nVCPUSecond=0.00001\n"), settings, 100 * ROWS, 1,
                                        0.25));
}

/* Servers cost the same with any number of actors. */
static void test_settled(void) {
        static const char servers[] = SHEET("[Learner]\nPerHour=3\nCount=1\nFunctions=1\n"
                                            "[Actors]\nPerHour=1\nFunctions=16\n");
        static const char allocation[] = SHEET("[Execution]\nGBSecond=0.00001\n[Fleet]\nFromRates=1\n");
        static const char energy[] = SHEET("[Energy]\nKWh=0.3\nWattsPerCore=10\n");
        JobSettings settings = settings_new(3, 50, 1);

        settings.convention = CONVENTION_SERVER;
        g_assert_cmpuint(settle_priced(servers, settings, 0, 1, 0.25), ==, 50);
        g_assert_cmpuint(settle_priced(allocation, settings, 0, 1, 0.25), ==, 50);
        g_assert_cmpuint(settle_priced(energy, settings, 0, 1, 0.25), ==, 3);
        settings.convention = CONVENTION_SERVERLESS;
        g_assert_cmpuint(settle_priced(servers, settings, 0, 1, 0.25), ==, 3);
        g_assert_cmpuint(settle_priced(allocation, settings, 0, 1, 0.25), ==, 3);
}

/* Asserts that the cost with n actors is at most `margin` times the lowest cost. The cost with A actors is
 * sqrt(1 + (b/A)^2) (c0 + c1 A). */
static void assert_sharp(uint32_t n, double b, double c0, double c1, double margin) {
        double best = INFINITY;

        for (uint32_t a = 1; a <= MOST; a++)
                best = fmin(best, hypot(1, b / a) * (c0 + c1 * a));
        g_assert_cmpfloat(hypot(1, b / n) * (c0 + c1 * n), <=, margin * best);
}

/* If more rows mean more gradient steps, auto's number of actors follows from a usual number of rows of a
 * round, 5632. */
static void test_usual(void) {
        JobSettings settings = settings_new(1, MOST, 1), other;
        double usual = 5632.0 / ROWS;
        uint32_t n;

        settings.updates = UPDATES_PER_DATA;
        settings.normalize_advantages = 1;
        n = settle(settings, 0, 1, 0.25);
        assert_sharp(n, usual, 1, 2 * 0.25 + 1, 1.12);
        /* A little noise does not matter, a lot does. If noise hides the gradient, auto assumes the most
         * noise that it allows for: four times the usual number of actors. */
        g_assert_cmpuint(settle(settings, 5 * ROWS, 1, 0.25), ==, n);
        assert_sharp(settle(settings, 100 * ROWS, 1, 0.25), hypot(usual, 100), 1, 2 * 0.25 + 1, 1.12);
        assert_sharp(settle(settings, NAN, 1, 0.25), hypot(usual, 4 * usual), 1, 2 * 0.25 + 1, 1.12);
        /* If an actor brings twice as many rows, auto takes half as many actors. A round has at least the
         * rows of one minibatch. */
        other = settings;
        other.envs_per_actor *= 2;
        assert_sharp(settle(other, 0, 1, 0.25), usual / 2, 1, 2 * 0.25 + 1, 1.12);
        other = settings;
        other.minibatch_size = 16384;
        assert_sharp(settle(other, 0, 1, 0.25), 128, 1, 2 * 0.25 + 1, 1.12);
        /* Time is very expensive, then it costs nothing. Even then auto takes more than one actor, since
         * small rounds are worse than the law says. */
        settings.time_price = 1000;
        assert_sharp(settle(settings, 0, 1, 0.25), usual, 1000, 1001 * 0.25 + 1, 1.05);
        settings.time_price = 0;
        n = settle(settings, 0, 1, 0.25);
        g_assert_cmpuint(n, >=, (uint32_t) (usual / 4));
        g_assert_cmpuint(n, <=, (uint32_t) (usual / 2));
        /* The sharp law is only for PPO. For IMPACT the law of noise holds, and without noise one actor is
         * best. */
        settings.algorithm = ALGORITHM_IMPACT;
        g_assert_cmpuint(settle(settings, 0, 1, 0.25), ==, 1);
}

/* The cost with n actors, divided by the cost with the best number. By the law of noise A actors cost (1 +
 * b/A) (1 + 1.5 A). */
static double loss(uint32_t n, double b) {
        double best = INFINITY;

        for (uint32_t a = 1; a <= MOST; a++)
                best = fmin(best, (1 + b / a) * (1 + 1.5 * a));
        return (1 + b / n) * (1 + 1.5 * n) / best;
}

/* Measured progress corrects the number of actors that follows from the law of noise alone. */
static void test_measured(void) {
        JobSettings settings = settings_new(1, MOST, 1);
        uint32_t n, by_theory;

        settings.normalize_advantages = 1;
        /* More actors help more than theory expects. */
        truth = NAN;
        by_theory = settle(settings, 16 * ROWS, 1, 0.25);
        truth = 256;
        n = settle(settings, 16 * ROWS, 1, 0.25);
        g_assert_cmpfloat(loss(n, 256), <, 1.1);
        g_assert_cmpfloat(loss(by_theory, 256), >, 1.1);
        g_test_message("truth 256: %u, by theory %u", n, by_theory);
        /* Theory wants eight actors, but eight get no further than one, so auto gives them up again. */
        truth = 0.01;
        g_assert_cmpuint(settle(settings, 100 * ROWS, 1, 0.25), <=, 2);
        settings.updates = UPDATES_PER_DATA;
        furthest = 0.002;
        n = settle(settings, 0, 1, 0.25);
        furthest = 0.01;
        truth = NAN;
        by_theory = settle(settings, 0, 1, 0.25);
        g_test_message("sharp, truth 0.01: %u, by theory %u", n, by_theory);
        g_assert_cmpuint(n, <=, by_theory / 3);
        /* If advantages are not normalised, the surrogate does not begin at 0 and does not measure progress.
         * So only theory counts. */
        settings.updates = UPDATES_PER_ROUND;
        settings.normalize_advantages = 0;
        truth = 0.01;
        assert_good(settle(settings, 100 * ROWS, 1, 0.25), 100, 1, 2 * 0.25 + 1);
        truth = NAN;
}

/* The first rounds tell which law holds. If they change the policy more than the sharp law allows for so few
 * rows, more rows only make the gradient less noisy, and the law of noise holds. */
static void test_far(void) {
        JobSettings settings = settings_new(1, MOST, 1), four = settings_new(4, MOST, 0);
        double usual = 5632.0 / ROWS, limit = 0.028 / sqrt(usual);

        settings.updates = four.updates = UPDATES_PER_DATA;
        settings.normalize_advantages = four.normalize_advantages = 1;
        truth = 0.001;
        furthest = 1.1 * limit;
        assert_good(settle(settings, 0, 1, 0.25), usual, 1, 2 * 0.25 + 1);
        assert_good(settle(settings, 30 * ROWS, 1, 0.25), hypot(usual, 30), 1, 2 * 0.25 + 1);
        settings.time_price = 0;
        g_assert_cmpuint(settle(settings, 0, 1, 0.25), ==, 1);
        /* By the sharp law, four actors get twice as far as one. The factor 2.1 asks for more. */
        furthest = 2.1 * limit;
        g_assert_cmpuint(settle(four, 0, 1, 0.25), ==, 4);
        truth = usual;
        furthest = 0.9 * limit * (1 + usual);
        g_assert_cmpuint(settle(settings, 0, 1, 0.25), >=, (uint32_t) (usual / 4));
        furthest = 1.9 * limit * (4 + usual) / 4;
        g_assert_cmpuint(settle(four, 0, 1, 0.25), >=, (uint32_t) (usual / 4));
        /* If more rows do not mean more gradient steps, the law of noise holds. Then measured progress
         * counts, whether rounds change the policy much (furthest = 100) or little (0.01). */
        settings.updates = UPDATES_PER_ROUND;
        settings.time_price = 1;
        truth = 256;
        furthest = 100;
        g_assert_cmpfloat(loss(settle(settings, 16 * ROWS, 1, 0.25), 256), <, 1.1);
        truth = NAN;
        furthest = 0.01;
}

/* A job with an Objective=, whose rounds a test makes one after the other. */
typedef struct Timed {
        JobSettings settings;
        PriceSheet *sheet;
        Statistics statistics;
        RoundFacts facts;
        SchedulerState state;
        double elapsed_s;
        uint32_t round;
} Timed;

/* A job of 10,240 rows, of which each actor brings ROWS in a round. */
static Timed timed_new(uint32_t objective, double deadline_s) {
        Timed t = {
                .settings = settings_new(1, MOST, 1),
                .sheet = sheet_new(memory_alone),
                .statistics = { .noise_scale = 16 * ROWS, .loss_policy = NAN, .return_mean = NAN },
        };

        t.settings.objective = objective;
        t.settings.deadline_usec = (uint64_t) (deadline_s * 1e6);
        t.settings.stop_steps = 10240;
        scheduler_init(&t.state, SCHEDULER_AUTO);
        return t;
}

/* Makes one decision and its round, in which each actor takes actor_s seconds. */
static void timed_round(Timed *t, double actor_s) {
        SchedulerView view = { &t->settings, t->round > 0 ? &t->statistics : NULL,
                t->round > 0 ? &t->facts : NULL, t->round, NULL, 0, t->sheet };
        uint64_t actor_nsec = (uint64_t) (actor_s * 1e9);

        (void) scheduler_decide(&view, &t->state);
        t->statistics.n_env_steps += t->state.n_actors * ROWS;
        t->facts = (RoundFacts){ .n_actors = t->state.n_actors,
                .learner_nsec = 10000000ull * t->state.n_actors,
                .actor_slowest_nsec = actor_nsec,
                .actor_mean_nsec = actor_nsec,
                .round_nsec = actor_nsec + 10000000ull * t->state.n_actors };
        t->elapsed_s += (double) t->facts.round_nsec / 1e9;
        t->round++;
}

/* Makes four decisions, with rounds of a second between them. Returns the reason of the fourth one. */
static DecisionWhy decide_by(uint32_t objective, double deadline_s, uint32_t *ret_actors) {
        Timed t = timed_new(objective, deadline_s);

        for (uint32_t round = 0; round < 4; round++)
                timed_round(&t, 1);
        price_sheet_free(t.sheet);
        *ret_actors = t.state.n_actors;
        return t.state.why;
}

static void test_objectives(void) {
        uint32_t even, money, relaxed, pressed, late;

        (void) decide_by(OBJECTIVE_COST_TIME, 0, &even);
        (void) decide_by(OBJECTIVE_BUDGET, 0, &money);
        g_assert_cmpuint(money, <, even);
        /* Actors' rows cost the same with any number of actors, but the learner costs less with few: so auto
         * takes few actors if there is time. */
        (void) decide_by(OBJECTIVE_DEADLINE, 1000, &relaxed);
        (void) decide_by(OBJECTIVE_DEADLINE, 10, &pressed);
        g_assert_cmpuint(relaxed, <, pressed);
        g_assert_cmpuint(decide_by(OBJECTIVE_DEADLINE, 10, &pressed).reason, !=, REASON_LATE);
        /* The deadline cannot be met, although it has not passed after three rounds of a second. */
        g_assert_cmpuint(decide_by(OBJECTIVE_DEADLINE, 4, &late).reason, ==, REASON_LATE);
        g_assert_cmpuint(decide_by(OBJECTIVE_DEADLINE, 4, &late).expected_nsec, >, 4000000000);
        g_assert_cmpuint(late, >=, pressed);
        /* If the deadline has passed, auto still takes the fastest number, and says when the job will
         * end. */
        g_assert_cmpuint(decide_by(OBJECTIVE_DEADLINE, 2, &late).reason, ==, REASON_LATE);
        g_assert_cmpuint(decide_by(OBJECTIVE_DEADLINE, 2, &late).expected_nsec, >, 2000000000);
        g_assert_cmpuint(late, >=, pressed);
}

/* One round takes most of the time before a deadline. The next decision says, while there is still time,
 * that the deadline cannot be met. All later decisions say so, too, and expect the job's end in the
 * future. */
static void test_late(void) {
        enum { DEADLINE_S = 20 };
        Timed t = timed_new(OBJECTIVE_DEADLINE, DEADLINE_S);
        double expected_s = 0;

        for (uint32_t round = 0; round < 4; round++) {
                timed_round(&t, round < 3 ? 1 : 16);
                g_assert_cmpuint(t.state.why.reason, !=, REASON_LATE);
        }
        g_assert_cmpfloat(t.elapsed_s, <, DEADLINE_S);
        while (t.statistics.n_env_steps < t.settings.stop_steps) {
                double before_s = t.elapsed_s;

                timed_round(&t, 1);
                g_assert_cmpuint(t.state.why.reason, ==, REASON_LATE);
                expected_s = (double) t.state.why.expected_nsec / 1e9;
                g_assert_cmpfloat(expected_s, >, fmax(before_s, DEADLINE_S));
        }
        g_assert_cmpfloat_with_epsilon(expected_s, t.elapsed_s, 1);
        g_assert_cmpfloat(t.elapsed_s, >, DEADLINE_S);
        price_sheet_free(t.sheet);
}

/* In sixty rounds of one second, a start of one second pays off and one of an hour does not; actors that
 * already run need no start. */
static void test_cold(void) {
        JobSettings settings = settings_new(1, MOST, 1);

        settings.cold_usec = 1000000;
        g_assert_cmpuint(settle(settings, 100 * ROWS, 1, 0.25), >, 1);
        settings.cold_usec = 3600000000;
        g_assert_cmpuint(settle(settings, 100 * ROWS, 1, 0.25), ==, 1);
        settings = settings_new(20, MOST, 1);
        settings.cold_usec = 3600000000;
        g_assert_cmpuint(settle(settings, 0, 1, 0.25), ==, 20);
}

static void test_degenerate(void) {
        JobSettings settings = settings_new(1, 64, 1);

        /* If noise hides the gradient, auto adds actors until more would save less than 5 % of the cost. */
        g_assert_cmpuint(settle(settings, NAN, 1, 0.25), ==, 16);
        g_assert_cmpuint(settle(settings, INFINITY, 1, 0.25), ==, 16);
        /* A rollout of some months. A bill counts memory times time in 64-bit integers. If rollouts were ten
         * times as long, this product would reach its limit, and more actors would seem to cost no more. */
        g_assert_cmpuint(settle(settings, 1e300, 1e7, 1e-9), ==, 16);
        g_assert_cmpuint(settle(settings, 0, 1, 0.25), ==, 1);
        g_assert_cmpuint(settle(settings, -5, 1, 0.25), ==, 1);
        g_assert_cmpuint(settle(settings, 100 * ROWS, 0, 0), ==, 1); /* rounds that take no time */
        settings = settings_new(1, 1, 1);
        g_assert_cmpuint(settle(settings, NAN, 1, 0.25), ==, 1);
        settings = settings_new(5, 7, 1000);
        g_assert_cmpuint(settle(settings, 0, 1, 0.25), ==, 5);
        g_assert_cmpuint(settle(settings, NAN, 1, 0.25), ==, 7);
}

static void test_restored(void) {
        static const Task task = { 300, 30000, 20, 0.5, 0.05, 10 };
        Outcome whole = train(&task, 0, 3, UINT32_MAX);

        for (uint32_t at = 0; at < 40; at++) {
                Outcome parts = train(&task, 0, 3, at);

                g_assert_cmpfloat(parts.cost, ==, whole.cost);
                g_assert_cmpuint(parts.n_changes, ==, whole.n_changes);
        }
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/scheduler/auto/constants", test_constants);
        g_test_add_func("/scheduler/auto/equation", test_equation);
        g_test_add_func("/scheduler/auto/charges", test_charges);
        g_test_add_func("/scheduler/auto/settled", test_settled);
        g_test_add_func("/scheduler/auto/measured", test_measured);
        g_test_add_func("/scheduler/auto/far", test_far);
        g_test_add_func("/scheduler/auto/objectives", test_objectives);
        g_test_add_func("/scheduler/auto/late", test_late);
        g_test_add_func("/scheduler/auto/usual", test_usual);
        g_test_add_func("/scheduler/auto/cold", test_cold);
        g_test_add_func("/scheduler/auto/degenerate", test_degenerate);
        g_test_add_func("/scheduler/auto/restored", test_restored);
        return g_test_run();
}
