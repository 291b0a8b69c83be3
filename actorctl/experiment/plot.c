/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes SVG without a library. All panels share their axes, so that they can be compared. */
#include "actorctl/experiment/plot.h"

#include <math.h>
#include <string.h>

#include "actorctl/experiment/svg.h"

#define LEFT          62
#define TOP           28
#define GAP_X         28
#define GAP_Y         46
#define BOTTOM        42
#define RIGHT         14
#define LEGEND_HEIGHT 20
#define NOTE_HEIGHT   18

typedef struct Axis {
        double low, high, step, unit; /* unit: the power of ten that labels leave out */
        int exponent;
        int from, length; /* in pixels; length < 0: upwards */
} Axis;

typedef struct Drawing {
        const Plot *plot;
        GString *text;
        size_t n_columns;
        int width, height; /* the inside of a panel */
        int legend_rows;
        Axis x, y;
} Drawing;

static void curve_done(gpointer data) {
        PlotCurve *curve = data;

        g_free(curve->x);
        g_free(curve->y);
        g_free(curve->low);
        g_free(curve->high);
}

static void panel_free(gpointer data) {
        PlotPanel *panel = data;

        g_free(panel->title);
        g_array_unref(panel->curves);
        g_array_unref(panel->points);
        g_array_unref(panel->front);
        g_free(panel);
}

Plot *plot_new(const char *title, const char *x_label, const char *y_label) {
        Plot *plot = g_new(Plot, 1);

        *plot = (Plot){
                .title = title,
                .x_label = x_label,
                .y_label = y_label,
                .legend = g_ptr_array_new(),
                .panels = g_ptr_array_new_with_free_func(panel_free),
        };
        return plot;
}

PlotPanel *plot_add_panel(Plot *plot, const char *title) {
        PlotPanel *panel = g_new(PlotPanel, 1);

        *panel = (PlotPanel){
                .title = g_strdup(title),
                .curves = g_array_new(FALSE, FALSE, sizeof(PlotCurve)),
                .points = g_array_new(FALSE, FALSE, sizeof(PlotPoint)),
                .front = g_array_new(FALSE, FALSE, sizeof(PlotPoint)),
        };
        g_array_set_clear_func(panel->curves, curve_done);
        g_ptr_array_add(plot->panels, panel);
        return panel;
}

Plot *plot_free(Plot *plot) {
        if (!plot)
                return NULL;
        g_ptr_array_unref(plot->legend);
        g_ptr_array_unref(plot->panels);
        g_free(plot);
        return NULL;
}

double nice_step(double low, double high, unsigned n) {
        double least = (high - low) / n, power;

        if (!(least > 0))
                return 1;
        power = pow(10, floor(log10(least)));
        for (size_t i = 0; i < 3; i++)
                if (power * ((const double[]){ 1, 2, 5 })[i] >= least * (1 - 1e-9))
                        return power * ((const double[]){ 1, 2, 5 })[i];
        return power * 10;
}

static void widen(Axis *axis, double value) {
        if (!isfinite(value))
                return;
        axis->low = MIN(axis->low, value);
        axis->high = MAX(axis->high, value);
}

static void widen_by_panel(Axis *x, Axis *y, const PlotPanel *panel) {
        for (guint i = 0; i < panel->curves->len; i++) {
                const PlotCurve *curve = &g_array_index(panel->curves, PlotCurve, i);

                for (size_t k = 0; k < curve->n; k++) {
                        if (!isfinite(curve->y[k]))
                                continue;
                        widen(x, curve->x[k]);
                        widen(y, curve->y[k]);
                        widen(y, curve->low ? curve->low[k] : NAN);
                        widen(y, curve->high ? curve->high[k] : NAN);
                }
        }
        for (guint i = 0; i < panel->points->len; i++) {
                const PlotPoint *point = &g_array_index(panel->points, PlotPoint, i);

                if (!isfinite(point->x) || !isfinite(point->y))
                        continue;
                widen(x, point->x);
                widen(y, point->y);
                widen(x, point->x_bar.low);
                widen(x, point->x_bar.high);
                widen(y, point->y_bar.low);
                widen(y, point->y_bar.high);
        }
}

