/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The roots of sandboxes, which are built once. Each is a small file system without /proc, and is made
 * read-only in the end. For built-in environments it is empty. For a plugin, the learner or a relay it has
 * the host's libraries and three devices. All roots are in one directory. Afterwards the invoker makes this
 * directory its own root, so that a child copies a dozen mounts and not the host's hundred. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/fd.h"
#include "sandbox/places.h"
#include "sandbox/step.h"

enum { FILE_SYSTEM_BYTES = 64 << 10 }; /* a tmpfs's own need, besides its files */

/* Directories that the invoker may mount over: no other process sees this, since its mount namespace is its
 * own. */
static const char *const stages[] = { "/tmp", "/run", "/mnt", "/var" };

/* The directory that holds the roots; "" when it has become this process's own root; NULL before it is
 * made. */
static const char *stage;

static int mount_memory(const char *at, const char *options) {
        return mount("actord", at, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options) < 0 ? -errno : 0;
}

static int stage_make(void) {
        int r = -ENOENT;

        if (stage)
                return 0;

        /* Makes the mounts private, so that nothing done here reaches the host. */
        if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
                return -errno;

        for (size_t i = 0; i < ELEMENTSOF(stages); i++) {
                r = mount_memory(stages[i], "mode=0755,size=1m,nr_inodes=1024");
                if (r < 0)
                        continue;
                stage = stages[i];
                return 0;
        }
        return r;
}

static int make_parents(int root_fd, const char *path) {
        char buffer[SANDBOX_ROOT_MAX + sizeof(((LaunchMount *) NULL)->at)];

        for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
                size_t n = (size_t) (slash - path);

                if (n >= sizeof(buffer))
                        return -ENAMETOOLONG;
                memcpy(buffer, path, n);
                buffer[n] = 0;
                if (mkdirat(root_fd, buffer, 0755) < 0 && errno != EEXIST)
                        return -errno;
        }
        return 0;
}

/* Makes a directory or a file, over which something of the same kind is mounted. */
static int make_target(int root_fd, const char *path, bool directory) {
        int fd, r;

        r = make_parents(root_fd, path);
        if (r < 0)
                return r;
        if (directory)
                return mkdirat(root_fd, path, 0755) < 0 && errno != EEXIST ? -errno : 0;

        fd = openat(root_fd, path, O_CREAT | O_RDONLY | O_CLOEXEC, 0444);
        if (fd < 0)
                return -errno;
        (void) close_fd(fd);
        return 0;
}

/* Mounts the detached tree_fd at path below the root. */
static int attach(int root_fd, const char *path, int tree_fd, uint64_t attributes) {
        struct mount_attr attr = { .attr_set = attributes | MOUNT_ATTR_NOSUID };
        struct stat st;
        int r;

        if (fstat(tree_fd, &st) < 0)
                return -errno;
        r = make_target(root_fd, path, S_ISDIR(st.st_mode));
        if (r < 0)
                return r;
        if (mount_setattr(tree_fd, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)) < 0)
                return -errno;
        return move_mount(tree_fd, "", root_fd, path, MOVE_MOUNT_F_EMPTY_PATH) < 0 ? -errno : 0;
}

/* Mounts a file or directory of the host at the same path; it is left out if this host does not have it. */
static int bind(int root_fd, const char *path, uint64_t attributes) {
        _cleanup_close_ int fd = -EBADF;
        char target[128];
        struct stat st;
        ssize_t n;

        if (lstat(path, &st) < 0)
                return errno == ENOENT ? 0 : -errno;
        if (S_ISLNK(st.st_mode)) {
                n = readlink(path, target, sizeof(target) - 1);
                if (n < 0)
                        return -errno;
                target[n] = 0;
                return symlinkat(target, root_fd, path + 1) < 0 ? -errno : 0;
        }

        fd = open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
        if (fd < 0)
                return -errno;
        return attach(root_fd, path + 1, fd, attributes);
}

