/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shows a job's progress. On a terminal a live display is drawn at most ten times a second and never
 * scrolls; without a terminal a plain line is printed now and then, for log files. */
#include "actorctl/view/display.h"
#include "actorctl/view/streams.h"
#include "actorctl/view/why.h"

#include <math.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "include/bus.h"
#include "lib/cleanup.h"
#include "lib/sanitise.h"

#define LIVE_USEC    100000
#define CURVE_USEC   500000
#define PLAIN_USEC   10000000
#define RATE_USEC    1000000
#define ROUNDS_MOST  400u
#define CURVE_ROWS   8u
#define WIDE_COLUMNS 100u

struct Display {
        FILE *to;
        bool live, curve, utf8;
        Connection *connection;
        const char *path;
        gint64 drawn_usec;
        unsigned n_lines; /* of the block that stands on the screen */
        gint64 rate_usec;
        uint64_t rate_steps;
        double rate; /* steps per second; NaN: not known yet */
        uint64_t n_runs;
        gint64 begun_usec, stepped_usec; /* stepped_usec: when the number of steps last changed */
        uint64_t begun, stepped;         /* steps then */
        bool ended, started;
};

static int terminal_fd(const FILE *to) {
        return to == stderr ? STDERR_FILENO : STDOUT_FILENO;
}

Display *display_new(FILE *to, bool curve, Connection *connection, const char *path) {
        Display *display = g_new0(Display, 1);

        display->to = to;
        display->live = isatty(terminal_fd(to)) && g_strcmp0(g_getenv("TERM"), "dumb") != 0;
        display->curve = curve && display->live;
        display->utf8 = sanitise_locale_is_utf8();
        display->connection = connection;
        display->path = path;
        display->rate = NAN;
        return display;
}

void display_count_runs(Display *display, uint64_t n) {
        display->n_runs = n;
}

Display *display_free(Display *display) {
        g_free(display);
        return NULL;
}

static unsigned screen_columns(const Display *display) {
        struct winsize size;

        if (ioctl(terminal_fd(display->to), TIOCGWINSZ, &size) < 0 || size.ws_col < 20)
                return 80;
        return MIN(size.ws_col, 200u);
}

/* Steps per second over the last second or more, measured at changes of the count: steps arrive a whole
 * round at a time, and a round may take longer than a second. */
static void measure_rate(Display *display, const JobStatus *status, gint64 now) {
        if (display->rate_usec == 0 || status->n_env_steps < display->rate_steps) {
                display->rate_usec = now;
                display->rate_steps = status->n_env_steps;
        } else if (now - display->rate_usec >= RATE_USEC && status->n_env_steps > display->rate_steps) {
                display->rate = (double) (status->n_env_steps - display->rate_steps) * 1e6 /
                                (double) (now - display->rate_usec);
                display->rate_usec = now;
                display->rate_steps = status->n_env_steps;
        }
}

static void append_round(GString *text, const JobStatus *status) {
        g_string_append_printf(text, ", round %" G_GUINT64_FORMAT ", %u actor%s", status->round,
                        status->n_actors, status->n_actors == 1 ? "" : "s");
}

/* Measured over the whole training: runs differ in length, since their rounds have different numbers of
 * actors. */
static void measure_left(Display *display, const JobStatus *status, gint64 now) {
        if (display->begun_usec == 0) {
                display->begun_usec = now;
                display->begun = display->stepped = status->n_env_steps;
        }
        if (status->n_env_steps != display->stepped) {
                display->stepped = status->n_env_steps;
                display->stepped_usec = now;
        }
}

static void append_time(GString *text, double sec) {
        if (sec < 90)
                g_string_append_printf(text, "%.0f s", sec);
        else if (sec < 5400)
                g_string_append_printf(text, "%.0f min", sec / 60);
        else
                g_string_append_printf(text, "%.1f h", sec / 3600);
}

/* In a scheduler's training, a step is a round of the inner job, and an episode is a run of it. */
static char *describe_training(const Display *display, const JobStatus *status) {
        GString *text = g_string_new(NULL);
        gint64 now = g_get_monotonic_time();
        char number[32], money[48];

        g_string_append_printf(text, "%s runs", format_count(status->n_episodes, number));
        g_string_append_printf(text, " (of %s at least), ", format_count(display->n_runs, number));
        if (display->stepped > display->begun && display->stepped <= status->stop_steps &&
                        !job_has_ended(status)) {
                double each = (double) (display->stepped_usec - display->begun_usec) /
                              (double) (display->stepped - display->begun),
                       left = each * (double) (status->stop_steps - display->stepped) -
                              (double) (now - display->stepped_usec);

                g_string_append(text, "about ");
                append_time(text, MAX(left, 0) / 1e6);
                g_string_append(text, " left, ");
        } else {
                g_string_append(text, "after ");
                append_time(text, (double) (now - display->begun_usec) / 1e6);
                g_string_append(text, ", ");
        }
        if (isfinite(status->return_round))
                g_string_append_printf(text, "return %.2f, ", status->return_round);
        g_string_append_printf(text, "%s", format_money(status->cost_full, status->currency, money));
        if (status->round > 0)
                g_string_append_printf(text, ", %s rounds", format_count(status->n_env_steps, number));
        return g_string_free(text, FALSE);
}

