/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The parser of job files, from text to JobSettings. GLib reads the key file; the table of
 * include/settings.h lists the keys. */
#include "lib/settings/settings.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "lib/settings/internal.h"
#include "lib/settings/print.h"

/* The names of the sections, or of one section's keys, each once; NULL-terminated. */
static GPtrArray *section_names(void) {
        GPtrArray *names = g_ptr_array_new();

        for (int i = 0; i < _SETTING_MAX; i++)
                if (i == 0 || strcmp(setting_row(i)->section, setting_row(i - 1)->section) != 0)
                        g_ptr_array_add(names, (gpointer) setting_row(i)->section);
        g_ptr_array_add(names, (gpointer) "Environment");
        g_ptr_array_add(names, NULL);
        return names;
}

static GPtrArray *key_names(const char *section) {
        GPtrArray *names = g_ptr_array_new();

        for (int i = 0; i < _SETTING_MAX; i++)
                if (strcmp(setting_row(i)->section, section) == 0)
                        g_ptr_array_add(names, (gpointer) setting_row(i)->key);
        g_ptr_array_add(names, NULL);
        return names;
}

static Setting find_setting(const char *section, const char *key) {
        for (int i = 0; i < _SETTING_MAX; i++)
                if (strcmp(setting_row(i)->section, section) == 0 && strcmp(setting_row(i)->key, key) == 0)
                        return i;
        return _SETTING_INVALID;
}

/* The sections that have this key, each printed by format(), such as "[Distribution] or [Scaling]" for
 * Policy=. NULL: no section has it. */
static char *places_of_key(const char *key, char *(*format)(const SettingRow *row)) {
        g_autoptr(GString) places = g_string_new(NULL);

        for (int i = 0; i < _SETTING_MAX; i++) {
                g_autofree char *place = NULL;

                if (g_ascii_strcasecmp(setting_row(i)->key, key) != 0)
                        continue;
                place = format(setting_row(i));
                g_string_append_printf(places, "%s%s", places->len > 0 ? " or " : "", place);
        }
        return places->len > 0 ? g_string_free(g_steal_pointer(&places), FALSE) : NULL;
}

static char *format_section(const SettingRow *row) {
        return g_strdup_printf("[%s]", row->section);
}

static char *format_override(const SettingRow *row) {
        return g_strdup_printf("%s.%s", row->section, row->key);
}

static bool section_known(const char *section) {
        g_autoptr(GPtrArray) names = section_names();

        return g_strv_contains((const char *const *) names->pdata, section);
}

/* Complains of an unknown key. */
static void check_key(SettingsReader *reader, const char *section, const char *key, const char *value) {
        g_autoptr(GPtrArray) keys = NULL;
        g_autofree char *hint = NULL, *elsewhere = NULL;

        if (strcmp(section, "Environment") == 0 || find_setting(section, key) >= 0 || problem_count(reader))
                return;
        keys = key_names(section);
        elsewhere = places_of_key(key, format_section);
        if (!nearest_word(key, (const char *const *) keys->pdata) && elsewhere)
                hint = g_strdup_printf("; it belongs to %s", elsewhere);
        else
                hint = did_you_mean(key, (const char *const *) keys->pdata);
        reader_complain(reader, section, key, value, "unknown key%s", hint);
}

static void check_section(SettingsReader *reader, const char *section) {
        g_autoptr(GPtrArray) sections = NULL;
        g_autofree char *hint = NULL;

        /* Sections of an inner job, which are checked when the inner job is parsed. */
        if (g_str_has_prefix(section, SETTINGS_INNER_PREFIX))
                return;
        if (section_known(section)) {
                g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
                g_auto(GStrv) keys = g_key_file_get_keys(reader->file, section, NULL, NULL);

                for (char **key = keys; key && *key; key++) {
                        g_autofree char *value = g_key_file_get_value(reader->file, section, *key, NULL);

                        if (g_hash_table_add(seen, *key))
                                check_key(reader, section, *key, value ? value : "");
                }
                return;
        }
        if (problem_count(reader))
                return;
        sections = section_names();
        hint = strcmp(section, "Experiment") == 0
                               ? g_strdup("; this is an experiment: `actorctl experiment` runs it")
                               : did_you_mean(section, (const char *const *) sections->pdata);
        reader_complain(reader, section, NULL, NULL, "unknown section%s", hint);
}

