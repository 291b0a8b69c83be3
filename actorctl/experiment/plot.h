/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Small plots as SVG text: panels side by side with common axes, curves with bands, points with error bars,
 * one legend. There is no background, and readers can tell the colours apart on white and on black. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

#include "actorctl/experiment/statistics.h"

#define PLOT_PANELS_MAX 64u

/* Points have ascending x; those that are not finite are left out. low and high NULL: there is no band. */
typedef struct PlotCurve {
        size_t series; /* the entry of the legend, which decides the colour */
        size_t n;
        double *x, *y, *low, *high;
} PlotCurve;

/* faint: one point of a cloud, which is drawn small, pale and without bars */
typedef struct PlotPoint {
        size_t series;
        double x, y;
        Interval x_bar, y_bar;
        bool faint;
} PlotPoint;

typedef struct PlotPanel {
        char *title;
        GArray *curves; /* PlotCurves */
        GArray *points; /* PlotPoints */
        GArray *front;  /* PlotPoints in ascending order, which steps connect */
} PlotPanel;

typedef struct Plot {
        const char *title, *x_label, *y_label;
        const char *note;  /* a line below the title; NULL: there is none */
        GPtrArray *legend; /* const char * */
        GPtrArray *panels; /* PlotPanels */
} Plot;

Plot *plot_new(const char *title, const char *x_label, const char *y_label);
PlotPanel *plot_add_panel(Plot *plot, const char *title);
Plot *plot_free(Plot *plot);
/* Whether the plot has a point to draw. */
bool plot_has_data(const Plot *plot);
/* Returns the content of an SVG file, *ret_n bytes; g_free(). plot_has_data() must be true. */
char *plot_to_svg(const Plot *plot, size_t *ret_n);

/* A step of 1, 2 or 5 times a power of ten, so that the range has at most n steps. */
double nice_step(double low, double high, unsigned n);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Plot, plot_free)
