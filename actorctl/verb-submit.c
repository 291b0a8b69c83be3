/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* submit: hand over and leave, or wait for the end. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "actorctl/display.h"
#include "actorctl/follow.h"
#include "actorctl/submission.h"
#include "actorctl/table.h"

static void print_number(const Options *options, uint64_t id) {
        if (options->json != JSON_OFF) {
                g_autoptr(JsonNode) node = json_node_init_object(json_node_alloc(), json_object_new());

                json_object_set_member(json_node_get_object(node), "job", json_unsigned(id));
                json_print(node, options->json);
                return;
        }
        printf("%" G_GUINT64_FORMAT "\n", id);
        (void) fflush(stdout);
}

static ExitStatus wait_for_end(Connection *connection, const char *path, const Options *options) {
        g_autoptr(Display) display = options->quiet ? NULL : display_new(stderr, false, connection, path);
        g_autoptr(JobBill) bill = NULL;
        JobStatus job;
        ExitStatus status;

        job_status_init(&job);
        status = job_follow(connection, path, FOLLOW_LEAVE, display, &job);
        if (status == STATUS_OK && job_bill_fetch(connection, path, &bill) < 0)
                status = STATUS_FAILED;
        if (bill) {
                if (options->json != JSON_OFF) {
                        g_autoptr(JsonNode) node = job_result_to_json(&job, bill, NULL);

                        json_print(node, options->json);
                } else
                        job_result_print(&job, bill, NAN, options);
                job_result_complain(&job);
                status = job_exit_status(&job);
        }
        job_status_done(&job);
        return status;
}

static ExitStatus submit(const Options *options, const Submission *submission) {
        g_autoptr(Connection) connection = NULL;
        g_autofree char *path = NULL;
        uint64_t id;
        ExitStatus status;

        if (connection_open(options, &connection) < 0)
                return STATUS_FAILED;
        status = submission_send(submission, connection, &id, &path);
        if (status != STATUS_OK)
                return status;
        if (!options->wait) {
                print_number(options, id);
                return STATUS_OK;
        }
        if (!options->quiet)
                fprintf(stderr,
                                "job %" G_GUINT64_FORMAT
                                " was submitted; Ctrl-C ends the waiting, not the job\n",
                                id);
        return wait_for_end(connection, path, options);
}

ExitStatus verb_submit(const Options *options, char **arguments, size_t n) {
        Submission submission;
        ExitStatus status;

        status = submission_load(&submission, arguments[0], options->sets);
        if (status == STATUS_OK)
                status = submission_add_data(&submission, options);
        if (status == STATUS_OK)
                status = submit(options, &submission);
        submission_done(&submission);
        return status;
}
