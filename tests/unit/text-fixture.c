/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tests/unit/text-fixture.h"

#include <string.h>

char *text_last_values(const char *text) {
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
        g_autoptr(GHashTable) places = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        const char *section = "";

        for (char **line = lines; *line; line++) {
                const char *equals = strchr(*line, '=');
                char **earlier, *key;

                if (**line == '[')
                        section = *line;
                if (**line == '[' || !equals)
                        continue;
                key = g_strdup_printf("%s%.*s", section, (int) (equals - *line), *line);
                earlier = g_hash_table_lookup(places, key);
                if (earlier)
                        **earlier = '\0';
                g_hash_table_replace(places, key, line);
        }
        return g_strjoinv("\n", lines);
}
