/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A job's own cgroup, if there is no service manager to make one. */
#include "spawner/spawner.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>
#include "lib/cleanup.h"
#include "lib/fd.h"

/* The name of a job's cgroup contains the numbers of the daemon's process and of the job. The cgroup lasts
 * until all of the job's lives are billed. The daemon of a run never comes back. A daemon of another kind
 * may be killed and start again as a new process, which must still read the counter. So the cgroup of such a
 * daemon's job is kept for a day after the daemon's process has died. */
#define RUN_NAME  "actord-%d-%llu"
#define JOB_NAME  "actord-job-%d-%llu"
#define LIFE_NAME "life-%llu" /* a life's cgroup, in the job's; it is delegated */
#define LEAF_NAME "invoker"   /* the invoker's cgroup, in the life's */

/* An extended attribute of a job's cgroup: when the spawner first found the cgroup empty and without its
 * daemon, as a uint64_t in seconds of CLOCK_REALTIME. */
#define LEFT_ATTRIBUTE "user.actord.left"

enum { LEFT_SEC = 24 * 3600 };
enum { REMOVE_ATTEMPTS = 100, REMOVE_WAIT_USEC = 20000, REMOVE_DEPTH = 4 };

/* The path of this process's cgroup in the unified hierarchy (cgroup v2). */
static int own_cgroup(char ret[256]) {
        _cleanup_fclose_ FILE *f = fopen("/proc/self/cgroup", "re");
        char line[1024];

        if (!f)
                return -errno;
        while (fgets(line, sizeof(line), f)) {
                if (strncmp(line, "0::/", 4) != 0)
                        continue;
                line[strcspn(line, "\n")] = 0;
                if (strlen(line + 3) >= 256)
                        return -ENAMETOOLONG;
                strcpy(ret, line + 3);
                return 0;
        }
        return -ENOENT;
}

static int move_in(int cgroup_fd, pid_t pid) {
        _cleanup_close_ int fd = openat(cgroup_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);
        char text[16];
        int n;

        if (fd < 0)
                return -errno;
        n = snprintf(text, sizeof(text), "%d", (int) pid);
        return write(fd, text, (size_t) n) < 0 ? -errno : 0;
}

/* Removes cgroups, the leaves first. A process that is still dying keeps its directory busy for a moment. */
static bool remove_below(int parent_fd, const char *name, int depth) {
        _cleanup_close_ int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        _cleanup_closedir_ DIR *directory = NULL;
        struct dirent *entry;
        int copy;

        if (fd < 0)
                return errno == ENOENT;
        copy = depth > 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
        directory = copy >= 0 ? fdopendir(copy) : NULL;
        while (directory && (entry = readdir(directory)))
                if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
                        (void) remove_below(fd, entry->d_name, depth - 1);
        return unlinkat(parent_fd, name, AT_REMOVEDIR) >= 0 || errno == ENOENT;
}

static bool is_populated(int parent_fd, const char *name) {
        char path[NAME_MAX + 16], text[256];

        (void) snprintf(path, sizeof(path), "%s/cgroup.events", name);
        return file_read_at(parent_fd, path, text, sizeof(text)) < 0 || !strstr(text, "populated 0\n");
}

/* Whether a job's cgroup has been left for long: LEFT_SEC ago a spawner first found it empty and without its
 * daemon, and no daemon has come back since. LEFT_ATTRIBUTE holds that time. If the kernel cannot store it,
 * the cgroup stays until the host restarts. */
static bool is_long_left(int parent_fd, const char *name) {
        _cleanup_close_ int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        uint64_t now = (uint64_t) time(NULL), since;

        if (fd < 0)
                return false;
        if (fgetxattr(fd, LEFT_ATTRIBUTE, &since, sizeof(since)) == sizeof(since) && since <= now)
                return now - since >= LEFT_SEC;
        (void) fsetxattr(fd, LEFT_ATTRIBUTE, &now, sizeof(now), 0);
        return false;
}

static bool is_dead(int pid) {
        return pid > 0 && kill(pid, 0) < 0 && errno == ESRCH;
}

static void job_name(bool run, int pid, unsigned long long job, char ret[64]) {
        (void) snprintf(ret, 64, run ? RUN_NAME : JOB_NAME, pid, job);
}

static bool is_abandoned(int parent_fd, const char *name) {
        unsigned long long job;
        char expected[64];
        bool run;
        int pid;

        run = sscanf(name, RUN_NAME, &pid, &job) == 2;
        if (!run && sscanf(name, JOB_NAME, &pid, &job) != 2)
                return false;
        job_name(run, pid, job, expected);
        if (strcmp(name, expected) != 0 || !is_dead(pid) || is_populated(parent_fd, name))
                return false;
        return run || is_long_left(parent_fd, name);
}

