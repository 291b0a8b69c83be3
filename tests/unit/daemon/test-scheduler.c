/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Each scheduler chooses the expected numbers of actors, within the job's limits. A scheduler's state comes
 * back unchanged from a checkpoint's row. */
#include <errno.h>
#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/scheduler/scheduler.h"
#include "tests/unit/sheet-fixture.h"

static JobSettings settings_of(uint32_t actors, uint32_t lowest, uint32_t highest) {
        JobSettings s = { .n_actors = actors, .n_actors_min = lowest, .n_actors_max = highest };

        s.window = 6;
        s.decay = 0.96;
        if (highest > 0)
                s.present[SETTING_Scaling_MaxActors / 64] |= 1ull << (SETTING_Scaling_MaxActors % 64);
        return s;
}

static PriceSheet *sheet; /* for schedulers that weigh money */

typedef struct View {
        const void *data;
        size_t n;
} View; /* the data that a scheduler gets */

/* Decides for round after round, as a daemon does, and closes each round with its statistics. ret[i]: the
 * number of actors for round i + 1. Before round `restored` the state goes into a checkpoint's row and comes
 * back. */
static void run_with(const JobSettings *settings, const Statistics *statistics, View data, uint32_t restored,
                uint32_t n, uint32_t ret[]) {
        SchedulerState state, row;

        scheduler_init(&state, settings->scheduler.kind);
        for (uint32_t i = 0; i < n; i++) {
                RoundFacts facts = { .n_actors = i > 0 ? ret[i - 1] : 0, .budget_left_nano = UINT64_MAX };
                SchedulerView view = {
                        .settings = settings,
                        .statistics = i > 0 ? &statistics[i - 1] : NULL,
                        .facts = i > 0 ? &facts : NULL,
                        .round = i,
                        .data = data.data,
                        .n_data = data.n,
                        .sheet = sheet,
                };

                if (i == restored) {
                        row = state;
                        memset(&state, 0xff, sizeof(state));
                        g_assert_cmpint(scheduler_restore(
                                                        &state, settings->scheduler.kind, &row, sizeof(row)),
                                        ==, 0);
                }
                (void) scheduler_decide(&view, &state);
                ret[i] = state.n_actors;
        }
}

static void run(const JobSettings *settings, const Statistics *statistics, uint32_t n, uint32_t ret[]) {
        run_with(settings, statistics, (View){}, n, n, ret);
}

/* The decisions of a scheduler that reads no statistics. */
static void run_blind(const JobSettings *settings, uint32_t n, uint32_t ret[]) {
        g_autofree Statistics *statistics = g_new0(Statistics, n);

        run(settings, statistics, n, ret);
}

static uint32_t decide(const JobSettings *settings, uint64_t round) {
        Statistics statistics = {};
        RoundFacts facts = {};
        SchedulerView view = { settings, &statistics, &facts, round, NULL, 0, sheet };
        SchedulerState state;

        scheduler_init(&state, settings->scheduler.kind);
        g_assert_cmpint(scheduler_decide(&view, &state), ==, 1);
        return scheduler_decision(&state).n_actors;
}

static void test_limits(void) {
        JobSettings plain = settings_of(8, 1, 0), cut = settings_of(8, 1, 3), raised = settings_of(2, 4, 16),
                    nonsense = settings_of(2, 9, 3);

        g_assert_cmpuint(decide(&plain, 0), ==, 8);
        g_assert_cmpuint(decide(&plain, 1000), ==, 8);
        g_assert_cmpuint(decide(&cut, 0), ==, 3);
        g_assert_cmpuint(decide(&raised, 0), ==, 4);
        g_assert_cmpuint(decide(&nonsense, 0), ==, 3); /* MaxActors= wins: there is memory for 3 actors */
}

