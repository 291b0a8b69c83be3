/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parses arbitrary bytes as JSON, however deeply nested. json_parse() must refuse them with a reason, or
 * read them. JSON that was read is printed, read again, and must print as the same text. */
#include <glib.h>
#include <stdint.h>
#include <string.h>

#include "actorctl/view/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        g_autofree char *text = g_strndup((const char *) data, size), *reason = NULL, *once = NULL,
                        *twice = NULL;
        g_autoptr(JsonNode) node = NULL, again = NULL;
        size_t n;

        if (json_parse(text, size, &node, &reason) < 0) {
                g_assert(reason && *reason);
                return 0;
        }
        if (!node)
                return 0;
        once = json_text(node, false, &n);
        g_assert_cmpint(json_parse(once, n, &again, &reason), ==, 0);
        twice = json_text(again, false, NULL);
        g_assert_cmpstr(once, ==, twice);
        return 0;
}
