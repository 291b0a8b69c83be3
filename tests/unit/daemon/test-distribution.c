/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests how the daemon chooses a job's distribution by measurements of the job's first rounds. */
#include <glib.h>
#include <string.h>

#include "daemon/distribution.h"
#include "lib/fragment.h"
#include "lib/settings/settings.h"

#define JOB                                                                                       \
        "[Job]\nEnvironment=CartPole-v1\nStopSteps=1000000\n[Distribution]\nPolicy=auto\n"        \
        "[Scaling]\nActors=4\n[Actor]\nRolloutSteps=64\n[Learner]\nMinibatchSize=256\nEpochs=4\n" \
        "[Billing]\nColdStartSec=1\nWarmStartSec=0.2\n"
#define MODEL "[Billing]\nClock=model\n"
#define MSEC  1000000ull

static JobSettings settings_of(const char *text) {
        g_autofree char *message = NULL;
        JobSettings settings;

        g_assert_cmpint(settings_parse(text, "test.conf", NULL, 0, NULL, &settings, &message), ==, 0);
        return settings;
}

/* Facts of ten rounds with four actors, from the time of a round, of its learning and of one actor, in
 * nanoseconds. */
static DistributionFacts facts_of(uint64_t round, uint64_t learner, uint64_t actor) {
        return (DistributionFacts){
                .n_rounds = 10,
                .n_steps = 10ull * 4 * 64,
                .n_invocations = 40,
                .round_nsec = 10 * round,
                .learner_nsec = 10 * learner,
                .actors_nsec = 40 * actor,
                .slowest_nsec = 10 * actor,
                .start_nsec = round + 20 * MSEC,
        };
}

static DistributionChoice choice_of(const JobSettings *settings, const DistributionFacts *facts,
                uint32_t from, uint32_t n_cpus, uint64_t n_env_steps) {
        DistributionChoice choice;

        distribution_decide(&(DistributionInput){ .settings = settings,
                                            .facts = facts,
                                            .distribution = from,
                                            .n_cpus = n_cpus,
                                            .n_learners_max = UINT32_MAX,
                                            .n_env_steps = n_env_steps },
                        &choice);
        return choice;
}

static void says(const DistributionChoice *choice, const char *part) {
        if (!strstr(choice->why, part))
                g_error("'%s' does not say '%s'", choice->why, part);
}

/* If the sheet has a price for at most n_max learners, no more are chosen: further ones would not be
 * billed. */
static void test_learners_without_price(void) {
        JobSettings s = settings_of(JOB);
        DistributionFacts facts = facts_of(110 * MSEC, 100 * MSEC, 2 * MSEC);
        DistributionChoice choice;

        for (uint32_t n_max = 1; n_max <= 4; n_max++) {
                distribution_decide(&(DistributionInput){ .settings = &s,
                                                    .facts = &facts,
                                                    .distribution = DISTRIBUTION_COARSE,
                                                    .n_cpus = 8,
                                                    .n_learners_max = n_max },
                                &choice);
                g_assert_cmpuint(choice.n_learners, <=, n_max);
                g_assert_cmpint(choice.distribution == DISTRIBUTION_MULTI, ==, n_max >= 2);
        }
}

static void test_learner_bound(void) {
        JobSettings s = settings_of(JOB);
        DistributionFacts facts = facts_of(110 * MSEC, 100 * MSEC, 2 * MSEC);
        DistributionChoice choice = choice_of(&s, &facts, DISTRIBUTION_COARSE, 2, 0);

        g_assert_true(choice.changes);
        g_assert_cmpuint(choice.distribution, ==, DISTRIBUTION_MULTI);
        g_assert_cmpuint(choice.n_learners, ==, 2);
        /* The sum is: four actors on two CPUs, the hand-overs, 55 % of the learning, and the exchange of
         * four gradients. */
        g_assert_cmpfloat_with_epsilon(choice.then_nsec / MSEC, 4 + 0.08 + 55 + 0.24, 1e-9);
        says(&choice, "learner-bound (learning 100 ms, acting 4 ms, hand-over 0.08 ms) and 2 learners would "
                      "take 59.3 ms");

        choice = choice_of(&s, &facts, DISTRIBUTION_COARSE, 12, 0);
        g_assert_cmpuint(choice.n_learners, ==, 8); /* a power of two: a gradient has 16 parts */
        choice = choice_of(&s, &facts, DISTRIBUTION_COARSE, 64, 0);
        g_assert_cmpuint(choice.n_learners, ==, 16);
        choice = choice_of(&s, &facts, DISTRIBUTION_FUSED, 2, 0);
        g_assert_cmpuint(choice.n_learners, ==, 2);
        s.n_threads = 2;
        choice = choice_of(&s, &facts, DISTRIBUTION_COARSE, 2, 0);
        g_assert_cmpuint(choice.n_learners, ==, 1); /* the learner's two threads use both CPUs */
}

