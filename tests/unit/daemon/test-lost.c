/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests daemon/bill/lost.h: the usage of a killed life that is in no record, and its cost. It is the
 * difference of two readings of the life's counter, less the usage that its records hold. */
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "daemon/bill/lost.h"
#include "daemon/progress.h"
#include "lib/settings/settings.h"

#define SEC UINT64_C(1000000000)

G_DEFINE_AUTOPTR_CLEANUP_FUNC(PriceSheet, price_sheet_free)

static JobSettings settings_new(const char *clock) {
        SettingOverride override = { "Billing.Clock", clock };
        g_autofree char *message = NULL;
        JobSettings settings;

        if (settings_parse("[Job]\nEnvironment=CartPole-v1\n[Actor]\nMemoryMax=1024M\nCPUQuota=50%\n",
                            "a.conf", &override, 1, NULL, &settings, &message) < 0)
                g_error("%s", message);
        return settings;
}

static PriceSheet *sheet_new(void) {
        static const char text[] =
                        "[Sheet]\nName=a\nDate=2024-01-31\nSource=b\nCurrency=USD\nDescription=c\n"
                        "[Execution]\nVCPUSecond=2\nGBSecond=1\n";
        g_autofree char *message = NULL;
        PriceSheet *sheet;

        if (price_sheet_parse(text, "a.sheet", &sheet, &message) < 0)
                g_error("%s", message);
        return sheet;
}

static void test_difference(void) {
        static const struct {
                bool metered;
                uint64_t began, over, claimed, lost, scope;
        } rows[] = {
                { true, 0, 10 * SEC, 7 * SEC, 3 * SEC, 10 * SEC },
                { true, 5 * SEC, 10 * SEC, 2 * SEC, 3 * SEC,
                                5 * SEC },                    /* the counter is older than the life */
                { true, 0, 10 * SEC, 11 * SEC, 0, 10 * SEC }, /* the records hold all CPU time */
                { true, 10 * SEC, 1 * SEC, 0, 0, 0 },         /* the counter fell, so it is a new counter */
                { true, 0, 0, 0, 0, 1 },                      /* no CPU time was used, and this is known */
                { true, UINT64_MAX, 10 * SEC, 0, 0, 0 },      /* the first reading is missing */
                { false, 0, 10 * SEC, 7 * SEC, 0, 0 },
                { true, 0, UINT64_MAX, 0, UINT64_MAX, UINT64_MAX },
        };
        JobSettings settings = settings_new("metered");

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                LifeUsage life = { .life = 3,
                        .seq = 41,
                        .round = 7,
                        .metered = rows[i].metered,
                        .began_nsec = rows[i].began,
                        .over_nsec = rows[i].over,
                        .claimed_nsec = rows[i].claimed };
                Record record;

                lost_make(&life, &settings, &record);
                g_assert_cmpuint(record.kind, ==, RECORD_LOST);
                g_assert_cmpuint(record.life, ==, 3);
                g_assert_cmpuint(record.seq, ==, 42);
                g_assert_cmpuint(record.round, ==, 7);
                g_assert_cmpuint(record.metered.cpu_nsec, ==, rows[i].lost);
                g_assert_cmpuint(record.scope_cpu_nsec, ==, rows[i].scope);
                g_assert_cmpuint(record.fault, ==, FAULT_NONE);
        }
}

static void test_error(void) {
        LifeUsage life = { .life = 3, .error = ENOMEM };
        JobSettings settings = settings_new("metered");
        Record record;

        lost_make(&life, &settings, &record);
        g_assert_cmpuint(record.fault, ==, FAULT_INTERNAL);
        g_assert_cmpint(record.detail, ==, ENOMEM);
}

/* Three CPU seconds on half a CPU are six seconds of a fleet, under either clock, since no steps were
 * counted. */
static void test_price(void) {
        static const char *const clocks[] = { "metered", "model" };
        g_autoptr(PriceSheet) sheet = sheet_new();

        for (size_t i = 0; i < G_N_ELEMENTS(clocks); i++) {
                JobSettings settings = settings_new(clocks[i]);
                LifeUsage life = { .life = 1, .metered = true, .over_nsec = 4 * SEC, .claimed_nsec = SEC };
                Usage usage = {};
                Record record;
                Bill bill;

                lost_make(&life, &settings, &record);
                g_assert_cmpuint(record.metered.emulated_nsec, ==, 6 * SEC);
                usage_add(&usage, sheet, &settings, &record);
                bill_make(&usage, sheet, &settings, &bill);
                g_assert_cmpuint(bill.n_lines, ==, 2);
                g_assert_cmpfloat(bill.full, ==, 3 * 2 + 6 * 1);
                g_assert_cmpfloat(bill.paper, ==, 0);
                g_assert_cmpuint(usage_cpu_nsec(&usage, CPU_USE_LOST), ==, 3 * SEC);
                g_assert_cmpuint(usage.emulated_nsec, ==, 0);
        }
}

/* Lost usage counts against a budget from the next life on; a scheduler does not see it. */
static void test_decisions(void) {
        g_autoptr(PriceSheet) sheet = sheet_new();
        JobSettings settings = settings_new("model");
        LifeUsage life = { .life = 1, .metered = true, .over_nsec = 4 * SEC, .claimed_nsec = SEC };
        Record started = { .life = 2, .kind = RECORD_STARTED },
               round = { .life = 2, .kind = RECORD_ROUND, .round = 1 };
        Progress progress;
        Record record;

        progress_init(&progress);
        lost_make(&life, &settings, &record);
        progress_add(&progress, sheet, &settings, &record);
        progress_add(&progress, sheet, &settings, &started);
        g_assert_cmpuint(progress.usage.round_start_nano, ==, 12 * SEC);
        progress_add(&progress, sheet, &settings, &round);
        g_assert_cmpuint(progress.facts.cost_nano, ==, 0);
        progress_done(&progress);
}

/* One life was not metered. So the job's CPU time is not known, though that of the other lives is. */
static void test_lives(void) {
        g_autoptr(PriceSheet) sheet = sheet_new();
        JobSettings settings = settings_new("metered");
        Progress progress;

        progress_init(&progress);
        progress_add(&progress, sheet, &settings,
                        &(Record){ .life = 1,
                                        .kind = RECORD_LOST,
                                        .actor = UINT32_MAX,
                                        .scope_cpu_nsec = 5 });
        g_assert_cmpuint(progress_scope_cpu_nsec(&progress), ==, 5);
        progress_add(&progress, sheet, &settings, &(Record){ .life = 2, .kind = RECORD_STARTED });
        g_assert_cmpuint(progress_scope_cpu_nsec(&progress), ==, 0); /* it goes on */
        progress_add(&progress, sheet, &settings,
                        &(Record){ .life = 2, .kind = RECORD_ENDED, .scope_cpu_nsec = 7 });
        g_assert_cmpuint(progress_scope_cpu_nsec(&progress), ==, 12);
        g_assert_cmpuint(progress.n_lives_unmetered, ==, 0);
        progress_add(&progress, sheet, &settings,
                        &(Record){ .life = 3, .kind = RECORD_LOST, .actor = UINT32_MAX });
        g_assert_cmpuint(progress_scope_cpu_nsec(&progress), ==, 0);
        g_assert_cmpuint(progress.n_lives_unmetered, ==, 1);
        progress_done(&progress);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/lost/difference", test_difference);
        g_test_add_func("/lost/error", test_error);
        g_test_add_func("/lost/price", test_price);
        g_test_add_func("/lost/decisions", test_decisions);
        g_test_add_func("/lost/lives", test_lives);
        return g_test_run();
}
