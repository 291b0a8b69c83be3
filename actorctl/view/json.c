/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Works around three problems of json-glib. First, it prints real numbers with 17 digits, and appends ".0"
 * to a number without a point, even after an exponent: 1e-08.0 is not JSON. Second, its parser recurses at
 * each bracket, so a deeply nested text would exhaust the stack. Third, its whole numbers are signed with 64
 * bits, and its parser makes negative ones of those above 2^63 - 1, such as seeds. All of ours are unsigned,
 * so a negative one stands for the same 64 bits without a sign, and is printed like that. */
#include "actorctl/view/json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "actorctl/file.h"
#include "lib/sanitise.h"

#define DEPTH_MAX 64
/* The longest list of decisions that a job can repeat (Policy=replay), with all columns and one decision in
 * each line, needs a little over half of this. */
#define FILE_BYTES_MAX (1u << 30)

JsonNode *json_real(double value) {
        return isfinite(value) ? json_node_init_double(json_node_alloc(), value)
                               : json_node_init_null(json_node_alloc());
}

JsonNode *json_unsigned(uint64_t value) {
        return json_node_init_int(json_node_alloc(), (gint64) value);
}

uint64_t json_get_unsigned(JsonNode *node) {
        return (uint64_t) json_node_get_int(node);
}

JsonNode *json_usec(uint64_t usec) {
        return usec > 0 ? json_unsigned(usec) : json_node_init_null(json_node_alloc());
}

JsonNode *json_word(const char *value) {
        return value[0] ? json_node_init_string(json_node_alloc(), value)
                        : json_node_init_null(json_node_alloc());
}

/* The place after the closing quote of the string that begins at `at`, as json-glib writes strings. */
static size_t skip_written_string(const char *text, size_t at) {
        for (at++; text[at] && text[at] != '"'; at++)
                at += text[at] == '\\' && text[at + 1];
        return text[at] ? at + 1 : at;
}

/* Appends a number with the fewest digits that give the same number (15, if these suffice):
 * 0.00033400000000000004 becomes 0.000334, 1e-08.0 becomes 1e-08, and 1.0 stays. */
static void append_real(GString *text, const char *number, size_t length) {
        char shortest[G_ASCII_DTOSTR_BUF_SIZE];
        g_autofree char *written = g_strndup(number, length);
        double value = g_ascii_strtod(written, NULL);

        for (int digits = 15; digits <= 17; digits++) {
                g_autofree char *format = g_strdup_printf("%%.%dg", digits);

                (void) g_ascii_formatd(shortest, sizeof(shortest), format, value);
                if (g_ascii_strtod(shortest, NULL) == value)
                        break;
        }
        if (!strpbrk(shortest, ".e"))
                (void) g_strlcat(shortest, ".0", sizeof(shortest));
        g_string_append(text, shortest);
}

static void append_number(GString *text, const char *number, size_t length) {
        if (memchr(number, '.', length) || memchr(number, 'e', length))
                append_real(text, number, length);
        else if (number[0] == '-')
                g_string_append_printf(
                                text, "%" G_GUINT64_FORMAT, (guint64) g_ascii_strtoll(number, NULL, 10));
        else
                g_string_append_len(text, number, (gssize) length);
}

/* Corrects each number of the JSON text that json-glib has written. */
static GString *mend_numbers(const char *text) {
        GString *mended = g_string_sized_new(strlen(text) + 1);
        size_t at = 0;

        while (text[at]) {
                size_t from = at;
                bool number = g_ascii_isdigit(text[at]) || text[at] == '-';

                if (text[at] == '"')
                        at = skip_written_string(text, at);
                else if (number)
                        at += strspn(text + at, "0123456789+-.eE");
                else
                        at++;
                if (number)
                        append_number(mended, text + from, at - from);
                else
                        g_string_append_len(mended, text + from, (gssize) (at - from));
        }
        return mended;
}

char *json_text(JsonNode *node, bool pretty, size_t *ret_n) {
        g_autoptr(JsonGenerator) generator = json_generator_new();
        g_autofree char *written = NULL;
        GString *text;

        g_assert(node);

        json_generator_set_pretty(generator, pretty);
        json_generator_set_root(generator, node);
        written = json_generator_to_data(generator, NULL);
        text = mend_numbers(written);
        if (ret_n)
                *ret_n = text->len;
        return g_string_free(text, FALSE);
}

void json_print(JsonNode *node, JsonMode mode) {
        g_autofree char *text = NULL;

        if (JSON_NODE_HOLDS_OBJECT(node))
                json_object_set_int_member(json_node_get_object(node), "schema", JSON_SCHEMA);
        text = sanitise_json(json_text(node, mode == JSON_PRETTY, NULL));
        printf("%s\n", text);
}

