/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* OpenMetrics 1.0. A family has its type and help once, and then all its samples, so the loop over families
 * is outside the loop over jobs. Counters end in _total, units are base units, and the text ends with "#
 * EOF". A figure that was not measured has no sample. */
#include "actorctl/metrics/openmetrics.h"

#include <math.h>
#include <string.h>

#include "actorctl/job-rounds.h"
#include "actorctl/job-status.h"
#include "include/bus.h"
#include "lib/cleanup.h"

/* clang-format off */

/* X(family, help, member of JobStatus) */
#define COUNTS(X)                                                                      \
        X("rounds", "Rounds that have ended.", round)                                  \
        X("env_steps", "Steps of the environment.", n_env_steps)                       \
        X("episodes", "Training episodes that ended.", n_episodes)                     \
        X("invocations", "Invocations of actors.", n_invocations)             \
        X("invocations_cold", "Invocations for which an actor was started.", n_cold)   \
        X("invocations_retried", "Invocations repeated after a fault.", n_retried)     \
        X("preemptions", "Times that the job gave its place away.", n_preempted)
#define TIMES(X)                                                                       \
        X("wall", "Wall time in which rounds ran.", wall_nsec)                         \
        X("emulated", "Time of the emulated fleet.", emulated_nsec)                    \
        X("cpu_actors", "CPU time of actors.", cpu_actors_nsec)                        \
        X("cpu_learner", "CPU time of the learner.", cpu_learner_nsec)                 \
        X("cpu_control", "CPU time of the invoker.", cpu_control_nsec)                 \
        X("cpu_startup", "CPU time of starting actors.", cpu_startup_nsec)
#define GAUGES(X)                                                                      \
        X("actors", "Actors of the newest round.", n_actors)                           \
        X("return_mean", "Mean return of the last 100 training episodes.", return_mean)\
        X("evaluation_mean", "Mean return of the newest evaluation.", evaluation_mean)
/* clang-format on */

static const char *const states[] = { "queued", "frozen", "starting", "running", "ending", "ended" };

/* Appends a label. Three characters of its value must be escaped. */
static void append_label(GString *text, const char *name, const char *value) {
        g_string_append_printf(text, ",%s=\"", name);
        for (const char *p = value; *p; p++)
                if (*p == '\n')
                        g_string_append(text, "\\n");
                else {
                        if (*p == '\\' || *p == '"')
                                g_string_append_c(text, '\\');
                        g_string_append_c(text, *p);
                }
        g_string_append_c(text, '"');
}

static void begin_family(GString *text, const char *family, const char *type, const char *help) {
        g_string_append_printf(text, "# TYPE actord_job%s %s\n", family, type);
        if (g_str_has_suffix(family, "_seconds"))
                g_string_append_printf(text, "# UNIT actord_job%s seconds\n", family);
        g_string_append_printf(text, "# HELP actord_job%s %s\n", family, help);
}

static void begin_sample(GString *text, const char *name, const JobStatus *job) {
        g_string_append_printf(text, "actord_job%s{job=\"%" G_GUINT64_FORMAT "\"", name, job->id);
}

static void end_sample(GString *text, double value) {
        g_string_append(text, "} ");
        append_exact(text, value);
        g_string_append_c(text, '\n');
}

static void append_sample(GString *text, const char *name, const JobStatus *job, double value) {
        if (!isfinite(value))
                return;
        begin_sample(text, name, job);
        end_sample(text, value);
}

static void append_what(GString *text, const JobStatus *jobs, size_t n) {
        begin_family(text, "", "info", "Facts about the job, as labels.");
        for (size_t i = 0; i < n; i++) {
                g_autofree char *uid = g_strdup_printf("%u", jobs[i].uid);

                begin_sample(text, "_info", &jobs[i]);
                append_label(text, "uid", uid);
                append_label(text, "environment", jobs[i].environment);
                append_label(text, "algorithm", jobs[i].algorithm);
                append_label(text, "distribution", jobs[i].distribution);
                append_label(text, "scheduler", jobs[i].scaling_policy);
                append_label(text, "price_sheet", jobs[i].price_sheet);
                append_label(text, "description", jobs[i].description);
                end_sample(text, 1);
        }
        begin_family(text, "_state", "stateset", "The state that the job is in.");
        for (size_t i = 0; i < n; i++)
                for (size_t j = 0; j < G_N_ELEMENTS(states); j++) {
                        begin_sample(text, "_state", &jobs[i]);
                        append_label(text, "actord_job_state", states[j]);
                        end_sample(text, strcmp(jobs[i].state, states[j]) == 0);
                }
}

