/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* metrics: writes the rounds of a job as files; or prints the figures of all jobs as OpenMetrics text. */
#include "actorctl/metrics/metrics.h"

#include <stdio.h>

#include "actorctl/job-open.h"
#include "actorctl/metrics/openmetrics.h"
#include "lib/cleanup.h"

static ExitStatus write_files(const Options *options, Connection *connection, const char *path) {
        _cleanup_(job_status_done) JobStatus job = job_status_empty();
        g_autoptr(Metrics) metrics = NULL;

        if (job_status_fetch(&job, connection, path) < 0)
                return STATUS_FAILED;
        if (metrics_open(options->metrics, false, &metrics) != STATUS_OK)
                return STATUS_USAGE;
        if (metrics_write(metrics, connection, path, &job) < 0)
                return STATUS_FAILED;
        return metrics_complete(metrics) ? STATUS_OK : STATUS_FAILED;
}

static ExitStatus print_text(Connection *connection, const char *path) {
        g_autoptr(GString) text = g_string_new(NULL);

        if (openmetrics_append(connection, path, text) < 0)
                return STATUS_FAILED;
        fputs(text->str, stdout);
        return STATUS_OK;
}

ExitStatus verb_metrics(const Options *options, char **arguments, size_t n) {
        g_autoptr(Connection) connection = NULL;
        g_autofree char *path = NULL;
        ExitStatus status = STATUS_OK;

        if (n == 0 && options->metrics->len > 0) {
                complain("--metrics writes the rounds of one job: name it, as in `actorctl metrics r1 "
                         "--metrics=csv:rounds.csv`");
                return STATUS_USAGE;
        }
        if (n > 0)
                status = job_open(options, arguments[0], &connection, &path);
        else if (connection_open(options, &connection) < 0)
                status = STATUS_FAILED;
        if (status != STATUS_OK)
                return status;
        return options->metrics->len > 0 ? write_files(options, connection, path)
                                         : print_text(connection, path);
}