static void test_state(void) {
        JobSettings settings = settings_of(8, 1, 0);
        Statistics statistics = {};
        RoundFacts facts = {};
        SchedulerView view = { &settings, &statistics, &facts, 4, NULL, 0, sheet };
        SchedulerState state, copy;

        scheduler_init(&state, SCHEDULER_FIXED);
        g_assert_cmpint(scheduler_decide(&view, &state), ==, 1);
        g_assert_cmpint(scheduler_decide(&view, &state), ==, 0);
        view.round = 5;
        g_assert_cmpint(scheduler_decide(&view, &state), ==, 0); /* one decision for the whole job */
        g_assert_cmpuint(scheduler_decision(&state).id, ==, 1);
        g_assert_cmpuint(state.decided_round, ==, 5);
        g_assert_false(scheduler_has(state.policy, TRAIT_DECIDES));

        g_assert_cmpint(scheduler_restore(&copy, SCHEDULER_FIXED, &state, sizeof(state)), ==, 0);
        g_assert_cmpmem(&copy, sizeof(copy), &state, sizeof(state));

        /* A row that was cut, or is of another version, leaves the state alone. */
        g_assert_cmpint(scheduler_restore(&copy, SCHEDULER_FIXED, &state, sizeof(state) - 1), ==, -EBADMSG);
        g_assert_cmpint(scheduler_restore(&copy, SCHEDULER_FIXED, NULL, 0), ==, -EBADMSG);
        state.abi++;
        g_assert_cmpint(scheduler_restore(&copy, SCHEDULER_FIXED, &state, sizeof(state)), ==, -EBADMSG);
        g_assert_cmpuint(copy.abi, ==, SCHEDULER_ABI);
}

static void test_once(void) {
        JobSettings settings = settings_of(1, 1, 1000);
        Statistics statistics = {};
        RoundFacts facts = {};
        SchedulerView view = { &settings, &statistics, &facts, 1, NULL, 0, sheet };
        SchedulerState state;
        Decision first;

        settings.scheduler.kind = SCHEDULER_RANDOM;
        scheduler_init(&state, SCHEDULER_RANDOM);
        g_assert_true(scheduler_has(state.policy, TRAIT_DECIDES));
        g_assert_cmpint(scheduler_decide(&view, &state), ==, 1);
        first = scheduler_decision(&state);

        /* Another call for the same round makes no new decision. */
        g_assert_cmpint(scheduler_decide(&view, &state), ==, 0);
        g_assert_cmpuint(scheduler_decision(&state).id, ==, first.id);
        view.round = 2;
        g_assert_cmpint(scheduler_decide(&view, &state), ==, 1);
        g_assert_cmpuint(scheduler_decision(&state).id, ==, first.id + 1);
}

static void test_clip(void) {
        JobSettings settings = settings_of(1, 2, 9);

        g_assert_cmpuint(scheduler_clip(&settings, NAN), ==, 2);
        g_assert_cmpuint(scheduler_clip(&settings, -INFINITY), ==, 2);
        g_assert_cmpuint(scheduler_clip(&settings, 1.9), ==, 2);
        g_assert_cmpuint(scheduler_clip(&settings, 4.999), ==, 4);
        g_assert_cmpuint(scheduler_clip(&settings, 1e300), ==, 9);
        g_assert_cmpuint(scheduler_clip(&settings, INFINITY), ==, 9);
}

static void test_data(void) {
        JobSettings settings = settings_of(1, 2, 9);
        g_autofree char *message = NULL;

        g_assert_cmpint(scheduler_check(&settings, NULL, 0, &message), ==, 0);
        g_assert_null(message);
        g_assert_cmpint(scheduler_check(&settings, "x", 1, &message), ==, -EINVAL);
        g_assert_cmpstr(message, ==, "Policy=fixed takes no data");
}

static void test_max(void) {
        JobSettings settings = settings_of(1, 2, 9);
        uint32_t n[3];

        settings.scheduler.kind = SCHEDULER_MAX;
        run_blind(&settings, 3, n);
        for (size_t i = 0; i < G_N_ELEMENTS(n); i++)
                g_assert_cmpuint(n[i], ==, 9);
}

static void test_hydrozoa(void) {
        JobSettings settings = settings_of(1, 3, 20);
        uint32_t n[200];

        settings.scheduler.kind = SCHEDULER_HYDROZOA;
        run_blind(&settings, 200, n);
        g_assert_cmpuint(n[0], ==, 3);
        g_assert_cmpuint(n[9], ==, 3); /* rounds 1 to 10 are alike */
        g_assert_cmpuint(n[10], ==, 6);
        g_assert_cmpuint(n[20], ==, 12);
        g_assert_cmpuint(n[30], ==, 20);
        g_assert_cmpuint(n[199], ==, 20);
        g_assert_cmpuint(decide(&settings, UINT64_MAX - 1), ==, 20);
}

