/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bill: prints a job's two totals, every kind of charge and both clocks, and the cost that the job would
 * have had elsewhere or by another price sheet. Without a job it adds up the costs of many jobs. */
#include <stdio.h>
#include <string.h>

#include "actorctl/view/bill-beside.h"
#include "actorctl/view/bill-focus.h"
#include "actorctl/view/bill-sums.h"
#include "actorctl/view/bill-ways.h"
#include "actorctl/job-list.h"
#include "actorctl/job-open.h"
#include "actorctl/job-settings.h"
#include "actorctl/job-status.h"
#include "actorctl/view/pager.h"
#include "actorctl/view/table.h"
#include "lib/cleanup.h"

/* bill: by the price sheet of --prices= or, without it, by the job's own. own: with --prices=, the bill by
 * the job's own sheet, for comparison; otherwise NULL. beside: estimates for other distributions and for
 * fleets; NULL with --prices=. With --format=, `own` and `beside` are NULL. */
typedef struct Bills {
        JobStatus job;
        JobBill *bill, *own;
        BillBeside *beside;
} Bills;

static void bills_done(Bills *bills) {
        g_clear_pointer(&bills->bill, job_bill_free);
        g_clear_pointer(&bills->own, job_bill_free);
        g_clear_pointer(&bills->beside, bill_beside_free);
        job_status_done(&bills->job);
}

static JsonNode *own_to_json(const JobBill *own) {
        JsonObject *object = json_object_new();
        JsonNode *node = json_node_init_object(json_node_alloc(), object);

        json_object_set_string_member(object, "currency", own->currency);
        json_object_set_string_member(object, "price_sheet", own->price_sheet);
        json_object_set_member(object, "paper", json_real(own->paper));
        json_object_set_member(object, "full", json_real(own->full));
        json_object_unref(object);
        return node;
}

static void print_json(const Options *options, const Bills *bills) {
        const JobStatus *job = &bills->job;
        g_autoptr(JsonNode) node = job_bill_to_json(bills->bill);
        JsonObject *object = json_node_get_object(node);

        json_object_set_member(object, "job", json_unsigned(job->id));
        json_object_set_member(object, "wall_s", json_real((double) job->wall_nsec / 1e9));
        json_object_set_member(object, "emulated_s", json_real((double) job->emulated_nsec / 1e9));
        json_object_set_member(object, "lives_unmetered", json_unsigned(job->n_lives_unmetered));
        if (bills->own)
                json_object_set_member(object, "own", own_to_json(bills->own));
        else
                bill_beside_to_json(bills->beside, object);
        json_print(node, options->json);
}

static void print(const Options *options, const Bills *bills) {
        const JobStatus *job = &bills->job;
        g_autofree char *nodes = job_nodes_use(job);
        char wall[32], emulated[32], paper[48], full[48];

        job_bill_print(bills->bill, options);
        if (bills->own)
                print_line(2, "as billed: paper total %s, full total %s (prices: %s)",
                                format_money(bills->own->paper, bills->own->currency, paper),
                                format_money(bills->own->full, bills->own->currency, full),
                                bills->own->price_sheet);
        job_unmetered_print(job);
        print_line(2, "time: %s on this host, %s on the emulated fleet",
                        format_duration(job->wall_nsec, wall),
                        format_duration(job->emulated_nsec, emulated));
        if (nodes)
                print_line(2, "nodes: %s", nodes);
        if (bills->beside)
                bill_beside_print(bills->beside, bills->bill, options);
}

static int fetch(const Options *options, Connection *connection, const char *path, Bills *bills) {
        int r;

        r = job_status_fetch(&bills->job, connection, path);
        if (r < 0)
                return r;
        r = job_bill_fetch(connection, path, options->prices, &bills->bill);
        if (r < 0 || options->format)
                return r;
        if (options->prices)
                return job_bill_fetch(connection, path, NULL, &bills->own);
        return bill_beside_fetch(connection, path, &bills->job, bills->bill, options->fleet, &bills->beside);
}

/* The host of --host=USER@HOST; without the option, this host. */
static const char *host_of(const Options *options) {
        const char *at;

        if (!options->host)
                return g_get_host_name();
        at = strchr(options->host, '@');
        return at ? at + 1 : options->host;
}

/* Appends the charges of one job. */
static ExitStatus append_focus(const Options *options, Connection *connection, const char *path,
                const char *word, const Bills *bills, GString *text) {
        g_autofree char *called = job_called(word);
        g_autoptr(GArray) settings = NULL;
        FocusNames names = { .host = host_of(options), .word = word, .called = called, .tag = "" };

        if (!bill_focus_check(bills->bill))
                return STATUS_USAGE;
        if (job_settings_fetch(connection, path, called, &settings) < 0)
                return STATUS_FAILED;
        for (guint i = 0; i < settings->len; i++) {
                const JobSetting *row = &g_array_index(settings, JobSetting, i);

                if (strcmp(row->section, "Job") == 0 && strcmp(row->key, "Tag") == 0)
                        names.tag = row->value;
        }
        bill_focus_write(text, &bills->job, bills->bill, &names, (uint64_t) g_get_real_time());
        return STATUS_OK;
}

