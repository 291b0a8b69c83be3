/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Prints JobSettings as text, and describes keys. It needs only libc, since the learner writes settings into
 * checkpoints. */
#pragma once

#include <stddef.h>
#include "include/settings.h"

#define SETTING_TEXT_MAX 1024u

typedef struct SettingRow {
        const char *section, *key, *type, *fallback, *help;
} SettingRow;

const SettingRow *setting_row(Setting i); /* NULL: i is out of range. */

/* The words that a setting may have, terminated by NULL: yes and no, those of a choice, or those that may
 * stand before the colon of a scheduler or of Shares=. NULL: it may have any value of its type. */
const char *const *setting_words(Setting i);

/* Prints the canonical text of a setting, which parses to the same value; "" if it is unset and has no
 * default. Returns its length. */
size_t setting_print(const JobSettings *settings, Setting i, char ret[SETTING_TEXT_MAX]);

/* The words of the choices: choice_algorithm_to_string(ALGORITHM_PPO) == "ppo"; NULL: out of range.
 * choice_algorithm_from_string("ppo") == ALGORITHM_PPO; -EINVAL: it is no word of the choice. */
#define X(type, PREFIX, list)                                  \
        const char *choice_##type##_to_string(uint32_t value); \
        int choice_##type##_from_string(const char *word);
CHOICES(X)
#undef X
