/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Bills the same rounds in three ways (as functions, on servers, on nodes), with numbers that a reader can
 * add up. */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "daemon/bill/beside.h"
#include "lib/settings/settings.h"

#define SEC 1000000000ull
#define HEAD(currency) \
        "[Sheet]\nName=t\nDate=2026-01-01\nSource=test\nCurrency=" currency "\nDescription=d\n"
#define RATES      HEAD("USD") "[Execution]\nVCPUSecond=1\n"
#define ALLOCATION RATES "[Fleet]\nFromRates=1\n"
#define SERVERS(currency, count, functions)                                                       \
        HEAD(currency)                                                                            \
        "[Learner]\nInstance=big\nPerHour=3600\nCount=1\nFunctions=1\n[Actors]\nInstance=small\n" \
        "PerHour=7200\nCount=" count "\nFunctions=" functions "\n"
#define ENERGY HEAD("USD") "[Energy]\nKWh=3.6\nWattsPerCore=1000000\n"

static PriceSheet *sheet_of(const char *text) {
        g_autofree char *message = NULL;
        PriceSheet *sheet = NULL;

        if (price_sheet_parse(text, "test.sheet", &sheet, &message) < 0)
                g_error("%s", message);
        return sheet;
}

static JobSettings settings_of(const char *more) {
        g_autofree char *text = g_strconcat("[Job]\nEnvironment=CartPole-v1\n[Actor]\nCPUQuota=100%\n"
                                            "[Learner]\nThreads=2\n[Scaling]\nActors=4\n",
                                        more, NULL),
                        *message = NULL;
        JobSettings settings;

        if (settings_parse(text, "test.conf", NULL, 0, NULL, &settings, &message) < 0)
                g_error("%s", message);
        return settings;
}

/* Two actors here for 10 s each, two on a node of 8 CPUs that was allocated for 30 s, and an update of 5 s
 * of the learner. */
static const Record records[] = {
        { .kind = RECORD_ROLLOUT,
                        .actor = 0,
                        .metered = { .emulated_nsec = 10 * SEC, .cpu_nsec = 4 * SEC } },
        { .kind = RECORD_ROLLOUT,
                        .actor = 1,
                        .metered = { .emulated_nsec = 10 * SEC, .cpu_nsec = 4 * SEC } },
        { .kind = RECORD_ROLLOUT,
                        .actor = 2,
                        .node = 1,
                        .metered = { .emulated_nsec = 10 * SEC, .cpu_nsec = 4 * SEC } },
        { .kind = RECORD_ROLLOUT,
                        .actor = 3,
                        .node = 1,
                        .metered = { .emulated_nsec = 10 * SEC, .cpu_nsec = 4 * SEC } },
        { .kind = RECORD_UPDATE, .actor = UINT32_MAX, .metered = { .emulated_nsec = 5 * SEC } },
        { .kind = RECORD_ROUND,
                        .actor = UINT32_MAX,
                        .emulated_round_nsec = 18 * SEC,
                        .use.waited_nsec = 3 * SEC },
        { .kind = RECORD_NODE,
                        .n_cpus = 8,
                        .metered = { .emulated_nsec = 30 * SEC },
                        .use.idle_nsec = 20 * SEC },
};

typedef struct Case {
        const char *prices, *servers, *more;
        BesideWay way;
        bool on_nodes;
        double paper, full, seconds;
        const char *words;
} Case;

