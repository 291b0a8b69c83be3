/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the three files of the parser share: settings.c reads the file, settings-text.c one value, settings-check.c what belongs
 * together. Nobody else includes this. */
#pragma once

#include <glib.h>

#include "lib/settings.h"

/* One call of settings_parse(). */
typedef struct SettingsReader {
        const char *text, *file_name;
        GKeyFile *file;
        const SettingOverride *overrides;
        size_t n_overrides;
        GPtrArray *problems; /* of Problem */
} SettingsReader;

/* Adds a sentence that begins with the place where [section] key stands; key NULL: the section's header. value NULL: none to show. */
void reader_complain(SettingsReader *reader, const char *section, const char *key, const char *value,
                const char *format, ...) __attribute__((format(printf, 5, 6)));

/* One value into its place. 0; or -EINVAL with *ret_reason, a sentence without a subject, g_free(). */
int setting_parse(Setting i, const char *value, JobSettings *settings, char **ret_reason);

/* " (did you mean X?)" or "": g_free(). */
char *did_you_mean(const char *word, const char *const *words);

/* What a name says of the environment's options, as faas:N does, put among them. */
void settings_apply_name(SettingsReader *reader, JobSettings *settings);

/* Names that the job file gives to things that exist elsewhere: environment, its options, price sheet. */
void settings_check_names(
                SettingsReader *reader, const JobSettings *settings, const char *const *price_sheets);

/* Values that are right alone and wrong together. */
void settings_check_relations(SettingsReader *reader, const JobSettings *settings);