/* Removes the cgroups of jobs whose daemon was killed together with its spawner. A running daemon asks for
 * its jobs' cgroups to be read and removed. */
static void sweep_siblings(const char *own) {
        _cleanup_close_ int fd = -EBADF;
        _cleanup_closedir_ DIR *siblings = NULL;
        char directory[512];
        struct dirent *entry;
        int copy;

        (void) snprintf(directory, sizeof(directory), "%.*s", (int) (strrchr(own, '/') - own), own);
        fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        copy = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);

        siblings = copy < 0 ? NULL : fdopendir(copy);
        while (siblings && (entry = readdir(siblings)))
                if (entry->d_type == DT_DIR && is_abandoned(fd, entry->d_name))
                        (void) remove_below(fd, entry->d_name, REMOVE_DEPTH);
}

/* *ret_path: the path of the job's cgroup in the hierarchy, below the spawner's own cgroup; *ret: its path
 * in the file system. */
static int own_directory(const Launch *launch, char ret[512], char ret_path[256]) {
        char at[256], below[256], name[64];
        int n;

        if (cgroup_mount(at) < 0 || own_cgroup(below) < 0)
                return -ENOENT;
        if (strcmp(below, "/") == 0)
                below[0] = 0;
        job_name(launch->exit_with_daemon, (int) launch->owner, (unsigned long long) launch->job, name);
        n = snprintf(ret_path, 256, "%s/%s", below, name);
        if (n < 0 || n >= 256 - 32)
                return -ENAMETOOLONG;
        (void) snprintf(ret, 512, "%s%s", at, ret_path);
        return 0;
}

/* Makes the job's cgroup, which never has processes of its own. So the delegated cgroup in it may have every
 * controller. */
static int make_around(const char *path) {
        static const char *const orders[] = { "+cpu", "+memory", "+pids", "+cpuset" };
        _cleanup_close_ int fd = -EBADF, control_fd = -EBADF;

        if (mkdir(path, 0755) < 0 && errno != EEXIST)
                return -errno;
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0)
                return -errno;
        (void) fremovexattr(fd, LEFT_ATTRIBUTE);
        control_fd = openat(fd, "cgroup.subtree_control", O_WRONLY | O_CLOEXEC);
        for (size_t i = 0; control_fd >= 0 && i < ELEMENTSOF(orders); i++)
                (void) !write(control_fd, orders[i], strlen(orders[i]));
        return TAKE_FD(fd);
}

/* Opens a cgroup and delegates it. */
static int open_delegated(int parent_fd, const char *name, gid_t group) {
        _cleanup_close_ int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        int r;

        if (fd < 0)
                return -errno;
        r = cgroup_delegate(fd, group);
        if (r < 0)
                return r;
        return TAKE_FD(fd);
}

/* Opens and delegates the cgroup of a life, and makes the invoker's in it. */
static int life_open(int around_fd, const char *life, gid_t group) {
        _cleanup_close_ int fd = open_delegated(around_fd, life, group), leaf_fd = -EBADF;

        if (fd < 0)
                return fd;
        if (mkdirat(fd, LEAF_NAME, 0755) < 0)
                return -errno;
        leaf_fd = open_delegated(fd, LEAF_NAME, group);
        if (leaf_fd < 0)
                return leaf_fd;
        return TAKE_FD(fd);
}

int own_cgroup_make(const Launch *launch, gid_t group, Cgroup *ret) {
        _cleanup_close_ int fd = -EBADF, around_fd = -EBADF;
        char full[512], path[256], life[32];
        uint64_t nsec;

        if (own_directory(launch, full, path) < 0)
                return 0;
        sweep_siblings(full);
        around_fd = make_around(full);
        if (around_fd < 0)
                return 0;
        (void) snprintf(life, sizeof(life), LIFE_NAME, (unsigned long long) launch->life);
        if (cgroup_usage(around_fd, &nsec) < 0 || mkdirat(around_fd, life, 0755) < 0) {
                (void) rmdir(full);
                return 0;
        }
        fd = life_open(around_fd, life, group);
        if (fd < 0) {
                (void) remove_below(around_fd, life, 1);
                (void) rmdir(full);
                return 0;
        }

        *ret = CGROUP_NONE;
        ret->metering = INVOKER_CGROUP_OWN;
        ret->cpu_nsec = nsec;
        ret->fd = TAKE_FD(fd);
        (void) snprintf(ret->path, sizeof(ret->path), "%.*s/%s",
                        (int) (sizeof(ret->path) - sizeof(life) - 1), path, life);
        return 1;
}

