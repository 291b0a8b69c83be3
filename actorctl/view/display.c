/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shows a job's progress. On a terminal this is a live display, which is drawn at most ten times a second
 * and never scrolls. Without a terminal it is a plain line from time to time, for log files. */
#include "actorctl/view/display.h"
#include "actorctl/view/colour.h"
#include "actorctl/view/screen.h"
#include "actorctl/view/streams.h"
#include "actorctl/view/why.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "actorctl/job-settings.h"
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

/* Limits that can end the job besides its steps; NaN: there is none. */
typedef struct Ends {
        bool known;
        double target, budget;
} Ends;

struct Display {
        FILE *to;
        char *called, *keys;
        bool live, curve, utf8, colours;
        Ends ends;
        Connection *connection;
        const char *path;
        gint64 drawn_usec;
        unsigned n_lines; /* of the block on the screen */
        gint64 rate_usec;
        uint64_t rate_steps;
        double rate; /* steps per second; NaN: not known yet */
        uint64_t n_runs;
        gint64 begun_usec, stepped_usec; /* stepped_usec: when the number of steps last changed */
        uint64_t begun, stepped;         /* the number of steps at begun_usec and stepped_usec */
        double begun_part, part;         /* the share of the whole job at these two times */
        bool ended, started;
};

static int terminal_fd(const FILE *to) {
        return to == stderr ? STDERR_FILENO : STDOUT_FILENO;
}

Display *display_new(FILE *to, bool curve, Connection *connection, const char *path) {
        Display *display = g_new0(Display, 1);

        display->to = to;
        display->live = terminal_obeys(terminal_fd(to));
        display->curve = curve && display->live;
        display->colours = display->live && colour_wanted(terminal_fd(to));
        display->ends = (Ends){ .target = NAN, .budget = NAN };
        display->utf8 = sanitise_locale_is_utf8();
        display->connection = connection;
        display->path = path;
        display->rate = NAN;
        return display;
}

bool display_is_live(const Display *display) {
        return display->live;
}

void display_count_runs(Display *display, uint64_t n) {
        display->n_runs = n;
}

void display_call(Display *display, const char *called) {
        g_free(display->called);
        display->called = g_strdup(called);
}

void display_tell_keys(Display *display, const char *words) {
        g_free(display->keys);
        display->keys = g_strdup(words);
}

Display *display_free(Display *display) {
        g_free(display->called);
        g_free(display->keys);
        g_free(display);
        return NULL;
}

static unsigned display_columns(const Display *display) {
        return MIN(terminal_columns(terminal_fd(display->to)), 200u);
}

/* Steps per second over at least the last second, measured between changes of the count: steps arrive in
 * whole rounds, and a round may take longer than a second. */
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

/* Appends the round and its actors. A scheduler's number is shown with the most that it may choose. */
static void append_round(GString *text, const JobStatus *status) {
        g_string_append_printf(text, ", round %" G_GUINT64_FORMAT ", ", status->round);
        if (status->n_actors_max > status->n_actors_min)
                g_string_append_printf(text, "%u of %u actors", status->n_actors, status->n_actors_max);
        else
                g_string_append_printf(
                                text, "%u actor%s", status->n_actors, status->n_actors == 1 ? "" : "s");
}

static void read_end(Ends *ends, const char *section, const char *key, const char *value) {
        if (strcmp(key, "Budget") == 0 && strcmp(section, "Job") == 0 && value[0])
                ends->budget = g_ascii_strtod(value, NULL);
        /* if both sections have StopReturn=, that of [Evaluation] decides */
        if (strcmp(key, "StopReturn") == 0 && value[0] &&
                        (strcmp(section, "Evaluation") == 0 || !isfinite(ends->target)))
                ends->target = g_ascii_strtod(value, NULL);
}

/* Asks once, since the settings of a job do not change. If they cannot be read, no budget and no target are
 * shown. */
static void fetch_ends(Display *display) {
        g_autoptr(GArray) rows = NULL;

        if (display->ends.known)
                return;
        display->ends.known = true;
        if (job_settings_ask(display->connection, display->path, &rows) < 0)
                return;
        for (guint i = 0; i < rows->len; i++) {
                const JobSetting *row = &g_array_index(rows, JobSetting, i);

                read_end(&display->ends, row->section, row->key, row->value);
        }
}

