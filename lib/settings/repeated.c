/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds keys that occur twice in a section. GLib silently takes the last of equal keys, so an earlier line
 * of a long file would have no effect, and its author would not notice. */
#include <errno.h>
#include <string.h>

#include "lib/settings/settings.h"

static void repeated_free(gpointer data) {
        RepeatedKey *repeated = data;

        g_free(repeated->section);
        g_free(repeated->key);
        g_free(repeated->value);
        g_free(repeated);
}

typedef struct Search {
        GHashTable *seen; /* "section\nkey" -> the line of its first occurrence */
        GPtrArray *found;
} Search;

/* Notes a key, or that it is repeated. key NULL: the section's header. */
static void look_up(Search *search, const char *section, const char *key, const char *value, unsigned line) {
        g_autofree char *name = g_strconcat(section, "\n", key, NULL);
        unsigned first = GPOINTER_TO_UINT(g_hash_table_lookup(search->seen, name));
        RepeatedKey *repeated;

        if (first == 0) {
                (void) g_hash_table_insert(search->seen, g_steal_pointer(&name), GUINT_TO_POINTER(line));
                return;
        }
        repeated = g_new(RepeatedKey, 1);
        *repeated = (RepeatedKey){ g_strdup(section), g_strdup(key), g_strdup(value), line, first };
        g_ptr_array_add(search->found, repeated);
}

GPtrArray *settings_repeated(const char *text, bool headers) {
        g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
        g_autofree char *section = g_strdup("");
        Search search = { seen, g_ptr_array_new_with_free_func(repeated_free) };

        for (unsigned i = 0; lines[i]; i++) {
                char *line = g_strstrip(lines[i]), *end = strchr(line, line[0] == '[' ? ']' : '=');

                if (line[0] == '#' || !end)
                        continue;
                *end = '\0';
                if (line[0] != '[') {
                        look_up(&search, section, g_strchomp(line), g_strchug(end + 1), i + 1);
                        continue;
                }
                g_free(section);
                section = g_strdup(line + 1);
                if (headers)
                        look_up(&search, section, NULL, NULL, i + 1);
        }
        return search.found;
}

int settings_refuse_repeated(const char *text, const char *file_name, char **ret_message) {
        g_autoptr(GPtrArray) all = settings_repeated(text, false);
        const RepeatedKey *repeated;

        if (all->len == 0)
                return 0;
        repeated = all->pdata[0];
        *ret_message = g_strdup_printf("%s:%u: [%s] %s= is in line %u already; remove one of the two.",
                        file_name, repeated->line, repeated->section, repeated->key, repeated->first);
        return -EINVAL;
}
