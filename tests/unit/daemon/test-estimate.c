/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Estimates of the same rounds under other distributions, from the records of one distribution. */
#include <glib.h>
#include <string.h>

#include "daemon/bill/estimate.h"
#include "lib/clock.h"
#include "lib/settings/settings.h"

#define JOB                                                                                                \
        "[Job]\nEnvironment=CartPole-v1\n[Scaling]\nActors=2\n[Actor]\nRolloutSteps=100\nEnvsPerActor=3\n" \
        "[Learner]\nEpochs=2\nMinibatchSize=100\n[Billing]\nUpdateUSec=1000\nStepUSec=10\n"
#define MODEL "Clock=model\n"
#define MSEC  1000000ull

typedef struct Fixture {
        JobSettings settings;
        PriceSheet *sheet;
        Estimates estimates;
        Usage usage; /* as it ran */
} Fixture;

static void set_up(Fixture *f, const void *text) {
        g_autofree char *message = NULL, *sheet = NULL;
        char path[] = "packaging/price/aws-lambda-x86.sheet";

        g_assert_cmpint(settings_parse(text, "test.conf", NULL, 0, NULL, &f->settings, &message), ==, 0);
        g_assert_true(g_file_get_contents(path, &sheet, NULL, NULL));
        g_assert_cmpint(price_sheet_parse(sheet, path, &f->sheet, &message), ==, 0);
}

static void tear_down(Fixture *f, const void *text) {
        (void) price_sheet_free(f->sheet);
}

static void feed(Fixture *f, const Record *record) {
        estimates_add(&f->estimates, f->sheet, &f->settings, record);
        usage_add(&f->usage, f->sheet, &f->settings, record);
}

static void feed_start(Fixture *f, uint64_t life, uint32_t n_learners) {
        for (uint32_t k = 0; k < n_learners; k++)
                feed(f, &(Record){ .kind = RECORD_WORKER,
                                        .life = life,
                                        .actor = UINT32_MAX,
                                        .metered = { .cpu_nsec = 5 * MSEC, .emulated_nsec = 5 * MSEC } });
}

static void feed_updates(
                Fixture *f, uint64_t life, uint64_t round, uint32_t n_learners, uint64_t nsec, bool wasted) {
        for (uint32_t k = 0; k < n_learners; k++)
                feed(f, &(Record){ .kind = RECORD_UPDATE,
                                        .life = life,
                                        .round = round,
                                        .actor = UINT32_MAX,
                                        .wasted = wasted,
                                        .metered = { .cpu_nsec = nsec, .emulated_nsec = nsec - k } });
}

/* Two actors with 300 steps each. Each rollout takes 3 ms of CPU time and of emulated time. */
static void feed_round(
                Fixture *f, uint64_t life, uint64_t round, uint32_t n_learners, uint64_t nsec, bool wasted) {
        for (uint32_t a = 0; a < 2; a++)
                feed(f, &(Record){ .kind = RECORD_ROLLOUT,
                                        .life = life,
                                        .round = round,
                                        .actor = a,
                                        .wasted = wasted,
                                        .metered = { .cpu_nsec = 3 * MSEC,
                                                        .emulated_nsec = 3 * MSEC,
                                                        .n_steps = 300 } });
        feed_updates(f, life, round, n_learners, nsec, wasted);
        feed(f, &(Record){ .kind = RECORD_ROUND,
                                .life = life,
                                .round = round,
                                .actor = UINT32_MAX,
                                .wasted = wasted,
                                .decision = { .n_actors = 2 },
                                .emulated_round_nsec = 3 * MSEC + nsec });
}

/* The usage of a run that really had this number of learners, for comparison with the estimates. */
static Usage real(const Fixture *f, uint32_t n_learners, uint64_t n_rounds) {
        Fixture other = { .settings = f->settings, .sheet = f->sheet };

        feed_start(&other, 1, n_learners);
        for (uint64_t n = 1; n <= n_rounds; n++)
                feed_round(&other, 1, n, n_learners, clock_update_nsec(&f->settings, 0, 600 / n_learners),
                                false);
        return other.usage;
}

