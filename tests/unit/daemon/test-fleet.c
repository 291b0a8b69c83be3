/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Compares the bill of functions, which cost money while they run, with the bill of a fleet of servers. */
#include <errno.h>
#include <glib.h>
#include <math.h>
#include <string.h>

#include "daemon/bill/compare.h"
#include "lib/settings/settings.h"

#define FUNCTIONS                                                                                   \
        "[Sheet]\nName=f\nDate=2026-01-01\nSource=test\nCurrency=USD\nDescription=d\n[Execution]\n" \
        "GBSecond=0.001\n"
#define SERVERS                                                                        \
        "[Sheet]\nName=s\nDate=2026-01-01\nSource=test\nCurrency=USD\nDescription=d\n" \
        "[Learner]\nInstance=big\nPerHour=3\nCount=1\nFunctions=1\n"                   \
        "[Actors]\nInstance=small\nPerHour=1\nFunctions=8\n[Fleet]\nExtraPerHour=0.5\nStartUpSec=36\n"

static PriceSheet *sheet_of(const char *text) {
        g_autofree char *message = NULL;
        PriceSheet *sheet = NULL;

        if (price_sheet_parse(text, "test.sheet", &sheet, &message) < 0)
                g_error("%s", message);
        return sheet;
}

static JobSettings settings_of(const char *more) {
        g_autofree char *text = g_strconcat("[Job]\nEnvironment=CartPole-v1\n[Scaling]\nActors=20\n", more,
                                        NULL),
                        *message = NULL;
        JobSettings settings;

        g_assert_cmpint(settings_parse(text, "test.conf", NULL, 0, NULL, &settings, &message), ==, 0);
        return settings;
}

static void make_fleet(const Usage *usage, const PriceSheet *functions, const PriceSheet *servers,
                const JobSettings *settings, Fleet *ret) {
        fleet_make(usage, fleet_serverless(usage, functions, settings), servers, settings, ret);
}

static void test_even(void) {
        PriceSheet *functions = sheet_of(FUNCTIONS), *servers = sheet_of(SERVERS);
        JobSettings s = settings_of("");
        /* Half an hour of training that cost 20 USD, and evaluations that cost as much. On this host all of
         * it took an hour and a half. */
        Usage usage = { .emulated_nsec = 1800ull * 1000000000,
                .wall_nsec = 5400ull * 1000000000,
                .accounts[CHARGE_ACTOR_EXECUTION].mib_usec = 20000ull * 1024 * 1000000,
                .accounts[CHARGE_EVALUATION].mib_usec = 20000ull * 1024 * 1000000 };
        g_autofree char *words = fleet_servers(servers, &s);
        Fleet fleet;

        make_fleet(&usage, functions, servers, &s, &fleet);
        g_assert_cmpstr(words, ==, "1 big, 3 small");
        g_assert_cmpfloat_with_epsilon(fleet_serverless(&usage, functions, &s), 20, 1e-9);
        g_assert_cmpfloat_with_epsilon(fleet.hour, 3.5 + 3 * 1.5, 1e-9);
        g_assert_cmpfloat_with_epsilon(fleet.emulated, 8 * (0.5 + 0.01), 1e-9);
        g_assert_cmpfloat_with_epsilon(fleet.wall, 8 * (1.5 + 0.01), 1e-9);
        g_assert_cmpfloat_with_epsilon(fleet.even_emulated, 4.0 / 20, 1e-9);
        g_assert_cmpfloat_with_epsilon(fleet.even_wall, 12.0 / 20, 1e-9);

        /* The comparison is the same for a job that is itself billed as a fleet of servers. */
        s.convention = CONVENTION_SERVER;
        make_fleet(&usage, functions, servers, &s, &fleet);
        g_assert_cmpfloat_with_epsilon(fleet.even_emulated, 4.0 / 20, 1e-9);

        make_fleet(&(Usage){}, functions, servers, &s, &fleet);
        g_assert_cmpfloat(fleet.emulated, ==, 0);
        g_assert_true(isnan(fleet.even_emulated) && isnan(fleet.even_wall));
        (void) price_sheet_free(functions);
        (void) price_sheet_free(servers);
}

static void refuses(const char *fleet, const char *part) {
        PriceSheet *functions = sheet_of(FUNCTIONS), *servers = sheet_of(fleet);
        JobSettings s = settings_of("MaxActors=33\n");
        g_autofree char *message = NULL;

        g_assert_cmpint(fleet_check(functions, servers, &s, &message), ==, -EINVAL);
        if (!strstr(message, part))
                g_error("'%s' does not say '%s'", message, part);
        (void) price_sheet_free(functions);
        (void) price_sheet_free(servers);
}

static void test_check(void) {
        g_autofree char *euros = g_strdup(SERVERS), *message = NULL;
        PriceSheet *functions = sheet_of(FUNCTIONS), *servers = sheet_of(SERVERS);
        JobSettings s = settings_of("");

        g_assert_cmpint(fleet_check(functions, servers, &s, &message), ==, 0);
        refuses(FUNCTIONS, "names no servers");
        memcpy(strstr(euros, "USD"), "EUR", 3);
        refuses(euros, "priced in EUR, and this bill is in USD");
        refuses(SERVERS "[Actors]\nCount=4\n", "places for 32 actors, and this job may have 33");
        (void) price_sheet_free(functions);
        (void) price_sheet_free(servers);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/fleet/even", test_even);
        g_test_add_func("/fleet/check", test_check);
        return g_test_run();
}
