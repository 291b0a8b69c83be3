/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* list: prints the jobs that the daemon remembers or, with options, any jobs of its ledger. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "actorctl/bus.h"
#include "actorctl/job-list.h"
#include "actorctl/job-status.h"
#include "actorctl/view/age.h"
#include "actorctl/view/sort.h"
#include "actorctl/view/table.h"
#include "include/bus.h"
#include "lib/cleanup.h"

/* How many of the jobs that the daemon remembers have ended. */
static int count_remembered(Connection *connection, uint64_t *ret) {
        g_autoptr(GArray) jobs = NULL;
        uint64_t n = 0;
        int r;

        r = jobs_fetch(connection, &jobs);
        if (r < 0)
                return r;
        for (guint i = 0; i < jobs->len; i++)
                n += g_array_index(jobs, JobListed, i).ended;
        *ret = n;
        return 0;
}

/* Finds the jobs that `actorctl list` shows without options: all that have not ended, and the ended ones
 * that the daemon remembers (KeepJobs=). A job that ends between these two questions is in both answers. */
static int remembered(Connection *connection, GArray *rows) {
        JobChoice live = { .states = "queued,frozen,starting,running,ending" },
                  ended = { .states = "ended" };
        uint64_t n_ended;
        guint n_live;
        int r;

        r = count_remembered(connection, &n_ended);
        if (r < 0)
                return r;
        r = job_list_fetch(connection, &live, UINT64_MAX, rows);
        n_live = rows->len;
        if (r >= 0 && n_ended > 0)
                r = job_list_fetch(connection, &ended, n_live + n_ended, rows);
        if (r < 0)
                return r;
        for (guint i = rows->len; i-- > n_live;)
                for (guint k = 0; k < n_live; k++)
                        if (g_array_index(rows, ListedJob, k).id == g_array_index(rows, ListedJob, i).id) {
                                g_array_remove_index(rows, i);
                                break;
                        }
        return 0;
}

/* Finds how far a job is. A row of the list lacks StopSteps=, so a job that goes on is asked for it. */
static void find_progress(Connection *connection, ListedJob *row) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        g_autofree char *path = g_strdup_printf("%s/%" G_GUINT64_FORMAT, BUS_PATH_JOB_PREFIX, row->id);
        uint64_t steps = 0;

        if (strcmp(row->result, "finished") == 0 || strcmp(row->result, "target-reached") == 0)
                row->progress = 1;
        if (strcmp(row->state, "ended") != 0 &&
                        sd_bus_get_property_trivial(connection->bus, connection->destination, path,
                                        BUS_INTERFACE_JOB, "StopSteps", NULL, 't', &steps) >= 0 &&
                        steps > 0)
                row->progress = MIN((double) row->n_env_steps / (double) steps, 1);
}

static int compare_whole(uint64_t a, uint64_t b) {
        return (a > b) - (a < b);
}

/* Compares two numbers. Unknown ones sort before the lowest. */
static int compare_real(double a, double b) {
        if (isnan(a) || isnan(b))
                return isnan(b) - isnan(a);
        return (a > b) - (a < b);
}

#define COMPARE(name, how)                                                      \
        static gint compare_##name(gconstpointer first, gconstpointer second) { \
                const ListedJob *a = first, *b = second;                        \
                                                                                \
                return how;                                                     \
        }
COMPARE(job, compare_whole(a->id, b->id))
COMPARE(user, compare_whole(a->uid, b->uid))
COMPARE(state, strcmp(a->state, b->state))
COMPARE(result, strcmp(a->result, b->result))
COMPARE(environment, strcmp(a->environment, b->environment))
COMPARE(progress, compare_real(a->progress, b->progress))
COMPARE(return, compare_real(a->return_mean, b->return_mean))
COMPARE(steps, compare_whole(a->n_env_steps, b->n_env_steps))
COMPARE(cost, compare_real(a->cost, b->cost))
COMPARE(age, compare_whole(b->submitted_usec, a->submitted_usec))
#undef COMPARE

static const SortKey sorts[] = {
        { "job", compare_job },
        { "user", compare_user },
        { "state", compare_state },
        { "result", compare_result },
        { "environment", compare_environment },
        { "progress", compare_progress },
        { "return", compare_return },
        { "steps", compare_steps },
        { "cost", compare_cost },
        { "age", compare_age },
};

