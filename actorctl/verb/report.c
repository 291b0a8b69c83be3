/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* report: writes one file about one job or several, or about an experiment, for readers who did not watch
 * it. */
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

/* The finished cells of an experiment are files beside the experiment's own file, so no daemon is needed. */
static ExitStatus print_experiment(const Options *options, const char *file) {
        g_autofree char *directory = results_directory(NULL, file), *text = NULL;
        g_autoptr(Experiment) experiment = NULL;
        g_autoptr(GPtrArray) cells = NULL;
        g_autoptr(Page) page = NULL;
        ExitStatus status;

        status = experiment_open(file, &experiment, &cells);
        if (status == STATUS_OK)
                status = job_needs_no_daemon(options, file, "a file");
        if (status != STATUS_OK)
                return status;
        if (results_read(experiment, cells, directory) < 0)
                return STATUS_FAILED;
        page = page_new(options->md ? PAGE_MD : PAGE_HTML, experiment->title);
        report_experiment(page, experiment, cells);
        page_paragraph(page, "Made by actorctl report, " ACTORD_VERSION ".");
        text = page_finish(page);
        return output_text(options, text);
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
                complain("--html and --md cannot be used together");
                return STATUS_USAGE;
        }
        for (size_t i = 0; i < n; i++) {
                if (!g_str_has_suffix(arguments[i], ".exp"))
                        continue;
                if (n == 1)
                        return print_experiment(options, arguments[i]);
                complain("%s is an experiment, which has a report of its own: name it alone", arguments[i]);
                return STATUS_USAGE;
        }
        status = read_jobs(options, arguments, n, jobs);
        if (status != STATUS_OK)
                return status;
        text = compose(jobs, options->md ? PAGE_MD : PAGE_HTML);
        return output_text(options, text);
}