/* The share of the job's steps, or of its budget, that is used: the larger of the two. A job that has
 * reached its target is complete, even after few steps. */
static double fraction_done(const Display *display, const JobStatus *status) {
        double steps = status->stop_steps > 0 ? (double) status->n_env_steps / (double) status->stop_steps
                                              : 0,
               budget = display->ends.budget > 0 ? status->cost_full / display->ends.budget : 0;

        if (strcmp(status->result, "target-reached") == 0)
                return 1;
        return MIN(MAX(steps, isfinite(budget) ? budget : 0), 1);
}

/* Notes what share of the job is done, for seconds_left(): once when the display begins, and again after
 * each round. Rounds differ in length, so the rate is measured over all of them. */
static void measure_left(Display *display, const JobStatus *status, gint64 now) {
        double part = fraction_done(display, status);

        if (display->begun_usec == 0) {
                display->begun_usec = now;
                display->begun = display->stepped = status->n_env_steps;
                display->begun_part = display->part = part;
        }
        if (status->n_env_steps != display->stepped) {
                display->stepped = status->n_env_steps;
                display->stepped_usec = now;
                display->part = part;
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

/* The time until steps or budget are used up; a target may be reached earlier. NaN: not known yet, or the
 * job has ended. */
static double seconds_left(const Display *display, const JobStatus *status, gint64 now) {
        double each, left;

        if (display->part <= display->begun_part || job_has_ended(status))
                return NAN;
        each = (double) (display->stepped_usec - display->begun_usec) /
               (display->part - display->begun_part);
        left = each * (1 - display->part) - (double) (now - display->stepped_usec);
        return MAX(left, 0) / 1e6;
}

/* In a scheduler's training, a step is a round of the inner job, and an episode is a run of it. */
static char *describe_training(const Display *display, const JobStatus *status) {
        GString *text = g_string_new(NULL);
        gint64 now = g_get_monotonic_time();
        double left = seconds_left(display, status, now);
        char number[32], money[48];

        g_string_append_printf(text, "%s runs", format_count(status->n_episodes, number));
        g_string_append_printf(text, " (of at least %s), ", format_count(display->n_runs, number));
        if (isfinite(left)) {
                g_string_append(text, "about ");
                append_time(text, left);
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

static void append_return(const Display *display, const JobStatus *status, GString *text) {
        g_autofree char *target = isfinite(display->ends.target)
                                                  ? g_strdup_printf(" of %g", display->ends.target)
                                                  : NULL;
        const char *of = target ? target : "";

        if (status->n_evaluation_episodes > 0 && status->round == 0)
                g_string_append_printf(text, "%" G_GUINT64_FORMAT " episode%s played, mean %.1f, ",
                                status->n_evaluation_episodes, status->n_evaluation_episodes == 1 ? "" : "s",
                                status->evaluation_mean);
        else if (isfinite(status->return_mean))
                g_string_append_printf(text, "return %.1f%s, ", status->return_mean, of);
        else if (isfinite(status->return_round))
                g_string_append_printf(text, "round's return %.1f%s, ", status->return_round, of);
        if (status->n_evaluation_episodes > 0 && status->round > 0)
                g_string_append_printf(text, "evaluation %.1f, ", status->evaluation_mean);
}

/* Appends the cost. If the budget follows, the cost always has six decimals: the user compares it with the
 * budget. */
static void append_cost(const Display *display, const JobStatus *status, GString *text) {
        char money[48];

        if (isfinite(display->ends.budget))
                g_string_append_printf(text, "%.6f of %g %s", status->cost_full, display->ends.budget,
                                status->currency);
        else
                g_string_append(text, format_money(status->cost_full, status->currency, money));
}

/* The most important items come first, since a narrow screen leaves out the end. */
static char *describe_job(const Display *display, const JobStatus *status) {
        double left = seconds_left(display, status, g_get_monotonic_time());
        g_autofree char *nodes = job_nodes_words(status);
        GString *text = g_string_new(NULL);
        char number[32];

        if (strcmp(status->state, "running") != 0 && !job_has_ended(status))
                g_string_append_printf(text, "%s, ", status->state);
        append_return(display, status, text);
        if (isfinite(left)) {
                append_time(text, left);
                g_string_append(text, " left, ");
        }
        append_cost(display, status, text);
        if (status->round > 0)
                g_string_append_printf(text, ", %s steps", format_count(status->n_env_steps, number));
        if (status->round > 0 && isfinite(display->rate))
                g_string_append_printf(text, ", %s/s", format_count((uint64_t) display->rate, number));
        if (status->round > 0 && !display->curve)
                append_round(text, status);
        if (nodes && !display->curve)
                g_string_append_printf(text, ", nodes: %s", nodes);
        return g_string_free(text, FALSE);
}

static char *describe(const Display *display, const JobStatus *status) {
        return display->n_runs > 0 ? describe_training(display, status) : describe_job(display, status);
}

/* Leaves out whole items that do not fit: half a number would be a wrong number. */
static char *fit(const Display *display, const char *line) {
        g_autofree char *valid = g_utf8_make_valid(line, -1);
        glong room = (glong) display_columns(display) - 1;
        char *comma;

        while (g_utf8_strlen(valid, -1) > room && (comma = g_strrstr(valid, ", ")))
                *comma = '\0';
        return g_utf8_substring(valid, 0, MIN(g_utf8_strlen(valid, -1), room));
}

/* The line that a terminal shows: the bar and the text. */
static char *status_line(const Display *display, const JobStatus *status) {
        unsigned width = display_columns(display) >= WIDE_COLUMNS ? 20 : 10;
        double done = fraction_done(display, status);
        g_autofree char *bar = bar_draw(done, width, display->utf8);
        g_autofree char *words = describe(display, status);
        g_autofree char *line = g_strdup_printf("%s %3.0f%% %s", bar, 100 * done, words);

        return fit(display, line);
}

/* Prints the result of status_line() without a line break. On a terminal with colours the bar, up to its
 * "]", has a colour. */
static void print_status(const Display *display, const JobStatus *status, const char *line) {
        const char *words = strchr(line, ']');
        bool spent = display->ends.budget > 0 && status->cost_full > 0.9 * display->ends.budget;

        if (!display->colours || !words) {
                fputs(line, display->to);
                return;
        }
        colour_set(display->to, spent ? COLOUR_WARNING : COLOUR_GOOD);
        fprintf(display->to, "%.*s", (int) (words + 1 - line), line);
        colour_set(display->to, COLOUR_PLAIN);
        fputs(words + 1, display->to);
}

static char *called(const Display *display, const JobStatus *status) {
        return display->called ? g_strdup(display->called)
                               : g_strdup_printf("job %" G_GUINT64_FORMAT, status->id);
}

static char *title_line(const Display *display, const JobStatus *status) {
        g_autoptr(GString) line = g_string_new(NULL);
        g_autofree char *name = called(display, status);

        g_string_printf(line, "%s: %s, %s, seed %" G_GUINT64_FORMAT, name, status->environment,
                        status->algorithm, status->seed);
        if (status->round > 0)
                append_round(line, status);
        return fit(display, line->str);
}

/* Reads the curve's points: environment steps and mean return; before 100 episodes, each round's own
 * return. */
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

/* Appends a line below the curve: the steps of its first and of its last point, at its two ends. */
static void append_axis(GString *block, double from, double to, unsigned columns) {
        char first[32], last[32];
        g_autofree char *right = g_strdup_printf("%s steps", format_count((uint64_t) to, last));
        unsigned left_width = columns - MIN((unsigned) strlen(right), columns - 1);

        g_string_append_printf(block, "%12s%-*s%s\n", "", (int) left_width,
                        format_count((uint64_t) from, first), right);
}

static void append_curve(const Display *display, GString *block) {
        unsigned columns = MIN(display_columns(display) - 14, 100u);
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
        curve = curve_draw((double *) xs->data, (double *) ys->data, xs->len, columns, CURVE_ROWS,
                        display->utf8);
        lines = g_strsplit(curve, "\n", -1);
        g_string_append(block, "\n");
        for (unsigned i = 0; i < CURVE_ROWS && lines[i]; i++) {
                if (i == 0 || i == CURVE_ROWS - 1)
                        g_string_append_printf(block, "%10.1f  %s\n", i == 0 ? high : low, lines[i]);
                else
                        g_string_append_printf(block, "%12s%s\n", "", lines[i]);
        }
        append_axis(block, g_array_index(xs, double, 0), g_array_index(xs, double, xs->len - 1), columns);
}

/* Appends why the newest round that has ended had its number of actors, if the scheduler gives reasons. */
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
                text_wrap(block, "why ", words, MIN(display_columns(display) - 1, 120u));
}

static void append_nodes(const Display *display, const JobStatus *status, GString *block) {
        g_autofree char *words = job_nodes_words(status), *use = job_nodes_use(status);
        g_autofree char *all = words && use ? g_strdup_printf("%s; %s", words, use) : g_strdup(words);

        if (all)
                text_wrap(block, "nodes ", all, MIN(display_columns(display) - 1, 120u));
}

static unsigned count_lines(const char *text) {
        unsigned n = 0;

        for (const char *p = text; *p; p++)
                n += *p == '\n';
        return n;
}

static void print_faint(const Display *display, const char *text) {
        if (display->colours)
                colour_set(display->to, COLOUR_FAINT);
        fputs(text, display->to);
        if (display->colours)
                colour_set(display->to, COLOUR_PLAIN);
}

static void draw_block(Display *display, const JobStatus *status) {
        g_autoptr(GString) block = g_string_new(NULL);
        g_autofree char *title = title_line(display, status), *line = status_line(display, status);

        append_why(display, status, block);
        append_nodes(display, status, block);
        append_curve(display, block);
        if (display->n_lines > 0) {
                g_autofree char *up = g_strdup_printf("\033[%uA\r", display->n_lines);

                stream_write_raw(display->to, up);
        }
        stream_write_raw(display->to, "\033[J");
        if (display->colours)
                colour_set(display->to, COLOUR_STRONG);
        fprintf(display->to, "%s", title);
        if (display->colours)
                colour_set(display->to, COLOUR_PLAIN);
        fputs("\n", display->to);
        print_status(display, status, line);
        fprintf(display->to, "\n%s", block->str);
        display->n_lines = 2 + count_lines(block->str);
        if (display->keys && !display->ended) {
                g_autofree char *keys = fit(display, display->keys);

                print_faint(display, keys);
                fputs("\n", display->to);
                display->n_lines++;
        }
}

static void draw(Display *display, const JobStatus *status) {
        g_autofree char *line = NULL;

        if (display->curve)
                draw_block(display, status);
        else if (display->live) {
                line = status_line(display, status);
                stream_write_raw(display->to, "\r");
                print_status(display, status, line);
                stream_write_raw(display->to, "\033[K");
        } else {
                g_autofree char *name = called(display, status);

                line = describe(display, status);
                fprintf(display->to, "%s: %s\n", name, line);
        }
        (void) fflush(display->to);
}

/* Prints the heading above the lines, once. */
static void begin_lines(Display *display, const JobStatus *status, gint64 now) {
        g_autofree char *name = called(display, status), *line = NULL, *fitting = NULL;

        line = g_strdup_printf("%s: %s, %s, seed %" G_GUINT64_FORMAT, name, status->environment,
                        status->algorithm, status->seed);
        if (!display->live) {
                fprintf(display->to, "%s\n", line);
                display->drawn_usec = now;
                return;
        }
        fitting = fit(display, line);
        fprintf(display->to, "%s\n", fitting);
        if (display->keys) {
                g_autofree char *keys = fit(display, display->keys);

                print_faint(display, keys);
                fputs("\n", display->to);
        }
}

void display_update(Display *display, const JobStatus *status) {
        gint64 now = g_get_monotonic_time(), period = display->live ? LIVE_USEC : PLAIN_USEC;

        if (display->curve)
                period = CURVE_USEC;
        /* Nothing is shown while the job starts: its limits are known when it runs, and those that are not
         * enforced must be printed first. */
        if (status->id == 0 || display->ended || strcmp(status->state, "starting") == 0)
                return;
        fetch_ends(display);
        measure_rate(display, status, now);
        measure_left(display, status, now);
        if (!display->curve && !display->started)
                begin_lines(display, status, now);
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
