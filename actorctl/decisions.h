/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The numbers of actors in another job's rounds, for Policy=replay:JOB and permuted:JOB, and the file in
 * which they are kept. */
#pragma once

#include "actorctl/bus.h"

/* Read the decisions (uint32_t, one for each round, in the form of DECISION_ACTORS_MASK) of a job, or of a
 * file. The list of a job may be empty. 0; or a negative errno, with a message. */
int decisions_of_job(Connection *connection, const char *path, GArray **ret_counts);
int decisions_of_file(const char *file, GArray **ret_counts);

/* The mean number of actors over the first n_rounds rounds. Rounds beyond the list have its last number.
 * NaN: the list is empty, or n_rounds is 0. */
double decisions_mean(const GArray *counts, uint64_t n_rounds);

/* Writes the file that decisions_of_file() reads. 0; or a negative errno, with a message. */
int decisions_write(const char *file, const GArray *counts);
