/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The options of the command line are rows of one table. GLib parses by this table, the help is printed from
 * it, and an option that the verb does not take is refused. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "actorctl/actorctl.h"
#include "actorctl/metrics/metrics.h"
#include "actorctl/view/table.h"
#include "include/environments.h"
#include "lib/settings/settings.h"

typedef enum OptionKind {
        OPTION_FLAG,    /* sets a bool */
        OPTION_TEXT,    /* keeps a copy */
        OPTION_NUMBER,  /* a whole number from 1 to `highest` */
        OPTION_SETTING, /* short for --set */
        OPTION_OWN,     /* take() reads and stores the value */
} OptionKind;

typedef struct OptionRow {
        const char *name;
        char letter;
        const char *argument; /* the name of its argument; NULL: it is a flag */
        uint64_t verbs;
        const char *help;
        OptionKind kind;
        size_t at; /* the offset of its member in Options */
        uint64_t highest;
        const char *setting; /* "Section.Key=" */
        /* OPTION_TEXT: checks the value (NULL: any value is accepted); OPTION_OWN: reads and stores it.
         * false, after a message: the value is wrong. */
        bool (*take)(Options *options, const char *value);
} OptionRow;

#define FLAG(member)            OPTION_FLAG, offsetof(Options, member), 0, NULL, NULL
#define TEXT(member)            OPTION_TEXT, offsetof(Options, member), 0, NULL, NULL
#define CHECKED(member, check)  OPTION_TEXT, offsetof(Options, member), 0, NULL, check
#define NUMBER(member, highest) OPTION_NUMBER, offsetof(Options, member), highest, NULL, NULL
#define SETTING(setting)        OPTION_SETTING, 0, 0, setting, NULL
#define OWN(take)               OPTION_OWN, 0, 0, NULL, take

#define LISTING                                                                                            \
        (VERB_TOP | VERB_RUNS | VERB_TOTALS | VERB_EXPERIMENT | VERB_SCHEDULER | VERB_LIST | VERB_STATUS | \
                        VERB_SHOW | VERB_CAT | VERB_BILL | VERB_ROUNDS | VERB_DECISIONS | VERB_LOGS |      \
                        VERB_ENV | VERB_PRICE | VERB_KEYS | VERB_QUOTA | VERB_GRAPH)
#define TABLES                                                                                         \
        (VERB_TOP | VERB_RUNS | VERB_TOTALS | VERB_SCHEDULER | VERB_LIST | VERB_STATUS | VERB_SHOW |   \
                        VERB_BILL | VERB_ROUNDS | VERB_DECISIONS | VERB_ENV | VERB_PRICE | VERB_KEYS | \
                        VERB_QUOTA | VERB_GRAPH)

#define REMOTE                                                                                         \
        (VERB_SUBMIT | VERB_LIST | VERB_STATUS | VERB_SHOW | VERB_CAT | VERB_STOP | VERB_FREEZE |      \
                        VERB_THAW | VERB_REMOVE | VERB_WATCH | VERB_BILL | VERB_TOTALS | VERB_ROUNDS | \
                        VERB_DECISIONS | VERB_METRICS | VERB_QUOTA)

/* Verbs that may ask a daemon. The others read files, or always start a private daemon. */
#define ASKING                                                                                       \
        (VERB_ANY & ~(VERB_RUNS | VERB_LOGS | VERB_KEYS | VERB_RECOVER | VERB_CALIBRATE | VERB_ENV | \
                                    VERB_SCHEDULER | VERB_IMPORT | VERB_HELP))

static bool take_json(Options *options, const char *value) {
        static const struct {
                const char *word;
                JsonMode mode;
        } modes[] = { { "short", JSON_SHORT }, { "pretty", JSON_PRETTY }, { "off", JSON_OFF } };

        for (size_t i = 0; i < G_N_ELEMENTS(modes); i++)
                if (strcmp(value, modes[i].word) == 0) {
                        options->json = modes[i].mode;
                        return true;
                }
        complain("--json=%s: it must be one of short, pretty, off", value);
        return false;
}

static bool take_set(Options *options, const char *value) {
        if (!strchr(value, '=') || value[0] == '=') {
                complain("--set %s: write Section.Key=VALUE", value);
                return false;
        }
        g_ptr_array_add(options->sets, g_strdup(value));
        return true;
}

