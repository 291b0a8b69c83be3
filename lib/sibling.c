/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds actord's other files. It asks the kernel for the path of the running program, since argv[0] and PATH
 * come from the caller. */
#include "lib/sibling.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What the kernel adds to the path of a file that has no name any more. */
#define DELETED " (deleted)"

int sibling_directory(char ret[SIBLING_DIRECTORY_MAX]) {
        char path[SIBLING_DIRECTORY_MAX + 64];
        char *slash;
        ssize_t n;

        assert(ret);

        n = readlink("/proc/self/exe", path, sizeof(path));
        if (n < 0)
                return -errno;
        if ((size_t) n >= sizeof(path))
                return -ENAMETOOLONG;
        path[n] = 0;

        slash = strrchr(path, '/');
        if (!slash)
                return -ENOENT;
        /* Cuts the program's name off. If only the root directory is left, its slash stays. */
        slash[slash == path] = 0;

        if (strlen(path) >= SIBLING_DIRECTORY_MAX)
                return -ENAMETOOLONG;
        strcpy(ret, path);
        return 0;
}

bool sibling_replaced(void) {
        char path[SIBLING_DIRECTORY_MAX + 64];
        ssize_t n;

        n = readlink("/proc/self/exe", path, sizeof(path));
        return n > (ssize_t) strlen(DELETED) && (size_t) n < sizeof(path) &&
               memcmp(path + n - strlen(DELETED), DELETED, strlen(DELETED)) == 0;
}

int data_path(const char *name, char ret[DATA_PATH_MAX]) {
        char directory[SIBLING_DIRECTORY_MAX], share[SIBLING_DIRECTORY_MAX + 8];
        struct stat st;
        int n, r;

        assert(name);
        assert(ret);

        r = sibling_directory(directory);
        if (r < 0)
                return r;

        (void) snprintf(share, sizeof(share), "%s/share", directory);
        if (stat(share, &st) >= 0 && S_ISDIR(st.st_mode))
                n = snprintf(ret, DATA_PATH_MAX, "%s/%s", share, name);
        else
                n = snprintf(ret, DATA_PATH_MAX, "%s/%s", ACTORD_DATADIR, name);

        return n < 0 || n >= DATA_PATH_MAX ? -ENAMETOOLONG : 0;
}
