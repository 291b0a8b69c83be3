/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* decisions: prints how many actors each round got, and the figures on which the scheduler decided. */
#include <stdio.h>

#include "actorctl/bus.h"
#include "actorctl/job-open.h"
#include "actorctl/view/series.h"
#include "actorctl/view/why.h"
#include "include/bus.h"
#include "lib/cleanup.h"

#define PART 50000u

static const SeriesColumn columns[] = {
        { "round", "ROUND", NULL },
        { "actors", "ACTORS", NULL },
        { "decision", NULL, NULL },
        { "life", NULL, NULL },
        { "taken", "TAKEN", NULL },
        { "before_actors", NULL, NULL },
        { "return_round", "RETURN", "%.2f" },
        { "evaluation_mean", "EVALUATION", "%.2f" },
        { "curvature_ratio", "R", "%.3g" },
        { "noise_scale", "NOISE", "%.3g" },
        { "round_s", "ROUND S", "%.3f" },
        { "round_cost", "COST", "%.6f" },
        {},
};

static char *words_of(char *const *names, const double *row, bool utf8) {
        return why_words(names, row, false, utf8);
}

static const SeriesKind decisions = { "GetDecisions", "decision", columns, PART, true, words_of };

static ExitStatus check(Connection *connection, const char *path, const char *word) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        g_autofree char *job = job_called(word);
        uint32_t recorded, computed;
        uint64_t n, round;
        int r;

        if (connection_call(connection, path, BUS_INTERFACE_JOB, "CheckDecisions", &reply, NULL) < 0)
                return STATUS_FAILED;
        r = sd_bus_message_read(reply, "ttuu", &n, &round, &recorded, &computed);
        if (r < 0) {
                complain("the daemon's answer cannot be read: %s", g_strerror(-r));
                return STATUS_FAILED;
        }
        if (round == 0) {
                if (n == 1)
                        printf("1 decision of %s follows from its inputs\n", job);
                else
                        printf("%" G_GUINT64_FORMAT " decisions of %s follow from their inputs\n", n, job);
                return STATUS_OK;
        }
        complain("%s, round %" G_GUINT64_FORMAT ": the record says %u actors, but its inputs give %u", job,
                        round, recorded, computed);
        return STATUS_FAILED;
}

ExitStatus verb_decisions(const Options *options, char **arguments, size_t n) {
        g_autoptr(Connection) connection = NULL;
        g_autofree char *path = NULL;
        ExitStatus status;

        if (options->check && (options->csv || options->json != JSON_OFF)) {
                complain("--check prints one sentence: leave out --csv and --json");
                return STATUS_USAGE;
        }
        status = series_open(options, arguments[0], &connection, &path);
        if (status != STATUS_OK)
                return status;
        if (options->check)
                return check(connection, path, arguments[0]);
        return series_print(options, connection, path, &decisions);
}
