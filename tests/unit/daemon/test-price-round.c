/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The price of a planned round is that of its records, added one by one, to the last digit. Policy=auto asks
 * for thousands of such prices in one decision, in the process that serves the bus. */
#include <glib.h>
#include <stdlib.h>
#include <time.h>

#include "daemon/scheduler/scheduler.h"
#include "lib/clock.h"
#include "tests/unit/sheet-fixture.h"

static const char energy[] = SHEET("[Energy]\nKWh=0.3\nWattsPerCore=10\n");
static const char everything[] = SHEET("[Execution]\nGranularityMSec=1\nGBSecond=0.0000166667\n"
                                       "VCPUSecond=0.00003\nVCPUStep=0.25\nRequest=0.0000002\n"
                                       "[Provisioned]\nGBSecond=0.0000041667\nVCPUSecond=0.00001\n");
static const char memory_alone[] = SHEET("[Execution]\nGBSecond=0.0000166667\n");

static JobSettings settings_new(void) {
        JobSettings s = {
                .scheduler = { .kind = SCHEDULER_AUTO },
                .algorithm = ALGORITHM_PPO,
                .normalize_advantages = true,
                .updates = UPDATES_PER_DATA,
                .n_actors_min = 1,
                .n_actors_max = ACTORS_MAX,
                .envs_per_actor = 1,
                .rollout_steps = 1,
                .stop_steps = 100000000,
                .minibatch_size = 64,
                .n_threads = 1,
                .memory_max_bytes = 1024ull << 20,
                .learner_memory_max_bytes = 1769ull << 20,
        };

        s.present[SETTING_Scaling_MaxActors / 64] |= 1ull << (SETTING_Scaling_MaxActors % 64);
        return s;
}

/* Adds the records of a round one by one. */
static void add_round(Usage *usage, const PriceSheet *sheet, const JobSettings *settings,
                const RoundShape *shape) {
        uint64_t share = MIN(clock_share_permille(settings), 1000),
                 start = (shape->n_cold > 0 ? settings->cold_usec : settings->warm_usec) * 1000;
        Record update = { .kind = RECORD_UPDATE, .actor = UINT32_MAX };
        Record closed = { .kind = RECORD_ROUND, .actor = UINT32_MAX };

        closed.decision.n_actors = shape->n_actors;
        closed.emulated_round_nsec = clock_round_nsec(start + shape->slowest_nsec, shape->learner_nsec);
        for (uint32_t a = 0; a < shape->n_actors; a++) {
                Record record = { .kind = RECORD_ROLLOUT, .actor = a, .cold = a < shape->n_cold };

                record.metered.cpu_nsec = (uint64_t) ((unsigned __int128) shape->actor_nsec * share / 1000);
                record.metered.emulated_nsec =
                                (record.cold ? settings->cold_usec : settings->warm_usec) * 1000 +
                                shape->actor_nsec;
                usage_add(usage, sheet, settings, &record);
        }
        update.metered.cpu_nsec = update.metered.emulated_nsec = shape->learner_nsec;
        usage_add(usage, sheet, settings, &update);
        for (uint32_t a = 0; a < shape->n_parked; a++) {
                Record record = { .kind = RECORD_POOL, .actor = shape->n_actors + a };

                record.metered.emulated_nsec = closed.emulated_round_nsec;
                usage_add(usage, sheet, settings, &record);
        }
        usage_add(usage, sheet, settings, &closed);
}

static void assert_same(const PriceSheet *sheet, const JobSettings *settings, const RoundShape *shape) {
        double charges[_CHARGE_MAX] = {};
        Bill before, after;
        Usage usage = {};
        RoundPrice price;

        add_round(&usage, sheet, settings, shape);
        bill_make(&usage, sheet, settings, &before);
        add_round(&usage, sheet, settings, shape);
        bill_make(&usage, sheet, settings, &after);
        for (size_t i = 0; i < before.n_lines; i++)
                charges[before.lines[i].charge] -= before.lines[i].amount;
        for (size_t i = 0; i < after.n_lines; i++)
                charges[after.lines[i].charge] += after.lines[i].amount;

        price_round(sheet, settings, shape, &price);
        for (Charge c = 0; c < _CHARGE_MAX; c++)
                g_assert_cmpfloat(price.charges[c], ==, charges[c]);
}

static void test_same(void) {
        g_autoptr(PriceSheet) sheet = sheet_new(everything), cpu = sheet_new(energy);
        g_autoptr(GRand) rand = g_rand_new_with_seed(5);
        JobSettings settings = settings_new();

        settings.n_actors_max = 500;
        settings.cold_usec = 300123;
        settings.warm_usec = 77;
        for (int i = 0; i < 300; i++) {
                /* Some sums stop at the largest number; some parked actors have an evaluator's number. */
                uint64_t scale = i % 10 == 0 ? UINT64_C(10000000000) : 10;
                RoundShape shape = {
                        .n_actors = (uint32_t) g_rand_int_range(rand, 0, 500),
                        .n_cold = i % 2 ? (uint32_t) g_rand_int_range(rand, 0, 600) : 0,
                        .n_parked = i % 3 ? (uint32_t) g_rand_int_range(rand, 0, 600) : 0,
                        .actor_nsec = g_rand_int_range(rand, 0, 100000000) * scale,
                        .slowest_nsec = g_rand_int_range(rand, 0, 100000000) * scale,
                        .learner_nsec = g_rand_int_range(rand, 0, 100000000) * scale,
                };

                assert_same(i % 5 == 4 ? cpu : sheet, &settings, &shape);
        }
}

/* Cold starts are so dear that no larger number is worth it, and auto looks at them all. */
static void test_decisions(void) {
        g_autoptr(PriceSheet) sheet = sheet_new(memory_alone);
        JobSettings settings = settings_new();
        Statistics statistics = { .noise_scale = 1e9, .return_mean = 1 };
        RoundFacts facts = {};
        SchedulerState state;
        clock_t begin = clock();

        settings.cold_usec = UINT64_C(100000000);
        scheduler_init(&state, SCHEDULER_AUTO);
        for (uint64_t round = 0; round < 10; round++) {
                SchedulerView view = {
                        .settings = &settings,
                        .statistics = round > 0 ? &statistics : NULL,
                        .facts = round > 0 ? &facts : NULL,
                        .round = round,
                        .sheet = sheet,
                };

                (void) scheduler_decide(&view, &state);
                g_assert_cmpuint(state.n_actors, ==, 1);
                facts = (RoundFacts){
                        .n_actors = 1,
                        .learner_nsec = 1000,
                        .actor_slowest_nsec = 1000000000,
                        .actor_mean_nsec = 1000000000,
                        .round_nsec = 1000000000,
                };
                statistics.n_env_steps++;
        }
        /* 0.2 s here; minutes if each record of each price is added by itself */
        g_assert_cmpfloat((double) (clock() - begin) / CLOCKS_PER_SEC, <, 20);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/price-round/same", test_same);
        g_test_add_func("/price-round/decisions", test_decisions);
        return g_test_run();
}
