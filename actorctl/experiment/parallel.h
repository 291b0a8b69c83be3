/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parallel coordinates as SVG text: an axis for each key, a line for each trial. The axes lie one below the
 * other, so that long names fit, and a phone need not shrink the picture. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

#define PARALLEL_AXES_MAX 40u

typedef struct ParallelAxis {
        char *label;
        double low, high;
        char *low_text, *high_text; /* at the two ends */
        bool log;
        GStrv words; /* instead of numbers: value i is words[i]; not owned. NULL: numbers */
} ParallelAxis;

typedef struct ParallelLine {
        double *values;  /* one for each axis; NaN: the line ends before this axis */
        size_t series;   /* the entry of the legend, for the colour; a line that ends early is grey */
        double strength; /* of the drawn line, from 0 (faint) to 1 */
        bool best;
} ParallelLine;

typedef struct Parallel {
        char *title;
        GPtrArray *notes;  /* of char *: lines below the title */
        GPtrArray *legend; /* of char * */
        GArray *axes;      /* of ParallelAxis */
        GArray *lines;     /* of ParallelLine, the last one on top */
} Parallel;

Parallel *parallel_new(const char *title);
Parallel *parallel_free(Parallel *parallel);
/* The drawing as an SVG file, g_free(). *ret_n: its length in bytes. */
char *parallel_to_svg(const Parallel *parallel, size_t *ret_n);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Parallel, parallel_free)
