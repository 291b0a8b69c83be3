/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* status: prints the states of jobs and runs or, without an argument, of the daemon. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "actorctl/job-open.h"
#include "actorctl/job-status.h"
#include "actorctl/private.h"
#include "actorctl/view/pager.h"
#include "actorctl/view/table.h"
#include "include/bus.h"
#include "lib/cleanup.h"

static void row(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void row(const char *name, const char *format, ...) {
        g_autofree char *first = g_strdup_printf("%14s: ", name), *text = NULL;
        va_list arguments;

        va_start(arguments, format);
        text = g_strdup_vprintf(format, arguments);
        va_end(arguments);
        print_wrapped(first, "                ", text);
}

static void row_time(const char *name, uint64_t usec) {
        g_autoptr(GDateTime) time =
                        usec > 0 ? g_date_time_new_from_unix_local((gint64) (usec / 1000000)) : NULL;
        g_autofree char *text = time ? g_date_time_format(time, "%Y-%m-%d %H:%M:%S %Z") : NULL;

        if (text)
                row(name, "%s", text);
}

static void print_nodes(const JobStatus *job) {
        g_autofree char *words = job_nodes_words(job), *use = job_nodes_use(job);

        if (words)
                row("nodes", "%s", words);
        if (use)
                row("", "%s", use);
        for (size_t i = 0; job->nodes[i]; i++)
                row("", "%s", job->nodes[i]);
}

static void print_place(const JobStatus *job) {
        g_autofree char *limits = g_strjoinv(", ", job->limits);

        row("sandbox", "%s", job->sandbox_level[0] ? job->sandbox_level : "not started");
        /* the level says how actors are separated; limits are printed separately */
        if (limits[0])
                row("limits", "%s: not enforced here", limits);
        if (job->cpu_weight > 0)
                row("cpu weight", "%u by %s; jobs that do not trade have 100", job->cpu_weight, job->shares);
        if (job->unit[0])
                row("unit", "%s", job->unit);
        if (job->control_group[0])
                row("cgroup", "%s", job->control_group);
        print_nodes(job);
        if (job->life > 1)
                row("life", "%" G_GUINT64_FORMAT, job->life);
}

static void print_progress(const JobStatus *job) {
        char steps[32], most[32], episodes[32], wall[32], emulated[32], paper[48], full[48];
        char evaluation[EVALUATION_TEXT_MAX];

        row("steps", "%s of %s, in %" G_GUINT64_FORMAT " rounds", format_count(job->n_env_steps, steps),
                        format_count(job->stop_steps, most), job->round);
        row("episodes", "%s", format_count(job->n_episodes, episodes));
        if (isfinite(job->return_mean))
                row("return", "%.2f (mean of the last 100 episodes)", job->return_mean);
        if (job->n_evaluation_episodes > 0)
                row("evaluation", "%s", format_evaluation(job, evaluation));
        row("actors", "%u of %u", job->n_actors, job->n_actors_max);
        row("invocations",
                        "%" G_GUINT64_FORMAT " (%" G_GUINT64_FORMAT " cold, %" G_GUINT64_FORMAT
                        " warm, %" G_GUINT64_FORMAT " retried)",
                        job->n_invocations, job->n_cold, job->n_warm, job->n_retried);
        row("time", "%s on this host; %s on the emulated fleet", format_duration(job->wall_nsec, wall),
                        format_duration(job->emulated_nsec, emulated));
        row("cost", "%s paper, %s full (prices: %s)", format_money(job->cost_paper, job->currency, paper),
                        format_money(job->cost_full, job->currency, full), job->price_sheet);
        if (job->policy_sha256[0])
                row("policy sha256", "%s", job->policy_sha256);
}

static void print_job(const JobStatus *job, const char *called) {
        g_autofree char *scheduler = format_scheduler(job, NAN), *recovered = format_recovered(job);

        print_line(2, "%s - %s", called, job->description[0] ? job->description : job->environment);
        if (job_has_ended(job))
                row("state", "ended (%s)", job->result);
        else
                row("state", "%s", job->state);
        if (job->waiting[0])
                row("waiting", "%s", job->waiting);
        if (job_has_failed(job))
                row("reason", "%s", job->fault[0] ? job->fault : "no reason was recorded");
        if (recovered)
                row("recovered", "%s", recovered);
        row("environment", "%s, %s, seed %" G_GUINT64_FORMAT, job->environment, job->algorithm, job->seed);
        if (job->distribution_reason[0])
                row("distribution", "%s, since %s", job->distribution, job->distribution_reason);
        else
                row("distribution", "%s", job->distribution);
        row("scheduler", "%s", scheduler);
        row_time("submitted", job->submitted_usec);
        row_time("started", job->started_usec);
        row_time("ended", job->ended_usec);
        print_place(job);
        /* Without its records, the job's counts are 0 and its amounts NaN. */
        if (job->records_fault[0])
                row("figures", "unknown: %s", job->records_fault);
        else
                print_progress(job);
}

/* Opens a job or a run. One connection to the daemon serves all of its jobs; each run has its own
 * connection. */
static ExitStatus open_one(const Options *options, const char *word, Connection **daemon, Connection **run,
                char **ret_path) {
        if (word_names_run(word) || !*daemon)
                return job_open(options, word, word_names_run(word) ? run : daemon, ret_path);
        if (job_path(word, NULL, ret_path) < 0)
                return STATUS_USAGE;
        return job_check(*daemon, word);
}

static ExitStatus status_of_job(Connection **daemon, const Options *options, const char *word) {
        g_autoptr(Connection) run = NULL;
        g_autofree char *path = NULL, *called = job_called(word);
        _cleanup_(job_status_done) JobStatus job = job_status_empty();
        ExitStatus status;

        status = open_one(options, word, daemon, &run, &path);
        if (status != STATUS_OK)
                return status;
        if (job_status_fetch(&job, run ? run : *daemon, path) < 0)
                return STATUS_FAILED;
        if (options->json != JSON_OFF) {
                g_autoptr(JsonNode) node = job_status_to_json(&job);

                json_print(node, options->json);
        } else
                print_job(&job, called);
        return STATUS_OK;
}

typedef struct ManagerStatus {
        char *version, *mode, *state_directory;
        uint32_t max_jobs, n_queued, n_running;
} ManagerStatus;

static void manager_status_done(ManagerStatus *manager) {
        g_free(manager->version);
        g_free(manager->mode);
        g_free(manager->state_directory);
}

static int fetch_manager(Connection *connection, ManagerStatus *m) {
        static const struct {
                const char *name, *type;
                size_t at;
        } rows[] = {
                { "Version", "s", offsetof(ManagerStatus, version) },
                { "Mode", "s", offsetof(ManagerStatus, mode) },
                { "StateDirectory", "s", offsetof(ManagerStatus, state_directory) },
                { "MaxJobs", "u", offsetof(ManagerStatus, max_jobs) },
                { "NQueued", "u", offsetof(ManagerStatus, n_queued) },
                { "NRunning", "u", offsetof(ManagerStatus, n_running) },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
                void *to = (char *) m + rows[i].at;
                int r;

                r = rows[i].type[0] == 's'
                                    ? sd_bus_get_property_string(connection->bus, connection->destination,
                                                      BUS_PATH, BUS_INTERFACE_MANAGER, rows[i].name, &error,
                                                      to)
                                    : sd_bus_get_property_trivial(connection->bus, connection->destination,
                                                      BUS_PATH, BUS_INTERFACE_MANAGER, rows[i].name, &error,
                                                      'u', to);
                if (r < 0) {
                        complain("the daemon's property %s cannot be read: %s", rows[i].name,
                                        error.message ? error.message : g_strerror(-r));
                        return r;
                }
        }
        return 0;
}

static void print_manager(const Options *options, const ManagerStatus *m) {
        if (options->json != JSON_OFF) {
                JsonObject *object = json_object_new();
                g_autoptr(JsonNode) node = json_node_init_object(json_node_alloc(), object);

                json_object_set_string_member(object, "version", m->version);
                json_object_set_string_member(object, "mode", m->mode);
                json_object_set_string_member(object, "state_directory", m->state_directory);
                json_object_set_int_member(object, "jobs_max", m->max_jobs);
                json_object_set_int_member(object, "jobs_queued", m->n_queued);
                json_object_set_int_member(object, "jobs_running", m->n_running);
                json_print(node, options->json);
                json_object_unref(object);
                return;
        }
        printf("actord %s (%s mode)\n", m->version, m->mode);
        row("jobs", "%u running of at most %u, %u queued", m->n_running, m->max_jobs, m->n_queued);
        row("state in", "%s", m->state_directory);
}

static ExitStatus status_of_manager(const Options *options) {
        g_autoptr(Connection) connection = NULL;
        ManagerStatus manager = {};
        ExitStatus status = STATUS_FAILED;

        if (connection_open(options, &connection) < 0)
                return STATUS_FAILED;
        if (fetch_manager(connection, &manager) >= 0) {
                print_manager(options, &manager);
                status = STATUS_OK;
        }
        manager_status_done(&manager);
        return status;
}

ExitStatus verb_status(const Options *options, char **arguments, size_t n) {
        g_autoptr(Connection) connection = NULL;
        ExitStatus status = STATUS_OK;

        if (n == 0)
                return status_of_manager(options);
        pager_open(options);
        for (size_t i = 0; i < n; i++) {
                ExitStatus one = status_of_job(&connection, options, arguments[i]);

                status = MAX(status, one);
        }
        pager_close();
        return status;
}
