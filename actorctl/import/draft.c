/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "actorctl/import/draft.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const sections[DRAFT_SECTIONS] = { "Job", "Actor", "Learner" };

void draft_init(Draft *draft, const DraftSource *source, const char *file) {
        *draft = (Draft){
                .source = source,
                .file = file,
                .values = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free),
                .defaults = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
                .told = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
        };
        for (size_t i = 0; i < DRAFT_SECTIONS; i++)
                draft->parts[i] = g_string_new(NULL);
}

void draft_done(Draft *draft) {
        g_hash_table_unref(draft->values);
        g_hash_table_unref(draft->defaults);
        g_hash_table_unref(draft->told);
        for (size_t i = 0; i < DRAFT_SECTIONS; i++)
                g_string_free(draft->parts[i], TRUE);
        g_free(draft->reason);
}

bool draft_refuse(Draft *draft, const char *format, ...) {
        g_autofree char *words = NULL;
        va_list arguments;

        va_start(arguments, format);
        words = g_strdup_vprintf(format, arguments);
        va_end(arguments);
        if (!draft->reason)
                draft->reason = g_strdup_printf("%s: %s", draft->file, words);
        return false;
}

const char *draft_get(const Draft *draft, const char *key) {
        return g_hash_table_lookup(draft->values, key);
}

void draft_add_default(Draft *draft, const char *key, const char *value) {
        if (g_hash_table_contains(draft->values, key))
                return;
        g_hash_table_insert(draft->values, g_strdup(key), g_strdup(value));
        g_hash_table_add(draft->defaults, g_strdup(key));
}

void draft_tell(Draft *draft, const char *key) {
        g_hash_table_add(draft->told, g_strdup(key));
}

char *draft_comment(const char *text) {
        char *line = g_strdup(text ? text : "");

        for (char *c = line; *c; c++)
                if ((unsigned char) *c < ' ' || (unsigned char) *c > '~')
                        *c = '?';
        return line;
}

static GString *part_of(Draft *draft, const char *section) {
        size_t i = 0;

        while (strcmp(sections[i], section) != 0)
                i++;
        return draft->parts[i];
}

void draft_put(Draft *draft, const char *section, const char *setting, const char *key, const char *value) {
        const DraftSource *source = draft->source;
        GString *part = part_of(draft, section);

        if (key) {
                g_autofree char *text = draft_comment(draft_get(draft, key));
                bool is_default = g_hash_table_contains(draft->defaults, key);

                g_string_append_printf(part, "# %s: %s%s%s\n",
                                is_default ? source->defaults_of : source->program, key, source->between,
                                text);
                draft_tell(draft, key);
        }
        g_string_append_printf(part, "%s=%s\n", setting, value);
}

void draft_put_number(
                Draft *draft, const char *section, const char *setting, const char *key, double value) {
        char text[G_ASCII_DTOSTR_BUF_SIZE];

        if (!isfinite(value))
                return;
        if (value == floor(value) && fabs(value) < 1e15)
                (void) g_snprintf(text, sizeof(text), "%.0f", value);
        else
                (void) g_ascii_formatd(text, sizeof(text), "%.10g", value);
        draft_put(draft, section, setting, key, text);
}

void draft_put_lines(Draft *draft, const char *section, const char *lines) {
        g_string_append(part_of(draft, section), lines);
}

static int compare_keys(const void *a, const void *b) {
        return strcmp(*(char *const *) a, *(char *const *) b);
}

static void append_list(
                const Draft *draft, bool (*listed)(const char *key, const char *text), GString *out) {
        g_autofree char **keys = (char **) g_hash_table_get_keys_as_array(draft->values, NULL);
        bool first = true;

        qsort(keys, g_hash_table_size(draft->values), sizeof(*keys), compare_keys);
        for (char **key = keys; *key; key++) {
                g_autofree char *name = draft_comment(*key), *text = draft_comment(draft_get(draft, *key));

                if (g_hash_table_contains(draft->told, *key) ||
                                g_hash_table_contains(draft->defaults, *key) ||
                                (listed && !listed(*key, text)))
                        continue;
                if (first)
                        g_string_append(out, "#\n# Not carried over:\n");
                first = false;
                g_string_append_printf(out, "#     %s%s%s\n", name, draft->source->between_listed, text);
        }
}

char *draft_compose(
                const Draft *draft, const char *head, bool (*listed)(const char *key, const char *text)) {
        GString *out = g_string_new(head);

        append_list(draft, listed, out);
        for (size_t i = 0; i < DRAFT_SECTIONS; i++)
                g_string_append_printf(out, "\n[%s]\n%s", sections[i], draft->parts[i]->str);
        return g_string_free(out, FALSE);
}