/* Makes the axis begin and end at multiples of its step. Labels of large and small numbers leave out a power
 * of ten. */
static void axis_finish(Axis *axis, unsigned n_ticks) {
        double most;

        if (axis->low >= axis->high) {
                double margin = axis->low == 0 ? 1 : fabs(axis->low) * 0.1;

                axis->low -= margin;
                axis->high += margin;
        }
        /* an axis that begins near zero begins at zero */
        if (axis->low > 0 && axis->low < axis->high * 0.35)
                axis->low = 0;
        axis->step = nice_step(axis->low, axis->high, n_ticks);
        axis->low = floor(axis->low / axis->step + 1e-9) * axis->step;
        axis->high = ceil(axis->high / axis->step - 1e-9) * axis->step;
        most = MAX(fabs(axis->low), fabs(axis->high));
        axis->exponent = most >= 1e4 || most < 1e-2 ? 3 * (int) floor(log10(most) / 3) : 0;
        axis->unit = pow(10, axis->exponent);
}

static double place(const Axis *axis, double value) {
        return axis->from + axis->length * (value - axis->low) / (axis->high - axis->low);
}

static void add_text(Drawing *d, double x, double y, const char *attributes, const char *words) {
        svg_text(d->text, x, y, attributes, words);
}

static void add_tick(Drawing *d, const Axis *axis, double value, double x, double y, const char *anchor) {
        double step = axis->step / axis->unit;
        int digits = step >= 1 ? 0 : (int) ceil(-log10(step) - 1e-9);
        g_autofree char *label = NULL;

        /* avoids "-0" */
        value = fabs(value) < axis->step / 2 ? 0 : value;
        label = g_strdup_printf("%.*f", digits, value / axis->unit);
        add_text(d, x, y, anchor, label);
}

/* The label of an axis, with the factor that its ticks leave out: "Cost (×10⁻⁶)". */
static char *axis_label(const Axis *axis, const char *label) {
        static const char *const superscripts[] = { "⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹" };
        GString *text = g_string_new(label);
        char digits[16];

        if (axis->exponent != 0) {
                g_snprintf(digits, sizeof(digits), "%d", abs(axis->exponent));
                g_string_append_printf(text, " (×10%s", axis->exponent < 0 ? "⁻" : "");
                for (const char *p = digits; *p; p++)
                        g_string_append(text, superscripts[*p - '0']);
                g_string_append_c(text, ')');
        }
        return g_string_free(text, FALSE);
}

/* labels_y: whether the panel has numbers on its left, as the leftmost panels have */
static void draw_axes(Drawing *d, bool labels_y) {
        int right = d->x.from + d->x.length, top = d->y.from + d->y.length;

        for (int i = 0; d->y.low + i * d->y.step <= d->y.high + d->y.step / 2; i++) {
                double v = d->y.low + i * d->y.step, y = place(&d->y, v);

                g_string_append_printf(
                                d->text, "<path class=\"g\" d=\"M%d %.1fH%d\"/>\n", d->x.from, y, right);
                if (labels_y)
                        add_tick(d, &d->y, v, d->x.from - 6, y + 4, " text-anchor=\"end\"");
        }
        for (int i = 0; d->x.low + i * d->x.step <= d->x.high + d->x.step / 2; i++) {
                double v = d->x.low + i * d->x.step, x = place(&d->x, v);

                g_string_append_printf(d->text, "<path class=\"a\" d=\"M%.1f %dv4\"/>\n", x, d->y.from);
                add_tick(d, &d->x, v, x, d->y.from + 17, " text-anchor=\"middle\"");
        }
        g_string_append_printf(d->text, "<path class=\"a\" fill=\"none\" d=\"M%d %dV%dH%d\"/>\n", d->x.from,
                        top, d->y.from, right);
}