char *json_quote(const char *text) {
        g_autofree char *valid = g_utf8_make_valid(text, -1);
        g_autoptr(JsonNode) node = json_node_init_string(json_node_alloc(), valid);

        return sanitise_json(json_text(node, false, NULL));
}

static bool is_unicode_escape(const char *p, const char *end) {
        return end - p >= 6 && p[0] == '\\' && p[1] == 'u' && g_ascii_isxdigit(p[2]) &&
               g_ascii_isxdigit(p[3]) && g_ascii_isxdigit(p[4]) && g_ascii_isxdigit(p[5]);
}

/* The place after the escape at `p`; NULL: it is not an escape of JSON. After the first half of a surrogate
 * pair, json-glib's parser accepts anything as the other half, even a quote. */
static const char *skip_escape(const char *p, const char *end) {
        bool half;

        if (end - p >= 2 && p[1] != 'u')
                return p[1] && strchr("\"\\/bfnrt", p[1]) ? p + 2 : NULL;
        if (!is_unicode_escape(p, end))
                return NULL;
        half = g_ascii_tolower(p[2]) == 'd' && g_ascii_xdigit_value(p[3]) >= 8;
        if (half && !is_unicode_escape(p + 6, end))
                return NULL;
        return p + (half ? 12 : 6);
}

/* The place after the string that begins at `p`; NULL: it is not a string as JSON writes it. */
static const char *skip_string(const char *p, const char *end) {
        for (p++; p && p < end && *p != '"';)
                if (*p == '\\')
                        p = skip_escape(p, end);
                else
                        p = (unsigned char) *p >= ' ' ? p + 1 : NULL;
        return p && p < end ? p + 1 : NULL;
}

/* Why the parser must not get the text; NULL: it may. This check and the parser must agree on the end of
 * each string, so the parser's extensions (comments and other quotes) are refused. */
static const char *find_fault(const char *text, size_t n) {
        static const char plain[] = "\t\n\r :,0123456789+-.eEtrufalsn";
        const char *end = text + n;
        unsigned depth = 0;

        for (const char *p = text; p < end;) {
                if (*p == '"') {
                        p = skip_string(p, end);
                        if (!p)
                                return "it is not JSON: a string has no end, or an invalid escape";
                        continue;
                }
                if (g_ascii_isdigit(*p)) {
                        /* the parser would read infinity, which JSON cannot express */
                        if (!isfinite(g_ascii_strtod(p, NULL)))
                                return "a number in it is too large";
                        p += strspn(p, "0123456789+-.eE");
                        continue;
                }
                if (*p == '[' || *p == '{') {
                        if (++depth > DEPTH_MAX)
                                return "it is nested more than " G_STRINGIFY(DEPTH_MAX) " deep";
                } else if (*p == ']' || *p == '}')
                        depth -= depth > 0;
                else if (!memchr(plain, *p, sizeof(plain) - 1))
                        return "it is not JSON";
                p++;
        }
        return NULL;
}

int json_parse(const char *text, size_t n, JsonNode **ret, char **ret_reason) {
        g_autoptr(JsonParser) parser = json_parser_new();
        g_autoptr(GError) error = NULL;
        const char *fault;

        g_assert(text);
        g_assert(ret);
        g_assert(ret_reason);

        fault = find_fault(text, n);
        if (fault) {
                *ret_reason = g_strdup(fault);
                return -EBADMSG;
        }
        if (!json_parser_load_from_data(parser, text, (gssize) n, &error)) {
                /* json-glib's name for a text without a file */
                bool placed = g_str_has_prefix(error->message, "<data>:");

                *ret_reason = placed ? g_strdup_printf("line %s", error->message + strlen("<data>:"))
                                     : g_strdup(error->message);
                return -EBADMSG;
        }
        *ret = json_parser_steal_root(parser);
        return 0;
}

int json_read(const char *file, JsonNode **ret, char **ret_reason) {
        g_autofree char *text = NULL;
        size_t n;
        int r;

        g_assert(file);
        g_assert(ret);
        g_assert(ret_reason);

        r = file_read(file, FILE_BYTES_MAX, &text, &n);
        if (r == -EFBIG)
                *ret_reason = g_strdup_printf("it is longer than %u MiB", FILE_BYTES_MAX >> 20);
        else if (r < 0)
                *ret_reason = g_strdup(file_reason(r));
        return r < 0 ? r : json_parse(text, n, ret, ret_reason);
}