/* The most important items come first: a narrow screen leaves out the end. */
static char *describe_job(const Display *display, const JobStatus *status) {
        GString *text = g_string_new(NULL);
        char number[32], money[48];

        if (strcmp(status->state, "running") != 0 && !job_has_ended(status))
                g_string_append_printf(text, "%s, ", status->state);
        if (status->n_evaluation_episodes > 0 && status->round == 0)
                g_string_append_printf(text, "%" G_GUINT64_FORMAT " episodes played, mean %.1f, ",
                                status->n_evaluation_episodes, status->evaluation_mean);
        else if (isfinite(status->return_mean))
                g_string_append_printf(text, "return %.1f, ", status->return_mean);
        else if (isfinite(status->return_round))
                g_string_append_printf(text, "return %.1f (of the round), ", status->return_round);
        if (status->n_evaluation_episodes > 0 && status->round > 0)
                g_string_append_printf(text, "evaluation %.1f, ", status->evaluation_mean);
        g_string_append_printf(text, "%s", format_money(status->cost_full, status->currency, money));
        if (status->round > 0)
                g_string_append_printf(text, ", %s steps", format_count(status->n_env_steps, number));
        if (status->round > 0 && isfinite(display->rate))
                g_string_append_printf(text, ", %s/s", format_count((uint64_t) display->rate, number));
        if (status->round > 0 && !display->curve)
                append_round(text, status);
        return g_string_free(text, FALSE);
}

static char *describe(const Display *display, const JobStatus *status) {
        return display->n_runs > 0 ? describe_training(display, status) : describe_job(display, status);
}

/* A job that has reached its target is complete, however few steps it took. */
static double fraction_done(const JobStatus *status) {
        if (strcmp(status->result, "target-reached") == 0)
                return 1;
        return status->stop_steps > 0 ? MIN((double) status->n_env_steps / (double) status->stop_steps, 1)
                                      : 0;
}

/* Leaves out whole items that do not fit: half a number would be a wrong number. */
static char *fit(const Display *display, const char *line) {
        g_autofree char *valid = g_utf8_make_valid(line, -1);
        glong room = (glong) screen_columns(display) - 1;
        char *comma;

        while (g_utf8_strlen(valid, -1) > room && (comma = g_strrstr(valid, ", ")))
                *comma = '\0';
        return g_utf8_substring(valid, 0, MIN(g_utf8_strlen(valid, -1), room));
}

/* Prints the bar and the words. */
static char *status_line(const Display *display, const JobStatus *status) {
        unsigned width = screen_columns(display) >= WIDE_COLUMNS ? 20 : 10;
        g_autofree char *bar = bar_draw(fraction_done(status), width, display->utf8);
        g_autofree char *words = describe(display, status);
        g_autofree char *line = g_strdup_printf("%s %3.0f%% %s", bar, 100 * fraction_done(status), words);

        return fit(display, line);
}

static char *title_line(const Display *display, const JobStatus *status) {
        g_autoptr(GString) line = g_string_new(NULL);

        g_string_printf(line, "job %" G_GUINT64_FORMAT ": %s, %s, seed %" G_GUINT64_FORMAT, status->id,
                        status->environment, status->algorithm, status->seed);
        if (status->round > 0)
                append_round(line, status);
        return fit(display, line->str);
}

/* The curve's points: environment steps and mean return; before 100 episodes, the round's own. */
static int fetch_rounds(const Display *display, GArray *xs, GArray *ys) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        uint64_t round, steps;
        uint32_t actors;
        double mean, of_round, emulated, cost;
        int r;

        r = sd_bus_call_method(display->connection->bus, display->connection->destination, display->path,
                        BUS_INTERFACE_JOB, "GetRounds", NULL, &reply, "tu", UINT64_C(0), ROUNDS_MOST);
        if (r < 0)
                return r;
        r = sd_bus_message_enter_container(reply, 'a', "(ttudddd)");
        while (r > 0 && (r = sd_bus_message_read(reply, "(ttudddd)", &round, &steps, &actors, &mean,
                                         &of_round, &emulated, &cost)) > 0) {
                double x = (double) steps, y = isfinite(mean) ? mean : of_round;

                g_array_append_val(xs, x);
                g_array_append_val(ys, y);
        }
        return r;
}

