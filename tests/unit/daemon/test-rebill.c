/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The price of an actor's second by several kinds of price sheets, against numbers computed by hand; and the
 * settings with which a job is billed by another sheet. */
#include <glib.h>
#include <string.h>

#include "daemon/bill/compare.h"
#include "lib/settings/settings.h"

#define HEAD "[Sheet]\nName=t\nDate=2026-01-01\nSource=test\nCurrency=USD\nDescription=d\n"

static JobSettings settings_of(const char *more) {
        g_autofree char *text = g_strconcat("[Job]\nEnvironment=CartPole-v1\n[Actor]\nMemoryMax=512M\n"
                                            "CPUQuota=50%\n[Learner]\nMemoryMax=2G\nThreads=2\n",
                                        more, NULL),
                        *message = NULL;
        JobSettings settings;

        if (settings_parse(text, "test.conf", NULL, 0, NULL, &settings, &message) < 0)
                g_error("%s", message);
        return settings;
}

static void check_second(const char *rates, const char *more, double actor) {
        g_autofree char *text = g_strconcat(HEAD, rates, NULL), *message = NULL;
        JobSettings s = settings_of(more);
        PriceSheet *sheet = NULL;

        if (price_sheet_parse(text, "test.sheet", &sheet, &message) < 0)
                g_error("%s", message);
        g_assert_cmpfloat_with_epsilon(rebill_actor_second(sheet, &s), actor, 1e-9);
        (void) price_sheet_free(sheet);
}

static void test_second(void) {
        /* The sheet bills memory. Its prices of requests and granularity are no part of a second's price. */
        check_second("[Execution]\nGBSecond=0.01\nRequest=5\nGranularityMSec=1000\n", "", 0.005);
        /* Half a CPU is billed as a whole one. */
        check_second("[Execution]\nVCPUSecond=0.1\nVCPUStep=1\n", "", 0.1);
        /* An actor costs a quarter (Functions=4) of the learner's server and a tenth of an actors'
         * server. */
        check_second("[Learner]\nPerHour=7200\nCount=1\nFunctions=4\n[Actors]\nPerHour=3600\nFunctions=10\n",
                        "", 0.1);
        /* An actor uses one core, at 1,000 W. */
        check_second("[Energy]\nKWh=3600\nWattsPerCore=1000\n", "", 1);
        /* Convention= and WarmStartSec= do not change the price of a second. */
        check_second("[Learner]\nPerHour=7200\nCount=1\nFunctions=4\n[Actors]\nPerHour=3600\nFunctions=10\n",
                        "[Billing]\nConvention=server\nWarmStartSec=500\n", 0.1);
}

static void test_budget(void) {
        JobSettings s = settings_of("[Scaling]\nActors=2\n"), other;

        strcpy(s.budget.currency, "EUR");
        rebill_settings(&s, &other);
        g_assert_cmpstr(other.budget.currency, ==, "");
        g_assert_cmpstr(s.budget.currency, ==, "EUR");
        g_assert_cmpuint(other.n_actors, ==, 2);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/rebill/second", test_second);
        g_test_add_func("/rebill/budget", test_budget);
        return g_test_run();
}
