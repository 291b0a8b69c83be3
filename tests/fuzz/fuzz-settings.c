/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parses any bytes as a job file. The parser must accept the bytes, or refuse them with a sentence that
 * names the file. Accepted settings, printed as a file of every key, are accepted again and are the same.
 * The same bytes are also tried as overrides, one a line. */
#include <glib.h>
#include <stdint.h>
#include <string.h>

#include "lib/settings/print.h"
#include "lib/settings/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *print_all(const JobSettings *settings) {
        GString *text = g_string_new(NULL);
        const char *section = "";

        for (int i = 0; i < _SETTING_MAX; i++) {
                const SettingRow *row = setting_row(i);
                char value[SETTING_TEXT_MAX];

                if (strcmp(row->section, section) != 0)
                        g_string_append_printf(text, "[%s]\n", row->section);
                section = row->section;
                /* A key that is unset and one that is set to its default have the same value, but differ in
                 * `present`. */
                if (settings_present(settings, i) && setting_print(settings, i, value) > 0)
                        g_string_append_printf(text, "%s=%s\n", row->key, value);
        }
        g_string_append(text, "[Environment]\n");
        for (uint32_t i = 0; i < settings->n_options; i++)
                g_string_append_printf(
                                text, "%s=%s\n", settings->options[i].key, settings->options[i].value);
        return g_string_free(text, FALSE);
}

static void try_file(const char *text) {
        g_autofree char *message = NULL, *again_message = NULL, *printed = NULL;
        JobSettings settings, again;

        if (settings_parse(text, "FILE", NULL, 0, NULL, &settings, &message) < 0) {
                g_assert(message && (strstr(message, "FILE") || strstr(message, "--set")));
                g_assert(g_utf8_validate(message, -1, NULL));
                return;
        }
        printed = print_all(&settings);
        if (settings_parse(printed, "AGAIN", NULL, 0, NULL, &again, &again_message) < 0)
                g_error("%s\n%s", again_message, printed);
        g_assert(memcmp(&settings, &again, sizeof(settings)) == 0);
}

static void try_overrides(const char *text) {
        g_auto(GStrv) lines = g_strsplit(text, "\n", 16);
        SettingOverride overrides[16];
        size_t n = 0;
        g_autofree char *message = NULL;
        JobSettings settings;

        for (char **line = lines; *line; line++) {
                char *equals = strchr(*line, '=');

                if (!equals)
                        continue;
                *equals = '\0';
                overrides[n++] = (SettingOverride){ *line, equals + 1 };
        }
        if (settings_parse("[Job]\nEnvironment=CartPole-v1\n", "FILE", overrides, n, NULL, &settings,
                            &message) < 0)
                g_assert(g_utf8_validate(message, -1, NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        g_autofree char *text = g_strndup((const char *) data, size);

        try_file(text);
        try_overrides(text);
        return 0;
}