static void test_case(const Case *c) {
        PriceSheet *sheet = sheet_of(c->prices), *servers = sheet_of(c->servers);
        JobSettings settings = settings_of(c->more);
        Beside beside = {};
        BesideBill bill;

        for (size_t i = 0; i < G_N_ELEMENTS(records); i++) {
                Record record = records[i];

                if (!c->on_nodes && record.kind == RECORD_NODE)
                        continue;
                if (!c->on_nodes)
                        record.node = 0;
                beside_add(&beside, sheet, &settings, &record);
        }
        beside_make(&beside, c->way, sheet, servers, &settings, &bill);
        if (isnan(c->full)) {
                g_assert_true(isnan(bill.full) && isnan(bill.paper) && isnan(bill.seconds));
                g_assert_null(bill.assumes);
        } else {
                g_assert_cmpfloat_with_epsilon(bill.paper, c->paper, 1e-9);
                g_assert_cmpfloat_with_epsilon(bill.full, c->full, 1e-9);
                g_assert_cmpfloat_with_epsilon(bill.seconds, c->seconds, 1e-9);
                g_assert_null(bill.unknown);
        }
        if (!strstr(bill.unknown ? bill.unknown : bill.assumes, c->words))
                g_error("'%s' does not say '%s'", bill.unknown ? bill.unknown : bill.assumes, c->words);
        beside_bill_done(&bill);
        (void) price_sheet_free(sheet);
        (void) price_sheet_free(servers);
}

static void test_functions(void) {
        /* Four actors and two threads of the learner cost the same wherever the job's actors ran. */
        for (int i = 0; i < 2; i++) {
                test_case(&(Case){ RATES, RATES, "", BESIDE_FUNCTIONS, i, 50, 50, 15, "wherever it ran" });
                test_case(&(Case){ ENERGY, ENERGY, "", BESIDE_FUNCTIONS, i, 16, 16, 15, "electricity" });
        }
        test_case(&(Case){ SERVERS("USD", "1", "4"), RATES, "", BESIDE_FUNCTIONS, true, 25, 25, 15,
                        "share of a server" });
}

static void test_servers(void) {
        test_case(&(Case){ RATES, SERVERS("USD", "0", "2"), "", BESIDE_SERVERS, true, 75, 75, 15,
                        "1 big, 2 small" });
        /* With [Fleet] FromRates=1 the servers' prices follow from the sheet's rates, also for a job that is
         * itself billed as on servers. */
        test_case(&(Case){ ALLOCATION, ALLOCATION, "[Billing]\nConvention=server\n", BESIDE_SERVERS, false,
                        90, 90, 15, "one host with places for the learner and 4 actors" });
        test_case(&(Case){ RATES, RATES, "", BESIDE_SERVERS, true, NAN, NAN, NAN, "names no servers" });
        test_case(&(Case){ RATES, SERVERS("EUR", "0", "2"), "", BESIDE_SERVERS, true, NAN, NAN, NAN,
                        "priced in EUR, and this bill is in USD" });
        test_case(&(Case){ RATES, SERVERS("USD", "1", "2"), "", BESIDE_SERVERS, true, NAN, NAN, NAN,
                        "places for 2 actors" });
        test_case(&(Case){ RATES, SERVERS("USD", "0", "2"),
                        "[Distribution]\nPolicy=multi-learner\nLearners=2\n", BESIDE_SERVERS, true, NAN, NAN,
                        NAN, "places for 1 learner" });
}

static void test_nodes(void) {
        /* The node has 8 CPUs. The 10 s for which it worked count in the paper total, and the 20 s for which
         * it was idle count only in the full total. */
        test_case(&(Case){ RATES, RATES, "", BESIDE_NODES, true, 110, 270, 30, "start to its end" });
        test_case(&(Case){ RATES, RATES, "", BESIDE_NODES, false, NAN, NAN, NAN, "ran on no nodes" });
        test_case(&(Case){ SERVERS("USD", "1", "4"), RATES, "", BESIDE_NODES, true, NAN, NAN, NAN,
                        "no prices for nodes" });
        test_case(&(Case){ ENERGY, RATES, "", BESIDE_NODES, true, NAN, NAN, NAN, "no prices for nodes" });
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/beside/functions", test_functions);
        g_test_add_func("/beside/servers", test_servers);
        g_test_add_func("/beside/nodes", test_nodes);
        return g_test_run();
}