static bool take_metrics(Options *options, const char *value) {
        g_autofree char *reason = NULL;

        if (metrics_word_check(value, &reason)) {
                g_ptr_array_add(options->metrics, g_strdup(value));
                return true;
        }
        complain("--metrics=%s: %s", value, reason);
        return false;
}

static bool check_target(Options *options, const char *value) {
        double target;

        if (settings_parse_real(value, -JOB_TARGET_MAX, JOB_TARGET_MAX, &target) >= 0)
                return true;
        complain("--target=%s: it must be a number from %g to %g", value, -JOB_TARGET_MAX, JOB_TARGET_MAX);
        return false;
}

/* Reads "2026-11-23" in local time, perhaps with a time of day; "2026-11", a month in UTC, as for bills; or
 * a time ago: "12h", "3d". */
static bool take_since(Options *options, const char *value) {
        /* GLib needs a complete date and time, with seconds. */
        static const struct {
                size_t length;
                const char *rest;
        } forms[] = { { sizeof("2026-11") - 1, "-01 00:00:00" }, { sizeof("2026-11-23") - 1, " 00:00:00" },
                { sizeof("2026-11-23 14:30") - 1, ":00" } };
        bool month = strlen(value) == forms[0].length;
        g_autoptr(GTimeZone) zone = month ? g_time_zone_new_utc() : g_time_zone_new_local();
        const char *rest = "";
        g_autofree char *whole = NULL;
        g_autoptr(GDateTime) date = NULL;
        uint64_t ago, now = (uint64_t) g_get_real_time();

        for (size_t i = 0; i < G_N_ELEMENTS(forms); i++)
                if (strlen(value) == forms[i].length)
                        rest = forms[i].rest;
        whole = g_strconcat(value, rest, NULL);
        date = g_date_time_new_from_iso8601(whole, zone);
        if (date && g_date_time_to_unix(date) >= 0)
                options->since_usec = (uint64_t) g_date_time_to_unix(date) * 1000000;
        else if (settings_parse_time(value, &ago) >= 0 && ago < now)
                options->since_usec = now - ago;
        else {
                complain("--since=%s: write a date (2026-11-23, 2026-11-23 14:30), a month (2026-11), "
                         "or how long ago (12h, 3d)",
                                value);
                return false;
        }
        return true;
}

/* --state= is a file for rollouts, numbers for eval, and a state for lists of jobs. Each verb reads it in
 * its own way. */
static bool take_state(Options *options, const char *value) {
        g_free(options->state_file);
        g_free(options->job_state);
        options->state_file = g_strdup(value);
        options->job_state = g_strdup(value);
        return true;
}

