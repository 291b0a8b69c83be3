/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Explains a scheduler's decision in words. The daemon records a reason and its figures. */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* Explains a row of GetDecisions, whose columns have these names. Returns a sentence, g_free(). NULL: no
 * reason was recorded, or the number of actors stays the same and Deadline= can be met, so there is nothing
 * to explain. all: explains such rows, too. */
char *why_words(char *const *names, const double *row, bool all, bool utf8);

/* Appends a text, wrapped to this number of columns. The first line begins with `first`, the others with as
 * many spaces. */
void text_wrap(GString *to, const char *first, const char *text, unsigned columns);