static int compare_rows(gconstpointer a, gconstpointer b, gpointer data) {
        const size_t *sort = data;
        int r = sorts[*sort].compare(a, b);

        return r != 0 ? r : compare_job(a, b);
}

static void add_row(Table *table, const ListedJob *row, uint64_t now_usec) {
        char count[32], money[48], percent[16] = "";
        const char *result = strcmp(row->state, "ended") == 0 ? row->result : "";

        if (isfinite(row->progress))
                snprintf(percent, sizeof(percent), "%.0f %%", 100 * row->progress);
        table_unsigned(table, row->id);
        table_user(table, row->uid);
        table_shown(table, result[0] ? result : row->state, json_word(row->state));
        table_shown(table, "", json_word(result));
        table_string(table, row->environment);
        table_shown(table, percent, json_real(row->progress));
        table_real(table, row->return_mean, "%.2f");
        table_shown(table, format_count(row->n_env_steps, count), json_unsigned(row->n_env_steps));
        table_shown(table, isnan(row->cost) ? "unknown" : format_money(row->cost, row->currency, money),
                        json_real(row->cost));
        table_shown(table, "", json_word(row->currency));
        table_age(table, row->submitted_usec, now_usec);
        table_string(table, row->description);
        table_shown(table, "", json_word(row->tag));
        table_unsigned(table, row->n_rounds);
        table_time(table, row->submitted_usec);
        table_time(table, row->started_usec);
        table_time(table, row->ended_usec);
}

static Table *list_table(void) {
        Table *table = table_new();

        table_column(table, "JOB", "job", COLUMN_NUMBER);
        table_column(table, "USER", "user", COLUMN_TEXT);
        table_column(table, "STATE", "state", COLUMN_TEXT);
        table_column(table, "RESULT", "result", COLUMN_JSON);
        table_column(table, "ENVIRONMENT", "environment", COLUMN_TEXT);
        table_column(table, "DONE", "progress", COLUMN_NUMBER);
        table_column(table, "RETURN", "return_mean", COLUMN_NUMBER);
        table_column(table, "STEPS", "env_steps", COLUMN_NUMBER);
        table_column(table, "COST", "cost_full", COLUMN_NUMBER);
        table_column(table, "CURRENCY", "currency", COLUMN_JSON);
        table_column(table, "AGE", "age_s", COLUMN_NUMBER);
        table_column(table, "DESCRIPTION", "description", COLUMN_TEXT);
        table_column(table, "TAG", "tag", COLUMN_JSON);
        table_column(table, "ROUNDS", "rounds", COLUMN_JSON);
        table_column(table, "SUBMITTED", "submitted_usec", COLUMN_JSON);
        table_column(table, "STARTED", "started_usec", COLUMN_JSON);
        table_column(table, "ENDED", "ended_usec", COLUMN_JSON);
        table_spare(table, "description");
        table_spare(table, "env_steps");
        table_spare(table, "user");
        return table;
}

static bool chooses(const Options *options) {
        return options->all || options->job_state || options->owner || options->tag ||
               options->since_usec > 0 || options->n_lines > 0;
}

ExitStatus verb_list(const Options *options, char **arguments, size_t n) {
        g_autoptr(Connection) connection = NULL;
        g_autoptr(GArray) rows = job_list_new();
        g_autoptr(Table) table = list_table();
        JobChoice choice = {
                .owner = options->owner,
                .tag = options->tag,
                .states = options->job_state,
                .since_usec = options->since_usec,
        };
        uint64_t now_usec = (uint64_t) g_get_real_time();
        size_t sort;
        int r;

        if (!sort_key_find(sorts, G_N_ELEMENTS(sorts), options->sort, &sort))
                return STATUS_USAGE;
        if (connection_open(options, &connection) < 0)
                return STATUS_FAILED;
        if (!chooses(options))
                r = remembered(connection, rows);
        else
                r = job_list_fetch(connection, &choice, options->n_lines > 0 ? options->n_lines : UINT64_MAX,
                                rows);
        if (r < 0)
                return status_of_error(r);
        for (guint i = 0; i < rows->len; i++)
                find_progress(connection, &g_array_index(rows, ListedJob, i));
        g_array_sort_with_data(rows, compare_rows, &sort);
        for (guint i = 0; i < rows->len; i++)
                add_row(table, &g_array_index(rows, ListedJob, i), now_usec);
        table_page(table, options, "job");
        return STATUS_OK;
}
