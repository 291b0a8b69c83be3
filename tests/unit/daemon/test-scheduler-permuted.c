/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Policy=permuted: the numbers that are computed at once are those that are computed one by one. */
#include <glib.h>
#include <stdlib.h>
#include <time.h>

#include "daemon/scheduler/scheduler.h"

enum { MOST = SCHEDULER_DATA_MAX / sizeof(uint32_t) };

typedef struct Fixture {
        JobSettings settings;
        Statistics statistics;
        RoundFacts facts;
        uint32_t counts[MOST];
} Fixture;

static Fixture *fixture_new(uint64_t seed) {
        Fixture *f = g_new0(Fixture, 1);

        f->settings.scheduler.kind = SCHEDULER_PERMUTED;
        f->settings.n_actors_min = 1;
        f->settings.n_actors_max = ACTORS_MAX;
        f->settings.seed = seed;
        for (uint32_t i = 0; i < MOST; i++)
                f->counts[i] = 1 + i % ACTORS_MAX;
        return f;
}

/* The number of actors of the round after `round`. cache NULL: without one. */
static uint32_t decide(const Fixture *f, SchedulerCache *cache, size_t n, uint64_t round) {
        const SchedulerView view = {
                .settings = &f->settings,
                .statistics = &f->statistics,
                .facts = &f->facts,
                .round = round,
                .data = f->counts,
                .n_data = n * sizeof(uint32_t),
                .cache = cache,
        };
        SchedulerState state;

        scheduler_init(&state, SCHEDULER_PERMUTED);
        g_assert_cmpint(scheduler_decide(&view, &state), ==, 1);
        return state.n_actors;
}

static void test_same(void) {
        static const size_t lengths[] = { 1, 2, 3, 50, 700 };

        for (uint64_t seed = 1; seed <= 5; seed++) {
                g_autofree Fixture *f = fixture_new(seed);

                for (size_t k = 0; k < G_N_ELEMENTS(lengths); k++) {
                        SchedulerCache cache = {};

                        for (uint64_t round = 0; round < lengths[k] + 3; round++)
                                g_assert_cmpuint(decide(f, &cache, lengths[k], round), ==,
                                                decide(f, NULL, lengths[k], round));
                        scheduler_cache_done(&cache);
                        g_assert_null(cache.order);
                }
        }
}

/* A daemon that is started again makes all decisions since the newest checkpoint again. */
static void test_many(void) {
        g_autofree Fixture *f = fixture_new(7);
        SchedulerCache cache = {};
        clock_t begin = clock();

        for (uint64_t round = 0; round < 100000; round++)
                (void) decide(f, &cache, MOST, round);
        /* 0.02 s here; without the cache a quarter of an hour */
        g_assert_cmpfloat((double) (clock() - begin) / CLOCKS_PER_SEC, <, 20);
        g_assert_cmpuint(decide(f, &cache, MOST, 262000), ==, decide(f, NULL, MOST, 262000));
        scheduler_cache_done(&cache);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/scheduler-permuted/same", test_same);
        g_test_add_func("/scheduler-permuted/many", test_many);
        return g_test_run();
}