static int add_libraries(int root_fd) {
        static const char *const libraries[] = { SANDBOX_LIBRARIES };
        static const char *const devices[] = { SANDBOX_DEVICES };
        int r;

        for (size_t i = 0; i < ELEMENTSOF(libraries); i++) {
                r = bind(root_fd, libraries[i], MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV);
                if (r < 0)
                        return r;
        }
        for (size_t i = 0; i < ELEMENTSOF(devices); i++) {
                r = bind(root_fd, devices[i], MOUNT_ATTR_NOEXEC);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int copy_memory(int memory_fd, int directory_fd, const char *name, uint64_t bytes) {
        _cleanup_close_ int fd = openat(
                        directory_fd, name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0555);
        off_t at = 0;

        if (fd < 0)
                return -errno;
        while ((uint64_t) at < bytes) {
                ssize_t n = sendfile(fd, memory_fd, &at, bytes - (uint64_t) at);

                if (n < 0 && errno != EINTR)
                        return -errno;
                if (n == 0)
                        return -ENODATA;
        }
        return 0;
}

/* Makes a detached file system for one file. Programs may be mapped from it, unlike from the root. */
static int make_file_system(uint64_t bytes) {
        _cleanup_close_ int context = fsopen("tmpfs", FSOPEN_CLOEXEC);
        char size[32];
        int fd;

        if (context < 0)
                return -errno;
        (void) snprintf(size, sizeof(size), "%" PRIu64, bytes + FILE_SYSTEM_BYTES);
        if (fsconfig(context, FSCONFIG_SET_STRING, "size", size, 0) < 0 ||
                        fsconfig(context, FSCONFIG_SET_STRING, "nr_inodes", "4", 0) < 0 ||
                        fsconfig(context, FSCONFIG_SET_STRING, "mode", "0755", 0) < 0 ||
                        fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
                return -errno;
        fd = fsmount(context, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
        return fd < 0 ? -errno : fd;
}

/* A sealed memfd cannot be mounted, so the root gets a copy of it as a file. The file's descriptor takes the
 * number of the memfd, so that Landlock's rules for files apply to it. The memfd is closed. */
static int attach_memory(int root_fd, const char *path, int memory_fd, uint64_t attributes) {
        _cleanup_close_ int file_system = -EBADF, copy = -EBADF;
        const char *slash = strrchr(path, '/');
        char directory[sizeof(((LaunchMount *) NULL)->at)];
        uint64_t bytes;
        int r;

        if (!slash)
                return -EOPNOTSUPP;
        (void) snprintf(directory, sizeof(directory), "%.*s", (int) (slash - path), path);
        r = fd_size(memory_fd, &bytes);
        if (r < 0)
                return r;
        file_system = make_file_system(bytes);
        r = file_system < 0 ? file_system : copy_memory(memory_fd, file_system, slash + 1, bytes);
        if (r < 0)
                return r;
        r = attach(root_fd, directory, file_system, attributes);
        if (r < 0)
                return r;
        copy = openat(root_fd, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        return copy < 0 || dup3(copy, memory_fd, O_CLOEXEC) < 0 ? -errno : 0;
}

/* Mounts the descriptors that the spawner passed for the job: detached trees, or plain descriptors that can
 * still be cloned. A sealed memfd cannot be mounted, and is copied into a file. */
static int add_mounts(int root_fd, const LaunchMount *mounts, uint32_t n) {
        for (uint32_t i = 0; i < n; i++) {
                uint64_t attributes = MOUNT_ATTR_NODEV | (mounts[i].read_only ? MOUNT_ATTR_RDONLY : 0);
                const char *path = mounts[i].at + strspn(mounts[i].at, "/");
                int fd = INVOKER_FD_MOUNTS + (int) i, r;

                if (memfd_check_sealed(fd) >= 0) {
                        r = attach_memory(root_fd, path, fd, attributes);
                        if (r < 0)
                                return r;
                        continue;
                }
                r = attach(root_fd, path, fd, attributes);
                if (r == -EINVAL) {
                        _cleanup_close_ int tree = open_tree(
                                        fd, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);

                        if (tree < 0)
                                return -errno;
                        r = attach(root_fd, path, tree, attributes);
                }
                if (r < 0)
                        return r;
        }
        return 0;
}

static int close_root(int root_fd) {
        struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };

        return mount_setattr(root_fd, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0 ? -errno : 0;
}

int sandbox_root_build(const SandboxSpec *spec, Sandbox *sandbox) {
        static unsigned n_roots;
        _cleanup_close_ int fd = -EBADF;
        char path[SANDBOX_ROOT_MAX];
        int r;

        r = stage_make();
        if (r < 0)
                return r;

        (void) snprintf(path, sizeof(path), "%s/root-%u", stage, n_roots++);
        if (mkdir(path, 0755) < 0)
                return -errno;
        r = mount_memory(path, "mode=0755,size=1m,nr_inodes=1024");
        if (r < 0)
                return r;
        fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return -errno;

        if (spec->libraries) {
                r = add_libraries(fd);
                if (r < 0)
                        return r;
        }
        r = add_mounts(fd, spec->mounts, spec->n_mounts);
        if (r < 0)
                return r;
        r = close_root(fd);
        if (r < 0)
                return r;

        (void) snprintf(sandbox->root, sizeof(sandbox->root), "%s", path + strlen(stage) + 1);
        return 0;
}

const char *sandbox_stage(void) {
        return stage && stage[0] ? stage : "/";
}

int sandbox_leave_host(void) {
        if (!stage || stage[0] == 0)
                return 0;

        if (chdir(stage) < 0)
                return -errno;
        if (syscall(SYS_pivot_root, ".", ".") < 0)
                return -errno;
        if (umount2(".", MNT_DETACH) < 0)
                return -errno;
        if (chdir("/") < 0)
                return -errno;

        stage = "";
        return 0;
}
