/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Metrics are for looking at, and a job is for its policy: where a file cannot be written any more, that is
 * said once, the file keeps the rounds that it has, and the job goes on. */
#include "actorctl/metrics/metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "actorctl/metrics/format.h"
#include "lib/cleanup.h"

#define READER_MSEC 5000 /* that the program at the other end of a pipe has, to make room */

typedef struct Sink {
        const MetricsFormat *format;
        char *path;
        int fd; /* negative: given up */
        uint64_t n_written;
        bool begun;
} Sink;

struct Metrics {
        GArray *sinks;  /* of Sink */
        uint64_t round; /* the newest that is written */
        RoundBefore before;
        bool incomplete;
};

static const MetricsFormat *const formats[] = { &metrics_csv, &metrics_jsonl, &metrics_tensorboard,
        &metrics_monitor };

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
        *ret_reason = g_strdup("it must be csv:FILE, jsonl:FILE, tensorboard:DIR or monitor:FILE");
        return false;
}

/* "events.out.tfevents.SECONDS.HOST.PID": TensorBoard reads every file of the directory with such a name. */
static char *event_file(const char *directory) {
        g_autofree char *name = g_strdup_printf("events.out.tfevents.%010lld.%s.%d", (long long) time(NULL),
                        g_get_host_name(), (int) getpid());

        return g_build_filename(directory, name, NULL);
}

static ExitStatus refuse(const MetricsFormat *format, const char *path, const char *reason) {
        complain("--metrics=%s:%s: %s", format->name, path, reason);
        return STATUS_USAGE;
}

static ExitStatus open_sink(Metrics *metrics, const MetricsFormat *format, const char *path) {
        Sink sink = { .format = format, .path = g_strdup(path), .fd = -EBADF };
        const char *reason = NULL;

        if (format->directory) {
                if (g_mkdir_with_parents(path, 0777) < 0)
                        reason = g_strerror(errno);
                g_free(sink.path);
                sink.path = event_file(path);
        }
        /* Without O_NONBLOCK a pipe that nobody reads would keep us here, and Ctrl-C is blocked later. */
        if (!reason) {
                sink.fd = open(sink.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
                                0666);
                if (sink.fd < 0)
                        reason = errno == ENXIO ? "no program reads from this pipe" : g_strerror(errno);
        }
        g_array_append_val(metrics->sinks, sink);
        return reason ? refuse(format, path, reason) : STATUS_OK;
}

static void sink_clear(gpointer p) {
        Sink *sink = p;

        sink->fd = close_fd(sink->fd);
        g_free(sink->path);
}

static bool is_named_twice(const GPtrArray *words, guint i) {
        const char *path = NULL, *other = NULL;

        (void) find_format(words->pdata[i], &path);
        for (guint j = 0; j < i; j++)
                if (find_format(words->pdata[j], &other) && strcmp(path, other) == 0)
                        return true;
        return false;
}

ExitStatus metrics_open(const GPtrArray *words, Metrics **ret) {
        g_autoptr(Metrics) metrics = g_new0(Metrics, 1);

        g_assert(words);
        g_assert(ret);

        metrics->before = (RoundBefore){ NAN, NAN };
        metrics->sinks = g_array_new(FALSE, FALSE, sizeof(Sink));
        g_array_set_clear_func(metrics->sinks, sink_clear);
        for (guint i = 0; i < words->len; i++) {
                const char *path;
                const MetricsFormat *format = find_format(words->pdata[i], &path);
                ExitStatus status;

                g_assert(format);
                if (is_named_twice(words, i))
                        return refuse(format, path, "it is named twice; each file has one format");
                status = open_sink(metrics, format, path);
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

/* 0; or a negative errno, -ETIMEDOUT: a pipe whose reader makes no room. */
static int write_patiently(int fd, const uint8_t *data, size_t n) {
        while (n > 0) {
                ssize_t k = write(fd, data, n);

                if (k < 0 && errno == EAGAIN) {
                        struct pollfd room = { .fd = fd, .events = POLLOUT };
                        int r = poll(&room, 1, READER_MSEC);

                        if (r == 0)
                                return -ETIMEDOUT;
                        if (r < 0 && errno != EINTR)
                                return -errno;
                        continue;
                }
                if (k < 0 && errno == EINTR)
                        continue;
                if (k < 0)
                        return -errno;
                data += k;
                n -= (size_t) k;
        }
        return 0;
}

/* A file ends with a whole round: what was written of the last one is taken away again. */
static void give_up(Metrics *metrics, Sink *sink, int r) {
        const char *reason = r == -ETIMEDOUT ? "the program that reads it makes no room" : g_strerror(-r);

        complain("metrics are not written to %s any more: %s; the job is not affected, and `actorctl "
                 "metrics JOB|RUN --metrics=%s:PATH` writes them afterwards",
                        sink->path, reason, sink->format->name);
        (void) ftruncate(sink->fd, (off_t) sink->n_written);
        sink->fd = close_fd(sink->fd);
        metrics->incomplete = true;
}

static void write_sink(
                Metrics *metrics, Sink *sink, const JobStatus *job, const JobRounds *rounds, size_t n) {
        g_autoptr(GByteArray) bytes = g_byte_array_new();
        RoundBefore before = metrics->before;
        int r;

        if (!sink->begun)
                sink->format->begin(bytes, job, rounds);
        sink->begun = true;
        for (size_t i = 0; i < n; i++) {
                sink->format->add(bytes, job, rounds, i, &before);
                before.env_steps = job_rounds_at(rounds, i, "env_steps");
                before.episodes = job_rounds_at(rounds, i, "episodes");
        }
        r = write_patiently(sink->fd, bytes->data, bytes->len);
        if (r < 0)
                give_up(metrics, sink, r);
        else
                sink->n_written += bytes->len;
}

static void write_rounds(Metrics *metrics, const JobStatus *job, const JobRounds *rounds) {
        size_t n = rounds->n;

        if (n > 0 && !job_has_ended(job))
                n--;
        /* A job that goes on from a checkpoint begins later: what had accrued is not of its rounds. */
        if (n > 0 && job_rounds_at(rounds, 0, "round") == 1)
                metrics->before = (RoundBefore){ 0, 0 };
        for (guint i = 0; n > 0 && i < metrics->sinks->len; i++) {
                Sink *sink = &g_array_index(metrics->sinks, Sink, i);

                if (sink->fd >= 0)
                        write_sink(metrics, sink, job, rounds, n);
        }
        if (n == 0)
                return;
        metrics->round = (uint64_t) job_rounds_at(rounds, n - 1, "round");
        metrics->before.env_steps = job_rounds_at(rounds, n - 1, "env_steps");
        metrics->before.episodes = job_rounds_at(rounds, n - 1, "episodes");
}

/* The daemon is not one's own in system mode: what it says is checked. */
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
                write_rounds(metrics, job, &rounds);
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
        write_rounds(metrics, job, &rounds);
        return 0;
}