static void test_busy_host(void) {
        JobSettings s = settings_of(JOB);
        DistributionFacts facts = facts_of(150 * MSEC, 100 * MSEC, 2 * MSEC);

        facts.waiting_nsec = 10 * 26 * MSEC;
        g_assert_cmpuint(choice_of(&s, &facts, DISTRIBUTION_COARSE, 2, 0).n_learners, ==, 1);
        facts.waiting_nsec = 10 * 24 * MSEC;
        g_assert_cmpuint(choice_of(&s, &facts, DISTRIBUTION_COARSE, 2, 0).n_learners, ==, 2);
}

static void test_hand_over_bound(void) {
        JobSettings s = settings_of(JOB);
        /* Four actors of 20 us each need 40 us on two CPUs, and 80 us in one process. But the hand-overs to
         * their processes cost 80 us, so one process is 40 us faster. */
        DistributionFacts facts = facts_of(MSEC / 5, MSEC / 25, MSEC / 50);
        DistributionChoice choice;

        s.stop_steps = 10000000; /* 39,000 rounds: saving 40 us in each is worth more than a restart costs */
        choice = choice_of(&s, &facts, DISTRIBUTION_COARSE, 2, 0);
        g_assert_cmpuint(choice.distribution, ==, DISTRIBUTION_FUSED);
        g_assert_true(choice.changes);
        says(&choice, "hand-over-bound");
        says(&choice, "one process would take 0.12 ms");

        /* One thread runs all actors. */
        facts = facts_of(3 * MSEC, MSEC / 2, MSEC);
        choice = choice_of(&s, &facts, DISTRIBUTION_COARSE, 2, 0);
        g_assert_cmpuint(choice.distribution, ==, DISTRIBUTION_COARSE);
        says(&choice, "actor-bound");

        /* One process would act in the environment instead of reading the data set. */
        g_strlcpy(s.dataset, "main_data.hdf5", sizeof(s.dataset));
        facts = facts_of(MSEC / 5, MSEC / 25, MSEC / 50);
        g_assert_cmpuint(choice_of(&s, &facts, DISTRIBUTION_COARSE, 2, 0).distribution, ==,
                        DISTRIBUTION_COARSE);
        s.dataset[0] = '\0';

        g_strlcpy(s.environment, "/home/mine.so", sizeof(s.environment));
        g_assert_cmpuint(choice_of(&s, &facts, DISTRIBUTION_COARSE, 2, 0).distribution, ==,
                        DISTRIBUTION_COARSE);
}

static void test_restart(void) {
        JobSettings s = settings_of(JOB);
        DistributionFacts facts = facts_of(110 * MSEC, 100 * MSEC, 2 * MSEC);
        uint64_t steps = 4 * 64;
        DistributionChoice choice;

        /* Two learners save 44 ms a round. A restart costs 150 ms, and 20 ms each for an end and a start. */
        choice = choice_of(&s, &facts, DISTRIBUTION_COARSE, 2, 1000000 - 5 * steps);
        g_assert_true(choice.changes);
        choice = choice_of(&s, &facts, DISTRIBUTION_COARSE, 2, 1000000 - 4 * steps);
        g_assert_false(choice.changes);
        g_assert_cmpuint(choice.distribution, ==, DISTRIBUTION_COARSE);
        g_assert_cmpuint(choice.n_learners, ==, 1);
        says(&choice, "learner-bound");
        says(&choice, "the cost of a restart (190 ms)");
        choice = choice_of(&s, &facts, DISTRIBUTION_COARSE, 2, 2000000);
        g_assert_false(choice.changes);
}

