/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Policy=auto against every constant number of actors, where training is what its equation says: gradients of A shares of a round are drawn, the noise scale is estimated from
 * them as the learner does, and a round gets as far as 1 / (1 + s / rows) of one without noise. */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "daemon/scheduler/scheduler.h"

#define ROWS         128u /* of an actor's share */
#define DIMENSIONS   40u
#define MOST         64u
#define NOISE_ACTORS 32u /* Learner.NoiseActors= */
#define PARTS_ALONE  8u  /* that the learner makes of an only actor's share */

static JobSettings settings_new(uint32_t lowest, uint32_t highest, double time_price) {
        JobSettings s = {
                .scheduler = { .kind = SCHEDULER_AUTO },
                .n_actors_min = lowest,
                .n_actors_max = highest,
                .envs_per_actor = 4,
                .rollout_steps = ROWS / 4,
                .memory_max_bytes = 1769ull << 20,
                .learner_memory_max_bytes = 1769ull << 20,
                .time_price = time_price,
        };

        s.present[SETTING_Scaling_MaxActors / 64] |= 1ull << (SETTING_Scaling_MaxActors % 64);
        return s;
}

/* What a task and a fleet are like. Times in seconds. */
typedef struct Task {
        double noise_first, noise_last; /* in rows; it grows by equal factors as training goes on */
        double n_rounds;                /* that it takes without noise */
        double actor_s, learner_s;      /* learner: for each actor's share */
        double time_price;
} Task;

static double normal(GRand *rand) {
        return sqrt(-2 * log(1 - g_rand_double(rand))) * cos(2 * G_PI * g_rand_double(rand));
}

/* From a gradient of length one, with as much noise in each of its dimensions. */
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

/* constant 0: auto decides; then its state goes into a checkpoint's row and comes back before round `restored`. */
static Outcome train(const Task *task, uint32_t constant, uint32_t seed, uint32_t restored) {
        JobSettings settings = settings_new(1, MOST, task->time_price);
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
                /* Who was not there before starts cold. */
                double slowest = task->actor_s + (n > before ? 0.3 : 0), learner = task->learner_s * n;

                facts = (RoundFacts){
                        .n_actors = n,
                        .learner_nsec = (uint64_t) (learner * 1e9),
                        .actor_slowest_nsec = (uint64_t) (slowest * 1e9),
                        .actor_mean_nsec = (uint64_t) (slowest * 1e9),
                };
                statistics.noise_scale = measured(rand, noise, n);
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
                g_test_message("task %zu: best constant %u at 1, auto at %.3f with %.1f actors and %.0f changes, worst at %.2f",
                                t, best_n, cost / best, actors, changes, worst / best);
                g_assert_cmpfloat(cost, <, 1.1 * best);
                g_assert_cmpfloat(cost, <, worst / 1.3);
        }
}

/* The same round again and again, told to a scheduler that gets what it decides: where it arrives. A round
 * of A actors gets A / (A + reach) of the way to where a divergence of `limit` ends its trust region, which
 * shrinks with ClipSchedule=linear. Times in seconds. */