static void append_counters(GString *text, const JobStatus *jobs, size_t n) {
#define X(family, help, member)                          \
        begin_family(text, "_" family, "counter", help); \
        for (size_t i = 0; i < n; i++)                   \
                append_sample(text, "_" family "_total", &jobs[i], (double) jobs[i].member);
        COUNTS(X)
#undef X
#define X(family, help, member)                                     \
        begin_family(text, "_" family "_seconds", "counter", help); \
        for (size_t i = 0; i < n; i++)                              \
                append_sample(text, "_" family "_seconds_total", &jobs[i], (double) jobs[i].member / 1e9);
        TIMES(X)
#undef X
        begin_family(text, "_cost", "counter", "The cost of the job, by both totals, in its currency.");
        for (size_t i = 0; i < n; i++)
                for (int full = 0; full < 2; full++) {
                        double cost = full ? jobs[i].cost_full : jobs[i].cost_paper;

                        if (!isfinite(cost))
                                continue;
                        begin_sample(text, "_cost_total", &jobs[i]);
                        append_label(text, "bill", full ? "full" : "paper");
                        append_label(text, "currency", jobs[i].currency);
                        end_sample(text, cost);
                }
}

static void append_gauges(GString *text, const JobStatus *jobs, size_t n) {
#define X(family, help, member)                        \
        begin_family(text, "_" family, "gauge", help); \
        for (size_t i = 0; i < n; i++)                 \
                append_sample(text, "_" family, &jobs[i], (double) jobs[i].member);
        GAUGES(X)
#undef X
}

static void append_means(GString *text, const char *family, const JobStatus *job, const property_ad *means) {
        for (size_t i = 0; job->metric_names[i]; i++) {
                if (!isfinite(job_metric(job, means, i)))
                        continue;
                begin_sample(text, family, job);
                append_label(text, "metric", job->metric_names[i]);
                end_sample(text, job_metric(job, means, i));
        }
}

/* The metrics that environments measure for their episodes. */
static void append_metrics(GString *text, const JobStatus *jobs, size_t n) {
        begin_family(text, "_metric", "gauge", "The environment's metric of the newest training episodes.");
        for (size_t i = 0; i < n; i++)
                append_means(text, "_metric", &jobs[i], &jobs[i].metrics);
        begin_family(text, "_evaluation_metric", "gauge", "The same of the newest evaluation's episodes.");
        for (size_t i = 0; i < n; i++)
                append_means(text, "_evaluation_metric", &jobs[i], &jobs[i].evaluation_metrics);
}

static void clear_status(gpointer status) {
        job_status_done(status);
}

/* Adds the listed jobs. Leaves out a job that was removed after it was listed. */
static int add_listed(Connection *connection, GArray *jobs) {
        g_autoptr(GArray) listed = NULL;
        int r;

        r = jobs_fetch(connection, &listed);
        if (r < 0)
                return r;
        for (guint i = 0; i < listed->len; i++) {
                JobStatus job = job_status_empty();

                r = job_status_fetch_listed(&job, connection, g_array_index(listed, JobListed, i).path);
                if (r > 0)
                        g_array_append_val(jobs, job);
                else
                        job_status_done(&job);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int add_one(Connection *connection, const char *path, GArray *jobs) {
        JobStatus job = job_status_empty();
        int r;

        r = job_status_fetch(&job, connection, path);
        g_array_append_val(jobs, job);
        return r;
}

int openmetrics_append(Connection *connection, const char *path, GString *text) {
        g_autoptr(GArray) jobs = g_array_new(FALSE, FALSE, sizeof(JobStatus));
        int r;

        g_array_set_clear_func(jobs, clear_status);
        r = path ? add_one(connection, path, jobs) : add_listed(connection, jobs);
        if (r < 0)
                return r;
        append_what(text, (const JobStatus *) jobs->data, jobs->len);
        append_counters(text, (const JobStatus *) jobs->data, jobs->len);
        append_gauges(text, (const JobStatus *) jobs->data, jobs->len);
        append_metrics(text, (const JobStatus *) jobs->data, jobs->len);
        g_string_append(text, "# EOF\n");
        return 0;
}