static void append_curve(const Display *display, GString *block) {
        g_autoptr(GArray) xs = g_array_new(FALSE, FALSE, sizeof(double)),
                          ys = g_array_new(FALSE, FALSE, sizeof(double));
        g_autofree char *curve = NULL;
        g_auto(GStrv) lines = NULL;
        double low = INFINITY, high = -INFINITY;

        if (fetch_rounds(display, xs, ys) < 0 || xs->len < 2)
                return;
        for (guint i = 0; i < ys->len; i++) {
                double y = g_array_index(ys, double, i);

                low = isfinite(y) ? MIN(low, y) : low;
                high = isfinite(y) ? MAX(high, y) : high;
        }
        if (!isfinite(low))
                return;
        curve = curve_draw((double *) xs->data, (double *) ys->data, xs->len,
                        MIN(screen_columns(display) - 14, 100u), CURVE_ROWS, display->utf8);
        lines = g_strsplit(curve, "\n", -1);
        g_string_append(block, "\n");
        for (unsigned i = 0; i < CURVE_ROWS && lines[i]; i++) {
                if (i == 0 || i == CURVE_ROWS - 1)
                        g_string_append_printf(block, "%10.1f  %s\n", i == 0 ? high : low, lines[i]);
                else
                        g_string_append_printf(block, "%12s%s\n", "", lines[i]);
        }
}

/* Why the current round has this number of actors, if the scheduler gives reasons. */
static void append_why(const Display *display, const JobStatus *status, GString *block) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        g_auto(GStrv) names = NULL;
        g_autofree char *words = NULL;
        const double *row;
        size_t bytes;

        if (sd_bus_call_method(display->connection->bus, display->connection->destination, display->path,
                            BUS_INTERFACE_JOB, "GetDecisions", NULL, &reply, "tu",
                            status->round > 0 ? status->round - 1 : 0, 1u) < 0 ||
                        sd_bus_message_read_strv(reply, &names) < 0 || !names ||
                        sd_bus_message_enter_container(reply, 'a', "ad") <= 0 ||
                        sd_bus_message_read_array(reply, 'd', (const void **) &row, &bytes) <= 0 ||
                        bytes != g_strv_length(names) * sizeof(double))
                return;
        words = why_words(names, row, true, display->utf8);
        if (words)
                text_wrap(block, "why ", words, MIN(screen_columns(display) - 1, 120u));
}

static void draw_block(Display *display, const JobStatus *status) {
        g_autoptr(GString) block = g_string_new(NULL);
        g_autofree char *title = title_line(display, status), *line = status_line(display, status);

        g_string_append_printf(block, "%s\n%s\n", title, line);
        append_why(display, status, block);
        append_curve(display, block);
        if (display->n_lines > 0) {
                g_autofree char *up = g_strdup_printf("\033[%uA\r", display->n_lines);

                stream_write_raw(display->to, up);
        }
        stream_write_raw(display->to, "\033[J");
        fputs(block->str, display->to);
        display->n_lines = 0;
        for (const char *p = block->str; *p; p++)
                display->n_lines += *p == '\n';
}

static void draw(Display *display, const JobStatus *status) {
        g_autofree char *line = NULL;

        if (display->curve)
                draw_block(display, status);
        else if (display->live) {
                line = status_line(display, status);
                stream_write_raw(display->to, "\r");
                fputs(line, display->to);
                stream_write_raw(display->to, "\033[K");
        } else {
                line = describe(display, status);
                fprintf(display->to, "job %" G_GUINT64_FORMAT ": %s\n", status->id, line);
        }
        (void) fflush(display->to);
}

void display_update(Display *display, const JobStatus *status) {
        gint64 now = g_get_monotonic_time(), period = display->live ? LIVE_USEC : PLAIN_USEC;

        if (display->curve)
                period = CURVE_USEC;
        /* Not before the job runs: its limits are known only then, and the ones that are not enforced are
         * printed first. */
        if (status->id == 0 || display->ended || strcmp(status->state, "starting") == 0)
                return;
        measure_rate(display, status, now);
        measure_left(display, status, now);
        if (!display->live && !display->started) {
                fprintf(display->to, "job %" G_GUINT64_FORMAT ": %s, %s, seed %" G_GUINT64_FORMAT "\n",
                                status->id, status->environment, status->algorithm, status->seed);
                display->drawn_usec = now;
        }
        display->started = true;
        if (display->drawn_usec != 0 && now - display->drawn_usec < period)
                return;
        display->drawn_usec = now;
        draw(display, status);
}

void display_end(Display *display, const JobStatus *status) {
        if (display->ended)
                return;
        display->ended = true;
        if (!display->started)
                return;
        draw(display, status);
        if (display->live && !display->curve)
                fprintf(display->to, "\n");
        (void) fflush(display->to);
}
