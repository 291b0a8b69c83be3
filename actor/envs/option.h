/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Options of an environment. A row for each key says where its value is stored and which values are allowed.
 * Functions are inline, so that a module that is linked alone contains them. */
#pragma once

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "include/actord/env.h"

typedef enum EnvOptionKind {
        ENV_OPTION_NUMBER,
        ENV_OPTION_WHOLE,
        ENV_OPTION_BOOL,
        ENV_OPTION_WORD,
} EnvOptionKind;

typedef struct EnvOption {
        const char *key;
        EnvOptionKind kind;
        size_t offset;            /* of a double, a bool or an int in the environment's own struct */
        const char *fallback;     /* the default; "": the environment sets it */
        double low, high;         /* the range of a number, including both ends */
        const char *const *words; /* NULL-terminated; the int is an index of this array */
} EnvOption;

/* Makes an EnvOption of a row in include/environment-options.h. ENV_INSTANCE is the environment's own
 * struct, which has `member`. */
#define ENV_OPTION(name, is, member, least, most, text)   \
        { .key = #name,                                   \
                .kind = ENV_OPTION_##is,                  \
                .offset = offsetof(ENV_INSTANCE, member), \
                .fallback = (text),                       \
                ENV_OPTION_LIMITS_##is(least, most) },
#define ENV_OPTION_LIMITS_NUMBER(least, most) .low = (least), .high = (most)
#define ENV_OPTION_LIMITS_WHOLE(least, most)  .low = (least), .high = (most)
#define ENV_OPTION_LIMITS_WORD(list, none)    .words = (list)
#define ENV_OPTION_LIMITS_BOOL(none, neither) .words = NULL
#define ENV_OPTIONS(rows)                     (rows), sizeof(rows) / sizeof((rows)[0])

/* Both texts are fixed arrays that another program has filled, so they must be checked for their ends. */
static inline bool env_option_valid(const ActordOption *option) {
        return memchr(option->key, 0, sizeof(option->key)) &&
               memchr(option->value, 0, sizeof(option->value));
}

static inline int env_option_parse_bool(const char *value, bool *ret) {
        static const char *const words[][2] = { { "no", "yes" }, { "false", "true" }, { "off", "on" },
                { "0", "1" } };

        for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
                for (int truth = 0; truth < 2; truth++)
                        if (strcmp(value, words[i][truth]) == 0) {
                                *ret = truth;
                                return 0;
                        }
        return -EINVAL;
}

static inline int env_option_parse_number(const EnvOption *row, const char *value, double *ret) {
        char *end;
        double x;

        x = strtod(value, &end);
        if (end == value || *end)
                return -EINVAL;
        if (!(x >= row->low && x <= row->high)) /* written so that a NaN is refused */
                return -EINVAL;
        if (row->kind == ENV_OPTION_WHOLE && x != floor(x))
                return -EINVAL;

        *ret = x;
        return 0;
}

static inline int env_option_parse_word(const EnvOption *row, const char *value, int *ret) {
        for (int i = 0; row->words[i]; i++)
                if (strcmp(value, row->words[i]) == 0) {
                        *ret = i;
                        return 0;
                }
        return -EINVAL;
}

static inline int env_option_put(const EnvOption *row, const char *value, void *target) {
        void *place = (char *) target + row->offset;

        if (!value[0])
                return 0;

        switch (row->kind) {
        case ENV_OPTION_NUMBER:
        case ENV_OPTION_WHOLE: return env_option_parse_number(row, value, place);
        case ENV_OPTION_BOOL: return env_option_parse_bool(value, place);
        case ENV_OPTION_WORD: return env_option_parse_word(row, value, place);
        }
        return -EINVAL;
}

/* Writes the defaults of all rows into `target`. */
static inline void env_options_begin(const EnvOption *rows, size_t n_rows, void *target) {
        for (size_t i = 0; i < n_rows; i++) {
                int r;

                r = env_option_put(&rows[i], rows[i].fallback, target);
                assert(r == 0);
                (void) r;
        }
}

/* Writes one option into `target`. An empty value keeps the default. -EINVAL: it is unknown or out of
 * range. */
static inline int env_option_apply(
                const EnvOption *rows, size_t n_rows, const ActordOption *option, void *target) {
        if (!env_option_valid(option))
                return -EINVAL;

        for (size_t i = 0; i < n_rows; i++)
                if (strcmp(rows[i].key, option->key) == 0)
                        return env_option_put(&rows[i], option->value, target);
        return -EINVAL;
}

/* Describes the allowed values; a long list is cut. */
static inline void env_option_wanted(const EnvOption *row, char *text, size_t size) {
        size_t n = 0;

        switch (row->kind) {
        case ENV_OPTION_NUMBER:
                (void) snprintf(text, size, "a number from %.10g to %.10g", row->low, row->high);
                break;
        case ENV_OPTION_WHOLE:
                (void) snprintf(text, size, "a whole number from %.10g to %.10g", row->low, row->high);
                break;
        case ENV_OPTION_BOOL: (void) snprintf(text, size, "yes or no"); break;
        case ENV_OPTION_WORD:
                for (size_t i = 0; row->words[i] && n < size; i++) {
                        const char *between = row->words[i + 1] ? ", " : " or ";

                        n += (size_t) snprintf(
                                        text + n, size - n, "%s%s", i == 0 ? "" : between, row->words[i]);
                }
                break;
        }
}

/* Prints a sentence to stderr about a known key with a wrong value, and the allowed values: from the fault's
 * number alone the user would not know which key was wrong. Unknown keys are found earlier, when the job
 * file is read. The sentence is one write, since other processes write to stderr, too. */
static inline void env_option_explain(const EnvOption *rows, size_t n_rows, const ActordOption *option) {
        char wanted[256] = "";

        if (!env_option_valid(option))
                return;

        for (size_t i = 0; i < n_rows; i++)
                if (strcmp(rows[i].key, option->key) == 0) {
                        env_option_wanted(&rows[i], wanted, sizeof(wanted));
                        (void) fprintf(stderr, "[Environment] %s=%s: it must be %s\n", option->key,
                                        option->value, wanted);
                }
}

/* Parses one option over the defaults. 0, or -EINVAL; after a wrong value of a known key, with a sentence on
 * stderr. */
static inline int env_option_parse(
                const EnvOption *rows, size_t n_rows, const ActordOption *option, void *target) {
        int r;

        r = env_option_apply(rows, n_rows, option, target);
        if (r < 0)
                env_option_explain(rows, n_rows, option);
        return r;
}

/* Writes the defaults, and then all given options, to `target`. */
static inline int env_options_parse(const EnvOption *rows, size_t n_rows, const ActordOption *options,
                uint32_t n_options, void *target) {
        env_options_begin(rows, n_rows, target);
        for (uint32_t i = 0; i < n_options; i++) {
                int r;

                r = env_option_parse(rows, n_rows, &options[i], target);
                if (r < 0)
                        return r;
        }
        return 0;
}