static void same(const Usage *a, const Usage *b) {
        g_assert_cmpuint(a->emulated_nsec, ==, b->emulated_nsec);
        g_assert_cmpuint(a->n_updates, ==, b->n_updates);
        g_assert_cmpuint(a->n_invocations, ==, b->n_invocations);
        g_assert_cmpuint(a->accounts[CHARGE_ACTOR_EXECUTION].billed_nsec[SHARE_ACTOR], ==,
                        b->accounts[CHARGE_ACTOR_EXECUTION].billed_nsec[SHARE_ACTOR]);
        g_assert_cmpuint(a->accounts[CHARGE_LEARNER_EXECUTION].billed_nsec[SHARE_LEARNER], ==,
                        b->accounts[CHARGE_LEARNER_EXECUTION].billed_nsec[SHARE_LEARNER]);
        g_assert_cmpuint(a->accounts[CHARGE_LEARNER_EXECUTION].mib_usec, ==,
                        b->accounts[CHARGE_LEARNER_EXECUTION].mib_usec);
        g_assert_cmpuint(a->accounts[CHARGE_INITIALISATION].billed_nsec[SHARE_LEARNER], ==,
                        b->accounts[CHARGE_INITIALISATION].billed_nsec[SHARE_LEARNER]);
}

static void test_model(Fixture *f, const void *text) {
        Usage usage;

        feed_start(f, 1, 1);
        for (uint64_t n = 1; n <= 3; n++)
                feed_round(f, 1, n, 1, clock_update_nsec(&f->settings, 0, 600), false);
        g_assert_cmpmem(&f->estimates.usage[ESTIMATE_COARSE_1], sizeof(Usage), &f->usage, sizeof(Usage));
        same(&f->estimates.usage[ESTIMATE_FUSED_1], &f->usage);
        usage = real(f, 2, 3);
        same(&f->estimates.usage[ESTIMATE_MULTI_2], &usage);
        usage = real(f, 8, 3);
        same(&f->estimates.usage[ESTIMATE_MULTI_8], &usage);
        g_assert_cmpuint(f->estimates.usage[ESTIMATE_MULTI_8]
                                         .accounts[CHARGE_LEARNER_EXECUTION]
                                         .billed_nsec[SHARE_LEARNER],
                        ==, 3 * 8 * 150 * MSEC);
}

static void test_from_several(Fixture *f, const void *text) {
        Usage usage;

        feed_start(f, 1, 4);
        for (uint64_t n = 1; n <= 3; n++)
                feed_round(f, 1, n, 4, clock_update_nsec(&f->settings, 0, 150), false);
        usage = real(f, 1, 3);
        same(&f->estimates.usage[ESTIMATE_COARSE_1], &usage);
        usage = real(f, 8, 3);
        same(&f->estimates.usage[ESTIMATE_MULTI_8], &usage);
        g_assert_cmpmem(&f->estimates.usage[ESTIMATE_MULTI_4], sizeof(Usage), &f->usage, sizeof(Usage));
}

/* With two learners, 10 % of an update of 100 ms are not divided and 90 % are, and each of 12 gradients (2
 * epochs of 600 rows) costs 0.06 ms more. AWS Lambda bills whole milliseconds. */
static void test_metered(Fixture *f, const void *text) {
        const Usage *two = &f->estimates.usage[ESTIMATE_MULTI_2];

        feed_start(f, 1, 1);
        feed_round(f, 1, 1, 1, 100 * MSEC, false);
        g_assert_cmpuint(two->emulated_nsec, ==, 5872 * MSEC / 100);
        g_assert_cmpuint(two->accounts[CHARGE_LEARNER_EXECUTION].billed_nsec[SHARE_LEARNER], ==,
                        2 * 56 * MSEC);
        g_assert_cmpuint(two->accounts[CHARGE_LEARNER_EXECUTION].cpu_nsec, ==, 2 * 5572 * MSEC / 100);
        g_assert_cmpuint(two->accounts[CHARGE_INITIALISATION].billed_nsec[SHARE_LEARNER], ==,
                        2 * f->usage.accounts[CHARGE_INITIALISATION].billed_nsec[SHARE_LEARNER]);
        g_assert_cmpuint(two->accounts[CHARGE_ACTOR_EXECUTION].billed_nsec[SHARE_ACTOR], ==,
                        f->usage.accounts[CHARGE_ACTOR_EXECUTION].billed_nsec[SHARE_ACTOR]);
}

/* In an estimate, each life starts as many learners as the estimate's row has. A round that did not close is
 * waste, and its updates are not divided among the row's learners. */
