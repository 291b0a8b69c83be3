/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* scalars: a line of JSON for each round, with the names of TensorBoard's scalars, for programs that pass
 * them on to an experiment tracker. Figures that were not measured are left out. */
#include "actorctl/metrics/scalars.h"

#include <math.h>
#include <string.h>

#include "actorctl/metrics/format.h"

#define HEAD "{\"step\":"

/* The names of columns as scalars. NULL: the column is an axis of the charts. A column that is not listed
 * here becomes actord/COLUMN. */
static const struct {
        const char *column, *name;
} names[] = {
        { "round", NULL },
        { "env_steps", NULL },
        { "return_round", "charts/episodic_return" },
        { "episode_steps", "charts/episodic_length" },
        { "learning_rate", "charts/learning_rate" },
        { "loss_policy", "losses/policy_loss" },
        { "loss_value", "losses/value_loss" },
        { "entropy", "losses/entropy" },
        { "kl", "losses/approx_kl" },
        { "clip_fraction", "losses/clipfrac" },
        { "explained_variance", "losses/explained_variance" },
        { "evaluation_mean", "eval/episodic_return" },
};

static void clear_scalar(gpointer scalar) {
        g_free(((Scalar *) scalar)->name);
}

static void add_scalar(GArray *scalars, char *name, double value) {
        Scalar scalar = { name, value };

        g_array_append_val(scalars, scalar);
}

/* The scalar's name for a column. NULL: the column is an axis of the charts, and not a scalar. */
static char *name_of(const char *column) {
        for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
                if (strcmp(names[i].column, column) == 0)
                        return g_strdup(names[i].name);
        return g_strconcat("actord/", column, NULL);
}

GArray *scalars_of(const JobRounds *rounds, size_t row) {
        GArray *scalars = g_array_new(FALSE, FALSE, sizeof(Scalar));
        double rate = job_rounds_at(rounds, row, "env_steps") / job_rounds_at(rounds, row, "wall_s");

        g_array_set_clear_func(scalars, clear_scalar);
        for (size_t i = 0; i < rounds->n_columns; i++) {
                double value = rounds->values[row * rounds->n_columns + i];
                char *name = isfinite(value) ? name_of(rounds->names[i]) : NULL;

                if (name)
                        add_scalar(scalars, name, value);
        }
        if (isfinite(rate))
                add_scalar(scalars, g_strdup("charts/SPS"), rate);
        return scalars;
}

uint64_t scalars_step(const JobRounds *rounds, size_t row) {
        double steps = job_rounds_at(rounds, row, "env_steps");

        return steps >= 0 && steps < 0x1p63 ? (uint64_t) steps : 0;
}

double scalars_time(const JobStatus *job, const JobRounds *rounds, size_t row) {
        double wall = job_rounds_at(rounds, row, "wall_s");

        return (double) job->started_usec / 1e6 + (isfinite(wall) ? wall : 0);
}

static void begin(GByteArray *bytes, const JobStatus *job, const JobRounds *rounds) {
}

static void add(GByteArray *bytes, const JobStatus *job, const JobRounds *rounds, size_t row,
                const RoundBefore *before) {
        g_autoptr(GArray) scalars = scalars_of(rounds, row);
        g_autoptr(GString) line = g_string_new(HEAD);

        g_string_append_printf(line, "%" G_GUINT64_FORMAT ",\"time\":", scalars_step(rounds, row));
        append_exact(line, scalars_time(job, rounds, row));
        for (guint i = 0; i < scalars->len; i++) {
                const Scalar *scalar = &g_array_index(scalars, Scalar, i);

                g_string_append_printf(line, ",\"%s\":", scalar->name);
                append_exact(line, scalar->value);
        }
        g_string_append(line, "}\n");
        g_byte_array_append(bytes, (const uint8_t *) line->str, (guint) line->len);
}

const MetricsFormat metrics_scalars = { "scalars", false, HEAD, begin, add };