/* clang-format off */
static const OptionRow rows[] = {
        { "help", 'h', NULL, VERB_ANY, "show this help", FLAG(help) },
        { "version", 0, NULL, VERB_ANY, "show the version", FLAG(version) },
        { "set", 0, "SECTION.KEY=VALUE", VERB_RUN | VERB_SUBMIT | VERB_VERIFY | VERB_EVAL |
                        VERB_GRAPH | VERB_SCHEDULER | VERB_ENV | VERB_CALIBRATE | VERB_EXPORT,
                        "change a setting; an empty VALUE unsets it", OWN(take_set) },
        { "seed", 0, "N", VERB_RUN | VERB_SUBMIT | VERB_EVAL | VERB_SCHEDULER | VERB_ENV | VERB_EXPORT,
                        "the same as --set Job.Seed=N", SETTING("Job.Seed=") },
        { "profile", 0, NULL, VERB_RUN, "show what the rounds spent their time on", FLAG(profile) },
        { "metrics", 0, "FORMAT:PATH", VERB_RUN | VERB_SUBMIT | VERB_WATCH | VERB_METRICS,
                        "write each round to PATH; FORMAT is csv, jsonl,\nscalars, tensorboard or monitor",
                        OWN(take_metrics) },
        { "http", 0, NULL, VERB_METRICS, "answer one HTTP request on standard input", FLAG(http) },
        { "policy", 0, "POLICY", VERB_GRAPH,
                        "the same as --set Distribution.Policy=POLICY", SETTING("Distribution.Policy=") },
        { "dot", 0, NULL, VERB_GRAPH, "print a picture for Graphviz", FLAG(dot) },
        { "svg", 0, NULL, VERB_GRAPH, "print a picture as SVG", FLAG(svg) },
        { "wait", 0, NULL, VERB_SUBMIT, "wait for the job's end", FLAG(wait) },
        { "episodes", 0, "N", VERB_EVAL | VERB_SCHEDULER | VERB_EXPORT,
                        "how many to play (default 100; 1 for a recording)", NUMBER(n_episodes, 1000000) },
        { "rounds", 0, "N", VERB_SCHEDULER, "at most N rounds in a run (default "
                                            "50)", NUMBER(n_rounds, 1048576) },
        { "target", 0, "RETURN", VERB_SCHEDULER,
                        "the return to reach (default: StopReturn=)", CHECKED(target, check_target) },
        { "from", 0, "JOB|RUN|FILE", VERB_RUN | VERB_SUBMIT | VERB_SCHEDULER,
                        "continue from its newest checkpoint, or from FILE", TEXT(from) },
        { "name", 0, "NAME", VERB_SCHEDULER, "name the trained scheduler (default: as FILE)", TEXT(name) },
        { "steps", 0, "N", VERB_ENV | VERB_EVAL,
                        "steps of a rollout (default 1000) or of a bench",
                        NUMBER(n_steps, UINT64_C(1) << 40) },
        { "actions", 0, "FILE", VERB_ENV,
                        "a rollout's actions: FILE, random (default), zero", TEXT(actions) },
        { "state", 0, "FILE", VERB_ENV | VERB_LIST | VERB_EVAL,
                        "a rollout begins in the state in FILE", OWN(take_state) },
        { "grid", 0, "V|LOW:HIGH:N,...", VERB_EVAL, "play an episode from each of these states",
                        TEXT(grid) },
        { "job-state", 0, "STATE,...", VERB_LIST, "only jobs in these states", TEXT(job_state) },
        { "sort", 0, "COLUMN", VERB_LIST | VERB_TOP, "sort by this column", TEXT(sort) },
        { "once", 0, NULL, VERB_TOP, "print one table, after a second", FLAG(once) },
        { "all", 0, NULL, VERB_LIST, "also jobs that ended long ago", FLAG(all) },
        { "owner", 0, "USER", VERB_LIST | VERB_BILL, "only jobs of this user", TEXT(owner) },
        { "tag", 0, "TAG", VERB_LIST | VERB_BILL, "only jobs with this Tag=", TEXT(tag) },
        { "since", 0, "TIME", VERB_LIST | VERB_BILL,
                        "only jobs submitted since TIME: 2026-11-23, 12h", OWN(take_since) },
        { "by", 0, "WORD,...", VERB_BILL, "add up by owner, tag, month or job", TEXT(by) },
        { "states", 0, NULL, VERB_ENV, "a rollout prints the state after each step", FLAG(states) },
        { "gif", 0, "FILE", VERB_EVAL | VERB_ENV, "record the episodes as an animated GIF", TEXT(gif) },
        { "video", 0, "FILE.mp4", VERB_EVAL | VERB_ENV, "record them as a video (needs "
                                                        "ffmpeg)", TEXT(video) },
        { "frames", 0, "DIRECTORY", VERB_EVAL | VERB_ENV,
                        "record them as PNGs in a new directory", TEXT(frames) },
        { "beside", 0, NULL, VERB_BILL, "compare functions, servers and nodes", FLAG(beside) },
        { "fleet", 0, "SHEET", VERB_BILL,
                        "compare with the servers of this price sheet alone", TEXT(fleet) },
        { "prices", 0, "SHEET", VERB_BILL, "charge the same records by this price "
                                           "sheet", TEXT(prices) },
        { "format", 0, "FORMAT", VERB_EXPORT | VERB_BILL,
                        "safetensors (default), onnx or header", TEXT(format) },
        { "weights-only", 0, NULL, VERB_EXPORT, "write the policy's tensors alone", FLAG(weights_only) },
        { "rollouts", 0, NULL, VERB_EXPORT,
                        "write episodes of the policy as a data set", FLAG(rollouts) },
        { "replay", 0, NULL, VERB_EXPORT,
                        "write the replay store's episodes as a data set", FLAG(replay) },
        { "html", 0, NULL, VERB_REPORT, "write a page for a browser (default)", FLAG(html) },
        { "md", 0, NULL, VERB_REPORT, "write Markdown, without pictures", FLAG(md) },
        { "output", 'o', "FILE", VERB_EXPORT | VERB_EXPERIMENT | VERB_IMPORT | VERB_REPORT,
                        "write to this file; -: to standard output", TEXT(output) },
        { "jobs", 0, "N", VERB_EXPERIMENT,
                        "run N jobs at once (default: as the CPUs allow)", NUMBER(n_jobs, 1000) },
        { "dry-run", 0, NULL, VERB_EXPERIMENT, "list the cells and run none", FLAG(dry_run) },
        { "follow", 'f', NULL, VERB_LOGS, "wait for new entries, and print them", FLAG(follow) },
        { "lines", 'n', "N", VERB_LOGS | VERB_LIST | VERB_RUNS, "only the newest N",
                        NUMBER(n_lines, 1000000000) },
        { "check", 0, NULL, VERB_DECISIONS,
                        "say whether each decision follows from its inputs", FLAG(check) },
        { "csv", 0, NULL, VERB_ROUNDS | VERB_DECISIONS,
                        "print every column, separated by commas", FLAG(csv) },
        { "json", 'j', "short|pretty", TABLES | VERB_RUN | VERB_SUBMIT |
                        VERB_EVAL | VERB_VERIFY | VERB_CALIBRATE,
                        "print JSON (default: pretty)", OWN(take_json) },
        { "no-pager", 0, NULL, LISTING, "do not pipe into a pager", FLAG(no_pager) },
        { "no-legend", 0, NULL, LISTING, "print no headings and no footers", FLAG(no_legend) },
        { "quiet", 'q', NULL, VERB_ANY, "print no progress and no remarks", FLAG(quiet) },
        { "verbose", 'v', NULL, VERB_RUN | VERB_SUBMIT | VERB_WATCH | VERB_EVAL,
                        "explain each limit that is not enforced", FLAG(verbose) },
        { "host", 'H', "[USER@]HOST", REMOTE, "ask the system's daemon of HOST, through ssh", TEXT(host) },
        { "system", 0, NULL, ASKING, "ask the system's daemon", FLAG(system) },
        { "user", 0, NULL, ASKING, "ask the user's own daemon", FLAG(user) },
};

