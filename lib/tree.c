/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Removes a directory tree depth first. Each call begins again at the top. Removed entries are gone, so no
 * position need be kept between two calls. */
#include "lib/tree.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>
#include "lib/cleanup.h"

typedef struct Removal {
        unsigned left;
        int error; /* the first error */
} Removal;

static void remove_entry(Removal *removal, int at_fd, const char *name, unsigned depth);

static bool is_dots(const char *name) {
        return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Removes the entries of directory fd, and closes fd. */
static void remove_below(Removal *removal, int fd, unsigned depth) {
        _cleanup_closedir_ DIR *dir = fdopendir(fd);
        struct dirent *e;

        if (!dir) {
                (void) close_fd(fd);
                return;
        }
        while (removal->left > 0 && (e = readdir(dir)))
                if (!is_dots(e->d_name))
                        remove_entry(removal, dirfd(dir), e->d_name, depth);
}

static void remove_entry(Removal *removal, int at_fd, const char *name, unsigned depth) {
        int fd;

        if (unlinkat(at_fd, name, 0) >= 0) {
                removal->left--;
                return;
        }
        if (errno == EISDIR && depth > 0) {
                fd = openat(at_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                if (fd >= 0)
                        remove_below(removal, fd, depth - 1);
                if (removal->left == 0)
                        return;
                if (unlinkat(at_fd, name, AT_REMOVEDIR) >= 0) {
                        removal->left--;
                        return;
                }
        }
        if (errno != ENOENT && removal->error == 0)
                removal->error = -errno;
}

int tree_remove(int at_fd, const char *name, unsigned most) {
        Removal removal = { .left = most };

        assert(name);
        assert(most > 0);

        remove_entry(&removal, at_fd, name, TREE_DEPTH_MAX);
        if (removal.left == 0)
                return 1;
        /* The directory was filled again meanwhile. Another call makes sense only if this call has removed
         * an entry. */
        if (removal.error == -ENOTEMPTY && removal.left < most)
                return 1;
        return removal.error;
}
