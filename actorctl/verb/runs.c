/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runs: lists the runs of `actorctl run` on this host. Each run writes a note into its directory, and holds
 * a lock on the directory while it is in progress. If a run is not in progress, and has no note (from an
 * older actorctl) or one that does not say that the run has ended, a private daemon reads its ledger. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "actorctl/private.h"
#include "actorctl/run-note.h"
#include "actorctl/view/age.h"
#include "actorctl/view/table.h"
#include "lib/cleanup.h"

#define RETURN_TEXT_MAX 320 /* a double may have 309 digits before its decimal point */

static bool goes_on(const char *directory) {
        _cleanup_close_ int lock = run_directory_lock_shared(directory);

        return lock == -EWOULDBLOCK;
}

/* The state of a run. "left": no actorctl holds the run's lock, but the note does not say that the run has
 * ended. So its actorctl was killed, or the user left the run before its end. */
static const char *state_of(const char *directory, const RunNote *note) {
        if (goes_on(directory))
                return "running";
        return job_has_ended(&note->status) ? "ended" : "left";
}

static void add_count(Table *table, uint64_t n) {
        char text[32];

        table_shown(table, format_count(n, text), json_unsigned(n));
}

/* The newest mean return. If fewer than 100 training episodes have ended (as in a short run of an algorithm
 * that learns from single steps), this is the newest evaluation's. */
static char *format_return(const JobStatus *job, char ret[RETURN_TEXT_MAX]) {
        double mean = isfinite(job->return_mean) ? job->return_mean : job->evaluation_mean;

        ret[0] = '\0';
        if (isfinite(mean))
                snprintf(ret, RETURN_TEXT_MAX, "%.2f", mean);
        return ret;
}

static void add_run(Table *table, const char *directory, uint64_t number, uint64_t now_usec) {
        g_autofree char *name = g_strdup_printf("r%" G_GUINT64_FORMAT, number), *file = NULL;
        RunNote note = RUN_NOTE_EMPTY;
        const JobStatus *job = &note.status;
        char money[48], mean[RETURN_TEXT_MAX];
        const char *state;

        /* A run that cannot be read is listed without figures; `status` gives the reason. */
        if (run_note_read(directory, &note)) {
                if (!goes_on(directory))
                        run_note_renew(directory, &note);
        } else if (!goes_on(directory))
                (void) run_ledger_read(directory, &note.status);
        state = state_of(directory, &note);
        file = g_path_get_basename(note.job_file);
        table_string(table, name);
        table_shown(table, strcmp(state, "ended") == 0 ? job->result : state, json_word(state));
        table_shown(table, "", json_word(strcmp(state, "ended") == 0 ? job->result : ""));
        table_shown(table, note.job_file[0] ? file : "", json_word(note.job_file));
        table_shown(table, job->environment, json_word(job->environment));
        table_shown(table, job->algorithm, json_word(job->algorithm));
        table_shown(table, format_return(job, mean), json_real(job->return_mean));
        table_real(table, job->evaluation_mean, "%.2f");
        add_count(table, job->n_env_steps);
        table_shown(table, job->currency[0] ? format_money(job->cost_full, job->currency, money) : "",
                        json_real(job->cost_full));
        table_shown(table, "", json_word(job->currency));
        table_age(table, job->submitted_usec, now_usec);
        table_unsigned(table, job->round);
        table_time(table, job->submitted_usec);
        table_time(table, job->ended_usec);
        table_shown(table, "", json_word(directory));
        run_note_done(&note);
}

static Table *runs_table(void) {
        Table *table = table_new();

        table_column(table, "RUN", "run", COLUMN_TEXT);
        table_column(table, "STATE", "state", COLUMN_TEXT);
        table_column(table, "RESULT", "result", COLUMN_JSON);
        table_column(table, "JOB FILE", "job_file", COLUMN_TEXT);
        table_column(table, "ENVIRONMENT", "environment", COLUMN_TEXT);
        table_column(table, "ALGORITHM", "algorithm", COLUMN_TEXT);
        table_column(table, "RETURN", "return_mean", COLUMN_NUMBER);
        table_column(table, "EVALUATION", "evaluation_mean", COLUMN_JSON);
        table_column(table, "STEPS", "env_steps", COLUMN_NUMBER);
        table_column(table, "COST", "cost_full", COLUMN_NUMBER);
        table_column(table, "CURRENCY", "currency", COLUMN_JSON);
        table_column(table, "AGE", "age_s", COLUMN_NUMBER);
        table_column(table, "ROUNDS", "rounds", COLUMN_JSON);
        table_column(table, "SUBMITTED", "submitted_usec", COLUMN_JSON);
        table_column(table, "ENDED", "ended_usec", COLUMN_JSON);
        table_column(table, "DIRECTORY", "state_directory", COLUMN_JSON);
        table_spare(table, "environment");
        table_spare(table, "algorithm");
        return table;
}

ExitStatus verb_runs(const Options *options, char **arguments, size_t n) {
        g_autoptr(GArray) numbers = run_directory_numbers();
        g_autoptr(Table) table = runs_table();
        uint64_t now_usec = (uint64_t) g_get_real_time();
        guint first = 0;

        if (options->n_lines > 0 && options->n_lines < numbers->len)
                first = numbers->len - (guint) options->n_lines;
        for (guint i = first; i < numbers->len; i++) {
                uint64_t number = g_array_index(numbers, uint64_t, i);
                g_autofree char *word = g_strdup_printf("r%" G_GUINT64_FORMAT, number),
                                *directory = run_directory_of(word);

                add_run(table, directory, number, now_usec);
        }
        table_page(table, options, "run");
        return STATUS_OK;
}