static void test_lives(Fixture *f, const void *text) {
        const Usage *two = &f->estimates.usage[ESTIMATE_MULTI_2];

        feed_start(f, 1, 1);
        feed_round(f, 1, 1, 1, 100 * MSEC, false);
        feed_round(f, 1, 2, 1, 100 * MSEC, true);
        feed_updates(f, 1, 3, 1, 40 * MSEC, true);
        feed_start(f, 2, 1);
        feed_round(f, 2, 2, 1, 100 * MSEC, false);
        g_assert_cmpuint(two->accounts[CHARGE_INITIALISATION].billed_nsec[SHARE_LEARNER], ==, 4 * 5 * MSEC);
        g_assert_cmpuint(two->accounts[CHARGE_LEARNER_EXECUTION].billed_nsec[SHARE_LEARNER], ==,
                        4 * 56 * MSEC);
        g_assert_cmpuint(two->accounts[CHARGE_RETRIES].billed_nsec[SHARE_LEARNER], ==, (2 * 56 + 40) * MSEC);
        g_assert_cmpmem(&f->estimates.usage[ESTIMATE_COARSE_1], sizeof(Usage), &f->usage, sizeof(Usage));
}

/* Where one process acts and learns, no containers start and none are parked, except for evaluations. */
static void test_containers(Fixture *f, const void *text) {
        Record worker = { .kind = RECORD_WORKER, .life = 1, .actor = 1, .metered = { .cpu_nsec = MSEC } };
        Record pool = {
                .kind = RECORD_POOL, .life = 1, .actor = 1, .metered = { .emulated_nsec = 50 * MSEC }
        };
        const Usage *fused = &f->estimates.usage[ESTIMATE_FUSED_1];

        feed(f, &worker);
        feed(f, &pool);
        g_assert_cmpuint(f->usage.accounts[CHARGE_PROVISIONED].idle_nsec, >, 0);
        g_assert_cmpuint(f->estimates.usage[ESTIMATE_MULTI_4].accounts[CHARGE_PROVISIONED].idle_nsec, ==,
                        f->usage.accounts[CHARGE_PROVISIONED].idle_nsec);
        g_assert_cmpuint(fused->accounts[CHARGE_PROVISIONED].idle_nsec, ==, 0);
        g_assert_cmpuint(fused->accounts[CHARGE_INITIALISATION].cpu_nsec, ==, 0);
        worker.actor = pool.actor = 2; /* one that evaluates */
        feed(f, &worker);
        feed(f, &pool);
        g_assert_cmpuint(fused->accounts[CHARGE_EVALUATION].idle_nsec, ==,
                        f->usage.accounts[CHARGE_EVALUATION].idle_nsec);
        g_assert_cmpuint(fused->accounts[CHARGE_EVALUATION].idle_nsec, >, 0);
}

static void test_unknown(Fixture *f, const void *text) {
        JobSettings model = f->settings;

        g_assert_null(estimate_unknown(ESTIMATE_COARSE_1, &f->settings));
        g_assert_null(estimate_unknown(ESTIMATE_FUSED_1, &f->settings));
        g_assert_nonnull(strstr(estimate_unknown(ESTIMATE_FINE_1, &f->settings), "stepping"));
        f->settings.distribution = DISTRIBUTION_FINE;
        g_assert_null(estimate_unknown(ESTIMATE_FINE_1, &f->settings));
        g_assert_nonnull(
                        strstr(estimate_unknown(ESTIMATE_COARSE_1, &f->settings), "its learner also acted"));
        g_strlcpy(f->settings.environment, "/home/mine.so", sizeof(f->settings.environment));
        g_assert_nonnull(strstr(estimate_unknown(ESTIMATE_FUSED_1, &f->settings), "plugin"));
        model.clock = CLOCK_MODEL;
        for (uint32_t i = 0; i < _ESTIMATE_MAX; i++)
                g_assert_null(estimate_unknown(i, &model));
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
#define ADD(path, text, function) g_test_add("/estimate/" path, Fixture, text, set_up, function, tear_down)
        ADD("model", JOB MODEL, test_model);
        ADD("from-several", JOB MODEL, test_from_several);
        ADD("metered", JOB, test_metered);
        ADD("lives", JOB, test_lives);
        ADD("containers", JOB, test_containers);
        ADD("unknown", JOB, test_unknown);
        return g_test_run();
}
