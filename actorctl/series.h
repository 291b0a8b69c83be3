/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rows of numbers with a name for each column, as GetSeries and GetDecisions give them. */
#pragma once

#include "actorctl/bus.h"

/* A column that is more than a number for programs. heading NULL: not for the screen; format NULL: a whole number. */
typedef struct SeriesColumn {
        const char *name, *heading, *format;
} SeriesColumn;

/* Prints names and rows, which is all of the reply, as the options say. known ends with a row without a name. what: "round". */
ExitStatus series_print(
                const Options *options, sd_bus_message *reply, const SeriesColumn *known, const char *what);

/* What both verbs check. */
ExitStatus series_check_options(const Options *options);
