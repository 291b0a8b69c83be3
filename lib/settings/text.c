/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parses the text of one value. One exact reader of "number and unit" reads everything that is counted
 * (steps, bytes, microseconds, money). It computes in integers, since 0.1 has no exact binary fraction. GLib
 * reads real numbers. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/settings/convolutions.h"
#include "lib/settings/shares-text.h"
#include "lib/settings/cpus.h"
#include "lib/settings/internal.h"
#include "lib/settings/print.h"

#define WHOLE_NUMBER "a whole number"

typedef struct Unit {
        const char *name;
        uint64_t scale;
} Unit;

static const Unit units_count[] = { { "", 1 }, { NULL } };
/* How people write numbers of steps; a job file must have the plain number. */
static const Unit units_thousands[] = { { "k", 1000 }, { "K", 1000 }, { "M", 1000000 }, { NULL } };
static const Unit units_percent[] = { { "%", 10 }, { NULL } };
static const Unit units_money[] = { { "", 1000000000 }, { NULL } };
static const Unit units_bytes[] = {
        { "", 1 },
        { "B", 1 },
        { "K", 1ull << 10 },
        { "KiB", 1ull << 10 },
        { "M", 1ull << 20 },
        { "MiB", 1ull << 20 },
        { "G", 1ull << 30 },
        { "GiB", 1ull << 30 },
        { "T", 1ull << 40 },
        { "TiB", 1ull << 40 },
        { NULL },
};
static const Unit units_usec[] = {
        { "", 1000000 },
        { "us", 1 },
        { "usec", 1 },
        { "ms", 1000 },
        { "msec", 1000 },
        { "s", 1000000 },
        { "sec", 1000000 },
        { "second", 1000000 },
        { "seconds", 1000000 },
        { "m", 60000000 },
        { "min", 60000000 },
        { "minute", 60000000 },
        { "minutes", 60000000 },
        { "h", 3600000000 },
        { "hr", 3600000000 },
        { "hour", 3600000000 },
        { "hours", 3600000000 },
        { "d", 86400000000 },
        { "day", 86400000000 },
        { "days", 86400000000 },
        { "w", 604800000000 },
        { "week", 604800000000 },
        { "weeks", 604800000000 },
        { NULL },
};

/* Splits "12", "1.5" or "2e-7" into a mantissa and a power of ten. If the number has more than twenty
 * digits, further digits after the point are dropped: they are below any unit. */
static int decimal_parse(const char **text, unsigned __int128 *ret_mantissa, int *ret_exponent) {
        const char *p = *text;
        unsigned __int128 mantissa = 0;
        int n_digits = 0, exponent = 0;
        bool point = false;

        for (;; p++) {
                if (*p == '.' && !point) {
                        point = true;
                        continue;
                }
                if (!g_ascii_isdigit(*p))
                        break;
                n_digits++;
                if (mantissa >= 10000000000000000000ull) {
                        if (!point)
                                return -ERANGE;
                        continue;
                }
                mantissa = mantissa * 10 + (unsigned) (*p - '0');
                exponent -= point;
        }
        if (n_digits == 0)
                return -EINVAL;
        if ((*p == 'e' || *p == 'E') && g_ascii_isdigit(p[1 + (p[1] == '+' || p[1] == '-')])) {
                gint64 e = g_ascii_strtoll(p + 1, (char **) &p, 10);

                exponent += (int) CLAMP(e, -1000, 1000);
        }
        *text = p;
        *ret_mantissa = mantissa;
        *ret_exponent = exponent;
        return 0;
}

/* Computes mantissa * 10^exponent, rounded to the nearest integer. */
static int scale_round(unsigned __int128 mantissa, int exponent, uint64_t *ret) {
        unsigned __int128 divisor = 1;

        if (mantissa == 0) {
                *ret = 0;
                return 0;
        }
        for (; exponent > 0; exponent--) {
                mantissa *= 10;
                if (mantissa > UINT64_MAX)
                        return -ERANGE;
        }
        for (; exponent < 0 && divisor <= mantissa * 2; exponent++)
                divisor *= 10;
        mantissa = (mantissa + divisor / 2) / divisor;
        if (mantissa > UINT64_MAX)
                return -ERANGE;
        *ret = exponent < 0 ? 0 : (uint64_t) mantissa;
        return 0;
}

char *setting_round(const char *value) {
        GString *text = g_string_new(NULL);
        unsigned __int128 mantissa;
        uint64_t n;
        int exponent;

        for (const char *p = value; *p;) {
                const char *end = p;

                if (decimal_parse(&end, &mantissa, &exponent) >= 0 &&
                                scale_round(mantissa, exponent, &n) >= 0) {
                        g_string_append_printf(text, "%" G_GUINT64_FORMAT, n);
                        p = end;
                } else
                        g_string_append_c(text, *p++);
        }
        return g_string_free(text, FALSE);
}

