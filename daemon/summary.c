/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes a job's summary as lines NAME=VALUE, and reads it back. One table has each value's name and its
 * address in memory, for both directions. */
#include "daemon/summary.h"

#include <assert.h>
#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "lib/slot.h"
#include "lib/string-tables.h"

/* clang-format off */
#define ACCOUNT_NUMBERS(X)                                                                         \
        X(cpu_nsec) X(billed_nsec[SHARE_ACTOR]) X(billed_nsec[SHARE_LEARNER])                      \
        X(mib_usec) X(idle_nsec) X(idle_mib_usec) X(n_requests) X(billing_usec) X(n_bytes)
#define USAGE_NUMBERS(X)                                                                           \
        X(n_invocations) X(n_cold) X(n_warm) X(n_retried) X(n_updates) X(n_evaluations)            \
        X(emulated_nsec) X(wall_nsec) X(first_nsec) X(last_nsec) X(wall_before_nsec) X(round_start_nano)
#define PROGRESS_NUMBERS(X)                                                                        \
        X(life) X(round) X(learner_emulated_nsec) X(checkpoint_life) X(target_steps)               \
        X(target_wall_nsec) X(evaluation_life) X(evaluation_round) X(n_evaluations)                \
        X(scope_cpu_nsec) X(nodes.allocated_nsec) X(nodes.use.idle_nsec)                           \
        X(nodes.use.waited_nsec) X(nodes.use.sent_bytes) X(nodes.use.received_bytes)
#define PROGRESS_SMALL_NUMBERS(X)                                                                  \
        X(n_actors) X(n_metrics) X(level) X(limits_missing) X(n_lives_unmetered)                   \
        X(end) X(end_fault) X(end_actor) X(nodes.n_max) X(nodes.n_lost)
#define PROGRESS_REALS(X) X(evaluation_mean) X(evaluation_squares) X(evaluation_sd)
#define PROGRESS_FLAGS(X) X(started) X(ended) X(lost) X(scope_unknown) X(target_reached)
#define STATISTICS_NUMBERS(X) X(n_env_steps) X(n_episodes) X(policy_version)
/* clang-format on */

/* A new number in Account or Usage needs its name in the lists above. If the summary lacked it, a job's bill
 * would change when the job's records are removed. */
#define ONE(...) +1
static_assert(sizeof(Account) == (0 ACCOUNT_NUMBERS(ONE)) * sizeof(uint64_t), "a number is missing");
static_assert(sizeof(Usage) == (0 USAGE_NUMBERS(ONE)) * sizeof(uint64_t) + sizeof(Account) * _CHARGE_MAX,
                "a number is missing");

typedef enum Kind { KIND_U64, KIND_U32, KIND_REAL, KIND_FLAG, KIND_METRIC } Kind;
typedef struct Field {
        char name[64];
        Kind kind;
        void *at;
} Field;
#define FIELDS_MAX 320u

typedef struct Fields {
        Field rows[FIELDS_MAX];
        size_t n;
} Fields;

static void add(Fields *fields, const char *group, const char *name, Kind kind, void *at) {
        Field *field = &fields->rows[fields->n++];

        assert(fields->n <= FIELDS_MAX);

        (void) g_snprintf(field->name, sizeof(field->name), "%s%s", group, name);
        field->kind = kind;
        field->at = at;
}

static void add_usage(Fields *fields, Usage *usage) {
#define X(name) add(fields, "usage.", #name, KIND_U64, &usage->name);
        USAGE_NUMBERS(X)
#undef X
        for (uint32_t i = 0; i < _CHARGE_MAX; i++) {
                Account *account = &usage->accounts[i];
                char group[48];

                (void) g_snprintf(group, sizeof(group), "charge.%s.", charge_to_string(i));
#define X(name) add(fields, group, #name, KIND_U64, &account->name);
                ACCOUNT_NUMBERS(X)
#undef X
        }
}

static void add_statistics(Fields *fields, Statistics *statistics) {
#define X(name) add(fields, "statistics.", #name, KIND_U64, &statistics->name);
        STATISTICS_NUMBERS(X)
#undef X
#define X(name, unit) add(fields, "statistics.", #name, KIND_REAL, &statistics->name);
        STATISTICS(X)
#undef X
}

/* The names and the means of the metrics of episodes. */
static void add_metrics(Fields *fields, Progress *progress) {
        for (uint32_t i = 0; i < ACTORD_METRICS_MAX; i++) {
                char group[16];

                (void) g_snprintf(group, sizeof(group), "metric.%u.", i);
                add(fields, group, "name", KIND_METRIC, progress->metric_names[i]);
                add(fields, group, "mean", KIND_REAL, &progress->metrics[i]);
                add(fields, group, "evaluation", KIND_REAL, &progress->evaluation_metrics[i]);
                add(fields, group, "episodes", KIND_U64, &progress->n_evaluation_metrics[i]);
        }
}

