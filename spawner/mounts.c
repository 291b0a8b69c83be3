/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes a detached mount from a descriptor. The invoker attaches this mount in its actors' root. The file is
 * not opened by a path that a user wrote. So a plugin in a home directory of mode 0700 works, and a link
 * that has changed meanwhile does no harm. */
#include "spawner/spawner.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/cleanup.h"
#include "lib/fd.h"

/* Opens the file again in this mount namespace, by the same path. The kernel clones only mounts of the
 * caller's own namespace. But the descriptor may come from another namespace: that of a hardened daemon, or
 * that of this process's parent. The result is used only if it is the same inode. */
static int reopen(int fd, uid_t as, int *ret) {
        _cleanup_close_ int found = -EBADF;
        char link[64], path[PATH_MAX];
        struct stat a, b;
        ssize_t n;
        int r;

        (void) snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        n = readlink(link, path, sizeof(path) - 1);
        if (n < 0)
                return -errno;
        path[n] = 0;

        /* The path is looked up with the caller's rights, since the spawner has no capability to pass
         * through closed directories. */
        (void) setfsuid(as);
        found = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        r = found < 0 ? -errno : 0;
        (void) setfsuid(geteuid());
        if (r < 0)
                return r;
        if (fstat(fd, &a) < 0 || fstat(found, &b) < 0)
                return -errno;
        if (a.st_dev != b.st_dev || a.st_ino != b.st_ino)
                return -ESTALE;
        *ret = TAKE_FD(found);
        return 0;
}

static int clone_tree(int fd) {
        return open_tree(fd, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE);
}

/* Sealed memory does not belong to a mount. So it stays a descriptor, and the invoker copies it into its
 * actors' root. */
int mount_clone(int fd, uid_t as, bool read_only, int *ret) {
        struct mount_attr attr = { .attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
                                               (read_only ? MOUNT_ATTR_RDONLY : 0) };
        _cleanup_close_ int tree = -EBADF, here = -EBADF;
        int r;

        if (memfd_check_sealed(fd) >= 0) {
                r = fcntl(fd, F_DUPFD_CLOEXEC, 3);
                if (r < 0)
                        return -errno;
                *ret = r;
                return 0;
        }
        tree = clone_tree(fd);
        if (tree < 0) {
                r = reopen(fd, as, &here);
                if (r < 0)
                        return r;
                tree = clone_tree(here);
                if (tree < 0)
                        return -errno;
        }
        if (mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)) < 0)
                return -errno;
        *ret = TAKE_FD(tree);
        return 0;
}