/* The help of an option for verbs that take another value, or use it in another way. */
static const struct {
        const char *name;
        uint64_t verbs;
        const char *argument, *help;
} others[] = {
        { "set", VERB_ENV, "KEY=VALUE", "set an option; SECTION.KEY=VALUE: one of a job" },
        { "metrics", VERB_METRICS, "FORMAT:PATH",
                        "write the rounds to PATH; FORMAT is csv, jsonl,\nscalars, tensorboard or monitor" },
        { "episodes", VERB_SCHEDULER, "N", "train with at least N runs (default 100)" },
        { "episodes", VERB_EXPORT, "N", "with --rollouts: how many to play (default 100)" },
        { "from", VERB_SCHEDULER, "NAME|FILE", "begin with this trained scheduler" },
        { "steps", VERB_EVAL, "N", "end an episode after N steps" },
        { "state", VERB_LIST, "STATE,...", "the same as --job-state" },
        { "state", VERB_EVAL, "V1,V2,...", "play one episode from this state" },
        { "since", VERB_BILL, "TIME", "only jobs that ended since TIME: 2026-11-23, 12h" },
        { "format", VERB_BILL, "FORMAT", "focus: the charges as CSV" },
        { "output", VERB_EXPORT, "PATH",
                        "write to this file (-: to standard output); with\n"
                        "--rollouts or --replay to this directory" },
        { "output", VERB_EXPERIMENT, "DIRECTORY", "write the results there (default: FILE.results)" },
        { "lines", VERB_LOGS, "N", "only the newest N lines" },
        { "system", VERB_RUN, NULL, "a JOB that --from names is the system daemon's" },
        { "user", VERB_RUN, NULL, "a JOB that --from names is your own daemon's" },
};
/* clang-format on */

