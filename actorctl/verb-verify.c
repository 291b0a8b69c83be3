/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* verify: the way of a job, up to its environment's spec. */
#include <stdio.h>
#include <string.h>

#include "actorctl/follow.h"
#include "actorctl/submission.h"
#include "actorctl/table.h"

static void print_ok(const Options *options, const Submission *submission, const JobStatus *job) {
        if (options->json != JSON_OFF) {
                g_autoptr(JsonNode) node = job_status_to_json(job);

                json_print(node, options->json);
        } else if (!options->quiet)
                printf("%s: fine; %s loads at sandbox level %s\n",
                                submission->no_file ? submission->settings.environment
                                                    : submission->file_name,
                                job->environment, job->sandbox_level);
}

static ExitStatus verify_submission(const Options *options, Submission *submission) {
        g_autoptr(Connection) connection = NULL;
        g_autofree char *path = NULL;
        JobStatus job;
        ExitStatus status;

        if (connection_open_any(options, &connection) < 0)
                return STATUS_FAILED;
        submission->purpose = "verify";
        submission->with_stderr = connection->pid > 0;
        job_status_init(&job);
        status = submission_follow(connection, NULL, submission, &path, &job);
        if (status == STATUS_OK && job_exit_status(&job) == STATUS_OK)
                print_ok(options, submission, &job);
        else if (status == STATUS_OK && job_environment_failed(&job)) {
                submission_complain_environment(submission, job.fault);
                status = STATUS_USAGE;
        } else if (status == STATUS_OK) {
                complain("%s could not be verified: %s", submission->file_name,
                                job.fault[0] ? job.fault : job.result);
                status = STATUS_FAILED;
        }
        job_status_done(&job);
        return status;
}

ExitStatus verb_verify(const Options *options, char **arguments, size_t n) {
        Submission submission;
        ExitStatus status;

        status = submission_load(&submission, arguments[0], options->sets);
        if (status == STATUS_OK)
                status = submission_add_data(&submission, options);
        follow_prepare(); /* not before: what is piped into this program is waited for */
        if (status == STATUS_OK)
                status = verify_submission(options, &submission);
        submission_done(&submission);
        return status;
}