/* Whether mantissa * 10^exponent has no fraction. */
static bool is_whole(unsigned __int128 mantissa, int exponent) {
        for (; exponent < 0 && mantissa > 0; exponent++) {
                if (mantissa % 10 != 0)
                        return false;
                mantissa /= 10;
        }
        return true;
}

/* Half a step or half an actor makes no sense, while half a byte or half a microsecond may be rounded. */
static bool units_are_whole(const Unit *units) {
        return units == units_count || units == units_thousands;
}

static const Unit *unit_find(const Unit *units, const char *name, size_t length) {
        for (; units->name; units++)
                if (strlen(units->name) == length && strncmp(units->name, name, length) == 0)
                        return units;
        return NULL;
}

/* Parses a number with a unit or, if the units are times, several of them: "2h 30min". -EINVAL: it is not
 * such a quantity; -ERANGE: negative or too large. */
static int quantity_parse(const char *text, const Unit *units, uint64_t *ret) {
        uint64_t sum = 0;
        const char *p = text;
        bool negative = *p == '-';

        p += negative || *p == '+';
        do {
                unsigned __int128 mantissa;
                const Unit *unit;
                uint64_t term;
                int exponent, r;
                size_t n;

                r = decimal_parse(&p, &mantissa, &exponent);
                if (r < 0)
                        return r;
                p += strspn(p, " \t");
                for (n = 0; g_ascii_isalpha(p[n]) || p[n] == '%'; n++)
                        ;
                unit = unit_find(units, p, n);
                if (!unit)
                        return -EINVAL;
                p += n + strspn(p + n, " \t");
                if (units_are_whole(units) && !is_whole(mantissa * unit->scale, exponent))
                        return -EINVAL;
                r = scale_round(mantissa * unit->scale, exponent, &term);
                if (r < 0 || __builtin_add_overflow(sum, term, &sum))
                        return -ERANGE;
        } while (*p && units == units_usec);
        if (*p)
                return -EINVAL;
        if (negative && sum > 0)
                return -ERANGE;
        *ret = sum;
        return 0;
}

/* Prints a bound in the largest unit that divides it. */
static char *bound_print(const Unit *units, double bound) {
        const Unit *best = units;
        char number[G_ASCII_DTOSTR_BUF_SIZE];

        for (; units->name; units++)
                if (units->scale > best->scale && fmod(bound, (double) units->scale) == 0 && bound != 0)
                        best = units;
        bound /= (double) best->scale;
        /* Prints whole numbers without an exponent. */
        return g_strconcat(g_ascii_formatd(number, sizeof(number),
                                           bound == floor(bound) && fabs(bound) < 1e20 ? "%.0f" : "%.15g",
                                           bound),
                        best->name, NULL);
}

__attribute__((format(printf, 2, 3))) static int refuse(char **ret_reason, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        *ret_reason = g_strdup_vprintf(format, arguments);
        va_end(arguments);
        return -EINVAL;
}

static int refuse_range(char **ret_reason, const Unit *units, double lowest, double highest) {
        g_autofree char *low = bound_print(units, lowest), *high = bound_print(units, highest);

        return refuse(ret_reason, "out of range: it must be from %s to %s", low, high);
}

/* Refuses "20k" and "1.5M", and says which number to write. */
static int refuse_number(const char *text, const char *what, char **ret_reason) {
        uint64_t n;

        if (strcmp(what, WHOLE_NUMBER) == 0 && quantity_parse(text, units_thousands, &n) >= 0)
                return refuse(ret_reason, "not %s: write %" G_GUINT64_FORMAT, what, n);
        return refuse(ret_reason, "not %s", what);
}

static int counted_parse(const char *text, const Unit *units, const char *what, double lowest,
                double highest, uint64_t *ret, char **ret_reason) {
        uint64_t n;
        int r;

        r = quantity_parse(text, units, &n);
        if (r == -EINVAL)
                return refuse_number(text, what, ret_reason);
        if (r < 0 || (double) n < lowest || (highest > lowest && (double) n > highest))
                return refuse_range(ret_reason, units, lowest, highest);
        *ret = n;
        return 0;
}

static int parse_u64(const char *text, double lowest, double highest, setting_u64 *ret, char **ret_reason) {
        return counted_parse(text, units_count, WHOLE_NUMBER, lowest, highest, ret, ret_reason);
}

