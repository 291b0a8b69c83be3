/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* rounds: prints all figures of a job's rounds. A screen shows a few columns; programs get all of them. */
#include "actorctl/bus.h"
#include "actorctl/job-rounds.h"
#include "actorctl/view/series.h"

static const SeriesColumn columns[] = {
        { "round", "ROUND", NULL },
        { "actors", "ACTORS", NULL },
        { "env_steps", "STEPS", NULL },
        { "episodes", NULL, NULL },
        { "policy_version", NULL, NULL },
        { "return_mean", "RETURN", "%.2f" },
        { "evaluation_mean", "EVALUATION", "%.2f" },
        { "kl", "KL", "%.4f" },
        { "emulated_s", "EMULATED S", "%.1f" },
        { "cost_full", "COST", "%.6f" },
        {},
};

/* If there are more than JOB_ROUNDS_MOST rounds, the daemon sends this many, evenly spaced. */
static const SeriesKind rounds = { "GetSeries", "round", columns, JOB_ROUNDS_MOST, false };

ExitStatus verb_rounds(const Options *options, char **arguments, size_t n) {
        g_autoptr(Connection) connection = NULL;
        g_autofree char *path = NULL;
        ExitStatus status;

        status = series_open(options, arguments[0], &connection, &path);
        if (status != STATUS_OK)
                return status;
        return series_print(options, connection, path, &rounds);
}
