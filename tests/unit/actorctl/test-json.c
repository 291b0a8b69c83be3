/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* JSON that goes out is valid and has every digit; JSON that comes in never exhausts the stack. */
#include <errno.h>
#include <float.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "actorctl/view/json.h"

static char *text_of(JsonNode *taken) {
        g_autoptr(JsonNode) node = taken;

        return json_text(node, false, NULL);
}

static void test_numbers(void) {
        static const struct {
                double value;
                const char *want;
        } cases[] = {
                { 1e-8, "1e-08" },
                { -1e-8, "-1e-08" },
                { 1e22, "1e+22" },
                { -2e300, "-2e+300" },
                { 5e-324, "4.94065645841247e-324" },
                { DBL_MAX, "1.7976931348623157e+308" },
                { 0, "0.0" },
                { -0.0, "-0.0" },
                { 1, "1.0" },
                { 120, "120.0" },
                { 0.1, "0.1" },
                { 2.5, "2.5" },
                { NAN, "null" },
                { -INFINITY, "null" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *text = text_of(json_real(cases[i].value));

                g_assert_cmpstr(text, ==, cases[i].want);
        }

        g_autofree char *whole = text_of(json_unsigned(G_MAXINT64)),
                        *beyond = text_of(json_unsigned(UINT64_MAX)),
                        *ten = text_of(json_unsigned(UINT64_C(10000000000000000000)));
        g_assert_cmpstr(whole, ==, "9223372036854775807");
        g_assert_cmpstr(beyond, ==, "18446744073709551615");
        g_assert_cmpstr(ten, ==, "10000000000000000000");
}

/* Whole numbers above 2^63 - 1, such as seeds, come back with every digit, and real ones beside them as they
 * are. */
static void test_whole(void) {
        static const char text[] =
                        "{\"a\":18446744073709551615,\"b\":[9223372036854775808,-1.5,-2e-07,0,-0.0],"
                        "\"c-1\":\"-1\"}";
        g_autoptr(JsonNode) node = NULL;
        g_autofree char *reason = NULL, *again = NULL, *pretty = NULL;

        g_assert_cmpint(json_parse(text, strlen(text), &node, &reason), ==, 0);
        g_assert_cmpuint(json_get_unsigned(json_object_get_member(json_node_get_object(node), "a")), ==,
                        UINT64_MAX);
        again = json_text(node, false, NULL);
        g_assert_cmpstr(again, ==, text);
        pretty = json_text(node, true, NULL);
        g_assert_nonnull(strstr(pretty, "\"a\" : 18446744073709551615,\n"));
}

/* Each number comes back from JSON text as it was: first the powers of 10, then random numbers. */
static void test_round_trip(void) {
        for (int i = 0; i < 20000; i++) {
                double value = i < 640 ? pow(10, i - 320) : 0;
                g_autofree char *text = NULL;

                while (i >= 640 && !isnormal(value)) {
                        uint64_t bits = (uint64_t) g_test_rand_int() << 32 | (uint32_t) g_test_rand_int();

                        memcpy(&value, &bits, sizeof(value));
                }
                text = text_of(json_real(value));
                if (!isfinite(value))
                        continue;
                g_assert_cmpfloat(g_ascii_strtod(text, NULL), ==, value);
                g_assert_false(strchr(text, 'e') && g_str_has_suffix(text, ".0"));
        }
}

/* Strings and names are not numbers, whatever they contain. */
static void test_strings(void) {
        JsonObject *object = json_object_new();
        g_autoptr(JsonNode) node = json_node_init_object(json_node_alloc(), object);
        g_autofree char *text = NULL, *pretty = NULL;
        size_t n;

        json_object_set_string_member(object, "1e-08.0", "\"1e-08.0, \\\" 2e+30.0\\");
        json_object_set_member(object, "x", json_real(-1e-8));
        json_object_set_member(object, "n", json_unsigned(3));
        json_object_set_boolean_member(object, "e", TRUE);
        json_object_unref(object);
        text = json_text(node, false, &n);
        g_assert_cmpstr(text, ==,
                        "{\"1e-08.0\":\"\\\"1e-08.0, \\\\\\\" "
                        "2e+30.0\\\\\",\"x\":-1e-08,\"n\":3,\"e\":true}");
        g_assert_cmpuint(n, ==, strlen(text));
        pretty = json_text(node, true, NULL);
        g_assert_nonnull(strstr(pretty, "\"x\" : -1e-08,\n"));
}

static char *repeated(const char *before, const char *part, unsigned n, const char *after) {
        GString *text = g_string_new(before);

        for (unsigned i = 0; i < n; i++)
                g_string_append(text, part);
        return g_string_free(g_string_append(text, after), FALSE);
}

static void check_parsed(const char *text, bool fine) {
        g_autoptr(JsonNode) node = NULL;
        g_autofree char *reason = NULL;
        int r = json_parse(text, strlen(text), &node, &reason);

        g_assert_cmpint(r, ==, fine ? 0 : -EBADMSG);
        g_assert_true(fine == !reason);
        g_assert_true(fine || !node);
}

static void test_parsed(void) {
        static const char *const fine[] = { "", " \n", "{}", "[1e-08, -2.5E+3, true, false, null]",
                "{\"a\\\"[{\":\"]\\\\\",\"b\":[\"\\u00e9\\ud83d\\ude00\\n\"]}", "[\"\\uD83D\\uDE00[[\"]",
                "[\"\u00f6\"]" };
        static const char *const wrong[] = { "{", "[1,]", "[1e-08.0]", "{\"a\":}", "nonsense", "[1] /* a */",
                "// a\n[1]", "['a']", "[\"a]", "[\"\\x\"]", "[\"\\u12g4\"]", "[\"\\u\", \"]\"]",
                "[\"\\ud800\", \"]\"]", "[\"\\ud800\\u\", \"]\"]", "[\"\t\"]", "[\"\xff\"]", "[\"\\" };

        for (size_t i = 0; i < G_N_ELEMENTS(fine); i++)
                check_parsed(fine[i], true);
        for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++)
                check_parsed(wrong[i], false);
}