static void draw_band(Drawing *d, const PlotCurve *curve) {
        bool begun = false;

        g_string_append_printf(
                        d->text, "<path fill=\"%s\" fill-opacity=\".18\" d=\"", svg_colour(curve->series));
        for (size_t i = 0; i < curve->n; i++)
                if (isfinite(curve->high[i])) {
                        g_string_append_printf(d->text, "%s%.1f %.1f", begun ? "L" : "M",
                                        place(&d->x, curve->x[i]), place(&d->y, curve->high[i]));
                        begun = true;
                }
        for (size_t i = curve->n; i-- > 0;)
                if (isfinite(curve->low[i]))
                        g_string_append_printf(d->text, "L%.1f %.1f", place(&d->x, curve->x[i]),
                                        place(&d->y, curve->low[i]));
        g_string_append(d->text, begun ? "Z\"/>\n" : "\"/>\n");
}

static void draw_curve(Drawing *d, const PlotCurve *curve) {
        bool begun = false;

        g_string_append_printf(d->text, "<path class=\"c\" stroke=\"%s\"%s d=\"", svg_colour(curve->series),
                        svg_dashes(curve->series));
        for (size_t i = 0; i < curve->n; i++)
                if (isfinite(curve->y[i])) {
                        g_string_append_printf(d->text, "%s%.1f %.1f", begun ? "L" : "M",
                                        place(&d->x, curve->x[i]), place(&d->y, curve->y[i]));
                        begun = true;
                }
        g_string_append(d->text, "\"/>\n");
}

static void draw_bar(Drawing *d, const PlotPoint *point, const char *colour) {
        if (isfinite(point->x_bar.low))
                g_string_append_printf(d->text,
                                "<path stroke=\"%s\" stroke-width=\"1.5\" d=\"M%.1f %.1fH%.1f\"/>\n", colour,
                                place(&d->x, point->x_bar.low), place(&d->y, point->y),
                                place(&d->x, point->x_bar.high));
        if (isfinite(point->y_bar.low))
                g_string_append_printf(d->text,
                                "<path stroke=\"%s\" stroke-width=\"1.5\" d=\"M%.1f %.1fV%.1f\"/>\n", colour,
                                place(&d->x, point->x), place(&d->y, point->y_bar.low),
                                place(&d->y, point->y_bar.high));
}

static void draw_point(Drawing *d, const PlotPoint *point) {
        const char *colour = svg_colour(point->series);

        if (!isfinite(point->x) || !isfinite(point->y))
                return;
        if (!point->faint)
                draw_bar(d, point, colour);
        g_string_append_printf(d->text, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%s\" fill=\"%s\"%s/>\n",
                        place(&d->x, point->x), place(&d->y, point->y), point->faint ? "2" : "5", colour,
                        point->faint ? " fill-opacity=\".3\"" : "");
}

static void draw_front(Drawing *d, const GArray *front) {
        if (front->len < 2)
                return;
        g_string_append(d->text, "<path class=\"f\" d=\"");
        for (guint i = 0; i < front->len; i++) {
                const PlotPoint *point = &g_array_index(front, PlotPoint, i);
                double x = place(&d->x, point->x), y = place(&d->y, point->y);

                if (i == 0)
                        g_string_append_printf(d->text, "M%.1f %.1f", x, y);
                else
                        g_string_append_printf(d->text, "H%.1fV%.1f", x, y);
        }
        g_string_append(d->text, "\"/>\n");
}

static int title_height(const Drawing *d) {
        return TOP + (d->plot->note ? NOTE_HEIGHT : 0);
}

static int head_height(const Drawing *d) {
        return title_height(d) + 10 + d->legend_rows * LEGEND_HEIGHT;
}

static void draw_panel(Drawing *d, size_t i) {
        const PlotPanel *panel = d->plot->panels->pdata[i];
        size_t column = i % d->n_columns, row = i / d->n_columns;

        d->x.from = LEFT + (int) column * (d->width + GAP_X);
        d->x.length = d->width;
        d->y.from = head_height(d) + TOP + d->height + (int) row * (d->height + GAP_Y);
        d->y.length = -d->height;
        if (panel->title[0])
                add_text(d, d->x.from, d->y.from - d->height - 8, " class=\"p\"", panel->title);
        draw_axes(d, column == 0);
        for (guint k = 0; k < panel->curves->len; k++)
                if (g_array_index(panel->curves, PlotCurve, k).low)
                        draw_band(d, &g_array_index(panel->curves, PlotCurve, k));
        for (guint k = 0; k < panel->curves->len; k++)
                draw_curve(d, &g_array_index(panel->curves, PlotCurve, k));
        draw_front(d, panel->front);
        for (guint k = 0; k < panel->points->len; k++)
                draw_point(d, &g_array_index(panel->points, PlotPoint, k));
}

