/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files of metrics are for viewing, and must not harm the job. If a file cannot be written any more, a
 * message says so once. The file keeps the rounds that it has, and the job goes on. */
#include "actorctl/metrics/metrics.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "actorctl/metrics/sink.h"
#include "include/bus.h"
#include "lib/cleanup.h"

struct Metrics {
        GArray *sinks;  /* Sinks */
        uint64_t round; /* the newest round that was written */
        RoundBefore before;
        bool incomplete;
};

static const MetricsFormat *const formats[] = { &metrics_csv, &metrics_jsonl, &metrics_scalars,
        &metrics_tensorboard, &metrics_monitor };

static const MetricsFormat *find_format(const char *word, const char **ret_path) {
        for (size_t i = 0; i < G_N_ELEMENTS(formats); i++) {
                size_t n = strlen(formats[i]->name);

                if (strncmp(word, formats[i]->name, n) == 0 && word[n] == ':' && word[n + 1]) {
                        *ret_path = word + n + 1;
                        return formats[i];
                }
        }
        return NULL;
}

bool metrics_word_check(const char *word, char **ret_reason) {
        const char *path;

        if (find_format(word, &path))
                return true;
        *ret_reason = g_strdup(
                        "it must be csv:FILE, jsonl:FILE, scalars:FILE, tensorboard:DIR or monitor:FILE");
        return false;
}

static ExitStatus refuse(const MetricsFormat *format, const char *path, bool of_key, const char *reason) {
        complain("%s=%s:%s: %s", of_key ? "[Job] Metrics" : "--metrics", format->name, path, reason);
        return STATUS_USAGE;
}

static void clear_sink(gpointer sink) {
        sink_clear(sink);
}

/* Whether another sink has this file: one file may have two names. */
static bool is_open_already(const Metrics *metrics) {
        guint last = metrics->sinks->len - 1;

        for (guint i = 0; i < last; i++)
                if (sink_equal(&g_array_index(metrics->sinks, Sink, i),
                                    &g_array_index(metrics->sinks, Sink, last)))
                        return true;
        return false;
}

static bool is_named_twice(const GPtrArray *words, guint i) {
        const char *path = NULL, *other = NULL;

        (void) find_format(words->pdata[i], &path);
        for (guint j = 0; j < i; j++)
                if (find_format(words->pdata[j], &other) && strcmp(path, other) == 0)
                        return true;
        return false;
}

static ExitStatus open_word(Metrics *metrics, const GPtrArray *words, guint i, bool of_key) {
        static const char twice[] = "it is named twice; each file has one format";
        const char *path, *reason;
        const MetricsFormat *format = find_format(words->pdata[i], &path);
        Sink sink;
        int r;

        g_assert(format);
        if (is_named_twice(words, i))
                return refuse(format, path, of_key, twice);
        r = sink_open(&sink, format, path, of_key, &reason);
        g_array_append_val(metrics->sinks, sink);
        if (r < 0)
                return refuse(format, path, of_key, reason);
        return is_open_already(metrics) ? refuse(format, path, of_key, twice) : STATUS_OK;
}

ExitStatus metrics_open(const GPtrArray *words, bool of_key, Metrics **ret) {
        g_autoptr(Metrics) metrics = g_new0(Metrics, 1);

        g_assert(words);
        g_assert(ret);

        metrics->before = (RoundBefore){ NAN, NAN };
        metrics->sinks = g_array_new(FALSE, FALSE, sizeof(Sink));
        g_array_set_clear_func(metrics->sinks, clear_sink);
        for (guint i = 0; i < words->len; i++) {
                ExitStatus status = open_word(metrics, words, i, of_key);

                if (status != STATUS_OK)
                        return status;
        }
        if (words->len > 0)
                *ret = g_steal_pointer(&metrics);
        return STATUS_OK;
}

Metrics *metrics_close(Metrics *metrics) {
        if (!metrics)
                return NULL;
        g_array_unref(metrics->sinks);
        g_free(metrics);
        return NULL;
}

bool metrics_complete(const Metrics *metrics) {
        return !metrics || !metrics->incomplete;
}

static void give_up(Metrics *metrics, Sink *sink, int r) {
        const char *reason = r == -ETIMEDOUT ? "the program that reads it is too slow" : g_strerror(-r);

        complain("metrics are not written to %s any more: %s; the job is not affected, and `actorctl "
                 "metrics JOB|RUN --metrics=%s:PATH` writes them afterwards",
                        sink->path, reason, sink->format->name);
        sink_give_up(sink);
        metrics->incomplete = true;
}

/* If no episode ended in a round, its steps are counted in the next round in which an episode ends. So are
 * the steps and episodes of rounds that the daemon left out. */
static void pass_round(RoundBefore *before, const JobRounds *rounds, size_t row) {
        if (!isfinite(job_rounds_at(rounds, row, "return_round")))
                return;
        before->env_steps = job_rounds_at(rounds, row, "env_steps");
        before->episodes = job_rounds_at(rounds, row, "episodes");
}

