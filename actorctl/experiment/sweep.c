/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The decisions of a sweep, as pure functions: which values are drawn, which trials go on, and how many
 * trials the budget allows. */
#include "actorctl/experiment/sweep.h"

#include <math.h>
#include <string.h>

#include "actorctl/experiment/statistics.h"
#include "lib/doubles.h"
#include "lib/rng.h"

/* A double holds every whole number up to this one. */
#define INT_MOST 9007199254740992.0

static const char *const range_words[_RANGE_KIND_MAX + 1] = { "uniform", "log", "int", "choice", NULL };
static const char *const method_words[_SWEEP_METHOD_MAX + 1] = { "random", "halving", NULL };

static void range_free(gpointer data) {
        Range *range = data;

        g_free(range->key);
        g_strfreev(range->words);
        g_free(range);
}

Sweep *sweep_new(void) {
        Sweep *sweep = g_new(Sweep, 1);

        *sweep = (Sweep){
                .method = _SWEEP_METHOD_MAX,
                .seed = 1,
                .n_rungs = 1,
                .eta = 3,
                .metric = _METRIC_INVALID,
                .ranges = g_ptr_array_new_with_free_func(range_free),
        };
        return sweep;
}

Sweep *sweep_free(Sweep *sweep) {
        if (!sweep)
                return NULL;
        g_ptr_array_unref(sweep->ranges);
        g_free(sweep);
        return NULL;
}

const Range *sweep_range(const Sweep *sweep, size_t i) {
        return sweep->ranges->pdata[i];
}

const char *sweep_method_to_string(SweepMethod method) {
        return method_words[method];
}

int sweep_method_from_string(const char *word) {
        for (int i = 0; i < _SWEEP_METHOD_MAX; i++)
                if (strcmp(method_words[i], word) == 0)
                        return i;
        return -EINVAL;
}

/* Returns the words of the text after the kind. Blanks separate them, or semicolons if a word contains
 * blanks. */
static GStrv split_values(const char *text) {
        bool listed = strchr(text, ';');
        g_auto(GStrv) parts = g_strsplit_set(text, listed ? ";" : " \t", -1);
        g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);

        for (char **part = parts; *part; part++)
                if (*g_strstrip(*part))
                        g_ptr_array_add(words, g_strdup(*part));
        g_ptr_array_add(words, NULL);
        return (GStrv) g_ptr_array_steal(words, NULL);
}

static char *check_choices(const Range *range) {
        guint n = g_strv_length(range->words);

        if (n < 2 || n > CHOICES_MAX)
                return g_strdup_printf("write 2 to %u values after choice%s", CHOICES_MAX,
                                n == 1 ? "; a single one belongs in [Set]" : "");
        for (guint i = 1; i < n; i++)
                for (guint k = 0; k < i; k++)
                        if (strcmp(range->words[i], range->words[k]) == 0)
                                return g_strdup_printf("%s is listed twice", range->words[i]);
        return NULL;
}

static char *check_ends(Range *range) {
        const char *word = range_words[range->kind];

        if (g_strv_length(range->words) != 2)
                return g_strdup_printf("write two numbers after %s: the lowest value and the highest", word);
        for (size_t i = 0; i < 2; i++)
                if (settings_parse_real(range->words[i], -1e300, 1e300, i ? &range->high : &range->low) < 0)
                        return g_strdup_printf("%s is not a number", range->words[i]);
        if (range->low >= range->high)
                return g_strdup_printf("the range from %s to %s is empty", range->words[0], range->words[1]);
        if (range->kind == RANGE_LOG && range->low <= 0)
                return g_strdup_printf("%s has no logarithm: a log range begins above 0", range->words[0]);
        if (range->kind != RANGE_INT)
                return NULL;
        if (range->low != floor(range->low) || range->high != floor(range->high))
                return g_strdup("the ends of an int range must be whole numbers");
        if (fabs(range->low) > INT_MOST || fabs(range->high) > INT_MOST ||
                        range->high - range->low >= UINT32_MAX)
                return g_strdup_printf("an int range has at most %u numbers", UINT32_MAX);
        return NULL;
}

Range *range_parse(const char *key, const char *text, char **ret_reason) {
        size_t n = strcspn(text, " \t");
        g_autofree char *kind = g_strndup(text, n);
        const char *nearest = nearest_word(kind, range_words);
        Range *range;

        for (RangeKind i = 0; i < _RANGE_KIND_MAX; i++) {
                if (strcmp(kind, range_words[i]) != 0)
                        continue;
                range = g_new(Range, 1);
                *range = (Range){ .key = g_strdup(key), .kind = i, .words = split_values(text + n) };
                *ret_reason = i == RANGE_CHOICE ? check_choices(range) : check_ends(range);
                if (!*ret_reason)
                        return range;
                range_free(range);
                return NULL;
        }
        *ret_reason = nearest ? g_strdup_printf("%s is not a kind of range (did you mean %s?)", kind,
                                                nearest)
                              : g_strdup("write uniform, log or int and two numbers, or choice and values");
        return NULL;
}

