/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* json-glib ends a real number without a point with ".0", behind an exponent too, and 1e-08.0 is no JSON. */
#include "actorctl/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

JsonNode *json_real(double value) {
        return isfinite(value) ? json_node_init_double(json_node_alloc(), value)
                               : json_node_init_null(json_node_alloc());
}

/* JSON's integers have no end, but json-glib's are signed: beyond them the number is a real one. */
JsonNode *json_unsigned(uint64_t value) {
        return value <= G_MAXINT64 ? json_node_init_int(json_node_alloc(), (gint64) value)
                                   : json_node_init_double(json_node_alloc(), (double) value);
}

/* The end of a string that begins at `at`, behind its quote, as json-glib writes them. */
static size_t skip_written_string(const char *text, size_t at) {
        for (at++; text[at] && text[at] != '"'; at++)
                at += text[at] == '\\' && text[at + 1];
        return text[at] ? at + 1 : at;
}

/* In place: 1e-08.0 becomes 1e-08. Returns the new length. */
static size_t mend_numbers(char *text) {
        size_t n = 0, at = 0;

        while (text[at]) {
                size_t from = at, length;

                if (text[at] == '"')
                        at = skip_written_string(text, at);
                else if (g_ascii_isdigit(text[at]))
                        at += strspn(text + at, "0123456789+-.eE");
                else
                        at++;
                length = at - from;
                memmove(text + n, text + from, length);
                n += length;
                if (length > 2 && memchr(text + n - length, 'e', length) &&
                                g_ascii_isdigit(text[n - length]) && memcmp(text + n - 2, ".0", 2) == 0)
                        n -= 2;
        }
        text[n] = '\0';
        return n;
}

char *json_text(JsonNode *node, bool pretty, size_t *ret_n) {
        g_autoptr(JsonGenerator) generator = json_generator_new();
        char *text;
        size_t n;

        g_assert(node);

        json_generator_set_pretty(generator, pretty);
        json_generator_set_root(generator, node);
        text = json_generator_to_data(generator, NULL);
        n = mend_numbers(text);
        if (ret_n)
                *ret_n = n;
        return text;
}

void json_print(JsonNode *node, JsonMode mode) {
        g_autofree char *text = json_text(node, mode == JSON_PRETTY, NULL);

        printf("%s\n", text);
}