static void test_random(void) {
        JobSettings settings = settings_of(1, 3, 20);
        uint32_t n[18000], again[18000], counts[21] = {};

        settings.scheduler.kind = SCHEDULER_RANDOM;
        settings.seed = 7;
        run_blind(&settings, G_N_ELEMENTS(n), n);
        for (size_t i = 0; i < G_N_ELEMENTS(n); i++)
                counts[n[i]]++;
        /* Each number is expected 1,000 times. The limits are five standard deviations away. */
        for (uint32_t i = 3; i <= 20; i++)
                g_assert_true(counts[i] > 845 && counts[i] < 1155);

        run_blind(&settings, G_N_ELEMENTS(n), again);
        g_assert_cmpmem(n, sizeof(n), again, sizeof(again));
        settings.seed = 8;
        run_blind(&settings, G_N_ELEMENTS(n), again);
        g_assert_cmpint(memcmp(n, again, sizeof(n)), !=, 0);
}

static uint32_t sum(const uint32_t n[], size_t count) {
        uint32_t total = 0;

        for (size_t i = 0; i < count; i++)
                total += n[i];
        return total;
}

static void test_schedule(void) {
        JobSettings settings = settings_of(1, 1, 40);
        uint32_t n[40];

        settings.scheduler.kind = SCHEDULER_SCHEDULE;
        settings.schedule = (setting_counts){ 3, 0, { { 40, 10 }, { 30, 5 }, { 20, 1 } } };
        run_blind(&settings, 40, n);
        g_assert_cmpuint(n[0], ==, 40);
        g_assert_cmpuint(n[9], ==, 40);
        g_assert_cmpuint(n[10], ==, 30);
        g_assert_cmpuint(n[14], ==, 30);
        g_assert_cmpuint(n[15], ==, 20);
        g_assert_cmpuint(n[39], ==, 20); /* the last stays */
        g_assert_cmpuint(sum(n, 40), ==, 400 + 150 + 500);
}

static void test_adapt(void) {
        static const double returns[] = { -200, NAN, -150, -100, -100, -100, -50, 0, 0, 0, 0, 0 };
        Statistics statistics[G_N_ELEMENTS(returns)];
        JobSettings settings = settings_of(1, 2, 32);
        uint32_t n[G_N_ELEMENTS(returns) + 1];

        for (size_t i = 0; i < G_N_ELEMENTS(returns); i++)
                statistics[i] = (Statistics){ .return_round = returns[i], .evaluation_mean = NAN };
        settings.scheduler.kind = SCHEDULER_ADAPT;
        settings.target_return = 0;
        settings.present[SETTING_Scaling_TargetReturn / 64] |= 1ull << (SETTING_Scaling_TargetReturn % 64);
        run(&settings, statistics, G_N_ELEMENTS(n), n);

        g_assert_cmpuint(n[0], ==, 2);   /* nothing is known */
        g_assert_cmpuint(n[1], ==, 2);   /* (-200 + 200) / 200 */
        g_assert_cmpuint(n[2], ==, 2);   /* no episode ended */
        g_assert_cmpuint(n[3], ==, 4);   /* mean -175, first return -200: 32 * 25 / 200 */
        g_assert_cmpuint(n[4], ==, 8);   /* mean -150 */
        g_assert_cmpuint(n[6], ==, 11);  /* mean of five -130: 11.2 */
        g_assert_cmpuint(n[7], ==, 16);  /* mean of the newest five, without -200: -100 */
        g_assert_cmpuint(n[12], ==, 32); /* the target */

        /* In a job that evaluates, returns of rollouts are not mixed with those of evaluations. */
        settings.evaluation_episodes = 10;
        statistics[0].evaluation_mean = -100;
        statistics[2].evaluation_mean = -50;
        run(&settings, statistics, 4, n);
        g_assert_cmpuint(n[3], ==, 8); /* mean -75, first return -100: 32 * 25 / 100 */

        settings.target_return = -100;
        run(&settings, statistics, 2, n);
        g_assert_cmpuint(n[1], ==, 32); /* the first return is the target */
}

