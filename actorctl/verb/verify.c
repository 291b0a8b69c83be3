/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* verify: checks a job file by starting its job, until the environment has told its spec. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "actorctl/ask-cluster.h"
#include "actorctl/follow.h"
#include "actorctl/job-file.h"
#include "actorctl/view/table.h"
#include "lib/cleanup.h"
#include "lib/settings/print.h"

/* Notes a limit that exceeds the host's memory. Such a limit is allowed, since price sheets bill by it, but
 * it does not protect the host. */
static void note_memory(const JobFile *job_file, Setting i, uint64_t limit_bytes) {
        const uint64_t host_bytes = (uint64_t) sysconf(_SC_PHYS_PAGES) * (uint64_t) sysconf(_SC_PAGESIZE);
        char value[SETTING_TEXT_MAX];

        if (limit_bytes <= host_bytes)
                return;
        setting_print(&job_file->settings, i, value);
        printf("note: [%s] %s=%s is more than the memory of this host, %.1fG: it limits nothing here\n",
                        setting_row(i)->section, setting_row(i)->key, value,
                        (double) host_bytes / (1u << 30));
}

static void print_ok(const Options *options, const JobFile *job_file, const JobStatus *job) {
        if (options->json != JSON_OFF) {
                g_autoptr(JsonNode) node = job_status_to_json(job);

                json_print(node, options->json);
                return;
        }
        printf("%s: fine; %s loads at sandbox level %s\n",
                        job_file->no_file ? job_file->settings.environment : job_file->file_name,
                        job->environment, job->sandbox_level);
        note_memory(job_file, SETTING_Actor_MemoryMax, job_file->settings.memory_max_bytes);
        note_memory(job_file, SETTING_Learner_MemoryMax, job_file->settings.learner_memory_max_bytes);
}

static ExitStatus verify_submission(const Options *options, JobFile *job_file) {
        g_autoptr(Connection) connection = NULL;
        g_autofree char *path = NULL, *words = NULL;
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
        if (settings_has_nodes(&job_file->settings) && ask_cluster(&job_file->settings, &words) < 0) {
                complain("%s: [Distribution] Cluster=%s: the cluster would give no node: %s",
                                job_file->file_name, choice_cluster_to_string(job_file->settings.cluster),
                                words);
                return STATUS_USAGE;
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
        /* From here on Ctrl-C waits for job_follow(). Earlier, while this program reads the job file from a
         * pipe, Ctrl-C must end it. */
        follow_prepare();
        if (status == STATUS_OK)
                status = verify_submission(options, &job_file);
        job_file_done(&job_file);
        return status;
}
