/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A job as a chapter of a report, and several jobs side by side. */
#include <math.h>

#include "actorctl/report/report.h"

#define POINTS_MAX    500u
#define DECISIONS_MAX 100u
#define COURSE_ROWS   10u

static GPtrArray *row(GPtrArray *cells, const char *name, char *value) {
        g_ptr_array_add(cells, g_strdup(name));
        g_ptr_array_add(cells, value);
        return cells;
}

static char *format_time(uint64_t usec) {
        g_autoptr(GDateTime) time =
                        usec ? g_date_time_new_from_unix_local((gint64) (usec / 1000000u)) : NULL;

        return time ? g_date_time_format(time, "%Y-%m-%d %H:%M:%S") : g_strdup("never");
}

static char *seconds(uint64_t nsec) {
        char text[32];

        return g_strdup(format_duration(nsec, text));
}

static char *money(double amount, const char *currency) {
        char text[48];

        return g_strdup(format_money(amount, currency, text));
}

static char *count(uint64_t n) {
        char text[32];

        return g_strdup(format_count(n, text));
}

static char *reached_after(const JobStatus *status) {
        g_autofree char *steps = count(status->target_env_steps);

        return g_strdup_printf("reached after %s steps", steps);
}

static double actors_mean(const JobRounds *rounds) {
        double sum = 0;

        for (size_t i = 0; i < rounds->n; i++)
                sum += job_rounds_at(rounds, i, "actors");
        return rounds->n > 0 ? sum / (double) rounds->n : NAN;
}

static void add_facts(Page *page, const ReportJob *job) {
        g_autoptr(GPtrArray) cells = g_ptr_array_new_with_free_func(g_free);
        const JobStatus *status = &job->status;
        g_autofree char *recovered = format_recovered(status), *limits = g_strjoinv(", ", status->limits);
        char evaluation[EVALUATION_TEXT_MAX];

        row(cells, "", g_strdup(""));
        row(cells, "state",
                        job_has_ended(status) ? g_strdup_printf("%s (%s)", status->state, status->result)
                                              : g_strdup(status->state));
        if (job_has_failed(status) && status->fault[0])
                row(cells, "fault", g_strdup(status->fault));
        if (recovered)
                row(cells, "recovered", g_strdup(recovered));
        row(cells, "environment", g_strdup(status->environment));
        row(cells, "algorithm",
                        g_strdup_printf("%s, seed %" G_GUINT64_FORMAT, status->algorithm, status->seed));
        row(cells, "scheduler", format_scheduler(status, actors_mean(&job->rounds)));
        row(cells, "distribution", g_strdup(status->distribution));
        row(cells, "environment steps", count(status->n_env_steps));
        row(cells, "rounds", count(status->round));
        row(cells, "episodes", count(status->n_episodes));
        if (isfinite(status->return_mean))
                row(cells, "return",
                                g_strdup_printf("%.2f (mean of the last 100 episodes)",
                                                status->return_mean));
        if (isfinite(status->evaluation_mean))
                row(cells, "evaluation", g_strdup(format_evaluation(status, evaluation)));
        if (status->target_reached)
                row(cells, "target", reached_after(status));
        row(cells, "submitted", format_time(status->submitted_usec));
        row(cells, "ended", format_time(status->ended_usec));
        row(cells, "time on this host", seconds(status->wall_nsec));
        row(cells, "time on the emulated fleet", seconds(status->emulated_nsec));
        row(cells, "full total", money(job->bill->full, job->bill->currency));
        row(cells, "paper total", money(job->bill->paper, job->bill->currency));
        row(cells, "sandbox", g_strdup(status->sandbox_level));
        if (limits[0])
                row(cells, "not enforced here", g_strdup(limits));
        row(cells, "policy sha256", g_strdup(status->policy_sha256));
        page_table(page, cells, 2, NULL);
}

/* Adds a curve of the value `name` over environment steps. If there are POINTS_MAX rounds or more, it has
 * only some of them, evenly spaced, and the last. Rounds that lack one of the two values are left out. */
