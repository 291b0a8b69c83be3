/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The only parser of job files, from text to JobSettings. It uses GLib; for the control side. */
#pragma once

#include <glib.h>
#include <stddef.h>

#include "include/settings.h"

typedef struct SettingOverride {
        const char *key, *value;
} SettingOverride; /* "Section.Key"; an empty value unsets it */

/* Parses a job file and its overrides, fills in defaults, and checks ranges and combinations of values
 * (lib/settings/check.c). 0; or -EINVAL with *ret_message: one sentence on each line, as "FILE:LINE:
 * [Section] Key=VALUE: reason; nearest valid word", to be freed with g_free(). For an override, "--set
 * Section.Key" stands in place of FILE:LINE. The environment's name is checked against the catalogue
 * (lib/environments.h), unless it is a path (contains '/'). The price sheet, unless it is a path, is checked
 * against `price_sheets` (NULL-terminated; NULL: unchecked). */
int settings_parse(const char *text, const char *file_name, const SettingOverride *overrides,
                size_t n_overrides, const char *const *price_sheets, JobSettings *ret, char **ret_message);
/* Parses a text that was accepted before, perhaps by an earlier version. A key may occur twice: its last
 * value counts. A whole number that was written as a fraction is rounded. */
int settings_parse_stored(const char *text, const char *file_name, const SettingOverride *overrides,
                size_t n_overrides, JobSettings *ret, char **ret_message);

/* The inner job of Environment=job:FILE is in the outer job's text, in sections whose names begin with this
 * (lib/settings/inner.c). */
#define SETTINGS_INNER_PREFIX "Inner."

/* Parses the inner job of a text whose own settings, `outer`, have been parsed. 0; -ENOENT: the text has no
 * inner job; -EINVAL. On failure *ret_message is as for settings_parse(). */
int settings_parse_inner(const char *text, const char *file_name, const JobSettings *outer, JobSettings *ret,
                char **ret_message);
/* Whether a job can be trained inside another one. 0; -EINVAL with *ret_message. text: the text of the inner
 * job, for the line numbers. */
int settings_check_inner(const JobSettings *outer, const JobSettings *inner, const char *text,
                const char *file_name, char **ret_message);
/* The settings that a job was given, as sections of an inner job; g_free(). */
char *settings_print_inner(const JobSettings *settings);

/* The line of [section] key in `text` (the last one, if repeated); 0: it is not there. key NULL: the line of
 * the section's header. This is for messages about values that are found to be wrong later. */
unsigned settings_locate(const char *text, const char *section, const char *key);

/* A key that occurs a second time in its section. key and value NULL: a header that occurs a second time. */
typedef struct RepeatedKey {
        char *section, *key, *value;
        unsigned line, first; /* first: the line of the first occurrence */
} RepeatedKey;

/* All repeated keys in the order of their lines and, with `headers`, repeated headers;
 * g_ptr_array_unref(). */
GPtrArray *settings_repeated(const char *text, bool headers);
/* 0; -EINVAL with *ret_message, a sentence about the first repeated key. */
int settings_refuse_repeated(const char *text, const char *file_name, char **ret_message);

/* Parse a size and a time: "90", "16M", "5min", "2h 30min". -EINVAL: it is not such a quantity; -ERANGE: it
 * is negative or too large. */
int settings_parse_bytes(const char *text, uint64_t *ret_bytes);
int settings_parse_time(const char *text, uint64_t *ret_usec);
/* Parses an amount above zero: "0.05", "0.05USD". -EINVAL: it is not such an amount. */
int settings_parse_money(const char *text, setting_money *ret);
/* "90", "-1.5e-3". -EINVAL: it is not a number; -ERANGE. */
int settings_parse_real(const char *text, double lowest, double highest, double *ret);

/* The word of `words` that is nearest to `word` by edit distance; NULL: none is near. */
const char *nearest_word(const char *word, const char *const *words);
