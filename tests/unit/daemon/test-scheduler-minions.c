/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Policy=minions: the scheduler decides the number of actors that the network gives for the figures of the
 * rounds. Files that are not valid networks are refused. */
#include <errno.h>
#include <glib.h>
#include <math.h>
#include <string.h>

#include "daemon/scheduler/scheduler.h"
#include "lib/minions.h"
#include "lib/settings/settings.h"

enum { N_CHOICES = 7, N_ROUNDS = 60 }; /* N_CHOICES is odd, so that File has no padding at its end */

typedef struct File {
        MinionsModel model;
        float parameters[MINIONS_PARAMETERS(N_CHOICES)];
} File;

static File file;

static void file_fill(void) {
        g_autoptr(GRand) rand = g_rand_new_with_seed(11);

        file.model = (MinionsModel){
                .magic = MINIONS_MAGIC,
                .abi = MINIONS_ABI,
                .struct_bytes = sizeof(MinionsModel),
                .n_choices = N_CHOICES,
                .target = 200,
        };
        for (size_t i = 0; i < G_N_ELEMENTS(file.parameters); i++)
                file.parameters[i] = (float) g_rand_double_range(rand, -0.7, 0.7);
}

static void settings_of(const char *rest, JobSettings *ret) {
        g_autofree char *message = NULL,
                        *text = g_strconcat("[Job]\nEnvironment=CartPole-v1\nStopSteps=10000\n", rest,
                                        "[Scaling]\nPolicy=minions:any\nMaxActors=16\nMinActors=2\n", NULL);

        if (settings_parse(text, "test.conf", NULL, 0, NULL, ret, &message) < 0)
                g_error("%s", message);
}

/* Draws the figures of a possible round. */
static void round_make(GRand *rand, uint64_t k, Statistics *s, RoundFacts *f) {
        *s = (Statistics){
                .evaluation_mean = NAN,
                .return_round = k % 3 == 1 ? NAN : g_rand_double_range(rand, 0, 400),
                .loss_policy = g_rand_double_range(rand, -1, 1),
                .loss_value = g_rand_double_range(rand, 0, 10),
                .entropy = g_rand_double_range(rand, 0, 1),
                .kl = g_rand_double_range(rand, 0, 0.1),
                .n_env_steps = k * 100,
        };
        *f = (RoundFacts){
                .n_actors = 4,
                .learner_nsec = g_rand_int(rand),
                .actor_mean_nsec = g_rand_int(rand),
                .round_nsec = g_rand_int(rand),
                .budget_left_nano = 1000000000 - k * 15000000,
        };
}

/* The number of actors that the network gives for the last round's figures. *return_mean keeps the return of
 * the newest round that had one. */
static uint32_t expected_count(const JobSettings *settings, const Statistics *s, const RoundFacts *f,
                uint64_t k, double *return_mean) {
        MinionsFacts facts = { .return_mean = NAN };
        float features[MINIONS_N_FEATURES];
        double left;
        uint32_t count;

        if (k > 0) {
                *return_mean = isnan(s->return_round) ? *return_mean : s->return_round;
                left = 1 - (double) s->n_env_steps / 10000;
                if (settings_present(settings, SETTING_Job_Budget))
                        left = fmin(left, (double) f->budget_left_nano / 1e9);
                facts = (MinionsFacts){ k, minions_loss(settings, s), *return_mean, s->kl, f->learner_nsec,
                        f->actor_mean_nsec, f->round_nsec, left };
        }
        minions_features(&facts, 200, features);
        g_assert_cmpint(minions_decide(&file, sizeof(file), features, &count), ==, 0);
        return count < 2 ? 2 : count;
}

static void check_counts(const char *rest) {
        g_autoptr(GRand) rand = g_rand_new_with_seed(3);
        unsigned seen[N_CHOICES + 1] = {}, n_different = 0;
        double return_mean = NAN;
        JobSettings settings;
        SchedulerState state;

        settings_of(rest, &settings);
        scheduler_init(&state, SCHEDULER_MINIONS);
        for (uint64_t k = 0; k < N_ROUNDS; k++) {
                Statistics s;
                RoundFacts f;
                SchedulerView view = {
                        .settings = &settings, .round = k, .data = &file, .n_data = sizeof(file)
                };

                round_make(rand, k, &s, &f);
                if (k > 0) {
                        view.statistics = &s;
                        view.facts = &f;
                }
                g_assert_cmpint(scheduler_decide(&view, &state), ==, 1);
                g_assert_cmpuint(scheduler_decision(&state).n_actors, ==,
                                expected_count(&settings, &s, &f, k, &return_mean));
                seen[scheduler_decision(&state).n_actors]++;

                /* A daemon that starts again goes on from the scheduler's stored state alone. */
                SchedulerState copy = state;
                g_assert_cmpint(scheduler_restore(&state, SCHEDULER_MINIONS, &copy, sizeof(copy)), ==, 0);
        }
        for (unsigned i = 0; i <= N_CHOICES; i++)
                n_different += seen[i] > 0;
        g_assert_cmpuint(n_different, >, 1);
}

static void test_counts(void) {
        check_counts("");
        check_counts("Budget=1\n");
}

static void test_data(void) {
        g_autofree char *message = NULL, *other = NULL;
        JobSettings settings;
        File bad = file;

        settings_of("", &settings);
        g_assert_cmpint(scheduler_check(&settings, &file, sizeof(file), &message), ==, 0);
        g_assert_cmpint(scheduler_check(&settings, NULL, 0, &message), ==, -EINVAL);
        g_assert_nonnull(strstr(message, "minions:NAME"));
        bad.parameters[7] = NAN;
        g_assert_cmpint(scheduler_check(&settings, &bad, sizeof(bad), &other), ==, -EINVAL);
        g_assert_nonnull(strstr(other, "not finite"));
}

/* A round waits for the decision, which should take at most 100 microseconds. This test allows 5 ms, since
 * other programs may disturb it. */
static void test_fast(void) {
        float features[MINIONS_N_FEATURES] = {};
        uint32_t count;
        gint64 start = g_get_monotonic_time(), best = G_MAXINT64;

        for (unsigned k = 0; k < 50; k++) {
                start = g_get_monotonic_time();
                g_assert_cmpint(minions_decide(&file, sizeof(file), features, &count), ==, 0);
                best = MIN(best, g_get_monotonic_time() - start);
        }
        g_test_message("a decision takes %d us", (int) best);
        g_assert_cmpint(best, <, 5000);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        file_fill();
        g_test_add_func("/scheduler/minions/counts", test_counts);
        g_test_add_func("/scheduler/minions/data", test_data);
        g_test_add_func("/scheduler/minions/fast", test_fast);
        return g_test_run();
}
