/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What all our pictures have in common: letters, lines and colours that can be told apart on white and on
 * black, without a background. */
#pragma once

#include <glib.h>

/* The beginning of a file; its end is </svg>. */
void svg_begin(GString *text, int width, int height);
/* attributes: "" or " name=…" */
void svg_text(GString *text, double x, double y, const char *attributes, const char *words);
/* Of an entry of the legend. */
const char *svg_colour(size_t series);
/* An attribute, or "": entries that share a colour differ by it. */
const char *svg_dashes(size_t series);
