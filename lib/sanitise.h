/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Foreign text on its way to a terminal, the journal or JSON: file names, keys, metadata, descriptions,
 * errors of the bus. Characters that drive a terminal or hide what is written are shown by their numbers;
 * everything else stays. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

/* Whether the user's letters are UTF-8, as LC_CTYPE says. */
bool sanitise_locale_is_utf8(void);

/* The bytes of the character at p that may be shown as it is; 0: the byte at p is to be shown by its
 * number. That is each byte of a control character but tab (C0, DEL, C1), of a character that turns,
 * joins or hides others (bidirectional controls, zero width), of a line or paragraph separator, and of
 * what is no character. utf8: there are characters beyond ASCII. */
size_t sanitise_character(const char *p, size_t n, bool utf8);

/* Appends n bytes of one line, each that is not part of such a character as \xNN. */
void sanitise_append(GString *to, const char *bytes, size_t n, bool utf8);
/* One line for a terminal of this locale, or for the journal; g_free(). */
char *sanitise_text(const char *text);
char *sanitise_for_journal(const char *text);

/* JSON that means the same: within its strings, what must not be shown is written as \uNNNN. Takes JSON,
 * in UTF-8; g_free(). */
char *sanitise_json(char *text);
