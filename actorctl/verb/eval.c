/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* eval: plays episodes with a policy from a checkpoint file or a job, in a job whose learner makes no
 * updates. Episodes that are recorded, or that begin in given states, are played without a job, since only
 * then can this program see and set each state. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "actorctl/checkpoint-open.h"
#include "actorctl/follow.h"
#include "actorctl/recording/play.h"
#include "actorctl/recording/recording.h"
#include "actorctl/recording/starts.h"
#include "actorctl/job-file.h"
#include "actorctl/job-open.h"
#include "actorctl/view/table.h"
#include "include/bus.h"
#include "lib/cleanup.h"

static void print(const Options *options, const JobStatus *job) {
        char evaluation[EVALUATION_TEXT_MAX];

        if (options->json != JSON_OFF) {
                JsonObject *object = json_object_new();
                g_autoptr(JsonNode) node = json_node_init_object(json_node_alloc(), object);

                json_object_set_string_member(object, "environment", job->environment);
                json_object_set_member(object, "episodes", json_unsigned(job->n_evaluation_episodes));
                json_object_set_member(object, "return_mean", json_real(job->evaluation_mean));
                json_object_set_member(object, "return_sd", json_real(job->evaluation_deviation));
                json_object_set_member(
                                object, "metrics", job_metrics_to_json(job, &job->evaluation_metrics));
                json_object_set_member(object, "policy_sha256", json_word(job->policy_sha256));
                json_object_set_member(object, "wall_s", json_real((double) job->wall_nsec / 1e9));
                json_print(node, options->json);
                json_object_unref(object);
                return;
        }
        printf("%s: return %s\n", job->environment, format_evaluation(job, evaluation));
        for (size_t i = 0; job->metric_names[i]; i++)
                if (isfinite(job_metric(job, &job->evaluation_metrics, i)))
                        printf("  %s %.6g\n", job->metric_names[i],
                                        job_metric(job, &job->evaluation_metrics, i));
}

/* The user did not wait for the job's end. If all episodes were played, only the end is not recorded yet. */
static void leave(const Options *options, const JobFile *job_file, const JobStatus *job) {
        if (job->n_evaluation_episodes >= job_file->n_episodes)
                print(options, job);
        else
                complain("left after %" PRIu64 " of %" PRIu64 " episodes: no result is kept",
                                job->n_evaluation_episodes, job_file->n_episodes);
}

static ExitStatus play(Connection *connection, const Options *options, const JobFile *job_file) {
        g_autofree char *path = NULL;
        _cleanup_(job_status_done) JobStatus job = job_status_empty();
        ExitStatus status;

        status = job_file_follow(connection, options, job_file, NULL, &path, &job);
        if (status == STATUS_INTERRUPTED)
                leave(options, job_file, &job);
        if (status != STATUS_OK)
                return status;
        status = job_exit_status(&job);
        if (status == STATUS_OK)
                print(options, &job);
        else
                complain("%s could not be played: %s", job_file->file_name,
                                job.fault[0] ? job.fault : job.result);
        return status;
}

static ExitStatus play_text(Connection *connection, const Options *options, const char *name,
                const char *text, int checkpoint_fd) {
        JobFile job_file;
        ExitStatus status;

        status = job_file_load_text(&job_file, name, text, options->sets);
        job_file.purpose = "evaluate";
        job_file.n_episodes = options->n_episodes > 0 ? options->n_episodes : EPISODES_DEFAULT;
        job_file.with_stderr = connection->pid > 0;
        job_file.checkpoint_fd = fcntl(checkpoint_fd, F_DUPFD_CLOEXEC, 3);
        if (status == STATUS_OK)
                status = play(connection, options, &job_file);
        job_file_done(&job_file);
        return status;
}

ExitStatus verb_eval(const Options *options, char **arguments, size_t n) {
        bool alone = starts_wanted(options) || recording_wanted(options);
        NamedCheckpoint from;
        ExitStatus status;

        if (!alone && options->n_steps > 0) {
                complain("--steps: eval takes it only with --state, --grid, --gif, --video or --frames");
                return STATUS_USAGE;
        }
        if (starts_wanted(options) && options->n_episodes > 0) {
                complain("--episodes cannot be used with --state or --grid, which play one episode from "
                         "each state");
                return STATUS_USAGE;
        }
        follow_prepare();
        status = named_checkpoint_open(&from, options, arguments[0]);
        if (status == STATUS_OK && alone && !from.connection)
                status = job_needs_no_daemon(options, arguments[0], "a file");
        if (status == STATUS_OK && recording_wanted(options))
                status = play_record(options, &from);
        else if (status == STATUS_OK && starts_wanted(options))
                status = starts_play(options, &from);
        else if (status == STATUS_OK && !from.connection &&
                        connection_open_any(options, &from.connection) < 0)
                status = STATUS_FAILED;
        else if (status == STATUS_OK)
                status = play_text(from.connection, options, from.name, from.text, from.fd);
        named_checkpoint_done(&from);
        return status;
}