static void write_sink(
                Metrics *metrics, Sink *sink, const JobStatus *job, const JobRounds *rounds, size_t n) {
        g_autoptr(GByteArray) bytes = g_byte_array_new();
        RoundBefore before = metrics->before;
        int r;

        if (!sink->begun)
                sink->format->begin(bytes, job, rounds);
        for (size_t i = 0; i < n; i++) {
                sink->format->add(bytes, job, rounds, i, &before);
                pass_round(&before, rounds, i);
        }
        r = sink_write(sink, bytes);
        if (r < 0)
                give_up(metrics, sink, r);
}

/* Whether the job's first round is round 1. A job that continues from a checkpoint begins with a later
 * round, and its totals include earlier rounds. If there are very many rounds, the daemon leaves out some,
 * perhaps the first one. But the first round always has a decision. */
static bool begins_at_one(Connection *connection, const char *path, const JobRounds *rounds) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        _cleanup_(job_rounds_done) JobRounds first = {};

        if (job_rounds_at(rounds, 0, "round") == 1)
                return true;
        return rounds->n >= JOB_ROUNDS_MOST &&
               sd_bus_call_method(connection->bus, connection->destination, path, BUS_INTERFACE_JOB,
                               "GetDecisions", NULL, &reply, "tu", (uint64_t) 0, 1u) >= 0 &&
               job_rounds_read(reply, &first) >= 0 && first.n > 0 && job_rounds_at(&first, 0, "round") == 1;
}

/* Writes new rounds to all files. A job that has ended has no further rounds, so a file is begun now even
 * without a round. */
static void write_rounds(Metrics *metrics, Connection *connection, const char *path, const JobStatus *job,
                const JobRounds *rounds) {
        bool ended = job_has_ended(job);
        size_t n = rounds->n;

        if (n > 0 && !ended)
                n--;
        if (n > 0 && metrics->round == 0 && begins_at_one(connection, path, rounds))
                metrics->before = (RoundBefore){ 0, 0 };
        for (guint i = 0; i < metrics->sinks->len; i++) {
                Sink *sink = &g_array_index(metrics->sinks, Sink, i);

                if (sink->fd >= 0 && (n > 0 || (ended && !sink->begun)))
                        write_sink(metrics, sink, job, rounds, n);
        }
        if (n == 0)
                return;
        metrics->round = (uint64_t) job_rounds_at(rounds, n - 1, "round");
        for (size_t i = 0; i < n; i++)
                pass_round(&metrics->before, rounds, i);
}

/* Checks an answer of the daemon, which in system mode is not the user's own program. */
static bool in_order(const Metrics *metrics, const JobRounds *rounds) {
        double before = (double) metrics->round;

        for (size_t i = 0; i < rounds->n; i++) {
                double round = job_rounds_at(rounds, i, "round");

                if (!(round > before) || !(round < 0x1p53))
                        return false;
                before = round;
        }
        return true;
}

void metrics_update(Metrics *metrics, Connection *connection, const char *path, const JobStatus *job) {
        _cleanup_(job_rounds_done) JobRounds rounds = {};

        if (metrics && job_rounds_ask(connection, path, metrics->round, JOB_ROUNDS_MOST, &rounds) >= 0 &&
                        in_order(metrics, &rounds))
                write_rounds(metrics, connection, path, job, &rounds);
}

int metrics_write(Metrics *metrics, Connection *connection, const char *path, const JobStatus *job) {
        _cleanup_(job_rounds_done) JobRounds rounds = {};
        int r;

        g_assert(metrics);

        r = job_rounds_fetch(connection, path, metrics->round, JOB_ROUNDS_MOST, &rounds);
        if (r < 0)
                return r;
        if (!in_order(metrics, &rounds)) {
                complain("the rounds cannot be read: %s", g_strerror(EBADMSG));
                return -EBADMSG;
        }
        write_rounds(metrics, connection, path, job, &rounds);
        return 0;
}

void metrics_finish(Metrics *metrics, Connection *connection, const char *path, const JobStatus *job) {
        if (!metrics || metrics_write(metrics, connection, path, job) >= 0)
                return;
        metrics->incomplete = true;
        for (guint i = 0; i < metrics->sinks->len; i++) {
                const Sink *sink = &g_array_index(metrics->sinks, Sink, i);

                if (sink->fd >= 0 && !sink->begun)
                        complain("nothing was written to %s; `actorctl metrics JOB|RUN --metrics=%s:PATH` "
                                 "writes all rounds that the daemon still has",
                                        sink->path, sink->format->name);
                else if (sink->fd >= 0)
                        complain("%s lacks the job's last rounds; `actorctl metrics JOB|RUN "
                                 "--metrics=%s:PATH` writes all of them",
                                        sink->path, sink->format->name);
        }
}
