/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds and reads files of Python packages without Python: by patterns of paths. */
#include "actor/envs/swmm/package.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "include/launch.h"
#include "lib/cleanup.h"

#define FILE_MAX 64

int package_find(int packages_fd, const char *file, char *ret, size_t n) {
        char root[64], pattern[sizeof(root) + FILE_MAX + 32];
        glob_t found = {};
        bool fits;

        /* Where the sandbox does not mount the directory, it is reached through its descriptor. */
        (void) snprintf(root, sizeof(root), "/proc/self/fd/%d", packages_fd);
        if (access(root, F_OK) < 0)
                (void) snprintf(root, sizeof(root), "%s", PYTHON_DIRECTORY);
        (void) snprintf(pattern, sizeof(pattern), "%s/lib/python3*/site-packages/%.*s", root, FILE_MAX,
                        file);

        fits = glob(pattern, GLOB_NOSORT, NULL, &found) == 0 && strlen(found.gl_pathv[0]) < n;
        if (fits)
                (void) snprintf(ret, n, "%s", found.gl_pathv[0]);
        globfree(&found);
        return fits ? 0 : -ENOENT;
}

int package_read(int packages_fd, const char *file, char *ret, size_t n) {
        _cleanup_close_ int fd = -1;
        char path[512];
        size_t n_read = 0;
        ssize_t k;
        int r;

        r = package_find(packages_fd, file, path, sizeof(path));
        if (r < 0)
                return r;
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (fd < 0)
                return -errno;

        do {
                k = read(fd, ret + n_read, n - n_read);
                if (k < 0)
                        return -errno;
                n_read += (size_t) k;
        } while (k > 0 && n_read < n);
        if (n_read == n)
                return -EFBIG;
        ret[n_read] = '\0';
        return (int) n_read;
}
