/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rows of numbers with a name for each column, as GetSeries and GetDecisions give them. */
#pragma once

#include "actorctl/bus.h"

/* A column that is more than a number for programs. heading NULL: not for the screen; format NULL: a whole number. */
typedef struct SeriesColumn {
        const char *name, *heading, *format;
} SeriesColumn;

/* One of the bus's lists of rows. columns ends with a row without a name; what: "round". */
typedef struct SeriesKind {
        const char *method, *what;
        const SeriesColumn *columns;
        uint32_t most;    /* rows of one answer */
        bool until_fewer; /* the daemon leaves out what is beyond, so it is asked again, until fewer come */
} SeriesKind;

/* Asks for all rows of a job and prints them as the options say. */
ExitStatus series_print(
                const Options *options, Connection *connection, const char *path, const SeriesKind *kind);

/* What both verbs check. */
ExitStatus series_check_options(const Options *options);
