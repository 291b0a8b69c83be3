/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Messages about a job file. GLib keeps no line numbers, so the line of a value is searched for in the text
 * when a message needs it. */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "lib/settings/internal.h"

#define SHOWN_MAX 80

void problem_free(gpointer data) {
        Problem *problem = data;

        g_free(problem->sentence);
        g_free(problem);
}

int problem_compare(gconstpointer a, gconstpointer b) {
        const Problem *x = *(const Problem *const *) a, *y = *(const Problem *const *) b;

        return (x->line > y->line) - (x->line < y->line);
}

void problem_add(SettingsReader *reader, unsigned line, char *sentence) {
        Problem *problem = g_new(Problem, 1);

        *problem = (Problem){ line, sentence };
        g_ptr_array_add(reader->problems, problem);
}

bool problem_count(SettingsReader *reader) {
        if (reader->problems->len < SENTENCES_MAX)
                return false;
        problem_add(reader, UINT_MAX, NULL);
        return true;
}

/* Complains about the syntax of a line that has no key to name. */
void complain_line(SettingsReader *reader, unsigned line, const char *reason) {
        problem_add(reader, line, g_strdup_printf("%s:%u: %s", reader->file_name, line, reason));
}

static char *strip(const char *start, size_t length) {
        return g_strstrip(g_strndup(start, length));
}

/* The section's name if the line is a header; otherwise NULL. */
static char *line_section(const char *line, size_t length) {
        g_autofree char *text = strip(line, length);
        size_t n = strlen(text);

        return n >= 2 && text[0] == '[' && text[n - 1] == ']' ? g_strndup(text + 1, n - 2) : NULL;
}

static bool line_has_key(const char *line, size_t length, const char *key) {
        const char *equals = memchr(line, '=', length);
        g_autofree char *name = equals ? strip(line, (size_t) (equals - line)) : NULL;

        return name && strcmp(name, key) == 0;
}

unsigned settings_locate(const char *text, const char *section, const char *key) {
        g_autofree char *current = NULL;
        unsigned found = 0, number = 1;

        for (const char *line = text; *line; number++) {
                size_t length = strcspn(line, "\n");
                const char *start = line + strspn(line, " \t\r\f\v");
                char *header = *start == '[' ? line_section(line, length) : NULL;

                if (header) {
                        g_free(current);
                        current = header;
                }
                /* The cheap comparison comes first: most lines have another key. */
                if (current && strcmp(current, section) == 0 &&
                                (key ? g_str_has_prefix(start, key) && line_has_key(line, length, key)
                                     : !!header))
                        found = number;
                line += length + (line[length] == '\n');
        }
        return found;
}

/* The last override of this key; NULL: none. */
const SettingOverride *find_override(const SettingsReader *reader, const char *section, const char *key) {
        size_t n = strlen(section);

        for (size_t i = reader->n_overrides; i > 0; i--) {
                const SettingOverride *o = &reader->overrides[i - 1];

                if (strncmp(o->key, section, n) == 0 && o->key[n] == '.' && strcmp(o->key + n + 1, key) == 0)
                        return o;
        }
        return NULL;
}

char *value_shown(const char *value) {
        g_autofree char *valid = g_utf8_make_valid(value, -1);
        g_autofree char *head = g_utf8_substring(valid, 0, MIN(g_utf8_strlen(valid, -1), SHOWN_MAX));

        for (char *p = head; *p; p++)
                if (g_ascii_iscntrl(*p))
                        *p = '?';
        return g_strconcat(head, strlen(head) < strlen(valid) ? "…" : "", NULL);
}

void reader_complain(SettingsReader *reader, const char *section, const char *key, const char *value,
                const char *format, ...) {
        g_autofree char *reason = NULL, *seen = NULL;
        unsigned line;
        va_list arguments;

        g_assert(reader);
        g_assert(section);

        if (problem_count(reader))
                return;
        va_start(arguments, format);
        reason = g_strdup_vprintf(format, arguments);
        va_end(arguments);

        seen = key ? g_strconcat(key, "=", value, NULL) : NULL;
        if (seen) {
                char *safe = value_shown(seen);

                g_free(seen);
                seen = safe;
        }
        if (key && find_override(reader, section, key)) {
                problem_add(reader, UINT_MAX, g_strdup_printf("--set %s.%s: %s", section, seen, reason));
                return;
        }
        line = settings_locate(reader->text, section, key);
        if (line == 0)
                problem_add(reader, 0,
                                g_strdup_printf("%s: [%s] %s: %s", reader->file_name, section,
                                                seen ? seen : "", reason));
        else
                problem_add(reader, line,
                                g_strdup_printf("%s:%u: [%s]%s%s: %s", reader->file_name, line, section,
                                                seen ? " " : "", seen ? seen : "", reason));
}
