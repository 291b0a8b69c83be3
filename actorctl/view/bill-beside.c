/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Prints what the job would have cost under other distributions and on fleets, within 80 columns. */
#include "actorctl/view/bill-beside.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "include/bus.h"
#include "lib/cleanup.h"

BillBeside *bill_beside_free(BillBeside *beside) {
        if (!beside)
                return NULL;
        (void) table_free(beside->estimates);
        (void) table_free(beside->known);
        (void) table_free(beside->fleets);
        (void) g_string_free(beside->unknown, TRUE);
        g_free(beside->reason);
        g_free(beside);
        return NULL;
}

typedef struct EstimateLine {
        const char *distribution, *unknown;
        uint32_t n_learners;
        double emulated_s, paper, full;
} EstimateLine;

static void add_numbers(Table *table, const EstimateLine *line) {
        table_real(table, line->emulated_s, "%.6g");
        table_real(table, line->paper, "%.9f");
        table_real(table, line->full, "%.9f");
}

static void add_estimate(BillBeside *beside, const EstimateLine *line, const char *label) {
        table_string(beside->estimates, line->distribution);
        table_unsigned(beside->estimates, line->n_learners);
        add_numbers(beside->estimates, line);
        table_string(beside->estimates, line->unknown);
        if (!*line->unknown) {
                table_string(beside->known, label);
                add_numbers(beside->known, line);
                return;
        }
        if (g_strcmp0(beside->reason, line->unknown) == 0) {
                size_t at = beside->unknown->len - strlen(beside->reason) - strlen(": \n");

                g_string_insert(beside->unknown, (gssize) at, label);
                g_string_insert(beside->unknown, (gssize) at, " and for ");
                return;
        }
        g_free(beside->reason);
        beside->reason = g_strdup(line->unknown);
        g_string_append_printf(beside->unknown, "unknown for %s: %s\n", label, line->unknown);
}

static void estimate_columns(BillBeside *beside) {
        table_column(beside->known, "DISTRIBUTION", "distribution", COLUMN_TEXT);
        table_column(beside->estimates, "DISTRIBUTION", "distribution", COLUMN_TEXT);
        table_column(beside->estimates, "LEARNERS", "learners", COLUMN_NUMBER);
        for (int i = 0; i < 2; i++) {
                Table *table = i == 0 ? beside->known : beside->estimates;

                table_column(table, "EMULATED S", "emulated_s", COLUMN_NUMBER);
                table_column(table, "PAPER TOTAL", "paper", COLUMN_NUMBER);
                table_column(table, "FULL TOTAL", "full", COLUMN_NUMBER);
        }
        table_column(beside->estimates, "UNKNOWN", "unknown", COLUMN_TEXT);
}

static int read_estimates(sd_bus_message *m, BillBeside *beside) {
        EstimateLine line;
        int r;

        r = sd_bus_message_enter_container(m, 'a', "(suddds)");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_read(m, "(suddds)", &line.distribution, &line.n_learners,
                                &line.emulated_s, &line.paper, &line.full, &line.unknown)) > 0) {
                g_autofree char *label = line.n_learners > 1 ? g_strdup_printf("%s, %u", line.distribution,
                                                                               line.n_learners)
                                                             : g_strdup(line.distribution);

                beside->has_estimates = true;
                add_estimate(beside, &line, label);
        }
        return r;
}

static int fetch_estimates(Connection *connection, const char *path, const JobStatus *job,
                const JobBill *bill, BillBeside *beside) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int r;

        r = connection_call(connection, path, BUS_INTERFACE_JOB, "GetEstimates", &reply, NULL);
        if (r < 0)
                return r;
        estimate_columns(beside);
        add_estimate(beside,
                        &(EstimateLine){
                                        .distribution = "as it ran",
                                        .unknown = "",
                                        .emulated_s = (double) job->emulated_nsec / 1e9,
                                        .paper = bill->paper,
                                        .full = bill->full,
                        },
                        "as it ran");
        r = read_estimates(reply, beside);
        if (r < 0)
                complain("the estimates of the bill cannot be read: %s", g_strerror(-r));
        return r;
}

