/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Declarations for all verbs: the options, the exit statuses that scripts rely on, and functions that report
 * a problem. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EPISODES_DEFAULT = 100 }; /* for evaluations, exported rollouts and a scheduler's training */

typedef enum ExitStatus {
        STATUS_OK = 0,
        STATUS_FAILED = 1,
        STATUS_USAGE = 2,  /* an error in the command line or the job file */
        STATUS_BUDGET = 3, /* the budget was exhausted before the target was reached */
        /* the user left `actorctl run` before the ledger had all records; `actorctl recover` adds them */
        STATUS_ENDING = 4,
        STATUS_INTERRUPTED = 130, /* as shells report SIGINT */
} ExitStatus;

typedef enum JsonMode { JSON_OFF, JSON_SHORT, JSON_PRETTY } JsonMode;

typedef struct Options {
        bool help, version;
        JsonMode json;
        bool no_pager, no_legend, quiet, verbose;
        bool system, user; /* neither: use the first daemon that can be reached */
        bool wait, follow, csv;
        bool dot, svg, html, md, check, profile, http;
        GPtrArray *sets;    /* texts "Section.Key=VALUE" */
        GPtrArray *metrics; /* texts "FORMAT:PATH" */
        bool dry_run, weights_only, rollouts, replay, once;
        uint64_t n_jobs;     /* 0: as many as the CPUs allow */
        uint64_t n_episodes; /* 0: not given */
        uint64_t n_lines, n_rounds, n_steps;
        char *format, *output, *name, *from, *target, *actions, *state_file, *grid;
        char *video, *gif, *frames, *fleet, *prices;
        bool states, all, beside;
        char *owner; /* a user's name or number */
        char *tag, *job_state, *sort, *by;
        char *host;          /* the daemon's host, for ssh */
        uint64_t since_usec; /* since 1970; 0: not given */
        uint64_t given;      /* bit i: row i of the option table was given */
} Options;

/* Bits of OptionRow.verbs */
typedef enum VerbId {
        VERB_RUN = 1ull << 0,
        VERB_SUBMIT = 1ull << 1,
        VERB_LIST = 1ull << 2,
        VERB_STATUS = 1ull << 3,
        VERB_SHOW = 1ull << 4,
        VERB_CAT = 1ull << 5,
        VERB_STOP = 1ull << 6,
        VERB_WATCH = 1ull << 7,
        VERB_BILL = 1ull << 8,
        VERB_LOGS = 1ull << 9,
        VERB_VERIFY = 1ull << 10,
        VERB_EXPORT = 1ull << 11,
        VERB_EVAL = 1ull << 12,
        VERB_ENV = 1ull << 13,
        VERB_PRICE = 1ull << 14,
        VERB_HELP = 1ull << 15,
        VERB_ROUNDS = 1ull << 16,
        VERB_GRAPH = 1ull << 17,
        VERB_DECISIONS = 1ull << 18,
        VERB_SCHEDULER = 1ull << 19,
        VERB_EXPERIMENT = 1ull << 20,
        VERB_CALIBRATE = 1ull << 21,
        VERB_REMOVE = 1ull << 22,
        VERB_RECOVER = 1ull << 23,
        VERB_QUOTA = 1ull << 24,
        VERB_TOTALS = 1ull << 25,
        VERB_RUNS = 1ull << 26,
        VERB_TOP = 1ull << 27,
        VERB_METRICS = 1ull << 28,
        VERB_FREEZE = 1ull << 29,
        VERB_THAW = 1ull << 30,
        VERB_IMPORT = 1ull << 31,
        VERB_REPORT = 1ull << 32,
        VERB_KEYS = 1ull << 33,
        VERB_ANY = (1ull << 34) - 1,
} VerbId;

typedef struct Verb {
        VerbId id;
        const char *name, *arguments, *help;
        size_t least, most; /* the number of arguments after the verb */
        ExitStatus (*run)(const Options *options, char **arguments, size_t n);
        const char *details; /* for the verb's --help; lines of at most 80 columns */
} Verb;

