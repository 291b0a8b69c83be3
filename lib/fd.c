/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Descriptors that programs pass to each other. Memory that crosses a trust boundary is sealed, so that it
 * cannot change between check and use. */
#include "lib/fd.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cleanup.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

static int memfd_create_closed(const char *name) {
        int fd;

        /* Kernels before 6.3 do not know MFD_NOEXEC_SEAL; newer ones log a warning without it. */
        fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
        if (fd < 0 && errno == EINVAL)
                fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
        return fd < 0 ? -errno : fd;
}

int memfd_make(const char *name, uint64_t bytes) {
        _cleanup_close_ int fd = -EBADF;

        assert(name);

        if (bytes > INT64_MAX)
                return -EFBIG;

        fd = memfd_create_closed(name);
        if (fd < 0)
                return fd;

        if (ftruncate(fd, (off_t) bytes) < 0)
                return -errno;
        if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) < 0)
                return -errno;

        return TAKE_FD(fd);
}

int memfd_make_sealed(const char *name, const void *content, uint64_t bytes) {
        _cleanup_close_ int fd = -EBADF;
        int r;

        assert(name);
        assert(content || bytes == 0);

        fd = memfd_create_closed(name);
        if (fd < 0)
                return fd;

        r = write_full(fd, content, bytes);
        if (r < 0)
                return r;
        if (lseek(fd, 0, SEEK_SET) < 0)
                return -errno;
        if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
                return -errno;

        return TAKE_FD(fd);
}

int memfd_seal_future_write(int fd) {
        assert(fd >= 0);

        return fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) < 0 ? -errno : 0;
}

int memfd_check_sealed(int fd) {
        const int wanted = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
        int seals;

        assert(fd >= 0);

        seals = fcntl(fd, F_GET_SEALS);
        return seals < 0 || (seals & wanted) != wanted ? -EPERM : 0;
}

int fd_size(int fd, uint64_t *ret) {
        struct stat st;

        assert(fd >= 0);
        assert(ret);

        if (fstat(fd, &st) < 0)
                return -errno;

        *ret = (uint64_t) st.st_size;
        return 0;
}

int fd_map(int fd, uint64_t bytes, bool writable, void **ret) {
        uint64_t size = 0;
        void *map;
        int r;

        assert(fd >= 0);
        assert(bytes > 0);
        assert(ret);

        r = fd_size(fd, &size);
        if (r < 0)
                return r;
        if (size < bytes)
                return -ENODATA;

        map = mmap(NULL, bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
        if (map == MAP_FAILED)
                return -errno;

        *ret = map;
        return 0;
}

void fd_unmap(void *map, uint64_t bytes) {
        if (map)
                (void) munmap(map, bytes);
}

/* Reads n bytes, from `at` on or, if at is negative, from the descriptor's position on. */
static int read_from(int fd, void *ret, size_t n, off_t at) {
        uint8_t *p = ret;

        assert(fd >= 0);
        assert(ret || n == 0);

        while (n > 0) {
                ssize_t k = at < 0 ? read(fd, p, n) : pread(fd, p, n, at);

                if (k < 0 && errno == EINTR)
                        continue;
                if (k < 0)
                        return -errno;
                if (k == 0)
                        return -ENODATA;
                p += k;
                at += at < 0 ? 0 : k;
                n -= (size_t) k;
        }
        return 0;
}

int read_full(int fd, void *ret, size_t n) {
        return read_from(fd, ret, n, -1);
}

int pread_full(int fd, void *ret, size_t n, off_t at) {
        assert(at >= 0);

        return read_from(fd, ret, n, at);
}

int write_full(int fd, const void *data, size_t n) {
        const uint8_t *p = data;

        assert(fd >= 0);
        assert(data || n == 0);

        while (n > 0) {
                ssize_t k = write(fd, p, n);

                if (k < 0 && errno == EINTR)
                        continue;
                if (k < 0)
                        return -errno;
                p += k;
                n -= (size_t) k;
        }
        return 0;
}

int read_all(int fd, size_t max, char **ret, size_t *ret_n) {
        _cleanup_free_ char *text = NULL;
        size_t n = 0, allocated = 0;

        assert(fd >= 0);
        assert(ret);

        for (;;) {
                ssize_t k;

                if (n + 1 >= allocated) {
                        char *larger;

                        allocated = allocated ? allocated * 2 : 4096;
                        larger = realloc(text, allocated);
                        if (!larger)
                                return -ENOMEM;
                        text = larger;
                }

                k = read(fd, text + n, allocated - n - 1);
                if (k < 0 && errno == EINTR)
                        continue;
                if (k < 0)
                        return -errno;
                if (k == 0)
                        break;
                n += (size_t) k;
                if (n > max)
                        return -EFBIG;
        }

        text[n] = 0;
        *ret = TAKE_PTR(text);
        if (ret_n)
                *ret_n = n;
        return 0;
}

int file_read_at(int dir_fd, const char *name, char *ret, size_t n) {
        _cleanup_close_ int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        ssize_t k;

        assert(n > 0);

        if (fd < 0)
                return -errno;
        k = read(fd, ret, n - 1);
        if (k < 0)
                return -errno;
        ret[k] = 0;
        return 0;
}

int fd_set_cloexec(int fd, bool cloexec) {
        int flags;

        assert(fd >= 0);

        flags = fcntl(fd, F_GETFD);
        if (flags < 0)
                return -errno;

        flags = cloexec ? flags | FD_CLOEXEC : flags & ~FD_CLOEXEC;
        return fcntl(fd, F_SETFD, flags) < 0 ? -errno : 0;
}

int fd_lift(int fd, int floor) {
        int lifted;

        assert(fd >= 0);
        assert(floor >= 0);

        lifted = fcntl(fd, F_DUPFD_CLOEXEC, floor);
        if (lifted >= 0)
                return lifted;
        return errno == EINVAL ? -EMFILE : -errno;
}

int fd_keep_only(int fds[], size_t n) {
        int lowest = STDERR_FILENO + 1, floor = lowest;

        for (size_t i = 0; i < n; i++)
                floor = fds[i] >= floor ? fds[i] + 1 : floor;
        lowest = floor;
        for (size_t i = 0; i < n; i++) {
                if (fds[i] < 0)
                        continue;
                fds[i] = fd_lift(fds[i], floor);
                if (fds[i] < 0)
                        return fds[i];
                if (fds[i] > floor && close_range((unsigned) floor, (unsigned) fds[i] - 1, 0) < 0)
                        return -errno;
                floor = fds[i] + 1;
        }
        if (close_range((unsigned) floor, ~0u, 0) < 0)
                return -errno;
        /* With no descriptor above the first three, this range is empty, which the kernel refuses. */
        if (lowest > STDERR_FILENO + 1 && close_range(STDERR_FILENO + 1, (unsigned) lowest - 1, 0) < 0)
                return -errno;
        return 0;
}
