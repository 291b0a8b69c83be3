/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Policy=auto on a task that differs from the tasks on which it was tuned, in the way LunarLander differs. A
 * round can use up to three times as many rows as usual. The measured noise shows this only after a fifth of
 * the training. From then on the surrogate objective is the same with any number of actors. The figures are
 * from LunarLander's cells (docs/experiments/auto.md). Auto is compared with constant numbers of actors on
 * the same simulated training, so the difference is the cost of its decisions. */
#include <glib.h>
#include <math.h>

#include "daemon/scheduler/scheduler.h"
#include "tests/unit/sheet-fixture.h"

#define ROWS      1024u /* rows of one actor in one round */
#define MOST      64u
#define B         16.3 /* actors; a round with n actors advances by n / hypot(n, B) rounds of WORK */
#define WORK      21.0 /* the rounds that a training takes with unlimited actors */
#define LATE      0.2  /* the share of the work after which the measured noise is large */
#define ACTOR_MS  51.2
#define COLD_MS   300.0
#define UPDATE_MS 4.096 /* the learner's time for one actor's rows in a round */

static JobSettings settings_new(double time_price) {
        JobSettings s = {
                .scheduler = { .kind = SCHEDULER_AUTO },
                .n_actors_min = 1,
                .n_actors_max = MOST,
                .envs_per_actor = 4,
                .rollout_steps = ROWS / 4,
                .stop_steps = 4000000,
                .updates = UPDATES_PER_DATA,
                .normalize_advantages = 1,
                .minibatch_size = 64,
                .n_threads = 1,
                .memory_max_bytes = 1769ull << 20,
                .learner_memory_max_bytes = 1769ull << 20,
                .cold_usec = (uint64_t) (COLD_MS * 1e3),
                .time_price = time_price,
        };

        s.present[SETTING_Scaling_MaxActors / 64] |= 1ull << (SETTING_Scaling_MaxActors % 64);
        return s;
}

/* Makes a round's statistics. Early the noise is small, and the surrogate objective grows with the number of
 * actors. Later the noise is large, in three rounds of ten it hides the gradient (NAN), and the surrogate
 * objective does not grow. */
static void measure(GRand *rand, double at, uint32_t n_actors, Statistics *ret) {
        double spread = exp(g_rand_double_range(rand, -1, 1));

        ret->return_mean = NAN;
        if (at < LATE) {
                ret->noise_scale = 60 * spread;
                ret->loss_policy = -0.0022 * pow(n_actors, 0.32) * exp(g_rand_double_range(rand, -0.7, 0.7));
                return;
        }
        ret->noise_scale = g_rand_double(rand) < 0.3 ? NAN : 6000 * spread * spread;
        ret->loss_policy = -0.0018 * exp(g_rand_double_range(rand, -0.7, 0.7));
}

/* Simulates a training. Returns its cost, plus the price of its time. constant: the number of actors; 0:
 * auto decides. */
static double train(const PriceSheet *sheet, double time_price, uint32_t constant, uint32_t seed,
                double *ret_s) {
        JobSettings settings = settings_new(time_price);
        g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
        Statistics statistics = {};
        RoundFacts facts = {};
        SchedulerState state;
        double money = 0, work = 0;
        uint32_t most = 0;

        *ret_s = 0;
        scheduler_init(&state, SCHEDULER_AUTO);
        for (uint32_t round = 0; work < WORK; round++) {
                SchedulerView view = { &settings, round > 0 ? &statistics : NULL, round > 0 ? &facts : NULL,
                        round, NULL, 0, sheet };
                RoundShape shape = { .actor_nsec = (uint64_t) (ACTOR_MS * 1e6) };
                RoundPrice price;
                uint32_t n = constant;

                if (n == 0) {
                        (void) scheduler_decide(&view, &state);
                        n = state.n_actors;
                }
                shape.n_actors = n;
                shape.n_cold = n > most ? n - most : 0;
                most = MAX(most, n);
                shape.n_parked = most - n;
                shape.slowest_nsec = shape.actor_nsec;
                shape.learner_nsec = (uint64_t) (UPDATE_MS * 1e6 * n);
                price_round(sheet, &settings, &shape, &price);
                money += price.full;
                *ret_s += (double) price.nsec / 1e9;
                measure(rand, work / WORK, n, &statistics);
                statistics.n_env_steps += (uint64_t) n * ROWS;
                facts = (RoundFacts){ .n_actors = n,
                        .learner_nsec = shape.learner_nsec,
                        .actor_slowest_nsec = price.nsec - shape.learner_nsec,
                        .actor_mean_nsec = shape.actor_nsec + (uint64_t) (COLD_MS * 1e6) * shape.n_cold / n,
                        .round_nsec = price.nsec };
                work += n / hypot(n, B);
        }
        return money + time_price * price_learner_second(sheet, &settings) * *ret_s;
}

/* Returns auto's cost divided by a reference: the cost of the best constant number of actors, plus the time
 * of two cold starts. The best constant number knows from the start what auto learns late. */
static double late(const PriceSheet *sheet, double time_price) {
        JobSettings settings = settings_new(time_price);
        double best = INFINITY, own = 0, own_s = 0, best_s = 0, s;
        uint32_t best_n = 0;

        for (uint32_t n = 1; n <= MOST; n += 1 + n / 8) {
                double cost = train(sheet, time_price, n, 1, &s);

                if (cost < best) {
                        best = cost;
                        best_s = s;
                        best_n = n;
                }
        }
        for (uint32_t seed = 1; seed <= 5; seed++) {
                own += train(sheet, time_price, 0, seed, &s) / 5;
                own_s += s / 5;
        }
        own /= best + 2 * COLD_MS / 1e3 * time_price * price_learner_second(sheet, &settings);
        g_test_message("TimePrice=%g: auto takes %.2f s, %u actors %.2f s; auto over them: %.2f", time_price,
                        own_s, best_n, best_s, own);
        return own;
}

static void test_late(void) {
        static const char *const sheets[] = {
                SHEET("[Execution]\nGBSecond=0.0000166667\nRequest=0.0000002\n"),
                SHEET("[Execution]\nGBSecond=0.0000012\nVCPUSecond=0.0000112\nVCPUStep=1\n"
                      "GranularityMSec=1000\n"),
                SHEET("[Learner]\nPerHour=3.06\nCount=1\nFunctions=1\n"
                      "[Actors]\nPerHour=0.68\nFunctions=16\n"),
        };
        static const double prices[] = { 0, 1, 10 };
        double product = 1;

        for (size_t i = 0; i < G_N_ELEMENTS(sheets); i++) {
                g_autoptr(PriceSheet) sheet = sheet_new(sheets[i]);

                for (size_t j = 0; j < G_N_ELEMENTS(prices); j++) {
                        double ratio = late(sheet, prices[j]);

                        g_assert_cmpfloat(ratio, <, 1.25);
                        product *= ratio;
                }
        }
        g_test_message("geometric mean: %.3f", pow(product, 1.0 / 9));
        g_assert_cmpfloat(pow(product, 1.0 / 9), <, 1.12);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/scheduler/auto/learns-late", test_late);
        return g_test_run();
}
