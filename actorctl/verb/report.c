/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* report: writes one file about one or several jobs, for people who were not there. */
#include "actorctl/job-open.h"
#include "actorctl/output.h"
#include "actorctl/report/report.h"

static void job_free(gpointer job) {
        report_job_free(job);
}

static ExitStatus read_jobs(const Options *options, char **words, size_t n, GPtrArray *ret) {
        for (size_t i = 0; i < n; i++) {
                g_autoptr(Connection) connection = NULL;
                g_autofree char *path = NULL;
                ReportJob *job;
                ExitStatus status;
                int r;

                status = job_open(options, words[i], &connection, &path);
                if (status != STATUS_OK)
                        return status;
                r = report_job_fetch(connection, path, words[i], &job);
                if (r < 0)
                        return status_of_error(r);
                g_ptr_array_add(ret, job);
        }
        return STATUS_OK;
}

static char *compose(const GPtrArray *jobs, PageFormat format) {
        g_autofree char *title = g_strdup_printf("actord: %s%s", ((const ReportJob *) jobs->pdata[0])->name,
                        jobs->len > 1 ? " and others" : "");
        g_autoptr(Page) page = page_new(format, title);

        if (jobs->len > 1)
                report_together(page, jobs);
        for (guint i = 0; i < jobs->len; i++)
                report_job(page, jobs->pdata[i]);
        page_paragraph(page, "Made by actorctl report, " ACTORD_VERSION ".");
        return page_finish(page);
}

ExitStatus verb_report(const Options *options, char **arguments, size_t n) {
        g_autoptr(GPtrArray) jobs = g_ptr_array_new_with_free_func(job_free);
        g_autofree char *text = NULL;
        ExitStatus status;

        if (options->html && options->md) {
                complain("--html and --md exclude each other");
                return STATUS_USAGE;
        }
        status = read_jobs(options, arguments, n, jobs);
        if (status != STATUS_OK)
                return status;
        text = compose(jobs, options->md ? PAGE_MD : PAGE_HTML);
        return output_text(options, text);
}
