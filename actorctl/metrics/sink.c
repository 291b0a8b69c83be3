/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "actorctl/metrics/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/cleanup.h"

/* The time limit for all bytes of one call. Until then the caller's display of the job stands still. */
#define READER_MSEC 5000

/* Without O_NONBLOCK, open() would wait for the reader of a pipe, and write() for room in it, while Ctrl-C
 * may be blocked. */
#define OPEN_FLAGS (O_CLOEXEC | O_NOCTTY | O_NONBLOCK)

/* The path of a new file "events.out.tfevents.SECONDS.HOST.PID": TensorBoard reads every file of the
 * directory with such a name. */
static char *event_file(const char *directory) {
        g_autofree char *name = g_strdup_printf("events.out.tfevents.%010lld.%s.%d", (long long) time(NULL),
                        g_get_host_name(), (int) getpid());

        return g_build_filename(directory, name, NULL);
}

/* Whether the file has this format; an empty file has nothing to lose. */
static bool has_format(int fd, const struct stat *st, const MetricsFormat *format) {
        char head[32];
        size_t n = format->head ? strlen(format->head) : 0;

        g_assert(n <= sizeof(head));
        return st->st_size == 0 ||
               (n > 0 && pread(fd, head, n, 0) == (ssize_t) n && memcmp(head, format->head, n) == 0);
}

/* Looks at the file before it is opened, since opening a device may already have an effect. Refuses
 * links. */
static int open_existing_carefully(Sink *sink, struct stat *ret, const char **ret_reason) {
        struct stat before;
        bool file;

        if (lstat(sink->path, &before) < 0)
                return -errno;
        file = S_ISREG(before.st_mode);
        *ret_reason = "this file has another format: a job file may name a new file, a pipe or a file of "
                      "the same format; --metrics= replaces any file";
        if (!file && !S_ISFIFO(before.st_mode))
                return -EEXIST;
        sink->fd = open(sink->path, (file ? O_RDWR : O_WRONLY) | O_NOFOLLOW | OPEN_FLAGS);
        if (sink->fd < 0) {
                *ret_reason = NULL;
                return -errno;
        }
        if (fstat(sink->fd, ret) < 0 || ret->st_dev != before.st_dev || ret->st_ino != before.st_ino ||
                        (file && !has_format(sink->fd, ret, sink->format)))
                return -EEXIST;
        *ret_reason = NULL;
        return 0;
}

static int open_existing(Sink *sink, bool careful, struct stat *ret, const char **ret_reason) {
        if (careful)
                return open_existing_carefully(sink, ret, ret_reason);
        /* O_CREAT: a link may lead to a file that does not exist yet. */
        sink->fd = open(sink->path, O_WRONLY | O_CREAT | OPEN_FLAGS, 0666);
        return sink->fd < 0 || fstat(sink->fd, ret) < 0 ? -errno : 0;
}

static int open_file(Sink *sink, bool careful, const char **ret_reason) {
        struct stat st;
        int r = 0;

        sink->fd = open(sink->path, O_WRONLY | O_CREAT | O_EXCL | OPEN_FLAGS, 0666);
        sink->made = sink->fd >= 0;
        if (sink->made)
                r = fstat(sink->fd, &st) < 0 ? -errno : 0;
        else
                r = errno == EEXIST ? open_existing(sink, careful, &st, ret_reason) : -errno;
        if (r < 0)
                return r;
        sink->type = st.st_mode & S_IFMT;
        sink->device = st.st_dev;
        sink->inode = st.st_ino;
        return 0;
}

int sink_open(Sink *ret, const MetricsFormat *format, const char *path, bool careful,
                const char **ret_reason) {
        int r = 0;

        g_assert(ret);
        g_assert(format);
        g_assert(path);
        g_assert(ret_reason);

        *ret_reason = NULL;
        *ret = (Sink){ .format = format, .fd = -EBADF };
        if (format->directory && g_mkdir_with_parents(path, 0777) < 0)
                r = -errno;
        ret->path = format->directory ? event_file(path) : g_strdup(path);
        if (r >= 0)
                r = open_file(ret, careful, ret_reason);
        if (r < 0 && !*ret_reason)
                *ret_reason = r == -ENXIO ? "no program reads from this pipe" : g_strerror(-r);
        return r;
}

bool sink_equal(const Sink *a, const Sink *b) {
        return a->type == b->type && (a->type == S_IFREG || a->type == S_IFIFO) && a->device == b->device &&
               a->inode == b->inode;
}

static int write_patiently(int fd, const uint8_t *data, size_t n) {
        gint64 deadline_usec = g_get_monotonic_time() + READER_MSEC * 1000ll;

        while (n > 0) {
                ssize_t k = write(fd, data, n);

                if (k < 0 && errno == EAGAIN) {
                        struct pollfd room = { .fd = fd, .events = POLLOUT };
                        gint64 left_usec = deadline_usec - g_get_monotonic_time();

                        if (left_usec <= 0)
                                return -ETIMEDOUT;
                        if (poll(&room, 1, (int) (left_usec / 1000) + 1) < 0 && errno != EINTR)
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

int sink_write(Sink *sink, const GByteArray *bytes) {
        int r;

        g_assert(sink);
        g_assert(bytes);

        if (!sink->begun && sink->type == S_IFREG && ftruncate(sink->fd, 0) < 0)
                return -errno;
        sink->begun = true;
        r = write_patiently(sink->fd, bytes->data, bytes->len);
        if (r < 0)
                return r;
        sink->n_written += bytes->len;
        return 0;
}

void sink_give_up(Sink *sink) {
        g_assert(sink);

        if (sink->begun && sink->type == S_IFREG && ftruncate(sink->fd, (off_t) sink->n_written) < 0)
                complain("%s may end in the middle of a round: %s", sink->path, g_strerror(errno));
        sink->fd = close_fd(sink->fd);
}

/* Whether the path still leads to the file that was opened. */
static bool is_ours(const Sink *sink) {
        struct stat st;

        return lstat(sink->path, &st) >= 0 && st.st_dev == sink->device && st.st_ino == sink->inode;
}

void sink_clear(Sink *sink) {
        g_assert(sink);

        if (sink->made && !sink->begun && is_ours(sink))
                (void) unlink(sink->path);
        sink->fd = close_fd(sink->fd);
        g_clear_pointer(&sink->path, g_free);
}