static void fleet_columns(Table *table) {
        table_column(table, "FLEET", "price_sheet", COLUMN_TEXT);
        table_column(table, "DATE", "date", COLUMN_JSON);
        table_column(table, "SERVERS", "servers", COLUMN_JSON);
        table_column(table, "AN HOUR", "cost_per_hour", COLUMN_NUMBER);
        table_column(table, "EMULATED", "cost_emulated", COLUMN_NUMBER);
        table_column(table, "THIS HOST", "cost_wall", COLUMN_NUMBER);
        table_column(table, "EVEN AT", NULL, COLUMN_TEXT);
        table_column(table, "EVEN AT", "even_emulated", COLUMN_JSON);
        table_column(table, "EVEN AT", "even_wall", COLUMN_JSON);
}

/* A duty cycle in words: "58 %" of the fleet's time; "never" above 100 %. */
static char *duty(double even) {
        if (!isfinite(even))
                return g_strdup("");
        return even > 1 ? g_strdup("never") : g_strdup_printf("%.3g %%", even * 100);
}

static int read_fleets(sd_bus_message *m, BillBeside *beside) {
        const char *sheet, *date, *servers;
        double hour, emulated, wall, even_emulated, even_wall;
        int r;

        r = sd_bus_message_read(m, "d", &beside->serverless);
        if (r < 0)
                return r;
        r = sd_bus_message_enter_container(m, 'a', "(sssddddd)");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_read(m, "(sssddddd)", &sheet, &date, &servers, &hour, &emulated, &wall,
                                &even_emulated, &even_wall)) > 0) {
                g_autofree char *even = duty(even_emulated);

                beside->has_fleets = true;
                table_string(beside->fleets, sheet);
                table_string(beside->fleets, date);
                table_string(beside->fleets, servers);
                table_real(beside->fleets, hour, "%.4g");
                table_real(beside->fleets, emulated, "%.9f");
                table_real(beside->fleets, wall, "%.9f");
                table_string(beside->fleets, even);
                table_real(beside->fleets, even_emulated, "%g");
                table_real(beside->fleets, even_wall, "%g");
        }
        return r;
}

static int fetch_fleets(Connection *connection, const char *path, const char *fleet, BillBeside *beside) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int r;

        r = connection_call(
                        connection, path, BUS_INTERFACE_JOB, "GetFleets", &reply, "s", fleet ? fleet : "");
        if (r < 0)
                return r;
        fleet_columns(beside->fleets);
        r = read_fleets(reply, beside);
        if (r < 0)
                complain("the comparison with fleets cannot be read: %s", g_strerror(-r));
        return r;
}

int bill_beside_fetch(Connection *connection, const char *path, const JobStatus *job, const JobBill *bill,
                const char *fleet, BillBeside **ret) {
        g_autoptr(BillBeside) beside = g_new0(BillBeside, 1);
        int r;

        beside->estimates = table_new();
        beside->fleets = table_new();
        beside->known = table_new();
        beside->unknown = g_string_new(NULL);
        r = fetch_estimates(connection, path, job, bill, beside);
        if (r < 0)
                return r;
        r = fetch_fleets(connection, path, fleet, beside);
        if (r < 0)
                return r;
        *ret = g_steal_pointer(&beside);
        return 0;
}

void bill_beside_print(const BillBeside *beside, const JobBill *bill, const Options *options) {
        Options text = *options;
        char money[48];

        text.json = JSON_OFF;
        if (beside->has_estimates) {
                printf("\nthe same rounds elsewhere, by estimate, in %s:\n\n", bill->currency);
                table_print(beside->known, &text, NULL);
                printf("%s", beside->unknown->len > 0 ? "\n" : "");
                print_wrapped_lines(beside->unknown->str);
        }
        if (beside->has_fleets) {
                printf("\n");
                if (isnan(beside->serverless))
                        print_line(2,
                                        "the cost as functions is not known, since records were removed; on "
                                        "a fleet of servers, in %s:",
                                        bill->currency);
                else
                        print_line(2, "as functions the training cost %s; on a fleet of servers, in %s:",
                                        format_money(beside->serverless, bill->currency, money),
                                        bill->currency);
                printf("\n");
                table_print(beside->fleets, &text, NULL);
                printf("\n");
                print_line(2, "EVEN AT: the share of its time in which a fleet must train to be as cheap.");
        }
}

void bill_beside_to_json(const BillBeside *beside, JsonObject *object) {
        json_object_set_member(object, "estimates", table_to_json(beside->estimates));
        json_object_set_member(object, "serverless", json_real(beside->serverless));
        json_object_set_member(object, "fleets", table_to_json(beside->fleets));
}
