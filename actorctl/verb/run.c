/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* run: runs one job with a private daemon and prints its result. */
#include <inttypes.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "actorctl/checkpoint-open.h"
#include "actorctl/decisions.h"
#include "actorctl/follow.h"
#include "actorctl/job-file.h"
#include "actorctl/metrics/metrics.h"
#include "actorctl/private.h"
#include "actorctl/view/profile.h"
#include "actorctl/view/table.h"
#include "include/bus.h"
#include "lib/checkpoint/checkpoint.h"
#include "lib/cleanup.h"
#include "lib/fragment.h"

/* Quotes a word for a shell. */
static void append_word(GString *command, const char *word) {
        g_autofree char *quoted = g_shell_quote(word);
        bool plain = *word && word[strspn(word, G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "_./=:,@%+-")] == 0;

        g_string_append_printf(command, " %s", plain ? word : quoted);
}

/* Prints the command that continues an interrupted run, with the run's settings. */
static void print_next(const Options *options, const JobFile *job_file, const char *called) {
        g_autoptr(GString) command = g_string_new(program_invocation_name);

        g_string_append(command, " run");
        append_word(command, job_file->file_name);
        for (guint i = 0; i < options->sets->len; i++) {
                g_string_append(command, " --set");
                append_word(command, options->sets->pdata[i]);
        }
        printf("goes on with `%s --from=%s`\n", command->str, called);
}

/* The digest of the learner's whole state at the end; null: there is no checkpoint. */
static JsonNode *state_digest(const Connection *connection, const JobStatus *status) {
        g_autofree char *path = run_checkpoint_path(connection, status);
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
        _cleanup_(checkpoint_close) Checkpoint checkpoint = {};
        char reason[SAFETENSORS_REASON_MAX];
        const char *sha256 = NULL;

        if (fd >= 0 && checkpoint_open(fd, &checkpoint, reason) >= 0)
                sha256 = safetensors_metadata(checkpoint.file, METADATA_STATE_SHA256);
        return json_word(sha256 ? sha256 : "");
}

/* Prints where the policy is: the next command is often an `actorctl eval` with this policy. */
static void print_places(const Connection *connection, const Options *options, const JobFile *job_file,
                const JobStatus *status) {
        g_autofree char *checkpoint = run_checkpoint_path(connection, status);
        g_autofree char *word = run_directory_word(connection->state_directory);
        bool numbered = !connection->temporary && !g_str_equal(word, connection->state_directory);

        if (numbered)
                printf("records `actorctl status %s`; also rounds, decisions, bill\n", word);
        if (numbered && strcmp(status->result, "interrupted") == 0 && access(checkpoint, R_OK) == 0)
                print_next(options, job_file, word);
        /* Scripts read the path in this line. Only the line "decisions" may follow it. */
        if (access(checkpoint, R_OK) == 0)
                printf("checkpoint %s\n", checkpoint);
        else if (!connection->temporary)
                printf("state in %s\n", connection->state_directory);
}

/* Writes the file that Policy=replay:FILE reads. With a fixed number of actors the file is not needed,
 * unless rounds overlap: then it also says from which actor each round took its rollout. */
static char *keep_decisions(Connection *connection, const char *path, const JobFile *job_file,
                const JobStatus *status, double *ret_actors_mean) {
        g_autoptr(GArray) counts = NULL;
        g_autofree char *file = NULL;

        *ret_actors_mean = NAN;
        if (job_file->settings.scheduler.kind == SCHEDULER_FIXED &&
                        !distribution_overlaps(distribution_of(&job_file->settings)))
                return NULL;
        file = g_build_filename(connection->state_directory, "decisions.json", NULL);
        if (decisions_of_job(connection, path, &counts) < 0 || counts->len == 0)
                return NULL;
        *ret_actors_mean = decisions_mean(counts, status->round);
        return decisions_write(file, counts) < 0 ? NULL : g_steal_pointer(&file);
}

/* Reads the profile of a job with --profile or Profile=yes. */
static bool find_profile(const Connection *connection, const JobFile *job_file, const JobStatus *status,
                ProfileView *ret) {
        g_autofree char *state = g_strdup_printf(
                        "%s/jobs/%" PRIu64 "/state", connection->state_directory, status->id);

        if (!job_file->settings.profile || !profile_read(state, ret))
                return false;
        profile_measure_limit(ret, job_file->settings.kernel_class);
        return true;
}

static void print_result(const Connection *connection, const Options *options, const JobFile *job_file,
                const JobStatus *status, const JobBill *bill, double actors_mean,
                const ProfileView *profile) {
        if (options->json != JSON_OFF) {
                g_autoptr(JsonNode) node = job_result_to_json(
                                status, bill, connection->temporary ? NULL : connection->state_directory);

                json_object_set_member(json_node_get_object(node), "state_sha256",
                                state_digest(connection, status));
                if (profile)
                        json_object_set_member(
                                        json_node_get_object(node), "profile", profile_to_json(profile));
                json_print(node, options->json);
                return;
        }
        job_result_print(status, bill, actors_mean, options);
        if (profile)
                profile_print(profile, options);
        if (!options->quiet)
                print_places(connection, options, job_file, status);
}

/* With --json, prints the object of a job without a result, since --json promises one object for every run.
 * connection NULL: there is no directory either. Returns `status`. */
