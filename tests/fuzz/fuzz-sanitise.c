/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sanitises any bytes, as for a terminal, the journal or JSON. No character of the output controls a
 * terminal, and harmless text stays as it was. The first byte says into which pieces the rest is cut, as a
 * stream would bring it. */
#include <glib.h>
#include <stdint.h>
#include <string.h>

#include "actorctl/view/json.h"
#include "actorctl/view/sanitise-lines.h"
#include "lib/sanitise.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whether a character may be shown, by GLib's tables of Unicode and without lib/sanitise.c. */
static bool may_be_shown(gunichar c) {
        switch (g_unichar_type(c)) {
        case G_UNICODE_CONTROL: return c == '\t' || c == '\n';
        case G_UNICODE_LINE_SEPARATOR:
        case G_UNICODE_PARAGRAPH_SEPARATOR: return false;
        default:
                return !(c >= 0x202a && c <= 0x202e) && !(c >= 0x2066 && c <= 0x2069) && c != 0x200e &&
                       c != 0x200f && c != 0x061c;
        }
}

static void check_shown(const char *text, size_t n, bool utf8) {
        g_assert_true(g_utf8_validate(text, (gssize) n, NULL));
        for (const char *p = text; p < text + n; p = g_utf8_next_char(p)) {
                g_assert_true(may_be_shown(g_utf8_get_char(p)));
                g_assert_true(utf8 || (unsigned char) *p < 0x80);
        }
}

static void try_line(const uint8_t *data, size_t size, bool utf8) {
        g_autoptr(GString) once = g_string_new(NULL), twice = g_string_new(NULL);

        sanitise_append(once, (const char *) data, size, utf8);
        g_assert_null(memchr(once->str, '\n', once->len));
        check_shown(once->str, once->len, utf8);
        sanitise_append(twice, once->str, once->len, utf8);
        g_assert_cmpstr(once->str, ==, twice->str);
}

static void try_stream(const uint8_t *data, size_t size, size_t piece, bool utf8, bool limited) {
        g_autoptr(SanitisedLines) lines = sanitised_lines_new(utf8, limited);
        g_autoptr(GString) shown = g_string_new(NULL);

        for (size_t at = 0; at < size; at += piece)
                sanitised_lines_put(lines, (const char *) data + at, MIN(piece, size - at), shown);
        sanitised_lines_flush(lines, shown);
        check_shown(shown->str, shown->len, utf8);
        g_assert(shown->len == 0 || shown->str[shown->len - 1] == '\n');
}

static void try_json(const uint8_t *data, size_t size) {
        g_autofree char *text = g_strndup((const char *) data, size), *reason = NULL, *plain = NULL,
                        *safe = NULL, *again = NULL;
        g_autoptr(JsonNode) node = NULL, same = NULL;
        size_t n;

        if (json_parse(text, size, &node, &reason) < 0 || !node)
                return;
        plain = json_text(node, false, &n);
        safe = sanitise_json(g_strdup(plain));
        check_shown(safe, strlen(safe), sanitise_locale_is_utf8());
        g_assert_cmpint(json_parse(safe, strlen(safe), &same, &reason), ==, 0);
        again = json_text(same, false, NULL);
        g_assert_cmpstr(plain, ==, again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        size_t piece = size > 0 ? (size_t) data[0] + 1 : 1;

        for (unsigned i = 0; i < 4; i++)
                try_stream(data, size, piece, i & 1, i & 2);
        try_line(data, size, false);
        try_line(data, size, true);
        try_json(data, size);
        return 0;
}
