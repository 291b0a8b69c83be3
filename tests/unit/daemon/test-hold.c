/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Quotas: which jobs they hold back, which they refuse, and the sentence for each. */
#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/hold.h"
#include "lib/settings/settings.h"

static JobSettings job(const char *more) {
        g_autofree char *text = g_strdup_printf("[Job]\nEnvironment=CartPole-v1\nStopSteps=1000\n%s", more),
                        *message = NULL;
        JobSettings settings;

        if (settings_parse(text, "a.conf", NULL, 0, NULL, &settings, &message) < 0)
                g_error("%s", message);
        return settings;
}

static QuotaNeed need_of(const JobSettings *settings) {
        return quota_need(settings, settings->n_learners, true);
}

static void assert_words(const Hold *hold, const QuotaNeed *need, const char *part) {
        char words[512];

        hold_words(hold, need, words, sizeof(words));
        if (!strstr(words, part))
                g_error("`%s` is not in: %s", part, words);
}

static void test_room(void) {
        JobSettings settings = job("[Scaling]\nActors=4\n[Actor]\nMemoryMax=100M\n"
                                   "[Learner]\nMemoryMax=200M\n");
        QuotaNeed four = need_of(&settings);
        QuotaUsage beside = {};
        Quota quota = {};
        Hold hold;

        g_assert_cmpint(hold_of(&quota, &beside, &four).reason, ==, HOLD_NOTHING); /* no limits */
        quota.actors = 7;
        g_assert_cmpint(hold_of(&quota, &beside, &four).reason, ==, HOLD_NOTHING);
        quota_add(&beside, &four);
        hold = hold_of(&quota, &beside, &four);
        g_assert_cmpint(hold.reason, ==, HOLD_ACTORS);
        assert_words(&hold, &four,
                        "has up to 4 actors, the user's jobs before it have up to 4, and "
                        "MaxActorsPerUser=7");
        quota = (Quota){ .actors = 8, .memory_bytes = 1000ull << 20 };
        hold = hold_of(&quota, &beside, &four);
        g_assert_cmpint(hold.reason, ==, HOLD_MEMORY);
        assert_words(&hold, &four,
                        "up to 600 MiB of memory, the user's jobs before it have up to 600 MiB, and "
                        "MaxMemoryPerUser=1000M");
        quota.memory_bytes = 1200ull << 20;
        hold = hold_of(&quota, &beside, &four);
        g_assert_cmpint(hold.reason, ==, HOLD_NOTHING);
        hold_words(&hold, &four, (char[512]){ 1 }, 512);
        assert_words(&(Hold){ .reason = HOLD_TURN }, &four, "earlier job of its user");
        assert_words(&(Hold){ .reason = HOLD_UNKNOWN }, &four, "user database");
}

static void assert_never(
                const Quota *quota, const JobSettings *settings, const char *currency, const char *part) {
        QuotaNeed need = need_of(settings);
        g_autofree char *never = hold_never(quota, &need, settings, currency);

        if (!part)
                g_assert_null(never);
        else if (!never || !strstr(never, part))
                g_error("`%s` is not in: %s", part, never);
}

static void test_never(void) {
        JobSettings four = job("[Scaling]\nActors=4\n");

        assert_never(&(Quota){}, &four, "EUR", NULL);
        assert_never(&(Quota){ .actors = 4, .money = { 1, "EUR" } }, &four, "EUR", NULL);
        assert_never(&(Quota){ .actors = 3 }, &four, "EUR", "MaxActorsPerUser=");
        assert_never(&(Quota){ .memory_bytes = 1 << 20 }, &four, "EUR", "MaxMemoryPerUser=");
        assert_never(&(Quota){ .money = { 5500000000, "USD" } }, &four, "EUR",
                        "is in EUR, and its user may spend 5.5 USD a day (MaxMoneyPerDayPerUser=)");
        /* The comparison of currencies distinguishes capital and small letters. */
        assert_never(&(Quota){ .money = { 1, "usd" } }, &four, "USD", "0.000000001 usd");
}

static void assert_mebibytes(const char *more, uint64_t n) {
        g_autofree char *text =
                        g_strconcat(more, "[Actor]\nMemoryMax=100M\n[Learner]\nMemoryMax=200M\n", NULL);
        JobSettings settings = job(text);

        g_assert_cmpuint(need_of(&settings).memory_bytes >> 20, ==, n);
}

/* A job counts with all processes that it may have at once. */
static void test_memory(void) {
        JobSettings several = job("[Scaling]\nActors=6\n[Actor]\nProcesses=2\n");
        QuotaNeed need = { .memory_bytes = 1000 };
        Quota quota = { .memory_bytes = 2000 };

        assert_mebibytes("[Scaling]\nActors=4\n", 600);
        assert_mebibytes("[Distribution]\nPolicy=multi-learner\nLearners=4\n", 900);
        assert_mebibytes("[Distribution]\nPolicy=central\nLearners=2\n", 500);
        /* evaluations: no more containers than episodes */
        assert_mebibytes("[Evaluation]\nEpisodes=10\nActors=3\n", 600);
        assert_mebibytes("[Evaluation]\nEpisodes=2\nActors=3\n", 500);
        assert_mebibytes("[Evaluation]\nActors=3\n", 300);

        /* an evaluation has no containers beside those that would train */
        several.evaluation_episodes = several.n_evaluators = 5;
        g_assert_cmpuint(quota_need(&several, 1, true).memory_bytes -
                                         quota_need(&several, 1, false).memory_bytes,
                        ==, 5 * several.memory_max_bytes);

        /* Several actors share a container. A learner that acts may use the memory of all actors. */
        g_assert_cmpuint(quota_need(&several, 1, false).memory_bytes, ==,
                        2 * several.memory_max_bytes + several.learner_memory_max_bytes);
        several.distribution = DISTRIBUTION_FUSED;
        g_assert_cmpuint(quota_need(&several, 1, false).memory_bytes, ==,
                        6 * several.memory_max_bytes + several.learner_memory_max_bytes);
        several.distribution = DISTRIBUTION_AUTO;
        g_assert_cmpuint(quota_need(&several, 1, false).memory_bytes, ==,
                        6 * several.memory_max_bytes + several.learner_memory_max_bytes);
        g_assert_cmpuint(quota_need(&several, 1, false).actors, ==, 6);

        /* how many learners Policy=auto may choose */
        several.learner_memory_max_bytes = 100;
        g_assert_cmpuint(quota_learners_max(&(Quota){}, 0, &need, &several), ==, UINT32_MAX);
        g_assert_cmpuint(quota_learners_max(&quota, 0, &need, &several), ==, 11);
        g_assert_cmpuint(quota_learners_max(&quota, 701, &need, &several), ==, 3);
        g_assert_cmpuint(quota_learners_max(&quota, 1000, &need, &several), ==, 1);
        g_assert_cmpuint(quota_learners_max(&quota, 5000, &need, &several), ==, 1);
}

static void test_money(void) {
        QuotaNeed need = {};
        Hold hold = { HOLD_MONEY, 5030000000, 5000000000, "USD", 1782864000000000 };

        g_setenv("TZ", "XST0", TRUE);
        assert_words(&hold, &need,
                        "it waits until 2026-07-01 00:00 XST: the user's jobs have spent 5.03 USD today, "
                        "and MaxMoneyPerDayPerUser= is 5 USD");
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/hold/room", test_room);
        g_test_add_func("/hold/memory", test_memory);
        g_test_add_func("/hold/never", test_never);
        g_test_add_func("/hold/money", test_money);
        return g_test_run();
}