static void add_curve(PlotPanel *panel, const JobRounds *rounds, size_t series, const char *name) {
        PlotCurve curve = { .series = series };
        size_t every = rounds->n / POINTS_MAX + 1;

        curve.x = g_new(double, rounds->n + 1);
        curve.y = g_new(double, rounds->n + 1);
        for (size_t i = 0; i < rounds->n; i++) {
                double x = job_rounds_at(rounds, i, "env_steps"), y = job_rounds_at(rounds, i, name);

                if (!isfinite(x) || !isfinite(y) || (i % every != 0 && i + 1 < rounds->n))
                        continue;
                curve.x[curve.n] = x;
                curve.y[curve.n++] = y;
        }
        g_array_append_val(panel->curves, curve);
}

static void add_plot(Page *page, const GPtrArray *jobs, const char *title, const char *name) {
        g_autoptr(Plot) plot = plot_new(title, "environment steps", title);
        PlotPanel *panel = plot_add_panel(plot, "");

        for (guint i = 0; i < jobs->len; i++) {
                const ReportJob *job = jobs->pdata[i];

                g_ptr_array_add(plot->legend, job->name);
                add_curve(panel, &job->rounds, i, name);
        }
        page_plot(page, plot);
}

static void add_bill(Page *page, const JobBill *bill) {
        g_autoptr(GPtrArray) cells = g_ptr_array_new_with_free_func(g_free);
        g_autofree double *share = g_new0(double, bill->lines->len + 1);

        for (size_t i = 0; i < 4; i++)
                g_ptr_array_add(cells,
                                g_strdup(((const char *[]){ "charge", "quantity", "unit", "amount" })[i]));
        for (guint i = 0; i < bill->lines->len; i++) {
                const JobBillLine *line = &g_array_index(bill->lines, JobBillLine, i);

                g_ptr_array_add(cells, g_strdup(line->kind));
                g_ptr_array_add(cells, g_strdup_printf("%.6g", line->quantity));
                g_ptr_array_add(cells, g_strdup(line->unit));
                g_ptr_array_add(cells, money(line->amount, bill->currency));
                share[i + 1] = bill->full > 0 ? line->amount / bill->full : 0;
        }
        page_table(page, cells, 4, share);
}

static void add_times(Page *page, const JobStatus *status) {
        g_autoptr(GPtrArray) cells = g_ptr_array_new_with_free_func(g_free);
        const struct {
                const char *name;
                uint64_t nsec;
        } times[] = {
                { "actors", status->cpu_actors_nsec },
                { "learner", status->cpu_learner_nsec },
                { "control", status->cpu_control_nsec },
                { "start-up", status->cpu_startup_nsec },
                { "lost with killed lives", status->cpu_lost_nsec },
        };
        double share[G_N_ELEMENTS(times) + 1] = {}, sum = 0;

        row(cells, "CPU time of", g_strdup("seconds"));
        for (size_t i = 0; i < G_N_ELEMENTS(times); i++)
                sum += (double) times[i].nsec;
        for (size_t i = 0; i < G_N_ELEMENTS(times); i++) {
                row(cells, times[i].name, g_strdup_printf("%.3f", (double) times[i].nsec / 1e9));
                share[i + 1] = sum > 0 ? (double) times[i].nsec / sum : 0;
        }
        page_table(page, cells, 2, share);
}

static void add_decisions(Page *page, const GPtrArray *decisions) {
        if (decisions->len == 0)
                return;
        page_heading(page, 2, "Why the number of actors changed");
        for (guint i = 0; i < decisions->len && i < DECISIONS_MAX; i++)
                page_item(page, decisions->pdata[i]);
        if (decisions->len > DECISIONS_MAX) {
                g_autofree char *rest = g_strdup_printf(
                                "%u more: see actorctl decisions", decisions->len - DECISIONS_MAX);

                page_item(page, rest);
        }
}

