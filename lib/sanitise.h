/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sanitises text from outside (file names, keys, metadata, descriptions, errors of the bus) for a terminal,
 * the journal or JSON. Characters that control a terminal or hide text are replaced by their numbers;
 * everything else stays. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

/* Whether the user's locale is UTF-8, as LC_CTYPE says. */
bool sanitise_locale_is_utf8(void);

/* Appends n bytes as one line. Each byte that must not be shown becomes \xNN: control characters except tab
 * (C0, DEL, C1), characters that turn, join or hide others (bidirectional controls, zero width), separators
 * of lines and paragraphs, unassigned characters, and bytes that form no character. utf8: the text may have
 * characters beyond ASCII; otherwise their bytes must not be shown. */
void sanitise_append(GString *to, const char *bytes, size_t n, bool utf8);
/* One line for a terminal of this locale, or for the journal; g_free(). */
char *sanitise_text(const char *text);
char *sanitise_for_journal(const char *text);

/* Replaces each character that must not be shown by \uNNNN, in the strings of the JSON `text` (UTF-8). Frees
 * `text`, and returns the new JSON; g_free(). */
char *sanitise_json(char *text);