static void test_nitro(void) {
        static const double ratios[] = { 2, 1, 3, INFINITY, 1.5, 1.5, 10, 1.5 };
        Statistics statistics[G_N_ELEMENTS(ratios)];
        JobSettings settings = settings_of(1, 8, 64);
        uint32_t n[G_N_ELEMENTS(ratios) + 1];

        for (size_t i = 0; i < G_N_ELEMENTS(ratios); i++)
                statistics[i] = (Statistics){ .curvature_ratio = ratios[i] };
        settings.scheduler.kind = SCHEDULER_NITRO;
        run(&settings, statistics, G_N_ELEMENTS(n), n);

        g_assert_cmpuint(n[0], ==, 8);
        g_assert_cmpuint(n[1], ==, 8);  /* only one ratio is known */
        g_assert_cmpuint(n[2], ==, 56); /* the lowest ratio; in round 3: 64 * 0.96^3 = 56.6 */
        g_assert_cmpuint(n[3], ==, 8);  /* the highest ratio */
        g_assert_cmpuint(n[4], ==, 8);  /* infinity (no negative curvature) has the score 0 */
        g_assert_cmpuint(n[5], ==, 37); /* (3 - 1.5) / (3 - 1) = 0.75; 64 * 0.75 * 0.96^6 = 37.6 */
        g_assert_cmpuint(n[6], ==, 36); /* infinity did not enter the window: 64 * 0.75 * 0.96^7 = 36.07 */
        /* The window has six values, and 2 has left it: 1 3 1.5 1.5 10 1.5. So the number is
         * 8.5 / 9 * 64 * 0.96^9 = 41.9. */
        g_assert_cmpuint(n[8], ==, 41);

        /* A window of two, and values that are all the same. */
        settings.window = 2;
        run(&settings, statistics, 7, n);
        g_assert_cmpuint(n[3], ==, 8);
        g_assert_cmpuint(n[5], ==, 50); /* 3 and 1.5: the lowest, 64 * 0.96^6 = 50.1 */
        g_assert_cmpuint(n[6], ==, 8);  /* 1.5 and 1.5 */
}

static void test_nitro_code(void) {
        static const double ratios[] = { 2, 1, 3, NAN, 0.5, 0.5, 0.5, 0.5 };
        Statistics statistics[G_N_ELEMENTS(ratios)];
        JobSettings settings = settings_of(1, 8, 64);
        uint32_t n[G_N_ELEMENTS(ratios) + 1];

        for (size_t i = 0; i < G_N_ELEMENTS(ratios); i++)
                statistics[i] = (Statistics){ .curvature_loss = ratios[i] };
        settings.scheduler.kind = SCHEDULER_NITRO_CODE;
        run(&settings, statistics, G_N_ELEMENTS(n), n);

        /* daemon/scheduler/nitro-code.c explains scores and the floor. */
        g_assert_cmpuint(n[0], ==, 16);
        g_assert_cmpuint(n[1], ==, 64); /* the first score is 1 */
        g_assert_cmpuint(n[2], ==, 54); /* 0.9216 is the lowest of 1.92 2 0.9216: the floor, 64 * 0.96^4 */
        g_assert_cmpuint(n[3], ==, 64); /* 3 * 0.96^3 = 2.65 is the highest, 3 comes afterwards */
        g_assert_cmpuint(n[4], ==, 33); /* not a number: the floor, 64 * 0.96^16 */
        g_assert_cmpuint(n[5], ==, 23); /* the lowest: 64 * 0.96^25 */
        g_assert_cmpuint(n[6], ==, 14);
        g_assert_cmpuint(n[7], ==, 8);

        settings = settings_of(1, 1, 10);
        settings.scheduler.kind = SCHEDULER_NITRO_CODE;
        run(&settings, statistics, 1, n);
        g_assert_cmpuint(n[0], ==, 10);
}

static void test_kungfu(void) {
        static const double scales[] = { NAN, -3, 100, 50, 150, 150, 90, 1000 };
        static const uint32_t want[] = { 8, 8, 8, 8, 8, 12, 18, 18, 64 };
        Statistics statistics[G_N_ELEMENTS(scales)];
        JobSettings settings = settings_of(1, 8, 64);
        uint32_t n[G_N_ELEMENTS(want)];

        for (size_t i = 0; i < G_N_ELEMENTS(scales); i++)
                statistics[i] = (Statistics){ .noise_scale = scales[i] };
        settings.scheduler.kind = SCHEDULER_KUNGFU;
        run(&settings, statistics, G_N_ELEMENTS(n), n);
        g_assert_cmpmem(n, sizeof(n), want, sizeof(want));
}

