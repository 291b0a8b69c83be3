/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* run: a daemon, one job, one result. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "actorctl/decisions.h"
#include "actorctl/follow.h"
#include "actorctl/submission.h"
#include "actorctl/table.h"
#include "include/bus.h"
#include "include/launch.h"
#include "lib/cleanup.h"
#include "lib/fragment.h"

/* Where the policy is, since what comes next is `actorctl eval` of it. */
static void print_places(const Connection *connection, const JobStatus *status) {
        g_autofree char *checkpoint = g_strdup_printf("%s/jobs/%" PRIu64 "/state/" CHECKPOINT_NAME,
                        connection->state_directory, status->id, status->round);

        if (access(checkpoint, R_OK) == 0)
                printf("checkpoint %s\n", checkpoint);
        else
                printf("state in %s\n", connection->state_directory);
}

/* What Policy=replay:FILE repeats. A fixed number needs no file, unless each round also has taken one actor of so many. */
static char *keep_decisions(Connection *connection, const char *path, const Submission *submission,
                const JobStatus *status, double *ret_actors_mean) {
        g_autoptr(GArray) counts = NULL;
        g_autofree char *file = NULL;

        *ret_actors_mean = NAN;
        if (submission->settings.scheduler.kind == SCHEDULER_FIXED &&
                        !distribution_overlaps(distribution_of(&submission->settings)))
                return NULL;
        file = g_build_filename(connection->state_directory, "decisions.json", NULL);
        if (decisions_of_job(connection, path, &counts) < 0 || counts->len == 0)
                return NULL;
        *ret_actors_mean = decisions_mean(counts, status->round);
        return decisions_write(file, counts) < 0 ? NULL : g_steal_pointer(&file);
}

static void print_result(const Connection *connection, const Options *options, const JobStatus *status,
                const JobBill *bill, double actors_mean) {
        if (options->json != JSON_OFF) {
                g_autoptr(JsonNode) node = job_result_to_json(status, bill, connection->state_directory);

                json_print(node, options->json);
                return;
        }
        job_result_print(status, bill, actors_mean, options);
        if (!options->quiet)
                print_places(connection, status);
}

static ExitStatus finish(Connection *connection, const char *path, const Options *options,
                const Submission *submission, const JobStatus *status) {
        double actors_mean;
        g_autofree char *decisions = keep_decisions(connection, path, submission, status, &actors_mean);
        g_autoptr(JobBill) bill = NULL;

        if (job_bill_fetch(connection, path, &bill) < 0)
                return STATUS_FAILED;
        print_result(connection, options, status, bill, actors_mean);
        if (decisions && options->json == JSON_OFF && !options->quiet)
                printf("decisions %s\n", decisions);
        if (job_environment_failed(status)) {
                submission_complain_environment(submission, status->fault);
                return STATUS_USAGE;
        }
        job_result_complain(status);
        return job_exit_status(status);
}

/* Its books wait for space and nobody else does. The object says so, and where the rest is. */
static ExitStatus leave(
                Connection *connection, const char *path, const Options *options, const JobStatus *status) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        g_autoptr(JobBill) bill = NULL;
        const char *rest = "";

        if (connection_call(connection, BUS_PATH, BUS_INTERFACE_MANAGER, "KeepRest", &reply, NULL) < 0 ||
                        sd_bus_message_read(reply, "s", &rest) < 0 ||
                        job_bill_fetch(connection, path, &bill) < 0)
                return STATUS_FAILED;
        if (options->json != JSON_OFF) {
                g_autoptr(JsonNode) node = job_result_to_json(status, bill, connection->state_directory);

                json_object_set_string_member(json_node_get_object(node), "waiting", status->waiting);
                json_object_set_string_member(json_node_get_object(node), "rest", rest);
                json_print(node, options->json);
        }
        if (*rest)
                complain("the ledger in %s is not complete: what it lacks is in %s, and `actorctl recover %s` takes it in",
                                connection->state_directory, rest, connection->state_directory);
        return STATUS_ENDING;
}

static ExitStatus run(const Options *options, const Submission *submission) {
        g_autoptr(Connection) connection = NULL;
        g_autofree char *path = NULL;
        JobStatus job;
        ExitStatus status;

        if (connection_open_private(true, &connection) < 0)
                return STATUS_FAILED;
        job_status_init(&job);
        status = submission_follow(connection, options, submission, &path, &job);
        if (status == STATUS_OK)
                status = finish(connection, path, options, submission, &job);
        else if (status == STATUS_ENDING)
                status = leave(connection, path, options, &job);
        job_status_done(&job);
        return status;
}

ExitStatus verb_run(const Options *options, char **arguments, size_t n) {
        Submission submission;
        ExitStatus status;

        status = submission_load(&submission, arguments[0], options->sets);
        if (status == STATUS_OK)
                status = submission_add_data(&submission, options);
        submission.with_stderr = true;
        follow_prepare(); /* not before: what is piped into this program is waited for */
        if (status == STATUS_OK)
                status = run(options, &submission);
        submission_done(&submission);
        return status;
}