static ExitStatus print_no_result(
                const Options *options, const Connection *connection, ExitStatus status, const char *fault) {
        JsonObject *object = json_object_new();
        g_autoptr(JsonNode) node = json_node_init_object(json_node_alloc(), object);
        const char *state = "failed";

        if (status == STATUS_USAGE)
                state = "refused";
        if (status == STATUS_INTERRUPTED)
                state = "interrupted";
        json_object_set_string_member(object, "state", state);
        json_object_set_string_member(object, "result", state);
        json_object_set_member(object, "fault", json_word(fault));
        if (connection && !connection->temporary)
                json_object_set_string_member(object, "state_directory", connection->state_directory);
        json_object_unref(object);
        if (options->json != JSON_OFF)
                json_print(node, options->json);
        return status;
}

/* Whether there is nothing to keep: the job failed before its first invocation, or its environment does not
 * load, and there is no checkpoint. */
static bool began_nothing(const Connection *connection, const JobStatus *status) {
        return strcmp(status->result, "failed") == 0 && status->n_env_steps == 0 &&
               (status->n_invocations == 0 || job_environment_failed(status)) &&
               !run_directory_has_checkpoint(connection->state_directory);
}

static ExitStatus finish(Connection *connection, const char *path, const Options *options,
                const JobFile *job_file, const JobStatus *status) {
        double actors_mean;
        g_autofree char *decisions = keep_decisions(connection, path, job_file, status, &actors_mean);
        g_autoptr(JobBill) bill = NULL;
        ProfileView profile;
        bool profiled = find_profile(connection, job_file, status, &profile);

        if (job_bill_fetch(connection, path, NULL, &bill) < 0)
                return print_no_result(options, connection, STATUS_FAILED, complaint_last());
        if (began_nothing(connection, status))
                connection->temporary = true;
        /* the reason is printed before the bill, which is nearly empty */
        if (job_environment_failed(status))
                job_file_complain_environment(job_file, status->fault);
        else
                job_result_complain(status);
        print_result(connection, options, job_file, status, bill, actors_mean, profiled ? &profile : NULL);
        if (decisions && options->json == JSON_OFF && !options->quiet)
                printf("decisions %s\n", decisions);
        if (job_file->settings.profile && !profiled)
                complain("there is no profile of job %" PRIu64
                         ": it ended before one of its lives could write it",
                                status->id);
        return job_environment_failed(status) ? STATUS_USAGE : job_exit_status(status);
}

/* Prints the result of a run that the user left while its job waited for disk space for records. The daemon
 * saves the records that the ledger lacks, and the result says where. */
static ExitStatus leave(
                Connection *connection, const char *path, const Options *options, const JobStatus *status) {
        g_autoptr(JobBill) bill = NULL;
        g_autofree char *rest = NULL;

        if (follow_keep_rest(connection, &rest) < 0 || job_bill_fetch(connection, path, NULL, &bill) < 0)
                return print_no_result(options, connection, STATUS_FAILED, complaint_last());
        if (options->json != JSON_OFF) {
                g_autoptr(JsonNode) node = job_result_to_json(status, bill, connection->state_directory);

                json_object_set_member(json_node_get_object(node), "waiting", json_word(status->waiting));
                json_object_set_member(json_node_get_object(node), "rest", json_word(rest));
                json_print(node, options->json);
        }
        return STATUS_ENDING;
}

static ExitStatus run(const Options *options, const JobFile *job_file, Metrics *metrics) {
        g_autoptr(Connection) connection = NULL;
        g_autofree char *path = NULL;
        _cleanup_(job_status_done) JobStatus job = job_status_empty();
        ExitStatus status;

        if (connection_open_private(true, &connection) < 0)
                return print_no_result(options, NULL, STATUS_FAILED, complaint_last());
        status = job_file_follow(connection, options, job_file, metrics, &path, &job);
        if (status == STATUS_OK)
                return finish(connection, path, options, job_file, &job);
        if (status == STATUS_ENDING)
                return leave(connection, path, options, &job);
        if (status == STATUS_INTERRUPTED)
                return print_no_result(options, connection, status, "it was left before the job had ended");
        /* A job that was not accepted leaves nothing to keep, and its run gets no number. */
        connection->temporary = connection->temporary || !path;
        return print_no_result(options, connection, status, complaint_last());
}

ExitStatus verb_run(const Options *options, char **arguments, size_t n) {
        g_autoptr(GPtrArray) words = NULL;
        g_autoptr(Metrics) metrics = NULL;
        JobFile job_file;
        ExitStatus status;

        if (options->profile)
                g_ptr_array_add(options->sets, g_strdup("Job.Profile=yes"));
        status = job_file_load(&job_file, arguments[0], options->sets);
        if (status == STATUS_OK)
                status = job_file_add_data(&job_file, options);
        if (status == STATUS_OK) {
                bool of_key = options->metrics->len == 0;

                words = of_key ? job_file_metrics(&job_file) : g_ptr_array_ref(options->metrics);
                status = metrics_open(words, of_key, &metrics);
        }
        if (status == STATUS_OK && job_file.settings.on_end[0] && !options->quiet)
                complain("OnEnd=%s: a run starts no unit; it is for jobs of your own actord (`actorctl "
                         "--user submit`)",
                                job_file.settings.on_end);
        job_file.with_stderr = true;
        /* not earlier: while the job file is read from a pipe, Ctrl-C must end this program */
        follow_prepare();
        status = status == STATUS_OK ? run(options, &job_file, metrics)
                                     : print_no_result(options, NULL, status, complaint_last());
        job_file_done(&job_file);
        return status;
}
