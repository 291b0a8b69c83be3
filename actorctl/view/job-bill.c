/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads and prints a job's bill. The daemon computes all amounts, the sums too: nothing is added up here. */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "actorctl/job-status.h"
#include "actorctl/view/table.h"
#include "include/bus.h"
#include "lib/cleanup.h"

static void line_clear(gpointer data) {
        JobBillLine *line = data;

        g_free(line->kind);
        g_free(line->unit);
}

JobBill *job_bill_free(JobBill *bill) {
        if (!bill)
                return NULL;
        g_free(bill->currency);
        g_free(bill->price_sheet);
        g_array_unref(bill->lines);
        g_free(bill->scheduler.job);
        g_free(bill->scheduler.currency);
        g_free(bill);
        return NULL;
}

static int read_lines(sd_bus_message *m, GArray *lines) {
        const char *kind, *unit;
        double quantity, amount;
        int paper, r;

        r = sd_bus_message_enter_container(m, 'a', "(sdsdb)");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_read(m, "(sdsdb)", &kind, &quantity, &unit, &amount, &paper)) > 0) {
                JobBillLine line = { g_strdup(kind), g_strdup(unit), quantity, amount, paper };

                g_array_append_val(lines, line);
        }
        return r;
}

static int fetch_scheduler(Connection *connection, const char *path, SchedulerBill *ret) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        const char *job, *environment, *currency, *sheet;
        SchedulerBill bill = {};
        int r;

        r = connection_call(connection, path, BUS_INTERFACE_JOB, "GetSchedulerBill", &reply, NULL);
        if (r < 0)
                return r;
        r = sd_bus_message_read(reply, "ssttssdd", &job, &environment, &bill.n_episodes, &bill.wall_nsec,
                        &currency, &sheet, &bill.paper, &bill.full);
        if (r < 0) {
                complain("the bill of the scheduler's training cannot be read: %s", g_strerror(-r));
                return r;
        }
        if (!*job)
                return 0;
        bill.job = g_strdup(job);
        bill.currency = g_strdup(currency);
        *ret = bill;
        return 0;
}

static int call(Connection *connection, const char *path, const char *prices, sd_bus_message **ret) {
        if (prices)
                return connection_call(
                                connection, path, BUS_INTERFACE_JOB, "GetBillUnder", ret, "s", prices);
        return connection_call(connection, path, BUS_INTERFACE_JOB, "GetBill", ret, NULL);
}

static int read_bill(sd_bus_message *reply, bool under, JobBill *bill) {
        const char *currency, *sheet;
        uint64_t emulated_nsec;
        int r;

        bill->learner_second = bill->actor_second = NAN;
        r = sd_bus_message_read(reply, "ssdd", &currency, &sheet, &bill->paper, &bill->full);
        if (r < 0)
                return r;
        if (under) {
                r = sd_bus_message_read(
                                reply, "ddt", &bill->learner_second, &bill->actor_second, &emulated_nsec);
                if (r < 0)
                        return r;
        }
        bill->currency = g_strdup(currency);
        bill->price_sheet = g_strdup(sheet);
        return read_lines(reply, bill->lines);
}

int job_bill_fetch(Connection *connection, const char *path, const char *prices, JobBill **ret) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        g_autoptr(JobBill) bill = g_new0(JobBill, 1);
        int r;

        bill->lines = g_array_new(FALSE, FALSE, sizeof(JobBillLine));
        g_array_set_clear_func(bill->lines, line_clear);
        r = call(connection, path, prices, &reply);
        if (r < 0)
                return r;
        r = read_bill(reply, prices, bill);
        if (r < 0) {
                complain("the bill cannot be read: %s", g_strerror(-r));
                return r;
        }
        r = fetch_scheduler(connection, path, &bill->scheduler);
        if (r < 0)
                return r;
        *ret = g_steal_pointer(&bill);
        return 0;
}

static JsonObject *scheduler_to_json(const SchedulerBill *bill) {
        JsonObject *object = json_object_new();

        json_object_set_string_member(object, "job", bill->job);
        json_object_set_member(object, "episodes", json_unsigned(bill->n_episodes));
        json_object_set_member(object, "wall_s", json_real((double) bill->wall_nsec / 1e9));
        json_object_set_string_member(object, "currency", bill->currency);
        json_object_set_member(object, "paper", json_real(bill->paper));
        json_object_set_member(object, "full", json_real(bill->full));
        return object;
}

JsonNode *job_bill_to_json(const JobBill *bill) {
        JsonObject *object = json_object_new();
        JsonNode *node = json_node_init_object(json_node_alloc(), object);
        JsonArray *lines = json_array_new();

        for (guint i = 0; i < bill->lines->len; i++) {
                const JobBillLine *line = &g_array_index(bill->lines, JobBillLine, i);
                JsonObject *row = json_object_new();

                json_object_set_string_member(row, "kind", line->kind);
                json_object_set_member(row, "quantity", json_real(line->quantity));
                json_object_set_string_member(row, "unit", line->unit);
                json_object_set_member(row, "amount", json_real(line->amount));
                json_object_set_boolean_member(row, "paper", line->paper);
                json_array_add_object_element(lines, row);
        }
        json_object_set_string_member(object, "currency", bill->currency);
        json_object_set_string_member(object, "price_sheet", bill->price_sheet);
        json_object_set_member(object, "paper", json_real(bill->paper));
        json_object_set_member(object, "full", json_real(bill->full));
        if (isfinite(bill->learner_second)) {
                json_object_set_member(object, "learner_second", json_real(bill->learner_second));
                json_object_set_member(object, "actor_second", json_real(bill->actor_second));
        }
        json_object_set_array_member(object, "lines", lines);
        if (bill->scheduler.job)
                json_object_set_object_member(
                                object, "scheduler_training", scheduler_to_json(&bill->scheduler));
        json_object_unref(object);
        return node;
}

void job_bill_print(const JobBill *bill, const Options *options) {
        Options text = *options;
        g_autoptr(Table) table = table_new();
        char paper[48], full[48];

        text.json = JSON_OFF;
        table_column(table, "CHARGE", "kind", COLUMN_TEXT);
        table_column(table, "QUANTITY", "quantity", COLUMN_NUMBER);
        table_column(table, "UNIT", "unit", COLUMN_TEXT);
        table_column(table, bill->currency, "amount", COLUMN_NUMBER);
        table_column(table, "IN", "paper", COLUMN_TEXT);
        for (guint i = 0; i < bill->lines->len; i++) {
                const JobBillLine *line = &g_array_index(bill->lines, JobBillLine, i);

                table_string(table, line->kind);
                table_real(table, line->quantity, "%.6g");
                table_string(table, line->unit);
                table_real(table, line->amount, "%.9f");
                table_string(table, line->paper ? "paper, full" : "full");
        }
        table_print(table, &text, NULL);
        if (bill->lines->len > 0)
                printf("\n");
        print_line(2, "paper total %s, full total %s (prices: %s)",
                        format_money(bill->paper, bill->currency, paper),
                        format_money(bill->full, bill->currency, full), bill->price_sheet);
        if (bill->scheduler.job)
                print_line(2,
                                "its scheduler was trained by %" G_GUINT64_FORMAT " runs of %s, which cost: "
                                "paper total %s, full total %s",
                                bill->scheduler.n_episodes, bill->scheduler.job,
                                format_money(bill->scheduler.paper, bill->scheduler.currency, paper),
                                format_money(bill->scheduler.full, bill->scheduler.currency, full));
}
