/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* csv and jsonl: a line for each round, with the columns of `actorctl rounds`. A number that was not
 * measured becomes an empty cell, or null. */
#include <math.h>
#include <string.h>

#include "actorctl/metrics/format.h"

static void append_line(GByteArray *bytes, GString *line) {
        g_string_append_c(line, '\n');
        g_byte_array_append(bytes, (const uint8_t *) line->str, (guint) line->len);
}

static void csv_begin(GByteArray *bytes, const JobStatus *job, const JobRounds *rounds) {
        g_autofree char *names = g_strjoinv(",", rounds->names);
        g_autoptr(GString) line = g_string_new(names);

        append_line(bytes, line);
}

static void csv_add(GByteArray *bytes, const JobStatus *job, const JobRounds *rounds, size_t row,
                const RoundBefore *before) {
        const double *values = rounds->values + row * rounds->n_columns;
        g_autoptr(GString) line = g_string_new(NULL);

        for (size_t i = 0; i < rounds->n_columns; i++) {
                if (i > 0)
                        g_string_append_c(line, ',');
                if (isfinite(values[i]))
                        append_exact(line, values[i]);
        }
        append_line(bytes, line);
}

static void jsonl_begin(GByteArray *bytes, const JobStatus *job, const JobRounds *rounds) {
}

static void jsonl_add(GByteArray *bytes, const JobStatus *job, const JobRounds *rounds, size_t row,
                const RoundBefore *before) {
        const double *values = rounds->values + row * rounds->n_columns;
        g_autoptr(GString) line = g_string_new("{");

        for (size_t i = 0; i < rounds->n_columns; i++) {
                g_string_append_printf(line, "%s\"%s\":", i > 0 ? "," : "", rounds->names[i]);
                if (isfinite(values[i]))
                        append_exact(line, values[i]);
                else
                        g_string_append(line, "null");
        }
        g_string_append_c(line, '}');
        append_line(bytes, line);
}

const MetricsFormat metrics_csv = { "csv", false, "round,", csv_begin, csv_add };
const MetricsFormat metrics_jsonl = { "jsonl", false, "{\"round\":", jsonl_begin, jsonl_add };