static uint32_t settle_within(JobSettings settings, double limit, double reach, double noise, double slowest,
                double learner) {
        Statistics statistics = { .noise_scale = noise };
        RoundFacts facts = {};
        SchedulerState state;
        uint32_t before = 0;

        scheduler_init(&state, SCHEDULER_AUTO);
        for (uint32_t round = 0; round < 60; round++) {
                SchedulerView view = { &settings, round > 0 ? &statistics : NULL, round > 0 ? &facts : NULL,
                        round, NULL, 0 };

                (void) scheduler_decide(&view, &state);
                if (before > 0) {
                        g_assert_cmpuint(state.n_actors, <=, 4 * before);
                        g_assert_cmpuint(4 * state.n_actors, >=, before);
                }
                before = state.n_actors;
                statistics.kl = limit * pow(before / (before + reach), 2);
                if (settings.clip_schedule == SCHEDULE_LINEAR)
                        statistics.kl *= pow(1 - statistics.n_env_steps / (double) settings.stop_steps, 2);
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

/* Nothing limits it. */
static uint32_t settle(JobSettings settings, double noise, double slowest, double learner) {
        return settle_within(settings, NAN, 0, noise, slowest, learner);
}

/* Whether n actors are within 5 % of the best number, where the sum is (1 + b/A) (c0 + c1 A). */
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
        /* Whether all is ten times as fast does not matter, nor what all costs. */
        g_assert_cmpuint(settle(settings, 100 * ROWS, 0.1, 0.025), ==, n);
        other.memory_max_bytes *= 4;
        other.learner_memory_max_bytes *= 4;
        g_assert_cmpuint(settle(other, 100 * ROWS, 1, 0.25), ==, n);
        /* Cheap actors are bought. */
        other.memory_max_bytes = settings.memory_max_bytes / 100;
        other.learner_memory_max_bytes = settings.learner_memory_max_bytes;
        assert_good(settle(other, 100 * ROWS, 1, 0.01), 100, 1, 2 * 0.01 + 0.01);
        /* A fleet's actors cost nothing more. */
        other = settings;
        other.convention = CONVENTION_SERVER;
        assert_good(settle(other, 100 * ROWS, 1, 0.25), 100, 1, 0.25);
        /* Time for nothing buys nobody; dear time buys those whose rows are worth their updates. */
        settings.time_price = 0;
        g_assert_cmpuint(settle(settings, ROWS, 1, 0.25), ==, 1);
        settings.time_price = 1000;
        assert_good(settle(settings, 100 * ROWS, 1, 0.25), 100, 1000, 1001 * 0.25 + 1);
        g_assert_cmpuint(settle(settings, 100 * ROWS, 1, 0), ==, MOST);
}

static void test_reach(void) {
        JobSettings settings = settings_new(1, MOST, 1);

        settings.updates = UPDATES_PER_DATA;
        settings.clip = 0.2;
        assert_good(settle_within(settings, 0.02, 100, 0, 1, 0.25), 100, 1, 2 * 0.25 + 1);
        assert_good(settle_within(settings, 0.02, 60, 40 * ROWS, 1, 0.25), 100, 1, 2 * 0.25 + 1);
        /* The narrowest limit counts, and what is not in force does not. */
        settings.kl_target = 0.01;
        assert_good(settle_within(settings, 0.02, 100, 0, 1, 0.25), 100, 1, 2 * 0.25 + 1);
        settings.kl_weight = 0.2;
        assert_good(settle_within(settings, 0.01, 100, 0, 1, 0.25), 100, 1, 2 * 0.25 + 1);
        settings.kl_stop = 0.005;
        settings.present[SETTING_Learner_KLStop / 64] |= 1ull << (SETTING_Learner_KLStop % 64);
        assert_good(settle_within(settings, 0.005, 100, 0, 1, 0.25), 100, 1, 2 * 0.25 + 1);
        /* As far as it may, and beyond: noise alone decides. */
        g_assert_cmpuint(settle_within(settings, 0.005, 0, 0, 1, 0.25), ==, 1);
        g_assert_cmpuint(settle_within(settings, 0.1, 0, 0, 1, 0.25), ==, 1);
        /* Nothing was measured, or the policy did not move. */
        g_assert_cmpuint(settle_within(settings, NAN, 100, 0, 1, 0.25), ==, 1);
        g_assert_cmpuint(settle_within(settings, 0, 100, 0, 1, 0.25), ==, 1);
        /* IMPACT's divergence is that from its target network. */
        settings.algorithm = ALGORITHM_IMPACT;
        g_assert_cmpuint(settle_within(settings, 0.005, 100, 0, 1, 0.25), ==, 1);
        settings.algorithm = ALGORITHM_PPO;
        /* More rows are no more steps. */
        settings.updates = UPDATES_PER_ROUND;
        g_assert_cmpuint(settle_within(settings, 0.005, 100, 0, 1, 0.25), ==, 1);
        settings.updates = UPDATES_FULL_BATCH;
        g_assert_cmpuint(settle_within(settings, 0.005, 100, 0, 1, 0.25), ==, 1);
}

/* The clip range of the round that the divergence is of: the one that it began with. */
static void test_clip_schedule(void) {
        JobSettings settings = settings_new(1, MOST, 1);
        Statistics statistics = { .noise_scale = 0, .kl = 0.02 / 100 };
        RoundFacts facts = { .n_actors = 4, .actor_slowest_nsec = 1000, .actor_mean_nsec = 1000 };
        SchedulerView view = { .settings = &settings };
        SchedulerState state;

        settings.updates = UPDATES_PER_DATA;
        settings.clip = 0.2;
        settings.clip_schedule = SCHEDULE_LINEAR;
        settings.stop_steps = 61 * ROWS;
        /* As far as it may in each of sixty rounds of an actor, the last of which may hardly move. */
        g_assert_cmpuint(settle_within(settings, 0.02, 0, 0, 1, 0.25), ==, 1);
        settings.stop_steps = 61 * 20 * ROWS;
        assert_good(settle_within(settings, 0.02, 100, 0, 1, 0.25), 100, 1, 2 * 0.25 + 1);

        /* The first round began with all of it, though it is the last. */
        settings.n_actors_min = 4;
        settings.stop_steps = 4 * ROWS;
        settings.time_price = 1000;
        scheduler_init(&state, SCHEDULER_AUTO);
        (void) scheduler_decide(&view, &state);
        g_assert_cmpuint(state.n_actors, ==, 4);
        statistics.n_env_steps = 4 * ROWS;
        view = (SchedulerView){
                .settings = &settings, .statistics = &statistics, .facts = &facts, .round = 1
        };
        (void) scheduler_decide(&view, &state);
        g_assert_cmpuint(state.n_actors, ==, 16);
        /* One that began when nothing was left of it may not get further. */
        statistics.n_env_steps = 8 * ROWS;
        scheduler_init(&state, SCHEDULER_AUTO);
        (void) scheduler_decide(&(SchedulerView){ .settings = &settings }, &state);
        (void) scheduler_decide(&view, &state);
        g_assert_cmpuint(state.n_actors, ==, 4);
}

/* Sixty rounds of a second: a start of one second pays in time, one of an hour does not, and what is there needs none. */
static void test_cold(void) {
        JobSettings settings = settings_new(1, MOST, 1);

        settings.cold_usec = 1000000;
        g_assert_cmpuint(settle(settings, 100 * ROWS, 1, 0.25), >, 1);
        settings.cold_usec = 3600000000;
        g_assert_cmpuint(settle(settings, 100 * ROWS, 1, 0.25), ==, 1);
        settings.convention = CONVENTION_SERVER;
        g_assert_cmpuint(settle(settings, 100 * ROWS, 1, 0.25), ==, 1);
        settings = settings_new(20, MOST, 1);
        settings.cold_usec = 3600000000;
        g_assert_cmpuint(settle(settings, 0, 1, 0.25), ==, 20);
}

static void test_degenerate(void) {
        JobSettings settings = settings_new(1, 64, 1);

        /* Noise hides the gradient: as many as it takes for the actor's time not to matter any more. */
        g_assert_cmpuint(settle(settings, NAN, 1, 0.25), ==, 16);
        g_assert_cmpuint(settle(settings, INFINITY, 1, 0.25), ==, 16);
        g_assert_cmpuint(settle(settings, 1e300, 1e9, 1e-9), ==, 16);
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
        g_test_add_func("/scheduler/auto/reach", test_reach);
        g_test_add_func("/scheduler/auto/clip-schedule", test_clip_schedule);
        g_test_add_func("/scheduler/auto/cold", test_cold);
        g_test_add_func("/scheduler/auto/degenerate", test_degenerate);
        g_test_add_func("/scheduler/auto/restored", test_restored);
        return g_test_run();
}
