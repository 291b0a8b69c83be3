/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* logs: what actord recorded of a job, and what the job's actors wrote to their standard error, in one order. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-journal.h>
#include <unistd.h>

#include "actorctl/bus.h"
#include "actorctl/pager.h"
#include "lib/cleanup.h"
#include "lib/sanitise.h"

/* ACTORD_JOB=N of the daemon, or the stream that the job's processes were given. */
static int add_matches(sd_journal *journal, uint64_t id) {
        g_autofree char *job = g_strdup_printf("ACTORD_JOB=%" G_GUINT64_FORMAT, id);
        g_autofree char *stream =
                        g_strdup_printf("SYSLOG_IDENTIFIER=actord-actor-job-%" G_GUINT64_FORMAT, id);
        int r;

        r = sd_journal_add_match(journal, job, 0);
        if (r >= 0)
                r = sd_journal_add_disjunction(journal);
        return r < 0 ? r : sd_journal_add_match(journal, stream, 0);
}

/* A field's value without anything that moves a terminal's cursor: actors write what they like. */
static char *field(sd_journal *journal, const char *name) {
        GString *text = g_string_new(NULL);
        size_t n, skip = strlen(name) + 1;
        const void *data;

        if (sd_journal_get_data(journal, name, &data, &n) >= 0 && n >= skip)
                sanitise_append(text, (const char *) data + skip, n - skip, sanitise_locale_is_utf8());
        return g_string_free(text, FALSE);
}

static void print_entry(sd_journal *journal) {
        g_autofree char *who = field(journal, "SYSLOG_IDENTIFIER"), *message = field(journal, "MESSAGE"),
                        *text = NULL;
        g_autoptr(GDateTime) time = NULL;
        uint64_t usec;

        if (sd_journal_get_realtime_usec(journal, &usec) >= 0)
                time = g_date_time_new_from_unix_local((gint64) (usec / 1000000));
        text = time ? g_date_time_format(time, "%b %d %H:%M:%S") : g_strdup("");
        printf("%s %s: %s\n", text, who, message);
}

/* How many there were. */
static int print_all(sd_journal *journal) {
        int n = 0, r;

        for (; (r = sd_journal_next(journal)) > 0; n++)
                print_entry(journal);
        return r < 0 ? r : n;
}

/* An empty journal and one that only others may read look the same. */
static void say_nothing_found(uint64_t id) {
        complain("the journal holds nothing of job %" G_GUINT64_FORMAT
                 " that you may read; root and the groups "
                 "systemd-journal and adm may read all of it",
                        id);
}

/* Stands before the first entry to print. */
static int seek(sd_journal *journal, const Options *options) {
        int r;

        if (options->n_lines == 0)
                return sd_journal_seek_head(journal);
        r = sd_journal_seek_tail(journal);
        if (r >= 0)
                r = sd_journal_previous_skip(journal, options->n_lines);
        /* It stands on the first of them now, and next() would pass it. */
        if (r > 0)
                print_entry(journal);
        return r;
}

static int follow(sd_journal *journal) {
        int r = 0;

        while (r >= 0) {
                (void) fflush(stdout);
                if (ferror(stdout))
                        return 0;
                r = sd_journal_wait(journal, UINT64_MAX);
                if (r >= 0)
                        r = print_all(journal);
        }
        return r;
}

ExitStatus verb_logs(const Options *options, char **arguments, size_t n) {
        g_autofree char *path = NULL;
        sd_journal *journal = NULL;
        bool found = false;
        uint64_t id;
        int r;

        if (job_path(arguments[0], &id, &path) < 0)
                return STATUS_USAGE;
        r = sd_journal_open(&journal, SD_JOURNAL_LOCAL_ONLY);
        if (r >= 0)
                r = add_matches(journal, id);
        if (!options->follow)
                pager_open(options);
        if (r >= 0)
                r = seek(journal, options);
        /* seek() may have printed one entry already. */
        found = r > 0;
        if (r >= 0)
                r = print_all(journal);
        pager_close();
        if (r == 0 && !found && !options->quiet)
                say_nothing_found(id);
        if (r >= 0 && options->follow)
                r = follow(journal);
        sd_journal_close(journal);
        if (r < 0) {
                complain("the journal cannot be read: %s", g_strerror(-r));
                return STATUS_FAILED;
        }
        return STATUS_OK;
}
