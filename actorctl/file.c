/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* open() of a FIFO waits until another program opens it for writing, and Ctrl-C may be blocked at that time
 * (follow_prepare()). Reading a device may never end. So this file opens only regular files, and pipes
 * without a name, which have a writer or end at once. */
#include "actorctl/file.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/fd.h"

/* Whether the descriptor is a pipe without a name, such as a shell makes. Either it has a writer, or a read
 * from it ends at once. */
static bool is_piped(int fd, const struct stat *st) {
        struct statfs fs;

        return S_ISFIFO(st->st_mode) && fstatfs(fd, &fs) == 0 && fs.f_type == PIPEFS_MAGIC;
}

int file_open(const char *path) {
        _cleanup_close_ int fd = -EBADF;
        struct stat st;

        g_assert(path);

        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        if (fd < 0 || fstat(fd, &st) < 0)
                return errno == ENXIO || errno == ENODEV ? -ENOTSUP : -errno;
        if (S_ISDIR(st.st_mode))
                return -EISDIR;
        if (is_piped(fd, &st)) {
                if (fcntl(fd, F_SETFL, 0) < 0)
                        return -errno;
        } else if (!S_ISREG(st.st_mode))
                return -ENOTSUP;
        return TAKE_FD(fd);
}

int file_read(const char *path, size_t max, char **ret, size_t *ret_n) {
        _cleanup_close_ int fd = file_open(path);
        uint64_t bytes;
        int r;

        r = fd < 0 ? fd : fd_size(fd, &bytes);
        if (r < 0)
                return r;
        /* The size is only a first check: a pipe has none, and a file may grow while it is read. */
        return bytes > max ? -EFBIG : read_all(fd, max, ret, ret_n);
}

const char *file_reason(int r) {
        return r == -ENOTSUP ? "it is not a regular file" : g_strerror(-r);
}

int aside_open(const char *path, int mode, Aside *ret) {
        g_autofree char *aside = g_strconcat(path, ".XXXXXX", NULL);
        int fd = g_mkstemp_full(aside, O_RDWR | O_CLOEXEC, mode);

        if (fd < 0)
                return -errno;
        *ret = (Aside){ .fd = fd, .path = g_steal_pointer(&aside) };
        return 0;
}

int aside_commit(Aside *aside, const char *path) {
        if (fsync(aside->fd) < 0 || rename(aside->path, path) < 0)
                return -errno;
        g_clear_pointer(&aside->path, g_free);
        return 0;
}

void aside_done(Aside *aside) {
        if (aside->path)
                (void) unlink(aside->path);
        g_clear_pointer(&aside->path, g_free);
        aside->fd = close_fd(aside->fd);
}

int file_write(const char *path, const void *bytes, size_t n) {
        _cleanup_(aside_done) Aside aside = ASIDE_EMPTY;
        int r;

        g_assert(path);
        g_assert(bytes);

        r = aside_open(path, 0666, &aside);
        if (r < 0)
                return r;
        r = write_full(aside.fd, bytes, n);
        return r < 0 ? r : aside_commit(&aside, path);
}