/* On the emulated clock each process has a CPU, and handing over takes no time. */
static void test_model(void) {
        JobSettings s = settings_of(JOB MODEL);
        DistributionFacts facts = facts_of(110 * MSEC, 100 * MSEC, 10 * MSEC);
        DistributionChoice choice = choice_of(&s, &facts, DISTRIBUTION_COARSE, 2, 0);

        g_assert_cmpfloat_with_epsilon(choice.then_nsec / MSEC, 60, 1e-9);
        g_assert_cmpuint(choice.n_learners, ==, 2);
        /* A restart costs 0.8 s: a cold start takes so much longer than a warm one. Each round saves 50 ms,
         * so the change pays after 16 rounds. */
        g_assert_false(choice_of(&s, &facts, DISTRIBUTION_COARSE, 2, 1000000 - 15 * 256).changes);
        g_assert_true(choice_of(&s, &facts, DISTRIBUTION_COARSE, 2, 1000000 - 17 * 256).changes);
        facts = facts_of(11 * MSEC, MSEC / 2, 10 * MSEC);
        choice = choice_of(&s, &facts, DISTRIBUTION_COARSE, 2, 0);
        g_assert_false(choice.changes);
        says(&choice, "actor-bound");
}

static void test_measures(void) {
        JobSettings metered = settings_of(JOB), model = settings_of(JOB MODEL);
        const char *why;

        g_assert_true(distribution_measures(&metered, &why));
        g_assert_true(distribution_measures(&model, &why));
        g_assert_null(why);
        metered.scheduler.kind = model.scheduler.kind = SCHEDULER_ADAPT;
        g_assert_true(distribution_measures(&metered, &why));
        g_assert_false(distribution_measures(&model, &why));
        g_assert_nonnull(strstr(why, "scheduler"));
        model.scheduler.kind = SCHEDULER_MAX;
        g_assert_true(distribution_measures(&model, &why));
        metered.n_learners = 2;
        g_assert_false(distribution_measures(&metered, &why));
        g_assert_null(why);
        model.distribution = DISTRIBUTION_FUSED;
        g_assert_false(distribution_measures(&model, &why));
}

/* Feeds a round that begins at `start`. Its two actors use 3 and 5 ms of CPU time. Its update uses 10 ms of
 * CPU time and lasts 12 ms. */
static void feed_round(DistributionMeter *meter, const JobSettings *s, uint64_t life, uint64_t round,
                uint64_t start, bool wasted) {
        for (uint32_t a = 0; a < 2; a++) {
                Record rollout = {
                        .kind = RECORD_ROLLOUT, .life = life, .round = round, .actor = a, .wasted = wasted
                };

                rollout.metered = (Metered){ .start_nsec = start,
                        .end_nsec = start + 8 * MSEC,
                        .cpu_nsec = (3 + 2 * a) * MSEC,
                        .n_steps = 64,
                        .emulated_nsec = 7 * MSEC };
                distribution_measure(meter, s, &rollout);
        }
        distribution_measure(meter, s,
                        &(Record){ .kind = RECORD_UPDATE,
                                        .life = life,
                                        .round = round,
                                        .actor = UINT32_MAX,
                                        .wasted = wasted,
                                        .metered = { .end_nsec = start + 20 * MSEC,
                                                        .emulated_nsec = 10 * MSEC } });
        distribution_measure(meter, s,
                        &(Record){ .kind = RECORD_ROUND,
                                        .life = life,
                                        .round = round,
                                        .actor = UINT32_MAX,
                                        .wasted = wasted,
                                        .emulated_round_nsec = 17 * MSEC,
                                        .metered = { .start_nsec = start, .end_nsec = start + 500 * MSEC },
                                        .statistics = { .n_env_steps = round * 128 } });
}