/* Begins the random stream for a key and a trial. The stream's name is a digest of the key. So the file's
 * other keys and their order do not matter. */
static void begin(const Range *range, uint64_t seed, uint64_t trial, ActordRandom *ret) {
        g_autofree char *digest = g_compute_checksum_for_string(G_CHECKSUM_SHA256, range->key, -1);
        g_autofree char *first = g_strndup(digest, 6), *second = g_strndup(digest + 6, 6);

        random_begin(ret, seed, RANDOM_SWEEP, (uint32_t) g_ascii_strtoull(first, NULL, 16), trial,
                        (uint32_t) g_ascii_strtoull(second, NULL, 16));
}

/* Prints few digits, so that tables and job files show exactly the value that was used. A value at an end of
 * the range is printed as in the file. */
static char *print_real(const Range *range, double value) {
        char text[G_ASCII_DTOSTR_BUF_SIZE];
        double rounded;

        (void) g_ascii_formatd(text, sizeof(text), range->kind == RANGE_LOG ? "%.4g" : "%.6g", value);
        rounded = g_ascii_strtod(text, NULL);
        if (rounded <= range->low)
                return g_strdup(range->words[0]);
        return g_strdup(rounded >= range->high ? range->words[1] : text);
}

char *range_draw(const Range *range, uint64_t seed, uint64_t trial) {
        ActordRandom random;
        double low = range->low, high = range->high;

        begin(range, seed, trial, &random);
        switch (range->kind) {
        case RANGE_UNIFORM: return print_real(range, actord_random_uniform(&random, low, high));
        case RANGE_LOG:
                /* The last bit of the C library's exp() and log() differs between hosts. */
                return print_real(range, double_exp(actord_random_uniform(
                                                         &random, double_log(low), double_log(high))));
        case RANGE_INT:
                return g_strdup_printf("%.0f", low + random_below(&random, (uint32_t) (high - low) + 1));
        case RANGE_CHOICE: return g_strdup(range->words[random_below(&random, g_strv_length(range->words))]);
        case _RANGE_KIND_MAX: break;
        }
        g_assert_not_reached();
}

const char *trial_value(const Experiment *experiment, size_t arm, size_t range) {
        const Arm *trial = experiment->arms->pdata[arm];

        return strchr(trial->sets->pdata[range], '=') + 1;
}

uint64_t sweep_steps(const Sweep *sweep, size_t rung) {
        double first = (double) sweep->min_steps, last = (double) sweep->max_steps, part;

        if (rung + 1 >= sweep->n_rungs)
                return sweep->max_steps;
        if (rung == 0)
                return sweep->min_steps;
        part = (double) rung / (double) (sweep->n_rungs - 1);
        return (uint64_t) floor(double_exp(double_log(first) * (1 - part) + double_log(last) * part) + 0.5);
}

uint64_t sweep_room(const Sweep *sweep, uint64_t n) {
        return MAX(n / sweep->eta, 1);
}

double standing_value(const double *values, size_t n) {
        g_autofree double *sorted = g_new(double, n);
        double low, high;

        g_assert(n > 0);

        for (size_t i = 0; i < n; i++)
                sorted[i] = isfinite(values[i]) ? values[i] : -INFINITY;
        qsort(sorted, n, sizeof(double), compare_doubles);
        low = sorted[(n - 1) / 2];
        high = sorted[n / 2];
        return isfinite(low) ? low + (high - low) / 2 : low;
}

static int compare_standings(const void *a, const void *b) {
        const Standing *p = a, *q = b;

        if (p->value != q->value)
                return p->value > q->value ? -1 : 1;
        return (p->trial > q->trial) - (p->trial < q->trial);
}

void standings_sort(Standing *standings, size_t n) {
        qsort(standings, n, sizeof(Standing), compare_standings);
}

size_t standings_promoted(const Standing *standings, size_t n, uint64_t room) {
        size_t promoted = 0;

        while (promoted < n && promoted < room && isfinite(standings[promoted].value))
                promoted++;
        return promoted;
}

size_t sweep_admit(uint64_t left, const uint64_t *estimates, size_t n, uint64_t *ret_caps) {
        uint64_t sum = 0;
        size_t admitted = 0;

        for (size_t i = 0; i < n; i++) {
                uint64_t estimate = MAX(estimates[i], 1);

                ret_caps[i] = estimate <= left - sum ? estimate : 0;
                sum += ret_caps[i];
                admitted += ret_caps[i] > 0;
        }
        for (size_t i = 0; sum > 0 && i < n; i++)
                ret_caps[i] = (uint64_t) ((__uint128_t) left * ret_caps[i] / sum);
        return admitted;
}

size_t sweep_wave(size_t n_decided) {
        return MAX(n_decided, 1);
}
