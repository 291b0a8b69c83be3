/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* JSON that goes out is read by everybody, with every digit; what comes in ends nobody's stack. */
#include <glib.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "actorctl/json.h"

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
                { -2e300, "-2.0000000000000001e+300" },
                { 5e-324, "4.9406564584124654e-324" },
                { DBL_MAX, "1.7976931348623157e+308" },
                { 0, "0.0" },
                { -0.0, "-0.0" },
                { 1, "1.0" },
                { 120, "120.0" },
                { 0.1, "0.10000000000000001" },
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
        g_assert_cmpstr(beyond, ==, "1.8446744073709552e+19");
        g_assert_cmpstr(ten, ==, "1e+19");
}

/* A number is a whole one with an exponent, then any; each comes back as it was. */
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

/* Strings and names are not numbers, whatever stands in them. */
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
                        "{\"1e-08.0\":\"\\\"1e-08.0, \\\\\\\" 2e+30.0\\\\\",\"x\":-1e-08,\"n\":3,\"e\":true}");
        g_assert_cmpuint(n, ==, strlen(text));
        pretty = json_text(node, true, NULL);
        g_assert_nonnull(strstr(pretty, "\"x\" : -1e-08,\n"));
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/json/numbers", test_numbers);
        g_test_add_func("/json/round-trip", test_round_trip);
        g_test_add_func("/json/strings", test_strings);
        return g_test_run();
}
