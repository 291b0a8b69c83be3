/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What strangers wrote for people, as text that moves no cursor, changes no title and does not go on for ever. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct Harmless Harmless;

/* Whether the user's letters are UTF-8, as LC_CTYPE says. */
bool letters_are_utf8(void);

enum {
        HARMLESS_LINE_BYTES = 1024, /* of a line; how much more it had is said in its place */
        HARMLESS_FIRST_LINES = 400, /* are shown as they come, */
        HARMLESS_LAST_LINES = 20,   /* and these when there is nothing more to come */
        HARMLESS_OURS_LINES = 100,  /* of programs of ours, beside those */
};

/* Appends n bytes of one line: each that is no tab and belongs to no printable letter as \xNN. utf8: there are letters beyond ASCII. */
void harmless_append(GString *to, const char *bytes, size_t n, bool utf8);
/* One line of the user's letters, made so; g_free(). */
char *harmless_text(const char *text);

/* A stream of lines; limited: by their number too. */
Harmless *harmless_new(bool utf8, bool limited);
Harmless *harmless_free(Harmless *harmless);
/* Appends to *to, in whole lines, what n more bytes of the stream come to. */
void harmless_put(Harmless *harmless, const char *bytes, size_t n, GString *to);
/* The same for all that was held back: a line without its end, a repetition, the last lines. More may come after it. */
void harmless_flush(Harmless *harmless, GString *to);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Harmless, harmless_free)