static void test_decay_only(void) {
        JobSettings settings = settings_of(1, 8, 64);
        uint32_t n[50];

        settings.scheduler.kind = SCHEDULER_DECAY_ONLY;
        run_blind(&settings, 50, n);
        g_assert_cmpuint(n[0], ==, 61);
        g_assert_cmpuint(n[49], ==, 8);
        g_assert_cmpuint(sum(n, 50), ==, 1317); /* 64 * 0.96^(k + 1) in round k, rounded down */
}

/* The number of actors that the noise scheduler uses in 50 rounds. A simulation apart from this program
 * gives 753 +- 53 if the score of the first round is 0. It gives 806 +- 53 if that score is 1, since then
 * the first round has 61 actors instead of 8. */
static void test_noise(void) {
        JobSettings settings = settings_of(1, 8, 64);
        double mean = 0, squares = 0;
        enum { RUNS = 2000 };
        uint32_t n[50];

        settings.scheduler.kind = SCHEDULER_NOISE;
        for (settings.seed = 1; settings.seed <= RUNS; settings.seed++) {
                double total;

                run_blind(&settings, 50, n);
                g_assert_cmpuint(n[0], ==, 8);
                total = sum(n, 50) - n[0] + 61;
                mean += total / RUNS;
                squares += total * total / RUNS;
        }
        g_assert_cmpfloat(fabs(mean - 806), <, 6); /* five standard errors */
        g_assert_cmpfloat(fabs(sqrt(squares - mean * mean) - 53), <, 5);
}

/* Each scheduler, in rounds with all statistics. If it is interrupted after any round and restored from a
 * checkpoint's state, it makes the same decisions. */
static void test_restored(void) {
        enum { ROUNDS = 60 };
        static const uint32_t counts[] = { 9, 3, 14, 2, 16, 5 };
        Statistics statistics[ROUNDS];
        uint32_t whole[ROUNDS], parts[ROUNDS];
        g_autoptr(GRand) rand = g_rand_new_with_seed(1);

        for (uint32_t i = 0; i < ROUNDS; i++)
                statistics[i] = (Statistics){
                        .return_round = g_rand_double_range(rand, -5, 5) + i,
                        .evaluation_mean = NAN,
                        .curvature_ratio = i % 7 == 3 ? INFINITY : g_rand_double_range(rand, 0, 9),
                        .curvature_loss = g_rand_double_range(rand, 0, 9),
                        .noise_scale = g_rand_double_range(rand, 1, 2),
                };

        for (uint32_t kind = 0; kind < _SCHEDULER_MAX; kind++) {
                JobSettings settings = settings_of(4, 2, 16);
                View data = { counts, sizeof(counts) };

                /* minions needs a network as its data: test-scheduler-minions.c has its tests. */
                if (kind == SCHEDULER_MINIONS)
                        continue;
                settings.scheduler.kind = kind;
                settings.schedule = (setting_counts){ 2, 0, { { 4, 20 }, { 8, 20 } } };
                settings.time_price = 1;
                settings.stop_return = 60;
                settings.present[SETTING_Job_StopReturn / 64] |= 1ull << (SETTING_Job_StopReturn % 64);
                if (!scheduler_has(kind, TRAIT_TAKES_JOB))
                        data = (View){};
                run_with(&settings, statistics, data, ROUNDS, ROUNDS, whole);
                for (uint32_t at = 1; at < ROUNDS; at++) {
                        run_with(&settings, statistics, data, at, ROUNDS, parts);
                        g_assert_cmpmem(parts, sizeof(parts), whole, sizeof(whole));
                }
        }
}

/* A scheduler depends on evaluations exactly if its rounds wait for them (settings_await_evaluations()). Any
 * other scheduler decides before the evaluation is played. */
