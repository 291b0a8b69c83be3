/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shared by the files of the parser: settings.c reads the file, text.c one value, inner.c an inner job,
 * check.c and check-learner.c check values together, problems.c words the messages. No other file includes
 * this. */
#pragma once

#include <glib.h>

#include "lib/settings/settings.h"

/* One call of settings_parse() or settings_parse_stored(). */
typedef struct SettingsReader {
        const char *text, *file_name;
        GKeyFile *file;
        const SettingOverride *overrides;
        size_t n_overrides;
        bool stored;         /* the text was accepted before (settings_parse_stored()) */
        GPtrArray *problems; /* Problems */
} SettingsReader;

#define PROBLEMS_MAX 20u /* the most problems that a message prints */
/* The most problems that get a sentence; further ones are only counted. A text can have a mistake in each of
 * its thousands of lines, and the daemon must not spend minutes on sentences. */
#define SENTENCES_MAX 64u

typedef struct Problem {
        unsigned line;  /* UINT_MAX: an override, or only counted; 0: no line has the key */
        char *sentence; /* NULL: the problem is only counted */
} Problem;

void problem_free(gpointer problem);
int problem_compare(gconstpointer a, gconstpointer b); /* For an array of Problem *: sorts by line. */
/* Call this before a sentence about a problem is made. True: SENTENCES_MAX problems have one, so this
 * problem needs none, and was counted. */
bool problem_count(SettingsReader *reader);
/* Adds the problem, and takes over the sentence. */
void problem_add(SettingsReader *reader, unsigned line, char *sentence);
void complain_line(SettingsReader *reader, unsigned line, const char *reason);

/* A value as messages show it: shortened, valid UTF-8, with a ? for each ASCII control character;
 * g_free(). */
char *value_shown(const char *value);

/* The newest override of a key, or NULL. */
const SettingOverride *find_override(const SettingsReader *reader, const char *section, const char *key);

/* Adds a message that begins with the place of [section] key. key NULL: the place of the section's header.
 * value NULL: no value is shown. */
void reader_complain(SettingsReader *reader, const char *section, const char *key, const char *value,
                const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Stores one value. 0; or -EINVAL with *ret_reason, a sentence without a subject, g_free(). */
int setting_parse(Setting i, const char *value, JobSettings *settings, char **ret_reason);

/* The value with each of its numbers rounded to a whole number; g_free(). */
char *setting_round(const char *value);

/* "; did you mean X?" or ""; g_free(). */
char *did_you_mean(const char *word, const char *const *words);

/* Adds the options that the environment's name contains, as faas:N does. */
void settings_apply_name(SettingsReader *reader, JobSettings *settings);

/* Checks names of things outside of the file: the environment, its options, the price sheet. */
void settings_check_names(
                SettingsReader *reader, const JobSettings *settings, const char *const *price_sheets);

/* Checks values that are valid alone but not together. */
void settings_check_relations(SettingsReader *reader, const JobSettings *settings);

/* Checks values of [Learner] that are valid alone but not together (check-learner.c). */
void settings_check_learner(SettingsReader *reader, const JobSettings *settings);
