/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The rounds of a job as rows of numbers, with a name for each column (GetSeries). */
#pragma once

#include "actorctl/bus.h"

typedef struct JobRounds {
        GStrv names;
        double *values; /* [n][n_columns] */
        size_t n, n_columns;
} JobRounds;

/* The most rounds of one answer. If there are more, the daemon picks this many, evenly spaced. */
#define JOB_ROUNDS_MOST 10000u

/* Reads an answer of GetSeries(). 0, or a negative errno; then *ret is unchanged. */
int job_rounds_read(sd_bus_message *message, JobRounds *ret);
/* Asks for the rounds after `after`. 0; or a negative errno, without a message. */
int job_rounds_ask(Connection *connection, const char *path, uint64_t after, uint32_t most, JobRounds *ret);
/* Like job_rounds_ask(), but prints a message, and asks again while the daemon is busy. */
int job_rounds_fetch(
                Connection *connection, const char *path, uint64_t after, uint32_t most, JobRounds *ret);
void job_rounds_done(JobRounds *rounds);

/* The column of this name; -1: there is none. */
int job_rounds_column(const JobRounds *rounds, const char *name);
/* A number of a row; NaN: there is no such column, or it was not measured. */
double job_rounds_at(const JobRounds *rounds, size_t row, const char *name);

/* Appends a finite number as text that reads back as the same number: with 15 digits if these suffice,
 * otherwise with 17. */
void append_exact(GString *text, double value);
