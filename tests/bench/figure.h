/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Passes a figure to the table of `make bench`, beside the text that a program of build/bench prints. The
 * figure is a line of JSON in the file that tests/bench/run.py names in BENCH_FIGURES. Without that variable
 * the figure is not written. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

typedef struct Figure {
        const char *name, *unit; /* if the unit ends with /s, more is better */
        double value;
        double limit;     /* the best that this machine allows, measured in the same unit; 0: not known */
        const char *peer; /* another program that does the same work; NULL: none is known */
        double peer_value;
} Figure;

static inline void figure_note(const Figure *figure) {
        const char *path = getenv("BENCH_FIGURES");
        FILE *file = path ? fopen(path, "a") : NULL;

        if (!file)
                return;
        (void) fprintf(file, "{\"name\": \"%s\", \"unit\": \"%s\", \"value\": %.9g", figure->name,
                        figure->unit, figure->value);
        if (figure->limit > 0)
                (void) fprintf(file, ", \"limit\": %.9g", figure->limit);
        if (figure->peer)
                (void) fprintf(file, ", \"peer\": \"%s\", \"peer_value\": %.9g", figure->peer,
                                figure->peer_value);
        (void) fprintf(file, "}\n");
        (void) fclose(file);
}
