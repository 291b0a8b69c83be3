/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "actorctl/experiment/parallel.h"

#include <math.h>

#include "actorctl/experiment/plot.h"
#include "actorctl/experiment/svg.h"
#include "lib/doubles.h"

#define WIDTH         440 /* the width of a phone's screen, or a little more */
#define SIDE          22
#define FIRST         56 /* from the head to the first axis */
#define BETWEEN       66
#define BELOW         30
#define NOTE_HEIGHT   18
#define LEGEND_HEIGHT 20
#define TICK_GAP      44 /* 2/3 of the least distance of a label from the axis' ends */
#define DECADES_MAX   9

static void axis_clear(gpointer data) {
        ParallelAxis *axis = data;

        g_free(axis->label);
        g_free(axis->low_text);
        g_free(axis->high_text);
}

static void line_clear(gpointer data) {
        g_free(((ParallelLine *) data)->values);
}

Parallel *parallel_new(const char *title) {
        Parallel *parallel = g_new(Parallel, 1);

        *parallel = (Parallel){
                .title = g_strdup(title),
                .notes = g_ptr_array_new_with_free_func(g_free),
                .legend = g_ptr_array_new_with_free_func(g_free),
                .axes = g_array_new(FALSE, FALSE, sizeof(ParallelAxis)),
                .lines = g_array_new(FALSE, FALSE, sizeof(ParallelLine)),
        };
        g_array_set_clear_func(parallel->axes, axis_clear);
        g_array_set_clear_func(parallel->lines, line_clear);
        return parallel;
}

Parallel *parallel_free(Parallel *parallel) {
        if (!parallel)
                return NULL;
        g_free(parallel->title);
        g_ptr_array_unref(parallel->notes);
        g_ptr_array_unref(parallel->legend);
        g_array_unref(parallel->axes);
        g_array_unref(parallel->lines);
        g_free(parallel);
        return NULL;
}

/* A picture that is being drawn. */
typedef struct Sheet {
        const Parallel *parallel;
        GString *text;
        int width, head;
} Sheet;

static const ParallelAxis *axis_at(const Sheet *sheet, size_t i) {
        return &g_array_index(sheet->parallel->axes, ParallelAxis, i);
}

static double y_of(const Sheet *sheet, size_t axis) {
        return sheet->head + FIRST + BETWEEN * (double) axis;
}

static double x_of(const Sheet *sheet, const ParallelAxis *axis, double value) {
        double low = axis->low, high = axis->high;

        if (axis->log) {
                low = double_log(low);
                high = double_log(high);
                value = double_log(value);
        }
        if (low == high)
                return sheet->width / 2.0;
        return SIDE + (sheet->width - 2 * SIDE) * (value - low) / (high - low);
}

static void draw_tick(const Sheet *sheet, double x, double y, const char *label) {
        const char *anchor = " text-anchor=\"middle\"";

        if (x < SIDE + 1)
                anchor = " text-anchor=\"start\"";
        else if (x > sheet->width - SIDE - 1)
                anchor = " text-anchor=\"end\"";
        g_string_append_printf(sheet->text, "<path class=\"a\" d=\"M%.1f %.1fv5\"/>\n", x, y);
        svg_text(sheet->text, anchor[14] == 'm' ? x : CLAMP(x, SIDE - 6, sheet->width - SIDE + 6), y + 18,
                        anchor, label);
}

/* Draws a label between the two ends of the axis, if there is room for it. */
static void draw_between(const Sheet *sheet, const ParallelAxis *axis, double value, double y) {
        double x = x_of(sheet, axis, value);
        char label[G_ASCII_DTOSTR_BUF_SIZE];

        if (x < SIDE + TICK_GAP * 1.5 || x > sheet->width - SIDE - TICK_GAP * 1.5)
                return;
        draw_tick(sheet, x, y, g_ascii_formatd(label, sizeof(label), "%.6g", value));
}

static void draw_decades(const Sheet *sheet, const ParallelAxis *axis, double y) {
        int first = (int) ceil(log10(axis->low)), last = (int) floor(log10(axis->high));
        int every = (last - first) / DECADES_MAX + 1;

        for (int i = first; i <= last; i += every)
                draw_between(sheet, axis, pow(10, i), y);
}

