/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The numbers of actors of another job's rounds, for Policy=replay:JOB and permuted:JOB, and the file that keeps them. */
#pragma once

#include "actorctl/bus.h"

/* counts: of uint32_t, one a round. 0; or a negative errno after having said why. */
int decisions_of_job(Connection *connection, const char *path, GArray **ret_counts);
int decisions_of_file(const char *file, GArray **ret_counts);

/* Of that many rounds; NaN: there was none. */
double decisions_mean(const GArray *counts, uint64_t n_rounds);

/* As decisions_of_file() reads it; 0, or a negative errno after having said why. */
int decisions_write(const char *file, const GArray *counts);