static ExitStatus print_focus(const Options *options, Connection *connection, const char *path,
                const char *word, const Bills *bills) {
        g_autoptr(GString) text = g_string_new(NULL);
        ExitStatus status;

        bill_focus_heading(text);
        status = append_focus(options, connection, path, word, bills, text);
        if (status == STATUS_OK)
                fputs(text->str, stdout);
        return status;
}

static ExitStatus focus_of_listed(
                const Options *options, Connection *connection, const ListedJob *listed, GString *text) {
        g_autofree char *word = g_strdup_printf("%" G_GUINT64_FORMAT, listed->id);
        _cleanup_(bills_done) Bills bills = { .job = job_status_empty() };
        int r;

        r = fetch(options, connection, listed->path, &bills);
        return r < 0 ? status_of_error(r)
                     : append_focus(options, connection, listed->path, word, &bills, text);
}

/* Prints the charges of all jobs, or none if the bill of one job cannot be fetched. */
static ExitStatus print_all_focus(const Options *options, Connection *connection, const GArray *jobs) {
        g_autoptr(GString) text = g_string_new(NULL);

        bill_focus_heading(text);
        for (guint i = jobs->len; i-- > 0;) {
                ExitStatus status = focus_of_listed(
                                options, connection, &g_array_index(jobs, ListedJob, i), text);

                if (status != STATUS_OK)
                        return status;
        }
        fputs(text->str, stdout);
        return STATUS_OK;
}

static ExitStatus bill_many(const Options *options) {
        unsigned by = options->by ? bill_by_parse(options->by) : BILL_BY_OWNER;
        g_autoptr(Connection) connection = NULL;
        g_autoptr(GArray) jobs = job_list_new();
        JobChoice choice = {
                .owner = options->owner,
                .tag = options->tag,
                .ended_since_usec = options->since_usec,
        };
        int r;

        if (!by)
                return STATUS_USAGE;
        if (connection_open(options, &connection) < 0)
                return STATUS_FAILED;
        r = job_list_fetch(connection, &choice, UINT64_MAX, jobs);
        if (r < 0)
                return status_of_error(r);
        if (options->format)
                return print_all_focus(options, connection, jobs);
        pager_open(options);
        bill_sums_print(jobs, by, (uint64_t) g_get_real_time(), options);
        pager_close();
        return STATUS_OK;
}

static ExitStatus check_many(const Options *options, bool many) {
        if (many && (options->beside || options->fleet || (options->prices && !options->format))) {
                complain("--beside, --fleet= and --prices= are for the bill of one job: name it, as in "
                         "`actorctl bill 7`");
                return STATUS_USAGE;
        }
        if (!many && (options->owner || options->tag || options->since_usec > 0 || options->by)) {
                complain("--owner=, --tag=, --since= and --by= are for the bill of many jobs: leave out the "
                         "job");
                return STATUS_USAGE;
        }
        if (options->by && options->format) {
                complain("--format=focus has a row for each charge of each job: leave out --by=");
                return STATUS_USAGE;
        }
        return STATUS_OK;
}

static ExitStatus check_usage(const Options *options) {
        if (options->format && strcmp(options->format, "focus") != 0) {
                complain("--format=%s: of a bill it must be focus", options->format);
                return STATUS_USAGE;
        }
        if (options->format && (options->json != JSON_OFF || options->fleet)) {
                complain("--format=focus is CSV of the charges alone: leave out --json and --fleet=");
                return STATUS_USAGE;
        }
        if (options->format && options->beside) {
                complain("--format=focus is CSV of the charges alone: leave out --beside");
                return STATUS_USAGE;
        }
        if (options->prices && options->fleet && !options->beside) {
                complain("--prices= shows another bill, and --fleet= compares only the job's own: leave one "
                         "out");
                return STATUS_USAGE;
        }
        return STATUS_OK;
}

ExitStatus verb_bill(const Options *options, char **arguments, size_t n) {
        g_autoptr(Connection) connection = NULL;
        g_autofree char *path = NULL;
        _cleanup_(bills_done) Bills bills = { .job = job_status_empty() };
        ExitStatus status;
        int r;

        status = check_usage(options);
        if (status == STATUS_OK)
                status = check_many(options, n == 0);
        if (status != STATUS_OK)
                return status;
        if (n == 0)
                return bill_many(options);
        status = job_open(options, arguments[0], &connection, &path);
        if (status != STATUS_OK)
                return status;
        if (options->beside) {
                g_autofree char *called = job_called(arguments[0]);

                return bill_ways_print(options, connection, path, called);
        }
        r = fetch(options, connection, path, &bills);
        if (r < 0)
                return status_of_error(r);
        if (options->format)
                return print_focus(options, connection, path, arguments[0], &bills);
        pager_open(options);
        if (options->json != JSON_OFF)
                print_json(options, &bills);
        else
                print(options, &bills);
        pager_close();
        return STATUS_OK;
}
