/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/sanitise.h"

#include <langinfo.h>
#include <string.h>

bool sanitise_locale_is_utf8(void) {
        return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

/* GLib treats as unprintable: control characters (Cc), format characters (Cf, bidirectional and zero-width
 * ones) and unassigned characters. */
static bool may_show(gunichar character) {
        return g_unichar_isprint(character) && character != 0x2028 && character != 0x2029;
}

/* The number of bytes of the character at p, if it may be shown; 0: the byte at p is shown as a number. */
static size_t shown_bytes(const char *p, size_t n, bool utf8) {
        gunichar character;

        g_assert(n > 0);

        if ((unsigned char) *p < 0x80)
                return *p == '\t' || g_ascii_isprint(*p);
        if (!utf8)
                return 0;
        character = g_utf8_get_char_validated(p, (gssize) n);
        if (character == (gunichar) -1 || character == (gunichar) -2 || !may_show(character))
                return 0;
        return (size_t) (g_utf8_next_char(p) - p);
}

void sanitise_append(GString *to, const char *bytes, size_t n, bool utf8) {
        while (n > 0) {
                size_t k = shown_bytes(bytes, n, utf8);

                if (k > 0)
                        g_string_append_len(to, bytes, (gssize) k);
                else
                        g_string_append_printf(to, "\\x%02x", (unsigned char) *bytes);
                k = MAX(k, 1);
                bytes += k;
                n -= k;
        }
}

static char *sanitise(const char *text, bool utf8) {
        GString *safe = g_string_new(NULL);

        sanitise_append(safe, text, strlen(text), utf8);
        return g_string_free(safe, FALSE);
}

char *sanitise_text(const char *text) {
        return sanitise(text, sanitise_locale_is_utf8());
}

char *sanitise_for_journal(const char *text) {
        return sanitise(text, true);
}

static void append_escape(GString *to, gunichar character) {
        if (character < 0x10000)
                g_string_append_printf(to, "\\u%04x", character);
        else
                g_string_append_printf(to, "\\u%04x\\u%04x", 0xd800 + ((character - 0x10000) >> 10),
                                0xdc00 + ((character - 0x10000) & 0x3ff));
}

/* Sanitises JSON, which is ASCII outside of strings. The generator has escaped all control characters except
 * DEL. */
char *sanitise_json(char *text) {
        g_autofree char *valid = g_utf8_make_valid(text, -1);
        bool utf8 = sanitise_locale_is_utf8();
        GString *safe = g_string_new(NULL);

        g_free(text);
        for (const char *p = valid; *p; p = g_utf8_next_char(p)) {
                gunichar character = g_utf8_get_char(p);

                if (character == 0x7f || (character > 0x7f && (!utf8 || !may_show(character))))
                        append_escape(safe, character);
                else
                        g_string_append_unichar(safe, character);
        }
        return g_string_free(safe, FALSE);
}
