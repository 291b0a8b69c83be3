/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lists jobs of a daemon's ledger: all, or only some. */
#pragma once

#include "actorctl/bus.h"

/* A row of ListJobsFiltered; the newest jobs come first. progress: the share of the job's work that is done;
 * NaN: not known. */
typedef struct ListedJob {
        uint64_t id, submitted_usec, started_usec, ended_usec, n_rounds, n_env_steps;
        uint32_t uid;
        char *state, *result, *environment, *description, *tag, *currency, *path;
        double return_mean, cost, progress;
} ListedJob;

/* A member that is NULL or 0 excludes no job. owner: a name or a number; states: words with commas between
 * them. */
typedef struct JobChoice {
        const char *owner, *tag, *states;
        uint64_t since_usec;       /* jobs that were submitted at this time or later */
        uint64_t ended_since_usec; /* jobs that have ended at this time or later, or not yet */
} JobChoice;

GArray *job_list_new(void);
/* Appends the newest of the chosen jobs, until there are `most` rows. 0; or a negative errno, with a
 * message. */
int job_list_fetch(Connection *connection, const JobChoice *choice, uint64_t most, GArray *rows);