static void test_awaits(void) {
        enum { ROUNDS = 40 };
        static const uint32_t counts[] = { 9, 3, 14, 2, 16, 5 };
        Statistics without[ROUNDS], with[ROUNDS];
        g_autoptr(GRand) rand = g_rand_new_with_seed(2);

        for (uint32_t i = 0; i < ROUNDS; i++) {
                without[i] = (Statistics){
                        .return_round = g_rand_double_range(rand, -5, 5) + i,
                        .evaluation_mean = NAN,
                        .evaluation_sd = NAN,
                        .curvature_ratio = g_rand_double_range(rand, 0, 9),
                        .curvature_loss = g_rand_double_range(rand, 0, 9),
                        .noise_scale = g_rand_double_range(rand, 1, 2),
                };
                with[i] = without[i];
                with[i].evaluation_mean = g_rand_double_range(rand, -5, 5) + 2.0 * i - 50;
                with[i].evaluation_sd = 1;
        }

        for (uint32_t kind = 0; kind < _SCHEDULER_MAX; kind++) {
                JobSettings settings = settings_of(4, 2, 16);
                View data = { counts, sizeof(counts) };
                uint32_t before[ROUNDS], after[ROUNDS];

                settings.scheduler.kind = kind;
                settings.evaluation_episodes = 1;
                settings.schedule = (setting_counts){ 2, 0, { { 4, 20 }, { 8, 20 } } };
                settings.time_price = 1;
                settings.target_return = 60;
                settings.present[SETTING_Scaling_TargetReturn / 64] |=
                                1ull << (SETTING_Scaling_TargetReturn % 64);
                if (kind == SCHEDULER_MINIONS) {
                        g_assert_true(settings_await_evaluations(&settings));
                        continue;
                }
                if (!scheduler_has(kind, TRAIT_TAKES_JOB))
                        data = (View){};
                run_with(&settings, without, data, ROUNDS, ROUNDS, before);
                run_with(&settings, with, data, ROUNDS, ROUNDS, after);
                g_assert_cmpint(memcmp(before, after, sizeof(before)) != 0, ==,
                                settings_await_evaluations(&settings));
        }
}

static void test_replay(void) {
        static const uint32_t counts[] = { 9, 3, 14, 2, 16, 5 };
        JobSettings settings = settings_of(1, 2, 16);
        View data = { counts, sizeof(counts) };
        Statistics statistics[8] = {};
        g_autofree char *message = NULL;
        uint32_t n[8];

        settings.scheduler.kind = SCHEDULER_REPLAY;
        run_with(&settings, statistics, data, 8, 8, n);
        g_assert_cmpmem(n, sizeof(counts), counts, sizeof(counts));
        g_assert_cmpuint(n[6], ==, 5);
        g_assert_cmpuint(n[7], ==, 5);

        g_assert_cmpint(scheduler_check(&settings, counts, sizeof(counts), &message), ==, 0);
        g_assert_cmpint(scheduler_check(&settings, NULL, 0, &message), ==, -EINVAL);
        g_clear_pointer(&message, g_free);
        g_assert_cmpint(scheduler_check(&settings, counts, 7, &message), ==, -EINVAL);
        g_clear_pointer(&message, g_free);
        settings.n_actors_max = 15;
        g_assert_cmpint(scheduler_check(&settings, counts, sizeof(counts), &message), ==, -EINVAL);
        g_assert_nonnull(strstr(message, "round 5 had 16 actors"));
}

/* If rounds overlap, a replay also repeats which actor each round learned from, for the rounds that the list
 * has. Impossible lists are refused. */
