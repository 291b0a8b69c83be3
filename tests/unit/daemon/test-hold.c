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

static void assert_words(const Hold *hold, const JobSettings *settings, const char *part) {
        char words[512];

        hold_words(hold, settings, words, sizeof(words));
        if (!strstr(words, part))
                g_error("`%s` is not in: %s", part, words);
}

static void test_room(void) {
        JobSettings four = job("[Scaling]\nActors=4\n[Actor]\nMemoryMax=100M\n[Learner]\nMemoryMax=200M\n");
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
        g_autofree char *never = hold_never(quota, settings, currency);

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

static void test_money(void) {
        JobSettings settings = job("");
        Hold hold = { HOLD_MONEY, 5030000000, 5000000000, "USD", 1782864000000000 };

        g_setenv("TZ", "XST0", TRUE);
        assert_words(&hold, &settings,
                        "it waits until 2026-07-01 00:00 XST: the user's jobs have spent 5.03 USD today, "
                        "and MaxMoneyPerDayPerUser= is 5 USD");
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/hold/room", test_room);
        g_test_add_func("/hold/never", test_never);
        g_test_add_func("/hold/money", test_money);
        return g_test_run();
}