int own_cgroup_leaf(const Cgroup *cgroup) {
        int fd = openat(cgroup->fd, LEAF_NAME, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

        return fd < 0 ? -errno : fd;
}

/* Opens the job's cgroup, which an earlier launch made. */
static int own_open(const Launch *launch) {
        char full[512], path[256];
        int r;

        r = own_directory(launch, full, path);
        if (r < 0)
                return r;
        r = open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        return r < 0 ? -errno : r;
}

int own_cgroup_weigh(const Launch *launch, uint64_t *ret_weight) {
        _cleanup_close_ int fd = own_open(launch), weight_fd = -EBADF;
        char text[16];
        int r, n;

        if (fd < 0)
                return fd;
        r = cgroup_weight(fd, ret_weight);
        if (r < 0 || launch->cpu_weight == 0)
                return r;
        weight_fd = openat(fd, "cpu.weight", O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
        if (weight_fd < 0)
                return -errno;
        n = snprintf(text, sizeof(text), "%u", launch->cpu_weight);
        if (write(weight_fd, text, (size_t) n) < 0)
                return -errno;
        return cgroup_weight(fd, ret_weight);
}

int own_cgroup_settle(const Launch *launch, uint64_t *ret_nsec) {
        _cleanup_close_ int fd = own_open(launch);

        if (fd < 0)
                return fd;
        (void) fremovexattr(fd, LEFT_ATTRIBUTE);
        (void) cgroup_empty(fd);
        return cgroup_usage(fd, ret_nsec);
}

int own_cgroup_clear(const Launch *launch) {
        char full[512], path[256];
        uint64_t nsec;
        int r;

        r = own_cgroup_settle(launch, &nsec);
        if (r < 0)
                return r;
        r = own_directory(launch, full, path);
        if (r < 0)
                return r;
        /* Tries several times: the spawner of the last life may be removing cgroups in this one at the same
         * time. */
        for (int i = 0; i < REMOVE_ATTEMPTS; i++) {
                if (remove_below(AT_FDCWD, full, REMOVE_DEPTH))
                        return 0;
                (void) usleep(REMOVE_WAIT_USEC);
        }
        return -EBUSY;
}

bool run_is_over(const Launch *launch) {
        return launch->exit_with_daemon && kill((pid_t) launch->owner, 0) < 0 && errno == ESRCH;
}

/* The path of a life's cgroup in the file system. */
static int life_path(const Cgroup *cgroup, char ret[512]) {
        char at[256];

        if (cgroup_mount(at) < 0)
                return -ENOENT;
        (void) snprintf(ret, 512, "%s%s", at, cgroup->path);
        return 0;
}

static void remove_life(const Cgroup *cgroup) {
        _cleanup_close_ int kill_fd = openat(cgroup->fd, "cgroup.kill", O_WRONLY | O_CLOEXEC);
        char path[512];

        if (life_path(cgroup, path) < 0)
                return;
        for (int i = 0; i < REMOVE_ATTEMPTS; i++) {
                if (kill_fd >= 0)
                        (void) !write(kill_fd, "1", 1);
                if (remove_below(AT_FDCWD, path, REMOVE_DEPTH))
                        break;
                (void) usleep(REMOVE_WAIT_USEC);
        }
}

/* Removes the job's cgroup, which was around that of a life. */
static void remove_around(const Cgroup *cgroup) {
        char path[512];

        if (life_path(cgroup, path) < 0)
                return;
        *strrchr(path, '/') = 0;
        (void) rmdir(path);
}

void own_cgroup_remove(const Launch *launch, const Cgroup *cgroup) {
        remove_life(cgroup);
        /* The cgroup of a run can be removed with its counters, since no later daemon asks for these. The
         * cgroup of another job stays, since a later daemon may ask. */
        if (run_is_over(launch))
                remove_around(cgroup);
}

void own_cgroup_discard(Cgroup *cgroup) {
        if (cgroup->metering != INVOKER_CGROUP_OWN)
                return;
        remove_life(cgroup);
        if (cgroup->cpu_nsec == 0) /* there was no earlier life, whose use it would have counted */
                remove_around(cgroup);
        (void) close_fd(cgroup->fd);
        *cgroup = CGROUP_NONE;
}

void own_cgroup_enter(const Child *child, Cgroup *cgroup) {
        _cleanup_close_ int leaf_fd = own_cgroup_leaf(cgroup);

        if (leaf_fd < 0 || move_in(leaf_fd, child->pid) < 0)
                own_cgroup_discard(cgroup);
}
