/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* logs: prints the journal of a job in one order: actord's own entries, and the standard error of the job's
 * processes. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-journal.h>
#include <unistd.h>

#include "actorctl/bus.h"
#include "actorctl/view/pager.h"
#include "lib/cleanup.h"
#include "lib/sanitise.h"

/* Selects the daemon's entries with ACTORD_JOB=N, and the entries that the job's processes wrote to
 * stderr. */
static int add_matches(sd_journal *journal, uint64_t id) {
        g_autofree char *job = g_strdup_printf("ACTORD_JOB=%" G_GUINT64_FORMAT, id);
        g_autofree char *stream =
                        g_strdup_printf("SYSLOG_IDENTIFIER=actord-actor-job-%" G_GUINT64_FORMAT, id);
        int r;

        r = sd_journal_add_match(journal, job, 0);
        if (r < 0)
                return r;
        r = sd_journal_add_disjunction(journal);
        return r < 0 ? r : sd_journal_add_match(journal, stream, 0);
}

/* A field's value, sanitised, since actors may write anything. */
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

/* Prints all entries from the journal's present place on. Returns how many there were. */
static int print_all(sd_journal *journal) {
        int n = 0, r;

        for (; (r = sd_journal_next(journal)) > 0; n++)
                print_entry(journal);
        return r < 0 ? r : n;
}

/* An empty journal looks like one that this user may not read, so the message names both reasons. */
static void say_nothing_found(uint64_t id) {
        complain("the journal holds nothing of job %" G_GUINT64_FORMAT
                 " that you may read; root and the groups "
                 "systemd-journal and adm may read all of it",
                        id);
}

/* Moves to the place before the first entry to print. With --lines= it prints this entry itself. */
static int seek(sd_journal *journal, const Options *options) {
        int r;

        if (options->n_lines == 0)
                return sd_journal_seek_head(journal);
        r = sd_journal_seek_tail(journal);
        if (r < 0)
                return r;
        r = sd_journal_previous_skip(journal, options->n_lines);
        if (r < 0)
                return r;
        /* the journal is at the first entry to print, and sd_journal_next() would skip it */
        if (r > 0)
                print_entry(journal);
        return r;
}

/* Prints new entries until the reader closes standard output. */
static int follow(sd_journal *journal) {
        int r;

        for (;;) {
                (void) fflush(stdout);
                if (ferror(stdout))
                        return 0;
                r = sd_journal_wait(journal, UINT64_MAX);
                if (r < 0)
                        return r;
                r = print_all(journal);
                if (r < 0)
                        return r;
        }
}

/* Prints the entries that exist now, at most as many as --lines= says. Returns how many. */
static int print_present(sd_journal *journal, const Options *options) {
        int r, n;

        r = seek(journal, options);
        if (r < 0)
                return r;
        n = r > 0; /* seek() returns 1 if it has printed an entry */
        r = print_all(journal);
        return r < 0 ? r : n + r;
}

static int print_logs(uint64_t id, const Options *options) {
        _cleanup_(sd_journal_closep) sd_journal *journal = NULL;
        int r;

        r = sd_journal_open(&journal, SD_JOURNAL_LOCAL_ONLY);
        if (r < 0)
                return r;
        r = add_matches(journal, id);
        if (r < 0)
                return r;
        if (!options->follow)
                pager_open(options);
        r = print_present(journal, options);
        pager_close();
        if (r < 0)
                return r;
        if (r == 0 && !options->quiet)
                say_nothing_found(id);
        return options->follow ? follow(journal) : 0;
}

ExitStatus verb_logs(const Options *options, char **arguments, size_t n) {
        g_autofree char *path = NULL;
        uint64_t id;
        int r;

        if (job_path(arguments[0], &id, &path) < 0)
                return STATUS_USAGE;
        r = print_logs(id, options);
        if (r < 0) {
                complain("the journal cannot be read: %s", g_strerror(-r));
                return STATUS_FAILED;
        }
        return STATUS_OK;
}