/* An estimate of the width of a legend's entry, in pixels, since the viewer chooses the font. */
static int entry_width(const char *name) {
        return 34 + (int) g_utf8_strlen(name, -1) * 8;
}

/* Places the entries in rows, and draws them if `draw` is set. Returns the number of rows. */
static int lay_legend(Drawing *d, int width, bool draw) {
        int x = LEFT, row = 0;

        for (guint i = 0; i < d->plot->legend->len; i++) {
                const char *name = d->plot->legend->pdata[i];
                int y;

                if (x > LEFT && x + entry_width(name) > width) {
                        x = LEFT;
                        row++;
                }
                y = title_height(d) + 16 + row * LEGEND_HEIGHT;
                if (draw) {
                        g_string_append_printf(d->text,
                                        "<path stroke=\"%s\" stroke-width=\"3\"%s d=\"M%d %dh20\"/>\n",
                                        svg_colour(i), svg_dashes(i), x, y - 4);
                        add_text(d, x + 26, y, "", name);
                }
                x += entry_width(name);
        }
        return row + 1;
}

bool plot_has_data(const Plot *plot) {
        Axis x = { .low = INFINITY, .high = -INFINITY }, y = x;

        for (guint i = 0; i < plot->panels->len; i++)
                widen_by_panel(&x, &y, plot->panels->pdata[i]);
        return isfinite(y.low);
}

char *plot_to_svg(const Plot *plot, size_t *ret_n) {
        size_t n = plot->panels->len, n_columns = n == 4 ? 2 : MIN(n, 3);
        Drawing d = {
                .plot = plot, .n_columns = n_columns, .width = n > 1 ? 250 : 560, .height = n > 1 ? 170 : 320
        };
        g_autofree char *x_label = NULL, *y_label = NULL, *turned = NULL;
        int width, height, rows;

        g_assert(n > 0 && n <= PLOT_PANELS_MAX);

        d.text = g_string_new(NULL);
        d.x.low = d.y.low = INFINITY;
        d.x.high = d.y.high = -INFINITY;
        for (size_t i = 0; i < n; i++)
                widen_by_panel(&d.x, &d.y, plot->panels->pdata[i]);
        g_assert(isfinite(d.y.low));
        axis_finish(&d.x, n > 1 ? 4 : 8);
        axis_finish(&d.y, n > 1 ? 5 : 8);

        rows = (int) ((n + d.n_columns - 1) / d.n_columns);
        width = LEFT + (int) d.n_columns * (d.width + GAP_X) - GAP_X + RIGHT;
        width = MAX(width, LEFT + (int) g_utf8_strlen(plot->title, -1) * 9 + RIGHT);
        d.legend_rows = lay_legend(&d, width, false);
        height = head_height(&d) + TOP + rows * (d.height + GAP_Y) - GAP_Y + BOTTOM;
        svg_begin(d.text, width, height);
        add_text(&d, LEFT, 20, " class=\"t\"", plot->title);
        if (plot->note)
                add_text(&d, LEFT, 20 + NOTE_HEIGHT, "", plot->note);
        (void) lay_legend(&d, width, true);
        for (size_t i = 0; i < n; i++)
                draw_panel(&d, i);
        x_label = axis_label(&d.x, plot->x_label);
        y_label = axis_label(&d.y, plot->y_label);
        add_text(&d, (LEFT + width - RIGHT) / 2.0, height - 8, " text-anchor=\"middle\"", x_label);
        turned = g_strdup_printf(" text-anchor=\"middle\" transform=\"rotate(-90 14 %d)\"",
                        head_height(&d) + (height - head_height(&d)) / 2);
        add_text(&d, 14, head_height(&d) + (height - head_height(&d)) / 2.0, turned, y_label);
        g_string_append(d.text, "</svg>\n");
        *ret_n = d.text->len;
        return g_string_free(d.text, FALSE);
}
