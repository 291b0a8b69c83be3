/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The style of the pictures of experiments and reports: text, lines and colours that can be told apart on
 * white and on black, without a background. */
#pragma once

#include <glib.h>

/* Writes the beginning of a file; the caller ends it with </svg>. */
void svg_begin(GString *text, int width, int height);
/* Writes a text at a point. attributes: "" or " name=…" */
void svg_text(GString *text, double x, double y, const char *attributes, const char *words);
/* The colour of an entry of the legend. */
const char *svg_colour(size_t series);
/* An attribute for dashes, or "". It distinguishes entries that share a colour. */
const char *svg_dashes(size_t series);