/* Says what to write instead of an override that names no section, such as --set StopSteps=10. */
static void complain_sectionless(SettingsReader *reader, const char *key, const char *value) {
        g_autofree char *elsewhere = places_of_key(key, format_override);

        if (elsewhere)
                problem_add(reader, UINT_MAX,
                                g_strdup_printf("--set %s=%s: a section is missing; did you mean %s?", key,
                                                value, elsewhere));
        else
                problem_add(reader, UINT_MAX,
                                g_strdup_printf("--set %s=%s: a section is missing: write "
                                                "Section.Key=VALUE",
                                                key, value));
}

static void check_override(SettingsReader *reader, const SettingOverride *override) {
        g_autofree char *section = NULL, *hint = NULL, *key = value_shown(override->key),
                        *value = value_shown(override->value);
        g_autoptr(GPtrArray) sections = NULL;
        const char *point = strchr(override->key, '.');

        if (!g_utf8_validate(override->key, -1, NULL) || !g_utf8_validate(override->value, -1, NULL)) {
                problem_add(reader, UINT_MAX,
                                g_strdup_printf("--set %s=%s: the text is not UTF-8", key, value));
                return;
        }
        if (!point) {
                complain_sectionless(reader, key, value);
                return;
        }
        section = g_strndup(override->key, (size_t) (point - override->key));
        if (section_known(section)) {
                check_key(reader, section, point + 1, override->value);
                return;
        }
        sections = section_names();
        hint = did_you_mean(section, (const char *const *) sections->pdata);
        problem_add(reader, UINT_MAX, g_strdup_printf("--set %s=%s: unknown section%s", key, value, hint));
}

/* The value, trimmed; NULL: it is missing or empty. */
static char *given_value(const SettingsReader *reader, const char *section, const char *key) {
        const SettingOverride *override = find_override(reader, section, key);
        g_autofree char *value = override ? g_strdup(override->value)
                                          : g_key_file_get_value(reader->file, section, key, NULL);

        if (!value || g_strstrip(value)[0] == '\0')
                return NULL;
        return g_steal_pointer(&value);
}

/* An earlier version rounded a fraction where a whole number is needed. This version refuses it. A job that
 * the earlier version accepted must keep its number. */
static bool parse_rounded(Setting i, const char *value, JobSettings *settings) {
        g_autofree char *rounded = setting_round(value), *reason = NULL;

        return setting_parse(i, rounded, settings, &reason) >= 0;
}

static void read_setting(SettingsReader *reader, Setting i, JobSettings *settings) {
        const SettingRow *row = setting_row(i);
        g_autofree char *value = given_value(reader, row->section, row->key), *reason = NULL;

        if (row->fallback[0] != '\0') {
                /* Defaults go through the same parser: a default that it refuses is a bug in the table. */
                if (setting_parse(i, row->fallback, settings, &reason) < 0)
                        g_error("default of [%s] %s=%s: %s", row->section, row->key, row->fallback, reason);
        }
        if (!value)
                return;
        if (setting_parse(i, value, settings, &reason) < 0 &&
                        !(reader->stored && parse_rounded(i, value, settings)))
                reader_complain(reader, row->section, row->key, value, "%s", reason);
        else
                settings->present[i / 64] |= 1ull << (i % 64);
}

