/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* watch: follows a job that was submitted before. */
#include <math.h>
#include <stdio.h>

#include "actorctl/view/display.h"
#include "actorctl/follow.h"
#include "actorctl/job-open.h"
#include "actorctl/metrics/metrics.h"
#include "actorctl/private.h"
#include "lib/cleanup.h"

static ExitStatus watch(Connection *connection, const char *path, const Options *options, JobStatus *job) {
        g_autoptr(Display) display = NULL;
        g_autoptr(Metrics) metrics = NULL;
        g_autoptr(JobBill) bill = NULL;
        ExitStatus status;

        if (job_status_fetch(job, connection, path) < 0)
                return STATUS_FAILED;
        if (metrics_open(options->metrics, false, &metrics) != STATUS_OK)
                return STATUS_USAGE;
        display = display_new(stdout, true, connection, path);
        status = job_follow(connection, path, FOLLOW_LEAVE, follow_limits(options), display, metrics, job);
        if (status != STATUS_OK || !job_has_ended(job))
                return status;
        if (job_bill_fetch(connection, path, NULL, &bill) < 0)
                return STATUS_FAILED;
        printf("\n");
        job_result_complain(job);
        job_result_print(job, bill, NAN, options);
        return STATUS_OK;
}

ExitStatus verb_watch(const Options *options, char **arguments, size_t n) {
        g_autoptr(Connection) connection = NULL;
        g_autofree char *path = NULL;
        _cleanup_(job_status_done) JobStatus job = job_status_empty();
        ExitStatus status;

        if (word_names_run(arguments[0]) && job_path(arguments[0], NULL, &path) < 0)
                return STATUS_USAGE;
        status = job_open(options, arguments[0], &connection, &path);
        if (status != STATUS_OK)
                return status;
        return watch(connection, path, options, &job);
}
