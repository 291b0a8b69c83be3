/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What strangers wrote for people, as text that moves no cursor, changes no title and does not go on for
 * ever. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct SanitisedLines SanitisedLines;

enum {
        SANITISED_LINE_BYTES = 1024, /* of a line; how much more it had is said in its place */
        SANITISED_FIRST_LINES = 400, /* are shown as they come, */
        SANITISED_LAST_LINES = 20,   /* and these when there is nothing more to come */
        SANITISED_OURS_LINES = 100,  /* of programs of ours, beside those */
};

/* A stream of lines; limited: by their number too. */
SanitisedLines *sanitised_lines_new(bool utf8, bool limited);
SanitisedLines *sanitised_lines_free(SanitisedLines *lines);
/* Appends to *to, in whole lines, what n more bytes of the stream come to. */
void sanitised_lines_put(SanitisedLines *lines, const char *bytes, size_t n, GString *to);
/* The same for all that was held back: a line without its end, a repetition, the last lines. More may
 * come after it. */
void sanitised_lines_flush(SanitisedLines *lines, GString *to);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SanitisedLines, sanitised_lines_free)
