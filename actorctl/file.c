/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A FIFO that nobody writes to would keep whoever opens it, at a time when Ctrl-C is not heard
 * (follow_prepare()); a device may have no end. */
#include "actorctl/file.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "lib/cleanup.h"
#include "lib/fd.h"

/* A pipe without a name in any directory: whoever started this program made it for it, and writes. */
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
        /* A pipe has none, and a file may grow: what is read counts as well. */
        return bytes > max ? -EFBIG : read_all(fd, max, ret, ret_n);
}

const char *file_reason(int r) {
        return r == -ENOTSUP ? "it is no regular file" : g_strerror(-r);
}
