/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* verify: checks a job file by starting its job, up to the spec of its environment. */
#include <stdio.h>
#include <string.h>

#include "actorctl/follow.h"
#include "actorctl/job-file.h"
#include "actorctl/view/table.h"
#include "lib/cleanup.h"

static void print_ok(const Options *options, const JobFile *job_file, const JobStatus *job) {
        if (options->json != JSON_OFF) {
                g_autoptr(JsonNode) node = job_status_to_json(job);

                json_print(node, options->json);
        } else
                printf("%s: fine; %s loads at sandbox level %s\n",
                                job_file->no_file ? job_file->settings.environment : job_file->file_name,
                                job->environment, job->sandbox_level);
}

static ExitStatus verify_submission(const Options *options, JobFile *job_file) {
        g_autoptr(Connection) connection = NULL;
        g_autofree char *path = NULL;
        _cleanup_(job_status_done) JobStatus job = job_status_empty();
        ExitStatus status;
        uint64_t id;

        if (connection_open_any(options, &connection) < 0)
                return STATUS_FAILED;
        job_file->purpose = "verify";
        job_file->with_stderr = connection->pid > 0;
        status = job_file_send(job_file, connection, &id, &path);
        if (status != STATUS_OK)
                return status;
        status = job_follow(connection, path, FOLLOW_STOP, follow_limits(options), NULL, NULL, &job);
        if (status != STATUS_OK)
                return status;
        if (job_environment_failed(&job)) {
                job_file_complain_environment(job_file, job.fault);
                return STATUS_USAGE;
        }
        if (job_exit_status(&job) != STATUS_OK) {
                complain("%s could not be verified: %s", job_file->file_name,
                                job.fault[0] ? job.fault : job.result);
                return STATUS_FAILED;
        }
        print_ok(options, job_file, &job);
        return STATUS_OK;
}

ExitStatus verb_verify(const Options *options, char **arguments, size_t n) {
        JobFile job_file;
        ExitStatus status;

        status = job_file_load(&job_file, arguments[0], options->sets);
        if (status == STATUS_OK)
                status = job_file_add_data(&job_file, options);
        /* not earlier: until the job file is read from a pipe, Ctrl-C must end this program */
        follow_prepare();
        if (status == STATUS_OK)
                status = verify_submission(options, &job_file);
        job_file_done(&job_file);
        return status;
}
