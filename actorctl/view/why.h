/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Explains a scheduler's decision in words: the daemon records a reason and its figures. */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* Explains a row of GetDecisions, whose columns have these names. A sentence, g_free(); NULL: there is
 * nothing new to say, as when the number of actors stays. all: also explains those. */
char *why_words(char *const *names, const double *row, bool all, bool utf8);

/* Appends a text in lines of at most so many columns: the first begins with `first`, the others with as
 * many blanks. */
void text_wrap(GString *to, const char *first, const char *text, unsigned columns);