/* Adds a table with the numbers of the curves, for a few rounds, evenly chosen. */
static void add_course(Page *page, const JobRounds *rounds, const char *currency) {
        g_autoptr(GPtrArray) cells = g_ptr_array_new_with_free_func(g_free);
        static const char *const names[] = { "round", "env_steps", "actors", "return_mean" };
        static const char *const heads[] = { "round", "environment steps", "actors", "mean return",
                "full total" };
        size_t n = MIN(rounds->n, COURSE_ROWS);

        for (size_t i = 0; i < G_N_ELEMENTS(heads); i++)
                g_ptr_array_add(cells, g_strdup(heads[i]));
        for (size_t k = 0; k < n; k++) {
                size_t at = n > 1 ? k * (rounds->n - 1) / (n - 1) : 0;

                for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
                        double value = job_rounds_at(rounds, at, names[i]);

                        g_ptr_array_add(cells,
                                        isfinite(value) ? g_strdup_printf("%.8g", value) : g_strdup("none"));
                }
                g_ptr_array_add(cells, money(job_rounds_at(rounds, at, "cost_full"), currency));
        }
        page_table(page, cells, G_N_ELEMENTS(heads), NULL);
}

/* Whether at least two rounds have a mean of the last 100 episodes; a short job has none. */
static bool has_mean(const JobRounds *rounds) {
        size_t n = 0;

        for (size_t i = 0; i < rounds->n; i++)
                n += isfinite(job_rounds_at(rounds, i, "return_mean"));
        return n > 1;
}

void report_job(Page *page, const ReportJob *job) {
        g_autoptr(GPtrArray) alone = g_ptr_array_new();
        g_autofree char *title = job->status.description[0] ? g_strdup_printf("%s: %s", job->name,
                                                                              job->status.description)
                                                            : g_strdup(job->name);

        g_ptr_array_add(alone, (gpointer) job);
        page_heading(page, 1, title);
        add_facts(page, job);
        page_heading(page, 2, "Learning");
        if (has_mean(&job->rounds))
                add_plot(page, alone, "mean return", "return_mean");
        else
                add_plot(page, alone, "mean return of a round", "return_round");
        add_plot(page, alone, "actors of a round", "actors");
        add_course(page, &job->rounds, job->bill->currency);
        add_decisions(page, job->decisions);
        page_heading(page, 2, "What it cost");
        add_bill(page, job->bill);
        page_heading(page, 2, "Where the time went");
        add_times(page, &job->status);
        page_fold(page, "Settings", job->settings);
}

void report_together(Page *page, const GPtrArray *jobs) {
        g_autoptr(GPtrArray) cells = g_ptr_array_new_with_free_func(g_free);
        static const char *const heads[] = { "", "environment", "result", "steps", "return", "emulated",
                "full total" };

        page_heading(page, 1, "Together");
        for (size_t i = 0; i < G_N_ELEMENTS(heads); i++)
                g_ptr_array_add(cells, g_strdup(heads[i]));
        for (guint i = 0; i < jobs->len; i++) {
                const ReportJob *job = jobs->pdata[i];

                g_ptr_array_add(cells, g_strdup(job->name));
                g_ptr_array_add(cells, g_strdup(job->status.environment));
                g_ptr_array_add(cells, g_strdup(job_has_ended(&job->status) ? job->status.result
                                                                            : job->status.state));
                g_ptr_array_add(cells, count(job->status.n_env_steps));
                g_ptr_array_add(cells, isfinite(job->status.return_mean)
                                                       ? g_strdup_printf("%.2f", job->status.return_mean)
                                                       : g_strdup("none"));
                g_ptr_array_add(cells, seconds(job->status.emulated_nsec));
                g_ptr_array_add(cells, money(job->bill->full, job->bill->currency));
        }
        page_table(page, cells, G_N_ELEMENTS(heads), NULL);
        add_plot(page, jobs, "mean return", "return_mean");
}