static int parse_u32(const char *text, double lowest, double highest, setting_u32 *ret, char **ret_reason) {
        uint64_t n;

        if (counted_parse(text, units_count, WHOLE_NUMBER, lowest, highest, &n, ret_reason) < 0)
                return -EINVAL;
        *ret = (uint32_t) n;
        return 0;
}

static int parse_usec(
                const char *text, double lowest, double highest, setting_usec *ret, char **ret_reason) {
        return counted_parse(text, units_usec, "a time: write seconds, or 5min, 1.5s, 2h 30min", lowest,
                        highest, ret, ret_reason);
}

int settings_parse_bytes(const char *text, uint64_t *ret_bytes) {
        return quantity_parse(text, units_bytes, ret_bytes);
}

int settings_parse_time(const char *text, uint64_t *ret_usec) {
        return quantity_parse(text, units_usec, ret_usec);
}

static int parse_bytes(
                const char *text, double lowest, double highest, setting_bytes *ret, char **ret_reason) {
        return counted_parse(text, units_bytes, "a size: write bytes, or 512M, 2G", lowest, highest, ret,
                        ret_reason);
}

static int parse_percent(
                const char *text, double lowest, double highest, setting_percent *ret, char **ret_reason) {
        uint64_t n;

        if (counted_parse(text, units_percent, "a share of a CPU: write it as 50%", lowest, highest, &n,
                            ret_reason) < 0)
                return -EINVAL;
        *ret = (uint32_t) n;
        return 0;
}

/* "0.05", "0.05USD", "12 billing-min". The program that has the price sheet checks whether this is the
 * sheet's currency. */
static int parse_money(
                const char *text, double lowest, double highest, setting_money *ret, char **ret_reason) {
        g_autofree char *number = g_strdup(text);
        size_t n = strlen(number), end = n;
        setting_money money = {};

        while (end > 0 && (g_ascii_isalpha(number[end - 1]) || number[end - 1] == '-'))
                end--;
        /* at least three letters: otherwise the "e" of "1e" would be a currency */
        if (end > 0 && n - end >= 3 && n - end < sizeof(money.currency)) {
                memcpy(money.currency, number + end, n - end);
                number[end] = '\0';
        }
        if (counted_parse(g_strstrip(number), units_money, "an amount of money: write it as 0.05 or 0.05USD",
                            lowest, highest, &money.nano, ret_reason) < 0)
                return -EINVAL;
        *ret = money;
        return 0;
}

static int compare_nano(const void *a, const void *b) {
        uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

        return (x > y) - (x < y);
}

/* "0.5USD, 1USD": separated by commas, since there may be a space before a currency. */
static int parse_amounts(
                const char *text, double lowest, double highest, setting_amounts *ret, char **ret_reason) {
        g_auto(GStrv) parts = g_strsplit(text, ",", -1);
        setting_amounts list = {};

        for (char **part = parts; *part; part++) {
                setting_money money;

                if (list.n >= AMOUNTS_MAX)
                        return refuse(ret_reason, "more than %u amounts", AMOUNTS_MAX);
                if (parse_money(g_strstrip(*part), lowest, highest, &money, ret_reason) < 0)
                        return -EINVAL;
                if (money.currency[0] && list.currency[0] && strcmp(money.currency, list.currency) != 0)
                        return refuse(ret_reason, "it has amounts in %s and in %s: use one currency",
                                        list.currency, money.currency);
                if (money.currency[0])
                        memcpy(list.currency, money.currency, sizeof(list.currency));
                list.nano[list.n++] = money.nano;
        }
        qsort(list.nano, list.n, sizeof(*list.nano), compare_nano);
        for (uint32_t i = 1; i < list.n; i++)
                if (list.nano[i] == list.nano[i - 1])
                        return refuse(ret_reason, "it has an amount twice");
        *ret = list;
        return 0;
}

int settings_parse_money(const char *text, setting_money *ret) {
        g_autofree char *reason = NULL;

        return parse_money(text, 1, 1e18, ret, &reason);
}

int settings_parse_real(const char *text, double lowest, double highest, double *ret) {
        char *end;
        double value;

        /* Refuses "nan" and hexadecimal digits, which strtod() would accept. */
        if (text[strspn(text, "0123456789+-.eE")] != '\0')
                return -EINVAL;
        value = g_ascii_strtod(text, &end);
        if (end == text || *end)
                return -EINVAL;
        if (!isfinite(value) || value < lowest || value > highest)
                return -ERANGE;
        *ret = value;
        return 0;
}

