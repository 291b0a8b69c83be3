/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Bills the rounds that the job ran, with their emulated times, as if servers or a cluster had run them. A
 * job there might have decided otherwise, if its scheduler looks at prices. */
#include "daemon/bill/beside.h"

#include <assert.h>
#include <glib.h>
#include <math.h>
#include <string.h>

#include "daemon/bill/compare.h"
#include "daemon/bill/price-private.h"
#include "lib/fragment.h"

const char *beside_to_string(BesideWay way) {
        static const char *const words[_BESIDE_MAX] = {
#define X(name, word) [BESIDE_##name] = word,
                BESIDE_WAYS(X)
#undef X
        };

        assert(way < _BESIDE_MAX);

        return words[way];
}

void beside_add(Beside *beside, const PriceSheet *sheet, const JobSettings *settings, const Record *record) {
        Record elsewhere;

        assert(beside);
        assert(record);

        usage_add(&beside->ran, sheet, settings, record);
        if (record->kind == RECORD_NODE) {
                beside->node_nsec += record->metered.emulated_nsec;
                return;
        }
        elsewhere = *record;
        elsewhere.node = 0;
        if (record->kind == RECORD_ROUND && record->emulated_round_nsec >= record->use.waited_nsec)
                elsewhere.emulated_round_nsec -= record->use.waited_nsec;
        usage_add(&beside->elsewhere, sheet, settings, &elsewhere);
}

static void fill(BesideBill *ret, const Usage *usage, const JobSettings *settings, uint32_t convention) {
        Bill bill;

        rebill_by(usage, ret->sheet, settings, convention, &bill);
        ret->paper = bill.paper;
        ret->full = bill.full;
}

static void make_functions(const Beside *beside, const JobSettings *settings, BesideBill *ret) {
        ret->seconds = (double) beside->elsewhere.emulated_nsec / 1e9;
        if (ret->sheet->kwh > 0)
                ret->assumes = g_strdup("the electricity of the CPU time that all processes used");
        else if (price_sheet_has_servers(ret->sheet))
                ret->assumes = g_strdup("each invocation pays for its share of a server while it runs");
        else
                ret->assumes = g_strdup(
                                "each invocation pays for what it allocates while it runs, wherever it ran");
        fill(ret, &beside->elsewhere, settings, CONVENTION_SERVERLESS);
}

/* Why the job cannot be billed on the servers of the sheet `servers`; NULL: it can. sheet: the one by which
 * the other ways are billed. g_free() */
static char *servers_lack(const PriceSheet *sheet, const PriceSheet *servers, const JobSettings *settings) {
        JobSettings copy = *settings;
        char *message = NULL;
        uint32_t n_places;

        if (!price_sheet_has_servers(servers) && servers->from_rates != 1)
                return g_strdup_printf("the price sheet %s names no servers; name one that does, such as "
                                       "--fleet=ec2-nitro",
                                servers->name);
        if (strcmp(sheet->currency, servers->currency) != 0)
                return g_strdup_printf("the fleet %s is priced in %s, and this bill is in %s", servers->name,
                                servers->currency, sheet->currency);
        if (price_sheet_check_places(servers, settings, &message) < 0)
                return message;
        copy.convention = CONVENTION_SERVER;
        n_places = price_sheet_learners_max(servers, &copy);
        if (distribution_learners(distribution_of(settings), settings) > n_places)
                return g_strdup_printf("the fleet %s has places for %u learners, and this job has more",
                                servers->name, n_places);
        return NULL;
}

static void make_servers(const Beside *beside, const PriceSheet *sheet, const JobSettings *settings,
                BesideBill *ret) {
        uint32_t n_actors = settings_actors_max(settings);

        ret->unknown = servers_lack(sheet, ret->sheet, settings);
        if (ret->unknown)
                return;
        ret->seconds = (double) beside->elsewhere.emulated_nsec / 1e9;
        if (price_sheet_has_servers(ret->sheet)) {
                g_autofree char *servers = fleet_servers(ret->sheet, settings);

                ret->assumes = g_strdup_printf(
                                "%s kept from start-up to the last round, busy or not", servers);
        } else
                ret->assumes = g_strdup_printf(
                                "one host with places for the learner and %u actor%s, kept for "
                                "all rounds, busy or not",
                                n_actors, n_actors == 1 ? "" : "s");
        fill(ret, &beside->elsewhere, settings, CONVENTION_SERVER);
}

static void make_nodes(const Beside *beside, const JobSettings *settings, BesideBill *ret) {
        const PriceSheet *sheet = ret->sheet;

        if (beside->node_nsec == 0)
                ret->unknown = g_strdup("the job ran on no nodes, so their sizes and times are unknown");
        else if (price_sheet_has_servers(sheet) || sheet->kwh > 0)
                ret->unknown = g_strdup_printf(
                                "the price sheet %s has no prices for nodes; name one that has, such as "
                                "--prices=slurm-tres",
                                sheet->name);
        if (ret->unknown)
                return;
        ret->seconds = (double) beside->node_nsec / 1e9;
        ret->assumes = g_strdup(
                        "each node pays from its start to its end, idle or not; the learner and actors "
                        "on other hosts pay as functions");
        fill(ret, &beside->ran, settings, CONVENTION_SERVERLESS);
}

void beside_make(const Beside *beside, BesideWay way, const PriceSheet *sheet, const PriceSheet *servers,
                const JobSettings *settings, BesideBill *ret) {
        assert(beside);
        assert(sheet);
        assert(servers);
        assert(settings);
        assert(ret);

        *ret = (BesideBill){
                .sheet = way == BESIDE_SERVERS ? servers : sheet,
                .clock = way == BESIDE_NODES ? "nodes" : "emulated",
                .seconds = NAN,
                .paper = NAN,
                .full = NAN,
        };
        switch (way) {
        case BESIDE_FUNCTIONS: make_functions(beside, settings, ret); break;
        case BESIDE_SERVERS: make_servers(beside, sheet, settings, ret); break;
        case BESIDE_NODES: make_nodes(beside, settings, ret); break;
        case _BESIDE_MAX: break;
        }
}

void beside_bill_done(BesideBill *bill) {
        g_clear_pointer(&bill->assumes, g_free);
        g_clear_pointer(&bill->unknown, g_free);
}
