/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Prints settings as text. Parsing a printed value gives the very same value. So the unit is the largest one
 * that divides the value evenly, and a number has as many digits as it needs. No program changes LC_NUMERIC,
 * so the decimal separator is a point. */
#include "lib/settings/print.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"

static const SettingRow rows[] = {
#define X(section, key, type, member, fallback, lowest, highest, help) \
        { #section, #key, #type, fallback, help },
        SETTINGS(X)
#undef X
};
static_assert(ELEMENTSOF(rows) == _SETTING_MAX, "a row per setting");

const SettingRow *setting_row(Setting i) {
        return (unsigned) i < _SETTING_MAX ? &rows[i] : NULL;
}

/* "..." stands for further columns, which some lists of words have */
#define X(name, word, ...)        word,
#define TABLE(type, PREFIX, list) static const char *const words_##type[] = { list(X) NULL };
CHOICES(TABLE)
#undef TABLE
#undef X

/* Words that files of older versions may have, each with its current name. */
static const char *word_now(const char *word) {
        static const char *const words[][2] = {
                { "generic", "scalar" }, /* KernelClass= */
                { "haswell", "avx2" },
                { "skylakex", "avx512" },
        };

        for (size_t i = 0; i < ELEMENTSOF(words); i++)
                if (strcmp(words[i][0], word) == 0)
                        return words[i][1];
        return word;
}

#define TABLE(type, PREFIX, list)                                                       \
        const char *choice_##type##_to_string(uint32_t value) {                         \
                return value < ELEMENTSOF(words_##type) ? words_##type[value] : NULL;   \
        }                                                                               \
        int choice_##type##_from_string(const char *word) {                             \
                for (size_t i = 0; words_##type[i]; i++)                                \
                        if (strcmp(words_##type[i], word_now(word)) == 0)               \
                                return (int) i;                                         \
                return -EINVAL;                                                         \
        }                                                                               \
        static int print_choice_##type(const setting_choice_##type *value, char *ret) { \
                const char *word = choice_##type##_to_string(*value);                   \
                                                                                        \
                return snprintf(ret, SETTING_TEXT_MAX, "%s", word ? word : "");         \
        }
CHOICES(TABLE)
#undef TABLE

const char *const *setting_words(Setting i) {
        static const char *const yes_no[] = { "yes", "no", NULL };
        const SettingRow *row = setting_row(i);

        if (!row)
                return NULL;
        if (strcmp(row->type, "bool") == 0)
                return yes_no;
        if (strcmp(row->type, "policy") == 0)
                return words_scheduler;
        if (strcmp(row->type, "shares") == 0)
                return words_shares_kind;
#define TABLE(type_, PREFIX, list)                    \
        if (strcmp(row->type, "choice_" #type_) == 0) \
                return words_##type_;
        CHOICES(TABLE)
#undef TABLE
        return NULL;
}

static int print_string(const setting_string *value, char *ret) {
        return snprintf(ret, SETTING_TEXT_MAX, "%s", *value);
}

static int print_u32(const setting_u32 *value, char *ret) {
        return snprintf(ret, SETTING_TEXT_MAX, "%" PRIu32, *value);
}

static int print_u64(const setting_u64 *value, char *ret) {
        return snprintf(ret, SETTING_TEXT_MAX, "%" PRIu64, *value);
}

static int print_bool(const setting_bool *value, char *ret) {
        return snprintf(ret, SETTING_TEXT_MAX, "%s", *value ? "yes" : "no");
}

/* Prints the fewest digits that restore the same double. */
static int print_f64(const setting_f64 *value, char *ret) {
        int n = 0;

        for (int digits = 6; digits <= 17; digits++) {
                n = snprintf(ret, SETTING_TEXT_MAX, "%.*g", digits, *value);
                if (strtod(ret, NULL) == *value)
                        break;
        }
        return n;
}

static int print_percent(const setting_percent *value, char *ret) {
        if (*value % 10 == 0)
                return snprintf(ret, SETTING_TEXT_MAX, "%" PRIu32 "%%", *value / 10);
        return snprintf(ret, SETTING_TEXT_MAX, "%" PRIu32 ".%" PRIu32 "%%", *value / 10, *value % 10);
}

static int print_bytes(const setting_bytes *value, char *ret) {
        static const char suffixes[] = " KMGT";
        uint64_t n = *value;
        unsigned i = 0;

        while (n != 0 && n % 1024 == 0 && i + 2 < sizeof(suffixes)) {
                n /= 1024;
                i++;
        }
        return snprintf(ret, SETTING_TEXT_MAX, "%" PRIu64 "%.*s", n, i > 0, &suffixes[i]);
}

static int print_usec(const setting_usec *value, char *ret) {
        static const struct {
                const char *name;
                uint64_t usec;
        } units[] = { { "h", 3600000000 }, { "min", 60000000 }, { "s", 1000000 }, { "ms", 1000 },
                { "us", 1 } };

        if (*value == 0)
                return snprintf(ret, SETTING_TEXT_MAX, "0");
        for (size_t i = 0;; i++)
                if (*value % units[i].usec == 0)
                        return snprintf(ret, SETTING_TEXT_MAX, "%" PRIu64 "%s", *value / units[i].usec,
                                        units[i].name);
}

static int print_money(const setting_money *value, char *ret) {
        int n = snprintf(ret, SETTING_TEXT_MAX, "%" PRIu64 ".%09" PRIu64, value->nano / 1000000000,
                        value->nano % 1000000000);

        while (ret[n - 1] == '0')
                n--;
        if (ret[n - 1] == '.')
                n--;
        return n + snprintf(ret + n, SETTING_TEXT_MAX - (size_t) n, "%s%s", value->currency[0] ? " " : "",
                                   value->currency);
}

static int print_amounts(const setting_amounts *value, char *ret) {
        int n = 0;

        ret[0] = '\0';
        for (uint32_t i = 0; i < value->n && i < AMOUNTS_MAX; i++) {
                setting_money money = { .nano = value->nano[i] };
                char text[SETTING_TEXT_MAX];

                /* only the last amount has the currency: after each amount, the text would be too long */
                if (i + 1 == value->n)
                        memcpy(money.currency, value->currency, sizeof(money.currency));
                (void) print_money(&money, text);
                n += snprintf(ret + n, SETTING_TEXT_MAX - (size_t) n, "%s%.60s", i > 0 ? ", " : "", text);
        }
        return n;
}

static int print_u32list(const setting_u32list *value, char *ret) {
        int n = 0;

        ret[0] = '\0';
        for (uint32_t i = 0; i < value->n && i < HIDDEN_LAYERS_MAX; i++)
                n += snprintf(ret + n, SETTING_TEXT_MAX - (size_t) n, "%s%" PRIu32, i > 0 ? " " : "",
                                value->values[i]);
        return n;
}

static int print_matrix(const setting_matrix *value, char *ret) {
        int n = 0;

        ret[0] = '\0';
        for (uint32_t i = 0; i < value->n && i < MATRIX_MAX; i++) {
                char number[SETTING_TEXT_MAX];

                (void) print_f64(&value->values[i], number);
                n += snprintf(ret + n, SETTING_TEXT_MAX - (size_t) n, "%s%.24s", i > 0 ? " " : "", number);
        }
        return n;
}

static int print_counts(const setting_counts *value, char *ret) {
        int n = 0;

        ret[0] = '\0';
        for (uint32_t i = 0; i < value->n && i < SCHEDULE_RUNS_MAX; i++)
                n += snprintf(ret + n, SETTING_TEXT_MAX - (size_t) n, "%s%" PRIu32 "*%" PRIu32,
                                i > 0 ? " " : "", value->runs[i].n_actors, value->runs[i].n_rounds);
        return n;
}

static int print_range(const setting_range *value, char *ret) {
        if (value->low == value->high)
                return snprintf(ret, SETTING_TEXT_MAX, "%" PRIu32, value->low);
        return snprintf(ret, SETTING_TEXT_MAX, "%" PRIu32 "-%" PRIu32, value->low, value->high);
}

static int print_convolutions(const setting_convolutions *value, char *ret) {
        int n = 0;

        ret[0] = '\0';
        for (uint32_t i = 0; i < value->n && i < CONVOLUTIONS_MAX; i++) {
                n += snprintf(ret + n, SETTING_TEXT_MAX - (size_t) n, "%s%" PRIu32 "x%" PRIu32 "/%" PRIu32,
                                i > 0 ? " " : "", value->layers[i].channels, value->layers[i].kernel,
                                value->layers[i].stride);
                if (value->layers[i].padding > 0)
                        n += snprintf(ret + n, SETTING_TEXT_MAX - (size_t) n, "+%" PRIu32,
                                        value->layers[i].padding);
        }
        return n;
}

static int print_policy(const setting_policy *value, char *ret) {
        int n = print_choice_scheduler(&value->kind, ret);

        if (*value->argument)
                n += snprintf(ret + n, SETTING_TEXT_MAX - (size_t) n, ":%s", value->argument);
        return n;
}

static int print_shares(const setting_shares *value, char *ret) {
        int n = print_choice_shares_kind(&value->kind, ret);

        if (*value->name)
                n += snprintf(ret + n, SETTING_TEXT_MAX - (size_t) n, ":%s", value->name);
        return n;
}

static bool cpuset_has(const setting_cpuset *value, unsigned cpu) {
        return cpu < 64 * ELEMENTSOF(value->words) && (value->words[cpu / 64] >> (cpu % 64) & 1);
}

/* A set of every second CPU of 1,024 would need 2,000 characters, but no host has such a set. A list that is
 * too long is cut after a whole range. */
static int print_cpuset(const setting_cpuset *value, char *ret) {
        size_t n = 0;

        ret[0] = '\0';
        for (unsigned first = 0; first < 64 * ELEMENTSOF(value->words); first++) {
                unsigned last = first;

                if (!cpuset_has(value, first))
                        continue;
                while (cpuset_has(value, last + 1))
                        last++;
                if (n + 12 > SETTING_TEXT_MAX)
                        break;
                n += (size_t) snprintf(ret + n, SETTING_TEXT_MAX - n, last > first ? "%s%u-%u" : "%s%u",
                                n > 0 ? "," : "", first, last);
                first = last;
        }
        return (int) n;
}

size_t setting_print(const JobSettings *settings, Setting i, char ret[SETTING_TEXT_MAX]) {
        const SettingRow *row = setting_row(i);

        assert(settings);
        assert(row);

        ret[0] = '\0';
        if (row->fallback[0] == '\0' && !settings_present(settings, i))
                return 0;
        switch (i) {
#define X(section, key, type, member, ...) \
        case SETTING_##section##_##key: return (size_t) print_##type(&settings->member, ret);
                SETTINGS(X)
#undef X
        case _SETTING_MAX:
        case _SETTING_INVALID: break;
        }
        return 0;
}