static void read_option(SettingsReader *reader, const char *key, JobSettings *settings) {
        g_autofree char *value = given_value(reader, "Environment", key);
        ActordOption *option;

        if (!value || settings_option(settings, key))
                return;
        if (settings->n_options >= OPTIONS_MAX) {
                reader_complain(reader, "Environment", key, value, "more than %u keys", OPTIONS_MAX);
                return;
        }
        option = &settings->options[settings->n_options];
        if (strlen(key) >= sizeof(option->key) || strlen(value) >= sizeof(option->value)) {
                reader_complain(reader, "Environment", key, value,
                                "too long: a key has at most %zu bytes and a value %zu",
                                sizeof(option->key) - 1, sizeof(option->value) - 1);
                return;
        }
        strcpy(option->key, key);
        strcpy(option->value, value);
        settings->n_options++;
}

static void read_options(SettingsReader *reader, JobSettings *settings) {
        g_auto(GStrv) keys = g_key_file_get_keys(reader->file, "Environment", NULL, NULL);

        for (char **key = keys; key && *key; key++)
                read_option(reader, *key, settings);
        for (size_t i = 0; i < reader->n_overrides; i++)
                if (g_str_has_prefix(reader->overrides[i].key, "Environment."))
                        read_option(reader, reader->overrides[i].key + strlen("Environment."), settings);
}

/* Some editors write this mark at the beginning of a UTF-8 file. */
#define BYTE_ORDER_MARK "\xef\xbb\xbf"

static bool loads(const char *text, size_t length, GError **ret_error) {
        g_autoptr(GKeyFile) file = g_key_file_new();

        return g_key_file_load_from_data(file, length > 0 ? text : "", length, G_KEY_FILE_NONE, ret_error);
}

/* GLib stops at the first line that it cannot read. A binary search finds the shortest beginning of the text
 * that does not load; that line is its last. */
static void complain_syntax(SettingsReader *reader) {
        g_autoptr(GArray) ends = g_array_new(FALSE, FALSE, sizeof(size_t));
        const char *text = reader->text, *line, *reason;
        guint good = 0, bad;

        for (const char *p = text; *p;) {
                size_t end = (size_t) (p - text) + strcspn(p, "\n");

                end += text[end] == '\n';
                g_array_append_val(ends, end);
                p = text + end;
        }
        for (bad = ends->len; good + 1 < bad;) {
                guint middle = (good + bad) / 2;

                *(loads(text, g_array_index(ends, size_t, middle - 1), NULL) ? &good : &bad) = middle;
        }
        line = text + (bad > 1 ? g_array_index(ends, size_t, bad - 2) : 0);
        line += strspn(line, " \t");
        if (g_str_has_prefix(line, BYTE_ORDER_MARK))
                reason = "the file begins with a byte order mark, which cannot be seen: save it as UTF-8 "
                         "without one";
        else if (*line == '[')
                reason = "not a section: write [Section], alone on its line";
        else if (!memchr(line, '=', strcspn(line, "\n")))
                reason = "neither a section nor Key=VALUE, and not a comment (# …)";
        else if (settings_locate(text, "", NULL) == 0 && good == 0)
                reason = "before the first section: write [Job] above it";
        else
                reason = "not a Key=VALUE that can be read";
        complain_line(reader, MAX(bad, 1u), reason);
}

static bool read_file(SettingsReader *reader) {
        const char *end;

        if (strlen(reader->text) > JOB_TEXT_MAX) {
                problem_add(reader, 0,
                                g_strdup_printf("%s: the file is longer than %u KiB", reader->file_name,
                                                JOB_TEXT_MAX / 1024));
                return false;
        }
        if (!g_utf8_validate(reader->text, -1, &end)) {
                unsigned line = 1;

                for (const char *p = reader->text; p < end; p++)
                        line += *p == '\n';
                complain_line(reader, line, "the text is not UTF-8");
                return false;
        }
        if (reader->text[0] == '\0' || g_key_file_load_from_data(reader->file, reader->text,
                                                       strlen(reader->text), G_KEY_FILE_NONE, NULL))
                return true;
        complain_syntax(reader);
        return false;
}

