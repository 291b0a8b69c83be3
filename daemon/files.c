/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The jobs directory belongs to the daemon and has mode 0700, so other users cannot reach the files in it. A
 * job with user ids of its own writes its checkpoints into `state`. The mode of `state` lets all users
 * write, but only processes with a descriptor of `state` can. */
#include "daemon/files.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "include/launch.h"
#include "lib/cleanup.h"
#include "lib/tree.h"

#define DIRECTORY_NEW     "new-"
#define DIRECTORY_REMOVED "removed-"
#define FUSE_MAGIC        0x65735546
#define SEEN_MAX          4096u /* the most entries that count in a directory that a job fills */
#define BLOCK_BYTES       4096u

int directory_make(int at_fd, const char *path) {
        int fd;

        assert(path);

        if (mkdirat(at_fd, path, 0700) < 0 && errno != EEXIST)
                return -errno;
        fd = openat(at_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        return fd < 0 ? -errno : fd;
}

int job_directory_new(int jobs_fd, bool shared, char **ret_name) {
        _cleanup_close_ int fd = -EBADF, state_fd = -EBADF;
        g_autofree char *name = NULL;

        assert(jobs_fd >= 0);
        assert(ret_name);

        name = g_strdup_printf(DIRECTORY_NEW "%d-%08x", (int) getpid(), g_random_int());
        if (mkdirat(jobs_fd, name, 0700) < 0)
                return -errno;
        fd = openat(jobs_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        state_fd = directory_make(fd, "state");
        if (state_fd < 0)
                return state_fd;
        if (shared && fchmod(state_fd, 0777) < 0)
                return -errno;

        *ret_name = g_steal_pointer(&name);
        return TAKE_FD(fd);
}

/* Renames a directory that a job of an earlier ledger left. A new ledger numbers jobs from 1, so if the
 * earlier one was moved away, two jobs may have the same number. */
static int set_aside(int jobs_fd, const char *number) {
        char aside[48];

        (void) snprintf(aside, sizeof(aside), "%s.before-%08x", number, g_random_int());
        return renameat(jobs_fd, number, jobs_fd, aside) < 0 ? -errno : 0;
}

bool job_directory_exists(int jobs_fd, uint64_t job) {
        char number[24];

        (void) snprintf(number, sizeof(number), "%" PRIu64, job);
        return faccessat(jobs_fd, number, F_OK, AT_SYMLINK_NOFOLLOW) >= 0;
}

int job_directory_commit(int jobs_fd, const char *name, uint64_t job) {
        char number[24];
        int r;

        assert(name);

        (void) snprintf(number, sizeof(number), "%" PRIu64, job);
        if (job_directory_exists(jobs_fd, job)) {
                r = set_aside(jobs_fd, number);
                if (r < 0)
                        return r;
        }
        if (renameat(jobs_fd, name, jobs_fd, number) < 0)
                return -errno;
        return fsync(jobs_fd) < 0 ? -errno : 0;
}

/* Removes the directory. Files that cannot be removed stay, and do no harm. */
void job_directory_discard(int jobs_fd, const char *name) {
        assert(name);

        (void) tree_remove(jobs_fd, name, UINT_MAX);
}

int job_directory_retire(int jobs_fd, uint64_t job, char **ret_name) {
        g_autofree char *number = g_strdup_printf("%" PRIu64, job), *name = NULL;

        assert(ret_name);

        name = g_strdup_printf(DIRECTORY_REMOVED "%" PRIu64 "-%08x", job, g_random_int());
        if (renameat(jobs_fd, number, jobs_fd, name) < 0)
                return -errno;
        /* A power loss must not bring the old name back. */
        if (fsync(jobs_fd) < 0)
                return -errno;
        *ret_name = g_steal_pointer(&name);
        return 0;
}

bool job_directory_was(const char *name, uint64_t *ret_job) {
        assert(name);
        assert(ret_job);

        return sscanf(name, DIRECTORY_REMOVED "%" SCNu64 "-", ret_job) == 1;
}

/* Opens the directory once more: a duplicate of the descriptor would share its position. */
static DIR *open_listing(int jobs_fd) {
        int fd = openat(jobs_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *dir = fd < 0 ? NULL : fdopendir(fd);

        if (!dir)
                (void) close_fd(fd);
        return dir;
}

GPtrArray *job_directories_sweep(int jobs_fd) {
        GPtrArray *removed = g_ptr_array_new_with_free_func(g_free);
        _cleanup_closedir_ DIR *dir = open_listing(jobs_fd);
        struct dirent *e;

        while (dir && (e = readdir(dir))) {
                if (g_str_has_prefix(e->d_name, DIRECTORY_NEW))
                        job_directory_discard(jobs_fd, e->d_name);
                else if (g_str_has_prefix(e->d_name, DIRECTORY_REMOVED))
                        g_ptr_array_add(removed, g_strdup(e->d_name));
        }
        return removed;
}

GArray *job_directories_list(int jobs_fd) {
        GArray *jobs = g_array_new(FALSE, FALSE, sizeof(uint64_t));
        _cleanup_closedir_ DIR *dir = open_listing(jobs_fd);
        struct dirent *e;
        guint64 job;

        while (dir && (e = readdir(dir)))
                if (g_ascii_string_to_unsigned(e->d_name, 10, 1, G_MAXUINT64, &job, NULL))
                        g_array_append_val(jobs, job);
        return jobs;
}

static int open_below(int jobs_fd, uint64_t job, const char *name, int flags) {
        char path[320];
        int fd;

        (void) snprintf(path, sizeof(path), "%" PRIu64 "/%s", job, name);
        fd = openat(jobs_fd, path, flags | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY);
        return fd < 0 ? -errno : fd;
}

int job_state_open(int jobs_fd, uint64_t job) {
        return open_below(jobs_fd, job, "state", O_RDONLY | O_DIRECTORY);
}

/* Checks an untrusted descriptor without reading from it: a pipe, or a file system that a hostile user
 * serves, could make this process wait for ever. */
int job_file_check(int fd, uint64_t *ret_bytes) {
        struct statfs fs;
        struct stat st;
        int flags = fcntl(fd, F_GETFL);

        assert(ret_bytes);

        if (flags < 0 || fstat(fd, &st) < 0 || fstatfs(fd, &fs) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode) || fs.f_type == FUSE_MAGIC || (flags & O_PATH) ||
                        (flags & O_ACCMODE) == O_WRONLY)
                return -EMEDIUMTYPE;
        if ((uint64_t) st.st_size > JOB_FILE_BYTES_MAX)
                return -EFBIG;
        *ret_bytes = (uint64_t) st.st_size;
        return 0;
}

/* Whether systemd hides this directory from the system's daemon and spawner (ProtectHome=, PrivateTmp= of
 * their units). Then the spawner could not find the directory to mount it. Only the name is checked. */
static bool directory_is_hidden(int fd) {
        static const char *const hidden[] = { "/home/", "/root/", "/run/user/", "/tmp/", "/var/tmp/" };
        char link[32], path[PATH_MAX];
        ssize_t n;

        (void) snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        n = readlink(link, path, sizeof(path) - 1);
        if (n < 0)
                return true;
        path[n] = 0;
        for (size_t i = 0; i < ELEMENTSOF(hidden); i++)
                if (strncmp(path, hidden[i], strlen(hidden[i])) == 0)
                        return true;
        return false;
}

int job_directory_check(int fd, DirectoryKind kind, bool by_system, const char **ret_reason) {
        struct statfs fs;
        struct stat st;

        if (fstat(fd, &st) < 0 || fstatfs(fd, &fs) < 0)
                return -errno;
        if (!S_ISDIR(st.st_mode) || fs.f_type == FUSE_MAGIC)
                return -EMEDIUMTYPE;
        if (by_system && directory_is_hidden(fd))
                return -EXDEV;
        return directory_check(fd, kind, ret_reason);
}

int job_file_add(int directory_fd, const char *key, int fd) {
        _cleanup_close_ int to = -EBADF;
        uint64_t bytes = 0, done = 0;
        int r;

        assert(key && !strchr(key, '/'));

        r = job_file_check(fd, &bytes);
        if (r < 0)
                return r;
        to = openat(directory_fd, key, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (to < 0)
                return -errno;
        /* Actors with other user ids must be able to map a plugin, through a mount of its descriptor. */
        if (fchmod(to, 0555) < 0)
                return -errno;

        while (done < bytes) {
                char buffer[65536];
                ssize_t n = pread(fd, buffer, sizeof(buffer), (off_t) done);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return n < 0 ? -errno : -ENODATA;
                for (ssize_t at = 0; at < n;) {
                        ssize_t w = write(to, buffer + at, (size_t) (n - at));

                        if (w < 0 && errno != EINTR)
                                return -errno;
                        at += w > 0 ? w : 0;
                }
                done += (uint64_t) n;
        }
        return fsync(to) < 0 ? -errno : 0;
}

int job_file_open(int jobs_fd, uint64_t job, const char *key) {
        return open_below(jobs_fd, job, key, O_RDONLY);
}

void job_file_remove(int jobs_fd, uint64_t job, const char *key) {
        char path[320];

        (void) snprintf(path, sizeof(path), "%" PRIu64 "/%s", job, key);
        (void) unlinkat(jobs_fd, path, 0);
}

int job_checkpoint_open(int jobs_fd, const LedgerCheckpoint *checkpoint) {
        _cleanup_close_ int fd = -EBADF;
        char name[80];
        struct stat st;

        assert(checkpoint);

        if (strchr(checkpoint->name, '/'))
                return -EUCLEAN;
        (void) snprintf(name, sizeof(name), "state/%s", checkpoint->name);
        fd = open_below(jobs_fd, checkpoint->job, name, O_RDONLY | O_NONBLOCK);
        if (fd < 0)
                return fd;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return -EUCLEAN;
        return TAKE_FD(fd);
}

/* The disk space of a file, in whole blocks. The space that a job reserves for its last checkpoint is
 * allocated beyond the end of an empty file. */
static uint64_t bytes_of(const char *name, const struct stat *st) {
        bool reserved = strcmp(name, CHECKPOINT_RESERVE) == 0;
        uint64_t size = (uint64_t) st->st_size, allocated = reserved ? (uint64_t) st->st_blocks * 512 : 0;
        uint64_t bytes = size > allocated ? size : allocated;

        return (bytes + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
}

/* The bytes of the files in a directory. fd is closed. Only the first SEEN_MAX entries count, as a job may
 * have filled its directory. */
static uint64_t bytes_in(int fd) {
        _cleanup_closedir_ DIR *dir = fd < 0 ? NULL : fdopendir(fd);
        uint64_t bytes = 0;
        struct dirent *e;
        struct stat st;

        if (!dir) {
                (void) close_fd(fd);
                return 0;
        }
        for (unsigned n = 0; n < SEEN_MAX && (e = readdir(dir)); n++)
                if (fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) >= 0 && S_ISREG(st.st_mode))
                        bytes += bytes_of(e->d_name, &st);
        return bytes;
}

uint64_t job_files_bytes(int jobs_fd, const char *name) {
        g_autofree char *state = NULL;
        int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;

        assert(name);

        state = g_strdup_printf("%s/state", name);
        return bytes_in(openat(jobs_fd, name, flags)) + bytes_in(openat(jobs_fd, state, flags));
}

static int by_round_falling(const void *a, const void *b) {
        uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

        return (x < y) - (x > y);
}

void job_checkpoints_prune(int jobs_fd, uint64_t job, uint64_t newest, unsigned keep) {
        g_autoptr(GArray) rounds = g_array_new(FALSE, FALSE, sizeof(uint64_t));
        _cleanup_closedir_ DIR *dir = NULL;
        struct dirent *e;
        int fd;

        fd = job_state_open(jobs_fd, job);
        if (fd < 0)
                return;
        dir = fdopendir(fd);
        if (!dir) {
                (void) close_fd(fd);
                return;
        }

        while ((e = readdir(dir)) && rounds->len < SEEN_MAX) {
                char expected[64];
                uint64_t round;

                if (sscanf(e->d_name, CHECKPOINT_NAME, &round) != 1)
                        continue;
                (void) snprintf(expected, sizeof(expected), CHECKPOINT_NAME, round);
                if (strcmp(e->d_name, expected) == 0 && round <= newest)
                        g_array_append_val(rounds, round);
        }
        g_array_sort(rounds, by_round_falling);

        for (guint i = keep; i < rounds->len; i++) {
                char name[64];

                (void) snprintf(name, sizeof(name), CHECKPOINT_NAME, g_array_index(rounds, uint64_t, i));
                (void) unlinkat(dirfd(dir), name, 0);
        }
}