static Fields *fields_of(Progress *progress) {
        Fields *fields = g_new0(Fields, 1);

#define X(name) add(fields, "", #name, KIND_U64, &progress->name);
        PROGRESS_NUMBERS(X)
#undef X
#define X(name) add(fields, "", #name, KIND_U32, &progress->name);
        PROGRESS_SMALL_NUMBERS(X)
#undef X
#define X(name) add(fields, "", #name, KIND_REAL, &progress->name);
        PROGRESS_REALS(X)
#undef X
#define X(name) add(fields, "", #name, KIND_FLAG, &progress->name);
        PROGRESS_FLAGS(X)
#undef X
        add_statistics(fields, &progress->statistics);
        add_metrics(fields, progress);
        add_usage(fields, &progress->usage);
        return fields;
}

/* Writes the line of a field. Whole numbers that are 0, real numbers that were not measured (NaN), and empty
 * names get no line. */
static void append(GString *text, const Field *field) {
        char digits[G_ASCII_DTOSTR_BUF_SIZE];

        switch (field->kind) {
        case KIND_U64:
                if (*(const uint64_t *) field->at != 0)
                        g_string_append_printf(text, "%s=%" PRIu64 "\n", field->name,
                                        *(const uint64_t *) field->at);
                break;
        case KIND_U32:
                if (*(const uint32_t *) field->at != 0)
                        g_string_append_printf(text, "%s=%" PRIu32 "\n", field->name,
                                        *(const uint32_t *) field->at);
                break;
        case KIND_REAL:
                if (!isnan(*(const double *) field->at))
                        g_string_append_printf(text, "%s=%s\n", field->name,
                                        g_ascii_dtostr(digits, sizeof(digits), *(const double *) field->at));
                break;
        case KIND_FLAG:
                if (*(const bool *) field->at)
                        g_string_append_printf(text, "%s=1\n", field->name);
                break;
        case KIND_METRIC:
                if (*(const char *) field->at)
                        g_string_append_printf(text, "%s=%s\n", field->name, (const char *) field->at);
                break;
        }
}

char *summary_write(const Progress *progress) {
        GString *text = g_string_new(NULL);
        g_autofree Fields *fields = NULL;

        assert(progress);

        fields = fields_of((Progress *) progress);
        for (size_t i = 0; i < fields->n; i++)
                append(text, &fields->rows[i]);
        return g_string_free(text, FALSE);
}

static int set(const Field *field, const char *value) {
        guint64 n = 0;

        if (field->kind == KIND_METRIC) {
                char name[ACTORD_METRIC_BYTES];

                if (g_strlcpy(name, value, sizeof(name)) >= sizeof(name) || !metric_name_possible(name))
                        return -EBADMSG;
                memcpy(field->at, name, sizeof(name));
                return 0;
        }
        if (field->kind == KIND_REAL) {
                *(double *) field->at = g_ascii_strtod(value, NULL);
                return 0;
        }
        if (!g_ascii_string_to_unsigned(
                            value, 10, 0, field->kind == KIND_U64 ? UINT64_MAX : UINT32_MAX, &n, NULL))
                return -EBADMSG;
        if (field->kind == KIND_U64)
                *(uint64_t *) field->at = n;
        else if (field->kind == KIND_U32)
                *(uint32_t *) field->at = (uint32_t) n;
        else
                *(bool *) field->at = n != 0;
        return 0;
}

/* Reads a line. An unknown name is ignored: it comes from a newer version, or its quantity does not exist
 * any more. */
static int read_line(const Fields *fields, char *line) {
        char *value = strchr(line, '=');

        if (!value)
                return -EBADMSG;
        *value++ = '\0';
        for (size_t i = 0; i < fields->n; i++)
                if (strcmp(fields->rows[i].name, line) == 0)
                        return set(&fields->rows[i], value);
        return 0;
}

static bool metrics_are_whole(const Progress *progress) {
        if (progress->n_metrics > ACTORD_METRICS_MAX)
                return false;
        for (uint32_t i = 0; i < progress->n_metrics; i++)
                if (progress->metric_names[i][0] == '\0')
                        return false;
        return true;
}

int summary_read(const char *text, Progress *progress) {
        g_auto(GStrv) lines = NULL;
        g_autofree Fields *fields = NULL;
        int r;

        assert(text);
        assert(progress);

        lines = g_strsplit(text, "\n", 0);
        fields = fields_of(progress);
        for (size_t i = 0; i < fields->n; i++)
                if (fields->rows[i].kind == KIND_REAL)
                        *(double *) fields->rows[i].at = NAN;
        for (char **line = lines; *line; line++) {
                if (!**line)
                        continue;
                r = read_line(fields, *line);
                if (r < 0)
                        return r;
        }
        /* The ledger may be damaged, or another user may have written it. */
        return metrics_are_whole(progress) ? 0 : -EBADMSG;
}
