/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The only parser of job files: text -> JobSettings. GLib; for the control side. */
#pragma once

#include <stddef.h>
#include "include/settings.h"

typedef struct SettingOverride {
        const char *key, *value;
} SettingOverride; /* "Section.Key"; value "" unsets */

/* Parses a job file and its overrides, fills defaults, checks ranges and what belongs together (lib/settings-check.c).
 * 0; or -EINVAL with *ret_message: one sentence a line, each "FILE:LINE: [Section] Key=VALUE: reason; nearest valid word", to be freed with
 * g_free(). Overrides are located as "--set Section.Key". The environment's name is checked against the catalogue
 * (lib/environments.h) unless it is a path (contains '/'); the price sheet only against `price_sheets` (NULL-terminated; NULL: unchecked). */
int settings_parse(const char *text, const char *file_name, const SettingOverride *overrides,
                size_t n_overrides, const char *const *price_sheets, JobSettings *ret, char **ret_message);

/* The line of `text` where [section] key stands (the last one, if repeated); 0 if it does not. For messages about a value found wrong later. */
unsigned settings_locate(const char *text, const char *section, const char *key);

/* The word of `words` nearest to `word` by edit distance, or NULL when none is near. */
const char *nearest_word(const char *word, const char *const *words);
