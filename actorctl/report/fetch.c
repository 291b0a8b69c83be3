/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Asks the daemon for everything that a report of a job needs. */
#include <string.h>

#include "actorctl/job-open.h"
#include "actorctl/job-settings.h"
#include "actorctl/report/report.h"
#include "actorctl/view/why.h"
#include "include/bus.h"
#include "lib/cleanup.h"

#define DECISIONS_PART 50000u

static int fetch_decisions(Connection *connection, const char *path, const char *name, GPtrArray *ret) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        _cleanup_(job_rounds_done) JobRounds rows = {};
        int r;

        r = connection_call(connection, path, BUS_INTERFACE_JOB, "GetDecisions", &reply, "tu", (uint64_t) 0,
                        DECISIONS_PART);
        if (r < 0)
                return r;
        r = job_rounds_read(reply, &rows);
        if (r < 0) {
                complain("the decisions of %s cannot be read: %s", name, g_strerror(-r));
                return r;
        }
        for (size_t i = 0; i < rows.n; i++) {
                g_autofree char *words =
                                why_words(rows.names, rows.values + i * rows.n_columns, false, true);

                if (words)
                        g_ptr_array_add(ret, g_strdup_printf("round %.0f: %s",
                                                             job_rounds_at(&rows, i, "round"), words));
        }
        return 0;
}

static int fetch_settings(Connection *connection, const char *path, const char *name, char **ret) {
        g_autoptr(GString) text = g_string_new(NULL);
        g_autoptr(GArray) rows = NULL;
        const char *before = "";
        int r;

        r = job_settings_fetch(connection, path, name, &rows);
        if (r < 0)
                return r;
        for (guint i = 0; i < rows->len; i++) {
                const JobSetting *row = &g_array_index(rows, JobSetting, i);

                if (strcmp(row->section, before) != 0)
                        g_string_append_printf(text, "%s[%s]\n", i > 0 ? "\n" : "", row->section);
                before = row->section;
                g_string_append_printf(text, "%s=%s\n", row->key, row->value);
        }
        *ret = g_strdup(text->str);
        return 0;
}

/* Reads all parts of the report. Each one prints its own message. */
static int fetch(Connection *connection, const char *path, ReportJob *job) {
        int r;

        r = job_status_fetch(&job->status, connection, path);
        if (r < 0)
                return r;
        r = job_bill_fetch(connection, path, NULL, &job->bill);
        if (r < 0)
                return r;
        r = job_rounds_fetch(connection, path, 0, JOB_ROUNDS_MOST, &job->rounds);
        if (r < 0)
                return r;
        r = fetch_decisions(connection, path, job->name, job->decisions);
        if (r < 0)
                return r;
        return fetch_settings(connection, path, job->name, &job->settings);
}

int report_job_fetch(Connection *connection, const char *path, const char *word, ReportJob **ret) {
        ReportJob *job = g_new0(ReportJob, 1);
        int r;

        job->name = job_called(word);
        job->status = job_status_empty();
        job->decisions = g_ptr_array_new_with_free_func(g_free);
        r = fetch(connection, path, job);
        if (r < 0) {
                report_job_free(job);
                return r;
        }
        *ret = job;
        return 0;
}

ReportJob *report_job_free(ReportJob *job) {
        if (!job)
                return NULL;
        g_free(job->name);
        job_status_done(&job->status);
        g_clear_pointer(&job->bill, job_bill_free);
        job_rounds_done(&job->rounds);
        g_ptr_array_unref(job->decisions);
        g_free(job->settings);
        g_free(job);
        return NULL;
}
