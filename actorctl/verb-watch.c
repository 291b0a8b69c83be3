/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* watch: somebody else's run, live. */
#include <math.h>
#include <stdio.h>

#include "actorctl/display.h"
#include "actorctl/follow.h"

static ExitStatus watch(Connection *connection, const char *path, const Options *options, JobStatus *job) {
        g_autoptr(Display) display = display_new(stdout, true, connection, path);
        g_autoptr(JobBill) bill = NULL;
        ExitStatus status;

        /* A number that is no job's is said before anything is drawn. */
        if (job_status_fetch(job, connection, path) < 0)
                return STATUS_FAILED;
        status = job_follow(connection, path, FOLLOW_LEAVE, display, job);
        if (status != STATUS_OK)
                return status;
        if (job_bill_fetch(connection, path, &bill) < 0)
                return STATUS_FAILED;
        printf("\n");
        job_result_print(job, bill, NAN, options);
        job_result_complain(job);
        return STATUS_OK;
}

ExitStatus verb_watch(const Options *options, char **arguments, size_t n) {
        g_autoptr(Connection) connection = NULL;
        g_autofree char *path = NULL;
        JobStatus job;
        ExitStatus status;

        if (job_path(arguments[0], NULL, &path) < 0)
                return STATUS_USAGE;
        if (connection_open(options, &connection) < 0)
                return STATUS_FAILED;
        job_status_init(&job);
        status = watch(connection, path, options, &job);
        job_status_done(&job);
        return status;
}
