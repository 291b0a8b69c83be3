/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Counts within their limits; a state that goes into a checkpoint's row and comes back. */
#include <errno.h>
#include <glib.h>
#include <math.h>
#include <string.h>

#include "daemon/queue.h"
#include "daemon/scheduler.h"

static JobSettings settings_of(uint32_t actors, uint32_t lowest, uint32_t highest) {
        JobSettings s = { .n_actors = actors, .n_actors_min = lowest, .n_actors_max = highest };

        if (highest > 0)
                s.present[SETTING_Scaling_MaxActors / 64] |= 1ull << (SETTING_Scaling_MaxActors % 64);
        return s;
}

/* Round after round, as a daemon does it: decide, close the round with these statistics, decide … ret[i]: of round i + 1. */
static void run_on(SchedulerState *state, const JobSettings *settings, const Statistics *statistics,
                uint32_t from, uint32_t n, uint32_t ret[]) {
        for (uint32_t i = from; i < n; i++) {
                RoundFacts facts = { .n_actors = i > 0 ? ret[i - 1] : 0, .budget_left_nano = UINT64_MAX };
                SchedulerView view = {
                        .settings = settings,
                        .statistics = i > 0 ? &statistics[i - 1] : NULL,
                        .facts = i > 0 ? &facts : NULL,
                        .round = i,
                };

                (void) scheduler_decide(&view, state);
                ret[i] = state->n_actors;
        }
}

static void run(const JobSettings *settings, const Statistics *statistics, uint32_t n, uint32_t ret[]) {
        SchedulerState state;

        scheduler_init(&state, settings->scheduler);
        run_on(&state, settings, statistics, 0, n, ret);
}

/* Of a policy that looks at nothing. */
static void run_blind(const JobSettings *settings, uint32_t n, uint32_t ret[]) {
        g_autofree Statistics *statistics = g_new0(Statistics, n);

        run(settings, statistics, n, ret);
}

static uint32_t decide(const JobSettings *settings, uint64_t round) {
        Statistics statistics = {};
        RoundFacts facts = {};
        SchedulerView view = { settings, &statistics, &facts, round, NULL, 0 };
        SchedulerState state;

        scheduler_init(&state, settings->scheduler);
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
        g_assert_cmpuint(decide(&nonsense, 0), ==, 3); /* segments exist for no more than MaxActors= */
}

static void test_state(void) {
        JobSettings settings = settings_of(8, 1, 0);
        Statistics statistics = {};
        RoundFacts facts = {};
        SchedulerView view = { &settings, &statistics, &facts, 4, NULL, 0 };
        SchedulerState state, copy;

        scheduler_init(&state, SCHEDULER_FIXED);
        g_assert_cmpint(scheduler_decide(&view, &state), ==, 1);
        g_assert_cmpint(scheduler_decide(&view, &state), ==, 0);
        view.round = 5;
        g_assert_cmpint(scheduler_decide(&view, &state), ==, 0); /* one for the whole job */
        g_assert_cmpuint(scheduler_decision(&state).id, ==, 1);
        g_assert_cmpuint(state.decided_round, ==, 5);
        g_assert_false(scheduler_decides(&state));

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
        SchedulerView view = { &settings, &statistics, &facts, 1, NULL, 0 };
        SchedulerState state;
        Decision first;

        settings.scheduler = SCHEDULER_RANDOM;
        scheduler_init(&state, SCHEDULER_RANDOM);
        g_assert_true(scheduler_decides(&state));
        g_assert_cmpint(scheduler_decide(&view, &state), ==, 1);
        first = scheduler_decision(&state);

        /* However often it is asked. */
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
        g_assert_cmpstr(message, ==, "Policy=fixed has no use for data");
}

static void test_max(void) {
        JobSettings settings = settings_of(1, 2, 9);
        uint32_t n[3];

        settings.scheduler = SCHEDULER_MAX;
        run_blind(&settings, 3, n);
        for (size_t i = 0; i < G_N_ELEMENTS(n); i++)
                g_assert_cmpuint(n[i], ==, 9);
}

static void test_hydrozoa(void) {
        JobSettings settings = settings_of(1, 3, 20);
        uint32_t n[200];

        settings.scheduler = SCHEDULER_HYDROZOA;
        run_blind(&settings, 200, n);
        g_assert_cmpuint(n[0], ==, 3);
        g_assert_cmpuint(n[9], ==, 3); /* the first ten rounds */
        g_assert_cmpuint(n[10], ==, 6);
        g_assert_cmpuint(n[20], ==, 12);
        g_assert_cmpuint(n[30], ==, 20);
        g_assert_cmpuint(n[199], ==, 20);
        g_assert_cmpuint(decide(&settings, UINT64_MAX - 1), ==, 20);
}

static void test_random(void) {
        JobSettings settings = settings_of(1, 3, 20);
        uint32_t n[18000], again[18000], counts[21] = {};

        settings.scheduler = SCHEDULER_RANDOM;
        settings.seed = 7;
        run_blind(&settings, G_N_ELEMENTS(n), n);
        for (size_t i = 0; i < G_N_ELEMENTS(n); i++)
                counts[n[i]]++;
        /* 1,000 each are expected: five standard deviations around it. */
        for (uint32_t i = 3; i <= 20; i++)
                g_assert_true(counts[i] > 845 && counts[i] < 1155);

        run_blind(&settings, G_N_ELEMENTS(n), again);
        g_assert_cmpmem(n, sizeof(n), again, sizeof(again));
        settings.seed = 8;
        run_blind(&settings, G_N_ELEMENTS(n), again);
        g_assert_cmpint(memcmp(n, again, sizeof(n)), !=, 0);
}

static void test_queue(void) {
        QueueEntry entries[] = {
                { .id = 1, .uid = 1000, .running = true },
                { .id = 2, .uid = 1000, .queued = true },
                { .id = 3, .uid = 1000, .queued = true },
                { .id = 4, .uid = 1001, .queued = true },
        };

        g_assert_cmpint(queue_pick(entries, 0, 4), ==, -1);
        g_assert_cmpint(queue_pick(entries, 4, 1), ==, -1); /* no place */
        g_assert_cmpint(queue_pick(entries, 4, 2), ==, 3);  /* who has nothing running goes first */
        entries[3].queued = false;
        entries[3].running = true;
        g_assert_cmpint(queue_pick(entries, 4, 3), ==, 1); /* of one user's, the oldest */
        entries[0].running = false;
        entries[1].queued = false;
        entries[1].running = true;
        g_assert_cmpint(queue_pick(entries, 4, 3), ==, 2);
        entries[2].queued = false;
        g_assert_cmpint(queue_pick(entries, 4, 9), ==, -1); /* nothing waits */
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/scheduler/limits", test_limits);
        g_test_add_func("/scheduler/state", test_state);
        g_test_add_func("/scheduler/once", test_once);
        g_test_add_func("/scheduler/clip", test_clip);
        g_test_add_func("/scheduler/data", test_data);
        g_test_add_func("/scheduler/max", test_max);
        g_test_add_func("/scheduler/hydrozoa", test_hydrozoa);
        g_test_add_func("/scheduler/random", test_random);
        g_test_add_func("/scheduler/queue", test_queue);
        return g_test_run();
}
