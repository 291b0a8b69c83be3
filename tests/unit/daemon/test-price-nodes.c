/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests the prices of a cluster's nodes, and of the bytes between hosts. */
#include <glib.h>
#include <string.h>

#include "include/cluster.h"
#include "tests/unit/sheet-fixture.h"

#define SEC   1000000000ull
#define RATES "[Execution]\nVCPUSecond=2\nGBSecond=3\nGranularityMSec=1000\n"

static const JobSettings settings = { .n_actors_min = 1, .n_actors_max = 4, .n_threads = 1 };

static Record node_new(uint64_t nsec, uint64_t idle_nsec) {
        return (Record){
                .kind = RECORD_NODE,
                .actor = UINT32_MAX,
                .detail = CLUSTER_COST,
                .n_cpus = 16,
                .metered = { .emulated_nsec = nsec, .memory_reserved_bytes = 4ull << 30 },
                .use = { .idle_nsec = idle_nsec,
                                .sent_bytes = 1u << 29,
                                .received_bytes = 1u << 29,
                                .billing_milli = 2500 },
        };
}

static void assert_line(
                const Bill *bill, const char *kind, const char *unit, double quantity, double amount) {
        for (size_t i = 0; i < bill->n_lines; i++) {
                const BillLine *line = &bill->lines[i];

                if (!g_str_equal(charge_to_string(line->charge), kind) || !g_str_equal(line->unit, unit))
                        continue;
                g_assert_cmpfloat_with_epsilon(line->quantity, quantity, 1e-9 * quantity);
                g_assert_cmpfloat_with_epsilon(line->amount, amount, 1e-9 * amount);
                return;
        }
        g_error("the bill has no line %s in %s", kind, unit);
}

/* The used part and the idle part of an allocation add up to the whole, and only the used part is in the
 * paper total. */
static void test_idle(void) {
        g_autoptr(PriceSheet) sheet = sheet_new(SHEET(RATES));
        Record record = node_new(10 * SEC, 4 * SEC);
        Usage usage = {};
        Bill bill;

        usage_add(&usage, sheet, &settings, &record);
        bill_make(&usage, sheet, &settings, &bill);
        assert_line(&bill, "nodes", "vCPU-s", 6 * 16, 6 * 16 * 2);
        assert_line(&bill, "nodes", "GB-s", 6 * 4, 6 * 4 * 3);
        assert_line(&bill, "idle-nodes", "vCPU-s", 4 * 16, 4 * 16 * 2);
        assert_line(&bill, "idle-nodes", "GB-s", 4 * 4, 4 * 4 * 3);
        g_assert_cmpfloat(bill.paper, ==, 6 * 16 * 2 + 6 * 4 * 3);
        g_assert_cmpfloat(bill_of_nodes(&bill), ==, bill.full);
}

/* The price of a node's hour depends neither on the sheet's granularity nor on how many records divide the
 * hour. */
static void test_pieces(void) {
        g_autoptr(PriceSheet) sheet =
                        sheet_new(SHEET("[Execution]\nVCPUSecond=2\nGBSecond=3\nGranularityMSec=60000\n"));
        Usage usage = {};
        Bill bill;

        for (unsigned i = 0; i < 3600 / 15; i++) {
                Record record = node_new(15 * SEC, i % 2 ? 15 * SEC : 0);

                usage_add(&usage, sheet, &settings, &record);
        }
        bill_make(&usage, sheet, &settings, &bill);
        assert_line(&bill, "nodes", "vCPU-s", 1800 * 16, 1800 * 16 * 2);
        assert_line(&bill, "idle-nodes", "vCPU-s", 1800 * 16, 1800 * 16 * 2);
}

/* If a record has the cluster's own billing weight, its nodes have one price, for this weight. Without the
 * weight they are billed by vCPU. */
static void test_site(void) {
        g_autoptr(PriceSheet) sheet = sheet_new(SHEET(RATES "[Nodes]\nBillingSecond=7\n[Network]\nGB=11\n"));
        Record record = node_new(10 * SEC, 4 * SEC), unknown = node_new(SEC, 0);
        Usage usage = {};
        Bill bill;

        unknown.use.billing_milli = 0;
        usage_add(&usage, sheet, &settings, &record);
        usage_add(&usage, sheet, &settings, &unknown);
        bill_make(&usage, sheet, &settings, &bill);
        assert_line(&bill, "nodes", "billing-s", 6 * 2.5, 6 * 2.5 * 7);
        assert_line(&bill, "idle-nodes", "billing-s", 4 * 2.5, 4 * 2.5 * 7);
        assert_line(&bill, "nodes", "vCPU-s", 16, 32);
        assert_line(&bill, "traffic", "GB", 2, 22);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/price-nodes/idle", test_idle);
        g_test_add_func("/price-nodes/pieces", test_pieces);
        g_test_add_func("/price-nodes/site", test_site);
        return g_test_run();
}