/* The table in main.c; its last row has no name. */
extern const Verb verbs[];

/* Prints "actorctl: …" and a newline to stderr. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints sentences that begin with a file's name, without the program's name. */
void complain_bare(const char *sentences);
/* The last message that the functions above have printed; "": there was none. */
const char *complaint_last(void);

/* Whether a verb may write a file of this name: there is no such file yet, or it is an ordinary file and not
 * a device, a pipe or a link. false: a message has been printed. */
bool may_replace(const char *path);

/* Parses argv. Options may stand before or after the verb. STATUS_OK; or STATUS_USAGE, with a message.
 * *ret_arguments: the verb and its arguments, g_strfreev(). */
ExitStatus options_parse(int argc, char **argv, Options *options, char ***ret_arguments);
/* Checks that the verb accepts every option that was given, and that the options agree. STATUS_OK; or
 * STATUS_USAGE, with a message. */
ExitStatus options_check(const Options *options, const Verb *verb);
/* Checks that none of these options was given, since a word after the verb takes none of them. words: verb
 * and word, such as "env show"; names: NULL-terminated; NULL: there are none. STATUS_OK; or STATUS_USAGE,
 * with a message. */
ExitStatus options_refuse(const Options *options, const char *words, const char *const *names);
void options_done(Options *options);
/* Prints the options that a verb accepts; 0: those that every verb, every verb that lists, or every verb
 * that may ask a daemon accepts. */
void options_print_help(uint64_t verb);

ExitStatus verb_run(const Options *options, char **arguments, size_t n);
ExitStatus verb_submit(const Options *options, char **arguments, size_t n);
ExitStatus verb_quota(const Options *options, char **arguments, size_t n);
ExitStatus verb_keys(const Options *options, char **arguments, size_t n);
ExitStatus verb_report(const Options *options, char **arguments, size_t n);
ExitStatus verb_import(const Options *options, char **arguments, size_t n);
ExitStatus verb_runs(const Options *options, char **arguments, size_t n);
ExitStatus verb_top(const Options *options, char **arguments, size_t n);
ExitStatus verb_list(const Options *options, char **arguments, size_t n);
ExitStatus verb_status(const Options *options, char **arguments, size_t n);
ExitStatus verb_show(const Options *options, char **arguments, size_t n);
ExitStatus verb_cat(const Options *options, char **arguments, size_t n);
ExitStatus verb_stop(const Options *options, char **arguments, size_t n);
ExitStatus verb_freeze(const Options *options, char **arguments, size_t n);
ExitStatus verb_thaw(const Options *options, char **arguments, size_t n);
ExitStatus verb_watch(const Options *options, char **arguments, size_t n);
ExitStatus verb_bill(const Options *options, char **arguments, size_t n);
ExitStatus verb_decisions(const Options *options, char **arguments, size_t n);
ExitStatus verb_rounds(const Options *options, char **arguments, size_t n);
ExitStatus verb_logs(const Options *options, char **arguments, size_t n);
ExitStatus verb_verify(const Options *options, char **arguments, size_t n);
ExitStatus verb_graph(const Options *options, char **arguments, size_t n);
ExitStatus verb_totals(const Options *options, char **arguments, size_t n);
ExitStatus verb_metrics(const Options *options, char **arguments, size_t n);
ExitStatus verb_recover(const Options *options, char **arguments, size_t n);
ExitStatus verb_remove(const Options *options, char **arguments, size_t n);
ExitStatus verb_export(const Options *options, char **arguments, size_t n);
ExitStatus verb_eval(const Options *options, char **arguments, size_t n);
ExitStatus verb_experiment(const Options *options, char **arguments, size_t n);
ExitStatus verb_calibrate(const Options *options, char **arguments, size_t n);
ExitStatus verb_env(const Options *options, char **arguments, size_t n);
ExitStatus verb_price(const Options *options, char **arguments, size_t n);
ExitStatus verb_scheduler(const Options *options, char **arguments, size_t n);
