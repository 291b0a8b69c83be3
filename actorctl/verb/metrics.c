/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* metrics: writes the rounds of a job into files. Or it prints the figures of one job or all jobs as
 * OpenMetrics text, to standard output or as the answer to one HTTP request. */
#include "actorctl/metrics/metrics.h"

#include <stdio.h>
#include <unistd.h>

#include "actorctl/job-open.h"
#include "actorctl/metrics/http.h"
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

/* Makes the OpenMetrics text for all jobs, or for the job that `arguments` names. */
static ExitStatus make_text(const Options *options, char **arguments, size_t n, GString *text) {
        g_autoptr(Connection) connection = NULL;
        g_autofree char *path = NULL;
        ExitStatus status = STATUS_OK;

        if (n > 0)
                status = job_open(options, arguments[0], &connection, &path);
        else if (connection_open(options, &connection) < 0)
                status = STATUS_FAILED;
        if (status != STATUS_OK)
                return status;
        return openmetrics_append(connection, path, text) < 0 ? STATUS_FAILED : STATUS_OK;
}

static ExitStatus print_text(const Options *options, char **arguments, size_t n) {
        g_autoptr(GString) text = g_string_new(NULL);
        ExitStatus status;

        status = make_text(options, arguments, n, text);
        if (status == STATUS_OK)
                fputs(text->str, stdout);
        return status;
}

/* Answers one HTTP request. Asks the daemon only if the request is complete and valid. */
static ExitStatus answer_request(const Options *options, char **arguments, size_t n) {
        g_autoptr(GString) text = g_string_new(NULL);
        ExitStatus status = STATUS_OK;
        HttpStatus answer;
        bool head_only;

        (void) alarm(HTTP_SECONDS);
        if (http_read(STDIN_FILENO, &answer, &head_only) < 0)
                return STATUS_OK;
        if (answer == HTTP_OK)
                status = make_text(options, arguments, n, text);
        if (status != STATUS_OK)
                answer = HTTP_UNAVAILABLE;
        (void) http_write(STDOUT_FILENO, answer, head_only, text);
        return status;
}

ExitStatus verb_metrics(const Options *options, char **arguments, size_t n) {
        g_autoptr(Connection) connection = NULL;
        g_autofree char *path = NULL;
        ExitStatus status;

        if (options->http && options->metrics->len > 0) {
                complain("--http answers with text, and --metrics writes files: use only one of them");
                return STATUS_USAGE;
        }
        if (options->http)
                return answer_request(options, arguments, n);
        if (options->metrics->len == 0)
                return print_text(options, arguments, n);
        if (n == 0) {
                complain("--metrics writes the rounds of one job: name it, as in `actorctl metrics r1 "
                         "--metrics=csv:rounds.csv`");
                return STATUS_USAGE;
        }
        status = job_open(options, arguments[0], &connection, &path);
        return status == STATUS_OK ? write_files(options, connection, path) : status;
}