static void test_replay_taken(void) {
#define PACKED(n, actor) ((n) | ((actor) + 1u) << DECISION_TAKEN_SHIFT)
        uint32_t decisions[] = { PACKED(3, 1u), PACKED(1, 0u), PACKED(1, 2u), PACKED(3, 2u) };
        JobSettings settings = settings_of(1, 1, 3);
        SchedulerState state;
        Statistics statistics = {};
        RoundFacts facts = {};
        g_autofree char *message = NULL;

        settings.scheduler.kind = SCHEDULER_REPLAY;
        settings.distribution = DISTRIBUTION_ASYNC;
        g_assert_cmpint(scheduler_check(&settings, decisions, sizeof(decisions), &message), ==, 0);
        for (unsigned k = 0; k < 2; k++) {
                settings.distribution = k == 0 ? DISTRIBUTION_ASYNC : DISTRIBUTION_COARSE;
                scheduler_init(&state, SCHEDULER_REPLAY);
                for (uint64_t round = 0; round < 6; round++) {
                        SchedulerView view = { .settings = &settings,
                                .statistics = &statistics,
                                .facts = &facts,
                                .round = round,
                                .data = decisions,
                                .n_data = sizeof(decisions) };
                        uint32_t packed = decisions[MIN(round, 3)];

                        g_assert_cmpint(scheduler_decide(&view, &state), ==, 1);
                        g_assert_cmpuint(state.n_actors, ==, packed & DECISION_ACTORS_MASK);
                        g_assert_cmpuint(scheduler_decision(&state).taken, ==,
                                        k == 0 && round < 4 ? packed >> DECISION_TAKEN_SHIFT : 0);
                }
        }

        /* Round 3 took actor 2's rollout. Round 4 has one actor, so actor 2 cannot have begun another
         * rollout. */
        decisions[3] = PACKED(1, 2u);
        g_assert_cmpint(scheduler_check(&settings, decisions, sizeof(decisions), &message), ==, 0);
        settings.distribution = DISTRIBUTION_ASYNC;
        g_assert_cmpint(scheduler_check(&settings, decisions, sizeof(decisions), &message), ==, -EINVAL);
        g_assert_nonnull(strstr(message, "round 4 took actor 2"));
        g_clear_pointer(&message, g_free);
        decisions[3] = PACKED(3, 65534u);
        g_assert_cmpint(scheduler_check(&settings, decisions, sizeof(decisions), &message), ==, -EINVAL);
        g_clear_pointer(&message, g_free);
        decisions[3] = PACKED(3, 1u);
        decisions[1] &= DECISION_ACTORS_MASK;
        g_assert_cmpint(scheduler_check(&settings, decisions, sizeof(decisions), &message), ==, -EINVAL);
}

static int compare(const void *a, const void *b) {
        return *(const int32_t *) a - *(const int32_t *) b;
}

static void test_permuted(void) {
        enum { N = 500, SEEDS = 400 };
        JobSettings settings = settings_of(1, 1, 1000);
        g_autofree Statistics *statistics = g_new0(Statistics, N);
        uint32_t counts[N], n[N], first = 0;
        View data = { counts, sizeof(counts) };

        for (uint32_t i = 0; i < N; i++)
                counts[i] = i + 1;
        settings.scheduler.kind = SCHEDULER_PERMUTED;
        for (settings.seed = 1; settings.seed <= 3; settings.seed++) {
                run_with(&settings, statistics, data, N, N, n);
                g_assert_cmpint(memcmp(n, counts, sizeof(n)), !=, 0);
                qsort(n, N, sizeof(*n), compare);
                g_assert_cmpmem(n, sizeof(n), counts, sizeof(counts));
        }

        /* Each number comes first with the same chance: the mean of 400 first numbers, from 1 to 500, is
         * 250.5 +- 7.2. */
        for (settings.seed = 1; settings.seed <= SEEDS; settings.seed++) {
                run_with(&settings, statistics, data, 1, 1, n);
                first += n[0];
        }
        g_assert_cmpfloat(fabs((double) first / SEEDS - 250.5), <, 36);
}

int main(int argc, char **argv) {
        g_autoptr(PriceSheet) own =
                        sheet_new(SHEET("[Execution]\nGBSecond=0.0000166667\nRequest=0.0000002\n"));

        sheet = own;
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/scheduler/limits", test_limits);
        g_test_add_func("/scheduler/state", test_state);
        g_test_add_func("/scheduler/once", test_once);
        g_test_add_func("/scheduler/clip", test_clip);
        g_test_add_func("/scheduler/data", test_data);
        g_test_add_func("/scheduler/max", test_max);
        g_test_add_func("/scheduler/hydrozoa", test_hydrozoa);
        g_test_add_func("/scheduler/random", test_random);
        g_test_add_func("/scheduler/schedule", test_schedule);
        g_test_add_func("/scheduler/adapt", test_adapt);
        g_test_add_func("/scheduler/nitro", test_nitro);
        g_test_add_func("/scheduler/nitro-code", test_nitro_code);
        g_test_add_func("/scheduler/kungfu", test_kungfu);
        g_test_add_func("/scheduler/decay-only", test_decay_only);
        g_test_add_func("/scheduler/noise", test_noise);
        g_test_add_func("/scheduler/restored", test_restored);
        g_test_add_func("/scheduler/awaits", test_awaits);
        g_test_add_func("/scheduler/replay", test_replay);
        g_test_add_func("/scheduler/replay-taken", test_replay_taken);
        g_test_add_func("/scheduler/permuted", test_permuted);
        return g_test_run();
}