bool may_replace(const char *path) {
        struct stat st;

        if (lstat(path, &st) < 0 || S_ISREG(st.st_mode))
                return true;
        complain("%s is not a regular file, so it is not replaced; name another one", path);
        return false;
}

static bool take_number(const OptionRow *row, const char *value, uint64_t *ret) {
        if (g_ascii_string_to_unsigned(value, 10, 1, row->highest, ret, NULL))
                return true;
        complain("--%s=%s: it must be a whole number from 1 to %" G_GUINT64_FORMAT, row->name, value,
                        row->highest);
        return false;
}

static bool take_row(const OptionRow *row, Options *options, const char *value) {
        void *member = (uint8_t *) options + row->at;
        char **text = member;

        switch (row->kind) {
        case OPTION_FLAG: *(bool *) member = true; return true;
        case OPTION_TEXT:
                if (row->take && !row->take(options, value))
                        return false;
                g_free(*text);
                *text = g_strdup(value);
                return true;
        case OPTION_NUMBER: return take_number(row, value, member);
        case OPTION_SETTING:
                g_ptr_array_add(options->sets, g_strconcat(row->setting, value, NULL));
                return true;
        case OPTION_OWN: return row->take(options, value);
        }
        g_assert_not_reached();
}

static size_t find_row(const char *name, size_t length) {
        size_t i;

        for (i = 0; i < G_N_ELEMENTS(rows); i++)
                if (length == 1 ? rows[i].letter == name[0]
                                : strlen(rows[i].name) == length && strncmp(rows[i].name, name, length) == 0)
                        break;
        return i;
}

/* GLib passes "--set" or "-o" as `option`. This function itself reports a wrong value, so the GError has no
 * message. */
static gboolean take(const char *option, const char *value, gpointer data, GError **error) {
        const char *name = option + strspn(option, "-");
        size_t i = find_row(name, strlen(name));
        Options *options = data;

        g_assert(i < G_N_ELEMENTS(rows));
        options->given |= UINT64_C(1) << i;
        if (take_row(&rows[i], options, value))
                return TRUE;
        g_set_error_literal(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "");
        return FALSE;
}

static void complain_option(const char *argument) {
        g_autoptr(GPtrArray) names = g_ptr_array_new();
        const char *nearest;

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
                g_ptr_array_add(names, (gpointer) rows[i].name);
        g_ptr_array_add(names, NULL);
        nearest = strlen(argument) > 3 ? nearest_word(argument + 2, (const char *const *) names->pdata)
                                       : NULL;
        if (nearest)
                complain("unknown option %s; did you mean --%s?", argument, nearest);
        else
                complain("unknown option %s; `actorctl --help` lists them", argument);
}

/* Turns -n5 into --lines=5, since GLib takes the value of a one-letter option only from the next
 * argument. */
static void expand_letter(char **word) {
        size_t row = (*word)[0] == '-' && (*word)[1] && (*word)[1] != '-' && (*word)[2]
                                     ? find_row(*word + 1, 1)
                                     : G_N_ELEMENTS(rows);
        char *whole;

        if (row == G_N_ELEMENTS(rows) || !rows[row].argument)
                return;
        whole = g_strdup_printf("--%s=%s", rows[row].name, *word + 2);
        g_free(*word);
        *word = whole;
}

/* A misspelt long option gets a suggestion. --json and -j without a value get their default value here:
 * otherwise GLib would take the next argument. */
static bool prepare(char **argv) {
        for (char **p = argv + 1; *p && strcmp(*p, "--") != 0; p++) {
                size_t row;

                expand_letter(p);
                if (strcmp(*p, "--json") == 0 || strcmp(*p, "-j") == 0) {
                        g_free(*p);
                        *p = g_strdup("--json=pretty");
                }
                if (!g_str_has_prefix(*p, "--"))
                        continue;
                row = find_row(*p + 2, strcspn(*p + 2, "="));
                if (strcspn(*p + 2, "=") < 2 || row == G_N_ELEMENTS(rows)) {
                        (*p)[2 + strcspn(*p + 2, "=")] = '\0';
                        complain_option(*p);
                        return false;
                }
                if (rows[row].argument && !strchr(*p, '=') && p[1])
                        p++;
        }
        return true;
}

