/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "actorctl/experiment/svg.h"

/* Colours after those of Okabe and Ito, which colour-blind readers can tell apart. The text is a grey that
 * can be read on white and on black. */
static const char *const colours[] = { "#0080c8", "#e08a00", "#009e73", "#d55e9a", "#d55e00", "#56b4e9",
        "#9a8700" };
static const char *const dashes[] = { "", " stroke-dasharray=\"7 3\"", " stroke-dasharray=\"2 3\"" };

static const char style[] =
                "<style>text{font:12px system-ui,sans-serif;fill:#76808c}.t{font-size:15px;font-weight:600}"
                ".p{font-weight:600}.g{stroke:#808890;stroke-opacity:.22}"
                ".a{stroke:#808890;stroke-opacity:.8}"
                ".c{fill:none;stroke-width:2;stroke-linejoin:round}"
                ".f{fill:none;stroke:#808890;stroke-width:1.5;"
                "stroke-dasharray:4 3}</style>\n";

void svg_begin(GString *text, int width, int height) {
        g_string_append_printf(text,
                        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                        "viewBox=\"0 0 %d %d\">\n%s",
                        width, height, width, height, style);
}

void svg_text(GString *text, double x, double y, const char *attributes, const char *words) {
        g_autofree char *safe = g_markup_escape_text(words, -1);

        g_string_append_printf(text, "<text x=\"%.1f\" y=\"%.1f\"%s>%s</text>\n", x, y, attributes, safe);
}

const char *svg_colour(size_t series) {
        return colours[series % G_N_ELEMENTS(colours)];
}

const char *svg_dashes(size_t series) {
        return dashes[series / G_N_ELEMENTS(colours) % G_N_ELEMENTS(dashes)];
}