static int parse_f64(const char *text, double lowest, double highest, setting_f64 *ret, char **ret_reason) {
        int r = settings_parse_real(text, lowest, highest, ret);

        if (r == -ERANGE)
                return refuse_range(ret_reason, units_count, lowest, highest);
        return r < 0 ? refuse(ret_reason, "not a number") : 0;
}

static int parse_bool(
                const char *text, double lowest, double highest, setting_bool *ret, char **ret_reason) {
        static const char *const words[] = { "yes", "true", "on", "1", "no", "false", "off", "0" };

        for (unsigned i = 0; i < G_N_ELEMENTS(words); i++)
                if (g_ascii_strcasecmp(text, words[i]) == 0) {
                        *ret = i < G_N_ELEMENTS(words) / 2;
                        return 0;
                }
        return refuse(ret_reason, "neither yes nor no");
}

static int parse_string(
                const char *text, double lowest, double highest, setting_string *ret, char **ret_reason) {
        if (strlen(text) >= sizeof(*ret))
                return refuse(ret_reason, "longer than %zu bytes", sizeof(*ret) - 1);
        for (const char *p = text; *p; p++)
                if (g_ascii_iscntrl(*p))
                        return refuse(ret_reason, "it holds a control character");
        memset(*ret, 0, sizeof(*ret));
        memcpy(*ret, text, strlen(text));
        return 0;
}

static int parse_u32list(
                const char *text, double lowest, double highest, setting_u32list *ret, char **ret_reason) {
        g_auto(GStrv) parts = g_strsplit_set(text, " \t,", -1);
        setting_u32list list = {};

        for (char **part = parts; *part; part++) {
                if (**part == '\0')
                        continue;
                if (list.n >= HIDDEN_LAYERS_MAX)
                        return refuse(ret_reason, "more than %u numbers", HIDDEN_LAYERS_MAX);
                if (parse_u32(*part, lowest, highest, &list.values[list.n], ret_reason) < 0)
                        return -EINVAL;
                list.n++;
        }
        if (list.n == 0)
                return refuse(ret_reason, "not a list of whole numbers");
        *ret = list;
        return 0;
}

static int parse_matrix(
                const char *text, double lowest, double highest, setting_matrix *ret, char **ret_reason) {
        g_auto(GStrv) parts = g_strsplit_set(text, " \t,", -1);
        setting_matrix matrix = {};

        for (char **part = parts; *part; part++) {
                if (**part == '\0')
                        continue;
                if (matrix.n >= MATRIX_MAX)
                        return refuse(ret_reason, "more than %u numbers", MATRIX_MAX);
                if (parse_f64(*part, lowest, highest, &matrix.values[matrix.n], ret_reason) < 0)
                        return -EINVAL;
                matrix.n++;
        }
        if (matrix.n == 0)
                return refuse(ret_reason, "not a list of numbers");
        *ret = matrix;
        return 0;
}

static int parse_cpuset(
                const char *text, double lowest, double highest, setting_cpuset *ret, char **ret_reason) {
        return cpus_parse(text, ret, ret_reason);
}

char *did_you_mean(const char *word, const char *const *words) {
        const char *nearest = nearest_word(word, words);

        return nearest ? g_strdup_printf("; did you mean %s?", nearest) : g_strdup("");
}

static int refuse_choice(const char *text, const char *const *words, char **ret_reason) {
        g_autofree char *list = g_strjoinv(", ", (char **) words), *hint = did_you_mean(text, words);

        return refuse(ret_reason, "it must be one of %s%s", list, hint);
}

#define X(name, word, ...) word,
#define PARSE(type, PREFIX, list)                                                       \
        static int parse_choice_##type(const char *text, double lowest, double highest, \
                        setting_choice_##type *ret, char **ret_reason) {                \
                static const char *const words[] = { list(X) NULL };                    \
                int value = choice_##type##_from_string(text);                          \
                                                                                        \
                if (value < 0)                                                          \
                        return refuse_choice(text, words, ret_reason);                  \
                *ret = (uint32_t) value;                                                \
                return 0;                                                               \
        }
CHOICES(PARSE)
#undef PARSE
#undef X

/* "25*10": 25 actors in each of ten rounds; "25": in one round. */
static int parse_run(const char *text, double lowest, double highest, uint32_t *ret_actors,
                uint32_t *ret_rounds, char **ret_reason) {
        g_auto(GStrv) parts = g_strsplit(text, "*", 2);

        if (parse_u32(parts[0], lowest, highest, ret_actors, ret_reason) < 0)
                return -EINVAL;
        *ret_rounds = 1;
        return parts[1] ? parse_u32(parts[1], 1, SCHEDULE_ROUNDS_MAX, ret_rounds, ret_reason) : 0;
}