static void draw_numbers(const Sheet *sheet, const ParallelAxis *axis, double y) {
        double step, low, high, first;

        draw_tick(sheet, SIDE, y, axis->low_text);
        if (axis->low == axis->high)
                return;
        draw_tick(sheet, sheet->width - SIDE, y, axis->high_text);
        if (axis->log) {
                draw_decades(sheet, axis, y);
                return;
        }
        /* If a lower value is better, the axis is reversed, and axis->low is above axis->high. */
        low = MIN(axis->low, axis->high);
        high = MAX(axis->low, axis->high);
        step = nice_step(low, high, 4);
        first = ceil(low / step) * step;
        for (unsigned i = 0; first + i * step < high; i++)
                draw_between(sheet, axis, first + i * step, y);
}

static void draw_axis(const Sheet *sheet, size_t i) {
        const ParallelAxis *axis = axis_at(sheet, i);
        double y = y_of(sheet, i);

        g_string_append_printf(sheet->text, "<path class=\"a\" d=\"M%d %.1fH%d\"/>\n", SIDE, y,
                        sheet->width - SIDE);
        svg_text(sheet->text, SIDE - 6, y - 12, " class=\"p\"", axis->label);
        if (!axis->words) {
                draw_numbers(sheet, axis, y);
                return;
        }
        for (size_t k = 0; axis->words[k]; k++)
                draw_tick(sheet, x_of(sheet, axis, (double) k), y, axis->words[k]);
}

static void draw_line(const Sheet *sheet, const ParallelLine *line) {
        size_t n = sheet->parallel->axes->len, i;
        bool whole = isfinite(line->values[n - 1]);

        g_string_append_printf(sheet->text,
                        "<path fill=\"none\" stroke-linejoin=\"round\" stroke=\"%s\" stroke-width=\"%s\" "
                        "stroke-opacity=\"%.2f\"%s d=\"",
                        whole ? svg_colour(line->series) : "#808890", line->best ? "3.5" : "1.5",
                        0.25 + 0.75 * CLAMP(line->strength, 0, 1), whole ? "" : " stroke-dasharray=\"2 4\"");
        for (i = 0; i < n && isfinite(line->values[i]); i++)
                g_string_append_printf(sheet->text, "%s%.1f %.1f", i > 0 ? "L" : "M",
                                x_of(sheet, axis_at(sheet, i), line->values[i]), y_of(sheet, i));
        g_string_append(sheet->text, "\"/>\n");
        if (whole)
                g_string_append_printf(sheet->text,
                                "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%s\" fill=\"%s\"/>\n",
                                x_of(sheet, axis_at(sheet, n - 1), line->values[n - 1]), y_of(sheet, n - 1),
                                line->best ? "5" : "3", svg_colour(line->series));
}

static void draw_legend(const Sheet *sheet, double y) {
        double x = SIDE - 6;

        for (guint i = 0; i < sheet->parallel->legend->len; i++) {
                const char *name = sheet->parallel->legend->pdata[i];

                g_string_append_printf(sheet->text,
                                "<path stroke=\"%s\" stroke-width=\"3\" d=\"M%.1f %.1fh20\"/>\n",
                                svg_colour(i), x, y - 4);
                svg_text(sheet->text, x + 26, y, "", name);
                x += 40 + 8 * (double) g_utf8_strlen(name, -1);
        }
}

char *parallel_to_svg(const Parallel *parallel, size_t *ret_n) {
        Sheet sheet = { .parallel = parallel, .text = g_string_new(NULL), .width = WIDTH };
        int y = 24, height;

        g_assert(parallel->axes->len > 0 && parallel->axes->len <= PARALLEL_AXES_MAX);

        sheet.width = MAX(sheet.width, 2 * SIDE + (int) g_utf8_strlen(parallel->title, -1) * 8);
        sheet.head = y + (int) parallel->notes->len * NOTE_HEIGHT +
                     (parallel->legend->len > 0 ? LEGEND_HEIGHT + 4 : 0);
        height = (int) y_of(&sheet, parallel->axes->len - 1) + BELOW;
        svg_begin(sheet.text, sheet.width, height);
        svg_text(sheet.text, SIDE - 6, y, " class=\"t\"", parallel->title);
        for (guint i = 0; i < parallel->notes->len; i++)
                svg_text(sheet.text, SIDE - 6, y += NOTE_HEIGHT, "", parallel->notes->pdata[i]);
        draw_legend(&sheet, y + LEGEND_HEIGHT + 4);
        for (guint i = 0; i < parallel->lines->len; i++)
                draw_line(&sheet, &g_array_index(parallel->lines, ParallelLine, i));
        for (size_t i = 0; i < parallel->axes->len; i++)
                draw_axis(&sheet, i);
        g_string_append(sheet.text, "</svg>\n");
        *ret_n = sheet.text->len;
        return g_string_free(sheet.text, FALSE);
}
