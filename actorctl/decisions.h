/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The numbers of actors of another job's rounds, for Policy=replay:JOB and permuted:JOB, and the file
 * that keeps them. */
#pragma once

#include "actorctl/bus.h"

/* counts: of uint32_t, one for each round. 0; or a negative errno, with a message. */
int decisions_of_job(Connection *connection, const char *path, GArray **ret_counts);
int decisions_of_file(const char *file, GArray **ret_counts);

/* The mean over n_rounds rounds, where the last number holds for all rounds behind it; NaN: there is
 * none. */
double decisions_mean(const GArray *counts, uint64_t n_rounds);

/* Reads the file of decisions_of_file(). 0; or a negative errno, with a message. */
int decisions_write(const char *file, const GArray *counts);
