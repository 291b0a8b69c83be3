/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* monitor: the monitor.csv of Stable-Baselines3, with a line for each episode: return, length, seconds since
 * the start. The ledger has rounds and not episodes, so each episode that ended in a round gets the round's
 * mean return. Lengths are whole numbers. They add up to the job's steps, and plots over steps rely on
 * this. */
#include <math.h>

#include "actorctl/metrics/format.h"
#include "actorctl/view/json.h"

#define HEAD          "#{\"t_start\": "
#define EPISODES_MOST 1000000u /* episodes of one round; a higher count must be an error */

static void append_text(GByteArray *bytes, const GString *text) {
        g_byte_array_append(bytes, (const uint8_t *) text->str, (guint) text->len);
}

static void begin(GByteArray *bytes, const JobStatus *job, const JobRounds *rounds) {
        g_autofree char *environment = json_quote(job->environment);
        g_autoptr(GString) text = g_string_new(HEAD);

        append_exact(text, (double) job->started_usec / 1e6);
        g_string_append_printf(text, ", \"env_id\": %s}\nr,l,t\n", environment);
        append_text(bytes, text);
}

/* The length of episode i of n: lengths add up to `steps`, and differ by at most 1. */
static uint64_t length_of(uint64_t steps, uint64_t n, uint64_t i) {
        return steps / n + (i < steps % n ? 1 : 0);
}

static void add(GByteArray *bytes, const JobStatus *job, const JobRounds *rounds, size_t row,
                const RoundBefore *before) {
        double mean = job_rounds_at(rounds, row, "return_round"),
               ended = job_rounds_at(rounds, row, "episodes") - before->episodes,
               steps = job_rounds_at(rounds, row, "env_steps") - before->env_steps,
               wall = job_rounds_at(rounds, row, "wall_s");
        g_autoptr(GString) text = g_string_new(NULL);

        if (!isfinite(mean) || !(ended >= 1) || !(ended <= EPISODES_MOST) || !(steps >= 0))
                return;
        for (uint64_t i = 0; i < (uint64_t) ended; i++) {
                append_exact(text, mean);
                g_string_append_printf(text, ",%" G_GUINT64_FORMAT ",",
                                length_of((uint64_t) steps, (uint64_t) ended, i));
                append_exact(text, isfinite(wall) ? wall : 0);
                g_string_append_c(text, '\n');
        }
        append_text(bytes, text);
}

const MetricsFormat metrics_monitor = { "monitor", false, HEAD, begin, add };
