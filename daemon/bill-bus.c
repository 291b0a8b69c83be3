/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* GetBill, GetEstimates, GetFleets: what a job costs, what it would have cost elsewhere, and what a fleet of servers would. */
#include "daemon/job.h"

#include <errno.h>
#include <math.h>
#include "daemon/fleet.h"
#include "daemon/reply.h"
#include "include/bus.h"
#include "include/launch.h"
#include "lib/cleanup.h"
#include "lib/settings-print.h"
#include "lib/sheets.h"

DEFINE_CLEANUP(PriceSheet *, price_sheet_free)

int method_get_bill(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Job *job = userdata;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        Bill bill;
        int r;

        bill_make(&job->progress.usage, job->sheet, &job->settings, &bill);
        r = sd_bus_message_new_method_return(m, &reply);
        if (r >= 0)
                r = sd_bus_message_append(reply, "ssdd", price_sheet_currency(job->sheet),
                                price_sheet_name(job->sheet), bill.paper, bill.full);
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'a', "(sdsdb)");
        for (size_t i = 0; r >= 0 && i < bill.n_lines; i++)
                r = sd_bus_message_append(reply, "(sdsdb)", charge_to_string(bill.lines[i].charge),
                                bill.lines[i].quantity, bill.lines[i].unit, bill.lines[i].amount,
                                (int) bill.lines[i].paper);
        return reply_rows(reply, r);
}

static int append_estimate(sd_bus_message *reply, const Job *job, uint32_t row) {
        const Usage *usage = &job->progress.estimates.usage[row];
        const char *unknown = job->row.trimmed_usec > 0 ? "the job's records were removed"
                                                        : estimate_unknown(row, &job->settings);
        double emulated_s = NAN, paper = NAN, full = NAN;
        Bill bill;

        if (!unknown) {
                bill_make(usage, job->sheet, &job->settings, &bill);
                emulated_s = (double) usage->emulated_nsec / 1e9;
                paper = bill.paper;
                full = bill.full;
        }
        return sd_bus_message_append(reply, "(suddds)",
                        choice_distribution_to_string(estimate_distribution(row)), estimate_learners(row),
                        emulated_s, paper, full, unknown ? unknown : "");
}

int method_get_estimates(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Job *job = userdata;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int r;

        r = job->row.trimmed_usec > 0 ? job_load_summary(job) : job_load_records(job);
        if (r < 0)
                return r;
        r = sd_bus_message_new_method_return(m, &reply);
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'a', "(suddds)");
        for (uint32_t i = 0; r >= 0 && i < _ESTIMATE_MAX && job->row.purpose == LAUNCH_TRAIN; i++)
                r = append_estimate(reply, job, i);
        return reply_rows(reply, r);
}

static int append_fleet(sd_bus_message *reply, const Job *job, const PriceSheet *sheet) {
        g_autofree char *servers = fleet_servers(sheet, &job->settings);
        Fleet fleet;

        fleet_make(&job->progress.usage, job->sheet, sheet, &job->settings, &fleet);
        return sd_bus_message_append(reply, "(sssddddd)", price_sheet_name(sheet), price_sheet_date(sheet),
                        servers, fleet.hour, fleet.emulated, fleet.wall, fleet.even_emulated,
                        fleet.even_wall);
}

/* A sheet that cannot be read, or names no servers, is no fleet; who asked for it by name is told. */
static int add_sheet(
                sd_bus_message *reply, const Job *job, const char *name, bool named, sd_bus_error *error) {
        _cleanup_(price_sheet_freep) PriceSheet *sheet = NULL;
        g_autofree char *text = NULL, *message = NULL;
        int r;

        r = sheets_read(name, &text);
        if (r < 0 && named)
                return reply_no_sheet(error, name, r);
        if (r < 0)
                return 0;
        r = price_sheet_parse(text, name, &sheet, &message);
        if (r < 0)
                return named ? sd_bus_error_set(error, BUS_ERROR(BadPriceSheet), message) : 0;
        r = fleet_check(job->sheet, sheet, &job->settings, &message);
        if (r < 0 && named)
                return sd_bus_error_setf(error, BUS_ERROR(BadPriceSheet), "There is nothing to compare: %s.",
                                message);
        return r < 0 ? 0 : append_fleet(reply, job, sheet);
}

int method_get_fleets(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Job *job = userdata;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        g_auto(GStrv) sheets = NULL;
        const char *name;
        int r;

        r = sd_bus_message_read(m, "s", &name);
        if (r < 0)
                return r;
        r = sd_bus_message_new_method_return(m, &reply);
        if (r >= 0)
                r = sd_bus_message_append(reply, "d",
                                fleet_serverless(&job->progress.usage, job->sheet, &job->settings));
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'a', "(sssddddd)");
        if (r >= 0 && *name)
                r = add_sheet(reply, job, name, true, error);
        else {
                sheets = sheets_list();
                for (char **sheet = sheets; r >= 0 && *sheet; sheet++)
                        r = add_sheet(reply, job, *sheet, false, error);
        }
        return reply_rows(reply, r);
}
