/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Prints rows of numbers with named columns, which GetSeries and GetDecisions return. */
#pragma once

#include "actorctl/bus.h"

/* A column with a heading for people. heading NULL: the screen does not show the column. format NULL: it has
 * whole numbers. */
typedef struct SeriesColumn {
        const char *name, *heading, *format;
} SeriesColumn;

/* A method of the bus that returns rows. what: the thing that a row describes, such as "round". The list of
 * columns ends with one without a name. */
typedef struct SeriesKind {
        const char *method, *what;
        const SeriesColumn *columns;
        uint32_t most;    /* the most rows in one answer */
        bool until_fewer; /* ask for the next rows until an answer has fewer than `most` */
        /* Returns the text below the table for this row, g_free(), or NULL: there is none. The pointer
         * itself may be NULL. */
        char *(*words)(char *const *names, const double *row, bool utf8);
} SeriesKind;

/* Prints the rows of a job as the options require; without until_fewer, only those of one answer. STATUS_OK;
 * or STATUS_FAILED, with a message. */
ExitStatus series_print(
                const Options *options, Connection *connection, const char *path, const SeriesKind *kind);

/* Checks the options of a verb that prints series (rounds, decisions), and opens the job. */
ExitStatus series_open(
                const Options *options, const char *job, Connection **ret_connection, char **ret_path);