ExitStatus options_parse(int argc, char **argv, Options *options, char ***ret_arguments) {
        g_autoptr(GOptionContext) context = g_option_context_new(NULL);
        GOptionGroup *group = g_option_group_new("actorctl", "", "", options, NULL);
        GOptionEntry entries[G_N_ELEMENTS(rows) + 2] = {};
        g_auto(GStrv) words = g_strdupv(argv), rest = NULL;
        g_autoptr(GError) error = NULL;

        options->sets = g_ptr_array_new_with_free_func(g_free);
        options->metrics = g_ptr_array_new_with_free_func(g_free);
        options->n_rounds = JOB_ROUNDS_DEFAULT;
        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
                entries[i] = (GOptionEntry){ rows[i].name, rows[i].letter,
                        rows[i].argument ? 0 : G_OPTION_FLAG_NO_ARG, G_OPTION_ARG_CALLBACK, (gpointer) take,
                        "", "" };
        entries[G_N_ELEMENTS(rows)] =
                        (GOptionEntry){ G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_STRING_ARRAY, &rest, "", "" };
        g_option_group_add_entries(group, entries);
        g_option_context_set_main_group(context, group);
        g_option_context_set_help_enabled(context, FALSE);

        if (!prepare(words))
                return STATUS_USAGE;
        if (!g_option_context_parse_strv(context, &words, &error)) {
                error->message[0] = g_ascii_tolower(error->message[0]);
                if (error->message[0])
                        complain("%s; `actorctl --help` lists the options", error->message);
                return STATUS_USAGE;
        }
        *ret_arguments = rest ? g_steal_pointer(&rest) : g_new0(char *, 1);
        return STATUS_OK;
}

ExitStatus options_check(const Options *options, const Verb *verb) {
        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
                if ((options->given >> i & 1) && !(rows[i].verbs & verb->id)) {
                        complain("%s takes no --%s; see `actorctl %s --help`", verb->name, rows[i].name,
                                        verb->name);
                        return STATUS_USAGE;
                }
        if (options->system && options->user) {
                complain("--system and --user cannot be used together");
                return STATUS_USAGE;
        }
        if (options->host && options->user) {
                complain("--host asks the system's daemon of another host: leave out --user");
                return STATUS_USAGE;
        }
        return STATUS_OK;
}

ExitStatus options_refuse(const Options *options, const char *words, const char *const *names) {
        for (; names && *names; names++) {
                size_t i = find_row(*names, strlen(*names));

                g_assert(i < G_N_ELEMENTS(rows));
                if (options->given >> i & 1) {
                        complain("%s takes no --%s", words, *names);
                        return STATUS_USAGE;
                }
        }
        return STATUS_OK;
}

void options_done(Options *options) {
        if (options->sets)
                g_ptr_array_unref(options->sets);
        options->sets = NULL;
        g_clear_pointer(&options->state_file, g_free);
        g_clear_pointer(&options->metrics, g_ptr_array_unref);
        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
                if (rows[i].kind == OPTION_TEXT)
                        g_clear_pointer((char **) ((uint8_t *) options + rows[i].at), g_free);
}

/* A help may have several lines. */
static void print_option(const OptionRow *row, const char *argument, const char *help) {
        g_autofree char *left = g_strconcat(row->name, argument ? "=" : NULL, argument, NULL);
        g_auto(GStrv) lines = g_strsplit(help, "\n", -1);

        print_layout("  %c%c --%-22s %s\n", row->letter ? '-' : ' ', row->letter ? row->letter : ' ', left,
                        lines[0]);
        for (char **line = lines + 1; *line; line++)
                print_layout("%30s%s\n", "", *line);
}

void options_print_help(uint64_t verb) {
        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                const char *argument = rows[i].argument, *help = rows[i].help;

                if (verb == 0 ? rows[i].verbs != VERB_ANY && rows[i].verbs != LISTING &&
                                                                rows[i].verbs != ASKING
                              : !(rows[i].verbs & verb))
                        continue;
                for (size_t k = 0; k < G_N_ELEMENTS(others); k++)
                        if (others[k].verbs & verb && strcmp(others[k].name, rows[i].name) == 0) {
                                argument = others[k].argument;
                                help = others[k].help;
                        }
                print_option(&rows[i], argument, help);
        }
}
