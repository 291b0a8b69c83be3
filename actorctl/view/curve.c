/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Draws curves with characters. A braille character has two columns and four rows of dots. In a locale
 * without such characters, a cell is one dot. */
#include <math.h>
#include <string.h>

#include "actorctl/view/display.h"

/* Bits of a braille character by column and row of its dots. */
static const unsigned char dots[2][4] = { { 0x01, 0x02, 0x04, 0x40 }, { 0x08, 0x10, 0x20, 0x80 } };

typedef struct Dots {
        unsigned columns, rows; /* in cells */
        unsigned wide, high;    /* how many dots a cell has */
        unsigned char *cells;
} Dots;

static void canvas_dot(Dots *canvas, unsigned x, unsigned y) {
        unsigned column = x / canvas->wide, row = y / canvas->high;

        if (column < canvas->columns && row < canvas->rows)
                canvas->cells[row * canvas->columns + column] |= dots[x % canvas->wide][y % canvas->high];
}

/* Sets a column of dots between two heights, so that steep parts have no gaps. */
static void canvas_line(Dots *canvas, unsigned x, unsigned from, unsigned to) {
        for (unsigned y = MIN(from, to); y <= MAX(from, to); y++)
                canvas_dot(canvas, x, y);
}

static char *canvas_print(const Dots *canvas, bool utf8) {
        GString *text = g_string_new(NULL);

        for (unsigned row = 0; row < canvas->rows; row++) {
                for (unsigned column = 0; column < canvas->columns; column++) {
                        unsigned char cell = canvas->cells[row * canvas->columns + column];

                        if (cell == 0)
                                g_string_append_c(text, ' ');
                        else if (utf8)
                                g_string_append_unichar(text, 0x2800u + cell);
                        else
                                g_string_append_c(text, '*');
                }
                g_string_append_c(text, '\n');
        }
        return g_string_free(text, FALSE);
}

typedef struct Range {
        double low, high;
} Range;

static Range range_of(const double *values, const double *also, size_t n) {
        Range range = { INFINITY, -INFINITY };

        for (size_t i = 0; i < n; i++)
                if (isfinite(values[i]) && isfinite(also[i])) {
                        range.low = MIN(range.low, values[i]);
                        range.high = MAX(range.high, values[i]);
                }
        return range;
}

static unsigned scale(double value, Range range, unsigned most) {
        double part = range.high > range.low ? (value - range.low) / (range.high - range.low) : 0.5;

        return (unsigned) lround(CLAMP(part, 0, 1) * (most - 1));
}

char *curve_draw(const double *x, const double *y, size_t n, unsigned columns, unsigned rows, bool utf8) {
        unsigned wide = utf8 ? 2 : 1, high = utf8 ? 4 : 1, last_x = 0, last_y = 0;
        g_autofree unsigned char *cells = g_new0(unsigned char, (size_t) columns *rows);
        Dots canvas = { columns, rows, wide, high, cells };
        Range xs = range_of(x, y, n), ys = range_of(y, x, n);
        bool any = false;

        g_assert(columns > 0 && rows > 0);

        for (size_t i = 0; i < n; i++) {
                unsigned to_x, to_y;

                if (!isfinite(x[i]) || !isfinite(y[i]))
                        continue;
                to_x = scale(x[i], xs, columns * wide);
                to_y = rows * high - 1 - scale(y[i], ys, rows * high);
                if (!any)
                        canvas_dot(&canvas, to_x, to_y);
                for (unsigned step = last_x + 1; any && step <= to_x; step++) {
                        double part = (double) (step - last_x) / (to_x - last_x);
                        unsigned at = (unsigned) lround(last_y + part * ((double) to_y - last_y));

                        canvas_line(&canvas, step, step == to_x ? to_y : at, at);
                }
                if (any && to_x == last_x)
                        canvas_line(&canvas, to_x, last_y, to_y);
                last_x = to_x;
                last_y = to_y;
                any = true;
        }
        return canvas_print(&canvas, utf8);
}

char *bar_draw(double fraction, unsigned width, bool utf8) {
        GString *text = g_string_new("[");
        unsigned eighths = (unsigned) lround(CLAMP(isfinite(fraction) ? fraction : 0, 0, 1) * width * 8);

        for (unsigned i = 0; i < width; i++) {
                unsigned part = eighths > i * 8 ? MIN(eighths - i * 8, 8u) : 0;

                if (part == 0)
                        g_string_append_c(text, ' ');
                else if (utf8)
                        g_string_append_unichar(text, 0x2590u - part);
                else
                        g_string_append_c(text, part >= 4 ? '#' : '-');
        }
        g_string_append_c(text, ']');
        return g_string_free(text, FALSE);
}
