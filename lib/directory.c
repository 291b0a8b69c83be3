/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/directory.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "include/bus.h"
#include "include/launch.h"
#include "lib/cleanup.h"

enum {
        ENTRIES_MAX = 4096, /* the most entries of a directory that are searched for a name */
        DEPTH_MAX = 64,     /* the most directories from a job's directory up to the root */
};

static const DirectoryRow rows[_DIRECTORY_KIND_MAX] = {
        [DIRECTORY_PYTHON] = { PYTHON_DIRECTORY, BUS_FILE_PYTHON, "Actor", "Python" },
        [DIRECTORY_PYTHON_PATH] = { PYTHON_PATH_DIRECTORY, BUS_FILE_PYTHON_PATH, "Actor", "PythonPath" },
        [DIRECTORY_MODEL] = { MODEL_DIRECTORY, BUS_FILE_MODEL, "Job", "Environment" },
};

const DirectoryRow *directory_row(DirectoryKind kind) {
        assert(kind < _DIRECTORY_KIND_MAX);

        return &rows[kind];
}

DirectoryKind directory_kind_at(const char *at) {
        DirectoryKind kind = 0;

        assert(at);

        while (kind < _DIRECTORY_KIND_MAX && strcmp(rows[kind].at, at) != 0)
                kind++;
        return kind;
}

DirectoryKind directory_kind_of_file(const char *file) {
        DirectoryKind kind = 0;

        assert(file);

        while (kind < _DIRECTORY_KIND_MAX && strcmp(rows[kind].file, file) != 0)
                kind++;
        return kind;
}

static bool is_same(const struct stat *st, const char *path) {
        struct stat other;

        return stat(path, &other) >= 0 && st->st_dev == other.st_dev && st->st_ino == other.st_ino;
}

static bool is_one_of(const struct stat *st, const char *const paths[], size_t n) {
        for (size_t i = 0; i < n; i++)
                if (is_same(st, paths[i]))
                        return true;
        return false;
}

/* Whether the kernel generates the files of this file system, such as /proc. The content of such files
 * depends on the process that reads them. */
static bool is_kernels(int fd) {
        static const unsigned long magics[] = { PROC_SUPER_MAGIC, SYSFS_MAGIC, CGROUP_SUPER_MAGIC,
                CGROUP2_SUPER_MAGIC, DEVPTS_SUPER_MAGIC, SECURITYFS_MAGIC, DEBUGFS_MAGIC, TRACEFS_MAGIC,
                BPF_FS_MAGIC, SELINUX_MAGIC, EFIVARFS_MAGIC };
        struct statfs fs;

        if (fstatfs(fd, &fs) < 0)
                return true;
        for (size_t i = 0; i < ELEMENTSOF(magics); i++)
                if ((unsigned long) fs.f_type == magics[i])
                        return true;
        return false;
}

/* Whether the directory is one of the system's directories, or is inside one. If this process may not enter
 * a directory above it, the answer is no, since every user may enter the system's directories. */
static bool lies_in_the_systems(int fd) {
        static const char *const trees[] = { "/etc", "/dev", "/proc", "/sys", "/boot" };
        _cleanup_close_ int at = fcntl(fd, F_DUPFD_CLOEXEC, 3);

        for (unsigned i = 0; at >= 0 && i < DEPTH_MAX; i++) {
                struct stat st;
                int up;

                if (fstat(at, &st) < 0 || is_one_of(&st, trees, ELEMENTSOF(trees)))
                        return true;
                if (is_same(&st, "/"))
                        return false;
                up = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
                (void) close_fd(at);
                at = up;
        }
        return false;
}

/* Whether this is one of the directories that the whole system uses. */
static bool is_the_systems(const struct stat *st) {
        static const char *const places[] = { "/", "/bin", "/lib", "/lib64", "/media", "/mnt", "/opt",
                "/run", "/sbin", "/srv", "/tmp", "/usr", "/usr/bin", "/usr/lib", "/usr/local", "/usr/share",
                "/var", "/var/lib", "/var/log", "/var/tmp" };

        return is_one_of(st, places, ELEMENTSOF(places));
}

static bool is_home(int fd, const struct stat *st) {
        _cleanup_close_ int up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
        struct stat above;

        return is_same(st, "/root") || is_same(st, "/home") ||
               (up >= 0 && fstat(up, &above) >= 0 && is_same(&above, "/home"));
}

static bool has_regular(int fd, const char *name) {
        struct stat st;

        return fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) >= 0 && S_ISREG(st.st_mode);
}

/* Whether `folder` has an entry whose name begins with `prefix`, and whether this entry contains `below`
 * (NULL: not asked). */
static bool has_entry(int fd, const char *folder, const char *prefix, const char *below) {
        _cleanup_close_ int folder_fd = openat(fd, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        _cleanup_closedir_ DIR *dir = folder_fd < 0 ? NULL : fdopendir(folder_fd);
        struct dirent *e;

        if (!dir)
                return false;
        (void) TAKE_FD(folder_fd);
        for (unsigned i = 0; i < ENTRIES_MAX && (e = readdir(dir)); i++) {
                _cleanup_close_ int found = -EBADF;
                struct stat st;

                if (strncmp(e->d_name, prefix, strlen(prefix)) != 0)
                        continue;
                if (!below)
                        return true;
                found = openat(dirfd(dir), e->d_name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                if (found >= 0 && fstatat(found, below, &st, AT_SYMLINK_NOFOLLOW) >= 0 &&
                                S_ISDIR(st.st_mode))
                        return true;
        }
        return false;
}

#define MAKE_ONE "; make one with `python3 -m venv DIRECTORY`"

static const char *python_reason(int fd) {
        if (!has_regular(fd, "pyvenv.cfg"))
                return "this directory is not a virtual environment: it has no pyvenv.cfg" MAKE_ONE;
        if (!has_entry(fd, "bin", "python", NULL))
                return "this directory is not a virtual environment: it has no bin/python" MAKE_ONE;
        if (!has_entry(fd, "lib", "python3", "site-packages"))
                return "this directory is not a virtual environment: it has no "
                       "lib/python3*/site-packages" MAKE_ONE;
        return NULL;
}

#define ALL_OF_IT "actors could read everything in it: use a directory of its own"

int directory_check(int fd, DirectoryKind kind, const char **ret_reason) {
        struct stat st;

        assert(fd >= 0);
        assert(ret_reason);

        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISDIR(st.st_mode))
                *ret_reason = "this is not a directory";
        else if (is_kernels(fd))
                *ret_reason = "this directory belongs to the kernel, and no actor may see it: use a "
                              "directory of its own";
        else if (is_the_systems(&st) || lies_in_the_systems(fd))
                *ret_reason = "this directory belongs to the system, and " ALL_OF_IT;
        else if (is_home(fd, &st))
                *ret_reason = "this directory is a home directory, and " ALL_OF_IT;
        else {
                const char *reason = kind == DIRECTORY_PYTHON ? python_reason(fd) : NULL;

                if (!reason)
                        return 0;
                *ret_reason = reason;
        }
        return -EMEDIUMTYPE;
}