static void test_meter(void) {
        JobSettings s = settings_of(JOB), model = settings_of(JOB MODEL);
        DistributionMeter meter = {};
        uint64_t n;

        distribution_measure(&meter, &s,
                        &(Record){ .kind = RECORD_STARTED,
                                        .life = 1,
                                        .metered = { .start_nsec = 50 * MSEC, .end_nsec = 60 * MSEC } });
        feed_round(&meter, &s, 1, 1, 100 * MSEC, false);
        g_assert_cmpuint(meter.facts.start_nsec, ==, 70 * MSEC);
        g_assert_cmpuint(meter.facts.n_rounds, ==, 0); /* a cold one */
        feed_round(&meter, &s, 1, 2, 200 * MSEC, false);
        g_assert_cmpuint(meter.facts.n_rounds, ==, 1);
        g_assert_cmpuint(meter.facts.n_steps, ==, 128);
        g_assert_cmpuint(meter.facts.n_invocations, ==, 2);
        g_assert_cmpuint(meter.facts.round_nsec, ==, 20 * MSEC); /* without the evaluation after it */
        g_assert_cmpuint(meter.facts.learner_nsec, ==, 10 * MSEC);
        g_assert_cmpuint(meter.facts.waiting_nsec, ==, 2 * MSEC);
        g_assert_cmpuint(meter.facts.actors_nsec, ==, 8 * MSEC);
        g_assert_cmpuint(meter.facts.slowest_nsec, ==, 5 * MSEC);
        feed_round(&meter, &s, 1, 3, 300 * MSEC, true);  /* the life has ended, so this round is waste */
        feed_round(&meter, &s, 2, 3, 400 * MSEC, false); /* cold again */
        g_assert_cmpuint(meter.facts.n_rounds, ==, 1);
        g_assert_false(distribution_measured(&meter.facts, &s));

        for (n = 4; !distribution_measured(&meter.facts, &s); n++)
                feed_round(&meter, &s, 2, n, n * 1000 * MSEC, false);
        g_assert_cmpuint(meter.facts.n_rounds, ==, 10); /* of 20 ms */
        feed_round(&meter, &s, 2, n, n * 1000 * MSEC, false);
        g_assert_cmpuint(meter.facts.n_rounds, ==, 10); /* ten were enough: later ones are not measured */

        meter = (DistributionMeter){};
        for (n = 1; !distribution_measured(&meter.facts, &model); n++)
                feed_round(&meter, &model, 1, n, n * 1000 * MSEC, false);
        g_assert_cmpuint(meter.facts.n_rounds, ==, 4);
        g_assert_cmpuint(meter.facts.round_nsec, ==, 4 * 17 * MSEC);
        g_assert_cmpuint(meter.facts.slowest_nsec, ==, 4 * 7 * MSEC);
        g_assert_cmpuint(meter.facts.waiting_nsec, ==, 0);
}

/* Rounds without a step, which no honest invoker reports, lead to no decision. */
static void test_no_steps(void) {
        JobSettings s = settings_of(JOB);
        DistributionFacts facts = { .n_rounds = 64, .round_nsec = 64 * 1000 * MSEC };

        g_assert_false(distribution_measured(&facts, &s));
        facts.n_steps = 1;
        g_assert_true(distribution_measured(&facts, &s));
}

/* Rounds in which a replay store only fills are not measured, as the learner seems to have nothing to do. */
static void test_replay(void) {
        JobSettings s = settings_of(
                        "[Job]\nEnvironment=CartPole-v1\nAlgorithm=dqn\n[Distribution]\nPolicy=auto\n"
                        "[Learner]\nReplayMin=1000\n");
        DistributionMeter meter = {};

        for (uint64_t n = 1; n <= 7; n++)
                feed_round(&meter, &s, 1, n, n * 1000 * MSEC, false);
        g_assert_cmpuint(meter.facts.n_rounds, ==, 0);
        feed_round(&meter, &s, 1, 8, 9000 * MSEC, false);
        g_assert_cmpuint(meter.facts.n_rounds, ==, 1);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/distribution/learner-bound", test_learner_bound);
        g_test_add_func("/distribution/learners-without-price", test_learners_without_price);
        g_test_add_func("/distribution/busy-host", test_busy_host);
        g_test_add_func("/distribution/hand-over-bound", test_hand_over_bound);
        g_test_add_func("/distribution/restart", test_restart);
        g_test_add_func("/distribution/model", test_model);
        g_test_add_func("/distribution/measures", test_measures);
        g_test_add_func("/distribution/meter", test_meter);
        g_test_add_func("/distribution/no-steps", test_no_steps);
        g_test_add_func("/distribution/replay", test_replay);
        return g_test_run();
}
