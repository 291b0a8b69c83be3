/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sanitises text from untrusted programs. The result cannot move the cursor, change the title or grow
 * without limit. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct SanitisedLines SanitisedLines;

enum {
        /* the most bytes that are shown of a line; then follows the number of its other bytes */
        SANITISED_LINE_BYTES = 1024,
        SANITISED_FIRST_LINES = 400, /* shown as they arrive */
        SANITISED_LAST_LINES = 20,   /* shown at the end */
        SANITISED_OURS_LINES = 100,  /* lines of actord's own programs, in addition */
};

/* Makes a stream of lines, and cuts long ones. limited: the stream also leaves out lines if there are too
 * many. */
SanitisedLines *sanitised_lines_new(bool utf8, bool limited);
SanitisedLines *sanitised_lines_free(SanitisedLines *lines);
/* Takes n more bytes, and appends the lines that they complete to *to. */
void sanitised_lines_put(SanitisedLines *lines, const char *bytes, size_t n, GString *to);
/* Appends all text that sanitised_lines_put() held back: an incomplete line, the number of repetitions of a
 * line, and the last lines of a limited stream. More text may come afterwards. */
void sanitised_lines_flush(SanitisedLines *lines, GString *to);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SanitisedLines, sanitised_lines_free)