static void complain_repeated(SettingsReader *reader, const RepeatedKey *repeated) {
        g_autofree char *seen = NULL, *safe = NULL;

        if (problem_count(reader))
                return;
        seen = g_strconcat(repeated->key, "=", repeated->value, NULL);
        safe = value_shown(seen);
        problem_add(reader, repeated->line,
                        g_strdup_printf("%s:%u: [%s] %s: %s= is in line %u already; "
                                        "remove one of the two",
                                        reader->file_name, repeated->line, repeated->section, safe,
                                        repeated->key, repeated->first));
}

static void check_repeated(SettingsReader *reader) {
        g_autoptr(GPtrArray) all = settings_repeated(reader->text, false);

        for (guint i = 0; i < all->len; i++)
                complain_repeated(reader, all->pdata[i]);
}

static void read_all(SettingsReader *reader, const char *const *price_sheets, JobSettings *settings) {
        g_auto(GStrv) sections = g_key_file_get_groups(reader->file, NULL);

        for (char **section = sections; *section; section++)
                check_section(reader, *section);
        if (!reader->stored)
                check_repeated(reader);
        for (size_t i = 0; i < reader->n_overrides; i++)
                check_override(reader, &reader->overrides[i]);
        for (int i = 0; i < _SETTING_MAX; i++)
                read_setting(reader, i, settings);
        read_options(reader, settings);
        settings_apply_name(reader, settings);
        settings_check_names(reader, settings, price_sheets);
        /* The last checks run only if there are no other errors. A key whose value was refused still has its
         * default, and a message about a contradiction with that default would confuse the user. */
        if (reader->problems->len == 0)
                settings_check_relations(reader, settings);
}

static char *problems_to_text(GPtrArray *problems) {
        GString *text = g_string_new(NULL);

        g_ptr_array_sort(problems, problem_compare);
        for (guint i = 0; i < problems->len && i < PROBLEMS_MAX; i++)
                g_string_append_printf(
                                text, "%s%s", i > 0 ? "\n" : "", ((Problem *) problems->pdata[i])->sentence);
        if (problems->len > PROBLEMS_MAX)
                g_string_append_printf(text, "\nand %u more", problems->len - PROBLEMS_MAX);
        return g_string_free(text, FALSE);
}

static int parse(SettingsReader *reader, const char *const *price_sheets, JobSettings *ret,
                char **ret_message) {
        g_autoptr(GKeyFile) file = g_key_file_new();
        g_autoptr(GPtrArray) problems = g_ptr_array_new_with_free_func(problem_free);
        g_autofree JobSettings *settings = g_new0(JobSettings, 1);

        g_assert(reader->text);
        g_assert(reader->file_name);
        g_assert(reader->overrides || reader->n_overrides == 0);
        g_assert(ret);
        g_assert(ret_message);

        reader->file = file;
        reader->problems = problems;
        settings->abi = SETTINGS_ABI;
        settings->struct_bytes = sizeof(*settings);
        if (read_file(reader))
                read_all(reader, price_sheets, settings);
        if (problems->len > 0) {
                *ret_message = problems_to_text(problems);
                return -EINVAL;
        }
        *ret = *settings;
        return 0;
}

int settings_parse(const char *text, const char *file_name, const SettingOverride *overrides,
                size_t n_overrides, const char *const *price_sheets, JobSettings *ret, char **ret_message) {
        SettingsReader reader = {
                .text = text, .file_name = file_name, .overrides = overrides, .n_overrides = n_overrides
        };

        return parse(&reader, price_sheets, ret, ret_message);
}

int settings_parse_stored(const char *text, const char *file_name, const SettingOverride *overrides,
                size_t n_overrides, JobSettings *ret, char **ret_message) {
        SettingsReader reader = {
                .text = text,
                .file_name = file_name,
                .overrides = overrides,
                .n_overrides = n_overrides,
                .stored = true,
        };

        return parse(&reader, NULL, ret, ret_message);
}
