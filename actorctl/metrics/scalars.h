/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The figures of a round as other programs name them. CleanRL's names are used where CleanRL has the figure,
 * so that runs of both can share a plot. The names of the other figures begin with actord/. */
#pragma once

#include "actorctl/job-rounds.h"
#include "actorctl/job-status.h"

typedef struct Scalar {
        char *name;
        double value; /* finite */
} Scalar;

/* The figures of a row that were measured, and the step rate. The GArray frees the names. */
GArray *scalars_of(const JobRounds *rounds, size_t row);
/* The axes: environment steps, and seconds since 1970 at the end of the round. */
uint64_t scalars_step(const JobRounds *rounds, size_t row);
double scalars_time(const JobStatus *job, const JobRounds *rounds, size_t row);