static int parse_counts(
                const char *text, double lowest, double highest, setting_counts *ret, char **ret_reason) {
        g_auto(GStrv) parts = g_strsplit_set(text, " \t,", -1);
        setting_counts counts = {};

        for (char **part = parts; *part; part++) {
                g_autofree char *reason = NULL;

                if (**part == '\0')
                        continue;
                if (counts.n >= SCHEDULE_RUNS_MAX)
                        return refuse(ret_reason, "more than %u parts", SCHEDULE_RUNS_MAX);
                if (parse_run(*part, lowest, highest, &counts.runs[counts.n].n_actors,
                                    &counts.runs[counts.n].n_rounds, &reason) < 0)
                        return refuse(ret_reason, "`%s` is not actors*rounds, as in 25*10: %s", *part,
                                        reason);
                counts.n++;
        }
        if (counts.n == 0)
                return refuse(ret_reason, "not a list of actors*rounds, as in 25*10 30*5");
        *ret = counts;
        return 0;
}

/* "4", or "0-8". */
static int parse_range(
                const char *text, double lowest, double highest, setting_range *ret, char **ret_reason) {
        g_auto(GStrv) parts = g_strsplit(text, "-", 2);
        setting_range range;

        if (!parts[0] || parse_u32(parts[0], lowest, highest, &range.low, ret_reason) < 0)
                return -EINVAL;
        range.high = range.low;
        if (parts[1] && parse_u32(parts[1], range.low, highest, &range.high, ret_reason) < 0)
                return -EINVAL;
        *ret = range;
        return 0;
}

static int parse_convolutions(const char *text, double lowest, double highest, setting_convolutions *ret,
                char **ret_reason) {
        return convolutions_parse(text, ret, ret_reason);
}

/* A word and its argument, if it takes one: replay:JOB, minions:NAME. */
static int parse_policy(
                const char *text, double lowest, double highest, setting_policy *ret, char **ret_reason) {
        const char *colon = strchr(text, ':');
        g_autofree char *word = colon ? g_strndup(text, (size_t) (colon - text)) : g_strdup(text);
        bool has_argument = colon && colon[1] != '\0';
        setting_policy policy = {};

        if (parse_choice_scheduler(word, lowest, highest, &policy.kind, ret_reason) < 0)
                return -EINVAL;
        if (scheduler_has(policy.kind, TRAIT_TAKES_JOB) && !has_argument)
                return refuse(ret_reason, "it needs the job whose decisions it repeats: %s:JOB", word);
        if (scheduler_has(policy.kind, TRAIT_TAKES_TRAINED) && !has_argument)
                return refuse(ret_reason, "it needs a trained scheduler: %s:NAME or %s:./FILE", word, word);
        if (colon && !scheduler_has(policy.kind, TRAIT_TAKES_JOB) &&
                        !scheduler_has(policy.kind, TRAIT_TAKES_TRAINED))
                return refuse(ret_reason, "%s takes nothing after a colon", word);
        if (colon && strlen(colon + 1) >= sizeof(policy.argument))
                return refuse(ret_reason, "longer than %zu bytes", sizeof(policy.argument) - 1);
        for (const char *p = text; *p; p++)
                if (g_ascii_iscntrl(*p))
                        return refuse(ret_reason, "it holds a control character");
        if (colon)
                strcpy(policy.argument, colon + 1);
        *ret = policy;
        return 0;
}

static int parse_shares(
                const char *text, double lowest, double highest, setting_shares *ret, char **ret_reason) {
        const char *colon = strchr(text, ':');
        g_autofree char *word = colon ? g_strndup(text, (size_t) (colon - text)) : g_strdup(text);
        setting_shares shares = {};

        if (parse_choice_shares_kind(word, lowest, highest, &shares.kind, ret_reason) < 0)
                return -EINVAL;
        if (shares_parse_name(colon ? colon + 1 : NULL, &shares, ret_reason) < 0)
                return -EINVAL;
        *ret = shares;
        return 0;
}

int setting_parse(Setting i, const char *value, JobSettings *settings, char **ret_reason) {
        g_assert(value);
        g_assert(settings);
        g_assert(ret_reason);

        switch (i) {
#define X(section, key, type, member, fallback, lowest, highest, help) \
        case SETTING_##section##_##key:                                \
                return parse_##type(value, lowest, highest, &settings->member, ret_reason);
                SETTINGS(X)
#undef X
        case _SETTING_MAX:
        case _SETTING_INVALID: break;
        }
        return -EINVAL;
}