/* JSON that is nested too deep is refused. Each text of `before` could make the parser and the depth counter
 * disagree on where a string ends. */
static void test_deep(void) {
        static const char *const before[] = { "", "{\"a\":", "[\"]]]]\",", "[\"\\\"\",", "/* \" */",
                "// \"\n", "# \"\n", "['\"',", "[\"\\u\" , \",", "[\"\\ud800\" , \",",
                "[\"\\ud800\\u\" , \",", "[\"\\u12\" , \"," };
        g_autofree char *enough = repeated("", "[", 64, ""), *flat = repeated("[[]", ",[[[]]]", 100000, "]"),
                        *closed = repeated(enough, "]", 64, "");

        for (size_t i = 0; i < G_N_ELEMENTS(before); i++) {
                g_autofree char *lists = repeated(before[i], "[", 1000000, ""),
                                *ended = repeated(before[i], "[", 1000000, "\""),
                                *objects = repeated(before[i], "{\"a\":", 300000, "");

                check_parsed(lists, false);
                check_parsed(ended, false);
                check_parsed(objects, false);
        }
        check_parsed(closed, true);
        check_parsed(flat, true);
}

static void test_files(void) {
        g_autofree char *path = NULL, *reason = NULL, *absent = NULL, *endless = NULL, *large = NULL;
        g_autoptr(JsonNode) node = NULL, none = NULL;
        int fd = g_file_open_tmp("actord-test-XXXXXX", &path, NULL);

        g_assert_cmpint(fd, >=, 0);
        g_assert_true(g_file_set_contents(path, "[3]", -1, NULL));
        g_assert_cmpint(json_read(path, &node, &reason), ==, 0);
        g_assert_cmpint(json_array_get_int_element(json_node_get_array(node), 0), ==, 3);
        g_assert_true(g_file_set_contents(path, "[3}", -1, NULL));
        g_assert_cmpint(json_read(path, &none, &reason), ==, -EBADMSG);
        g_assert_true(g_str_has_prefix(reason, "line "));
        g_assert_cmpint(truncate(path, (off_t) 1 << 31), ==, 0);
        g_assert_cmpint(json_read(path, &none, &large), ==, -EFBIG);
        g_assert_nonnull(strstr(large, "1024 MiB"));
        g_assert_cmpint(g_unlink(path), ==, 0);
        g_assert_cmpint(json_read(path, &none, &absent), ==, -ENOENT);
        g_assert_cmpint(json_read("/dev/zero", &none, &endless), ==, -ENOTSUP);
        g_assert_nonnull(strstr(endless, "regular file"));
        g_assert_null(none);
        (void) close(fd);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/json/numbers", test_numbers);
        g_test_add_func("/json/whole", test_whole);
        g_test_add_func("/json/round-trip", test_round_trip);
        g_test_add_func("/json/strings", test_strings);
        g_test_add_func("/json/parsed", test_parsed);
        g_test_add_func("/json/deep", test_deep);
        g_test_add_func("/json/files", test_files);
        return g_test_run();
}
