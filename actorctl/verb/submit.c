/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* submit: gives a job to the daemon and prints its number, or waits for its end. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "actorctl/view/display.h"
#include "actorctl/follow.h"
#include "actorctl/job-file.h"
#include "actorctl/metrics/metrics.h"
#include "actorctl/view/table.h"
#include "lib/cleanup.h"

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

static ExitStatus wait_for_end(
                Connection *connection, const char *path, const Options *options, Metrics *metrics) {
        g_autoptr(Display) display = options->quiet ? NULL : display_new(stderr, false, connection, path);
        g_autoptr(JobBill) bill = NULL;
        _cleanup_(job_status_done) JobStatus job = job_status_empty();
        ExitStatus status;

        status = job_follow(connection, path, FOLLOW_LEAVE, follow_limits(options), display, metrics, &job);
        if (status != STATUS_OK)
                return status;
        if (!job_has_ended(&job))
                return STATUS_INTERRUPTED;
        if (job_bill_fetch(connection, path, NULL, &bill) < 0)
                return STATUS_FAILED;
        job_result_complain(&job);
        if (options->json != JSON_OFF) {
                g_autoptr(JsonNode) node = job_result_to_json(&job, bill, NULL);

                json_print(node, options->json);
        } else
                job_result_print(&job, bill, NAN, options);
        return job_exit_status(&job);
}

/* Whether the job needs files: descriptors cannot pass through ssh. */
static bool needs_files(const JobFile *job_file) {
        bool needs = job_file->environment_fd >= 0 || job_file->checkpoint_fd >= 0 ||
                     job_file->settings.dataset[0];

        for (size_t i = 0; i < ELEMENTSOF(job_file->directories.fds); i++)
                needs = needs || job_file->directories.fds[i] >= 0;
        return needs;
}

static ExitStatus submit(const Options *options, const JobFile *job_file, Metrics *metrics) {
        g_autoptr(Connection) connection = NULL;
        g_autofree char *path = NULL;
        uint64_t id;
        ExitStatus status;

        if (connection_open(options, &connection) < 0)
                return STATUS_FAILED;
        if (connection->remote && needs_files(job_file)) {
                complain("%s needs files of this host (a plugin, a directory, a checkpoint or a data "
                         "set), which are not sent over ssh: submit it on the other host",
                                job_file->file_name);
                return STATUS_USAGE;
        }
        status = job_file_send(job_file, connection, &id, &path);
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
        return wait_for_end(connection, path, options, metrics);
}

/* The daemon opens no path of a user, so only a program that follows the job can write files of metrics. */
static ExitStatus open_metrics(const Options *options, const JobFile *job_file, Metrics **ret) {
        g_autoptr(GPtrArray) words = NULL;
        bool of_key = options->metrics->len == 0;

        if (!options->wait && options->metrics->len > 0) {
                complain("--metrics needs --wait, since the program that follows the job writes the files; "
                         "later, `actorctl metrics JOB --metrics=FORMAT:PATH` writes them");
                return STATUS_USAGE;
        }
        words = of_key ? job_file_metrics(job_file) : g_ptr_array_ref(options->metrics);
        if (options->wait)
                return metrics_open(words, of_key, ret);
        if (words->len > 0 && !options->quiet)
                complain("without --wait nothing writes the files of Metrics=; later, `actorctl metrics JOB "
                         "--metrics=FORMAT:PATH` writes them");
        return STATUS_OK;
}

ExitStatus verb_submit(const Options *options, char **arguments, size_t n) {
        g_autoptr(Metrics) metrics = NULL;
        JobFile job_file;
        ExitStatus status;

        /* before any file is opened: --from=JOB would ask the other host's daemon for a descriptor */
        if (options->host && options->from) {
                complain("--from=%s: a checkpoint cannot be sent over ssh: submit the job on the other host",
                                options->from);
                return STATUS_USAGE;
        }
        status = job_file_load(&job_file, arguments[0], options->sets);
        if (status == STATUS_OK)
                status = job_file_add_data(&job_file, options);
        if (status == STATUS_OK)
                status = open_metrics(options, &job_file, &metrics);
        if (status == STATUS_OK)
                status = submit(options, &job_file, metrics);
        job_file_done(&job_file);
        return status;
}
