/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cgroup v2, through a few short files. A limit whose controller is missing is left out here and named in
 * the job's records. */
#include "invoker/cgroup.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/fd.h"

#define OWN_LEAF    "invoker"
#define ANCHOR_LEAF "anchor"
#define THREAD_LEAF "thread-%u"

enum { PERIOD_USEC = 100000 };

static const struct {
        const char *word;
        Controller controller;
} controllers[] = {
        { "cpu", CONTROLLER_CPU },
        { "memory", CONTROLLER_MEMORY },
        { "pids", CONTROLLER_PIDS },
        { "cpuset", CONTROLLER_CPUSET },
};

static int write_file(int dir_fd, const char *name, const char *text) {
        _cleanup_close_ int fd = openat(dir_fd, name, O_WRONLY | O_CLOEXEC);

        if (fd < 0)
                return -errno;
        return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

static int write_number(int dir_fd, const char *name, uint64_t number) {
        char text[32];

        (void) snprintf(text, sizeof(text), "%llu", (unsigned long long) number);
        return write_file(dir_fd, name, text);
}

static bool has_word(const char *text, const char *word) {
        size_t n = strlen(word);

        for (const char *p = text; (p = strstr(p, word)); p += n)
                if ((p == text || p[-1] == ' ') && strchr(" \n", p[n]))
                        return true;
        return false;
}

/* Enables controllers one by one: if the kernel refuses one word of several, it enables none. */
static uint32_t enable_controllers(int fd) {
        char available[256], order[32];
        uint32_t enabled = 0;

        if (file_read_at(fd, "cgroup.controllers", available, sizeof(available)) < 0)
                return 0;

        for (size_t i = 0; i < ELEMENTSOF(controllers); i++) {
                if (!has_word(available, controllers[i].word))
                        continue;
                (void) snprintf(order, sizeof(order), "+%s", controllers[i].word);
                if (write_file(fd, "cgroup.subtree_control", order) >= 0)
                        enabled |= controllers[i].controller;
        }
        return enabled;
}

/* Whether a process is in a cgroup of which only the caller is ever a member. */
static bool is_populated(int leaf) {
        char text[32];

        return file_read_at(leaf, "cgroup.procs", text, sizeof(text)) >= 0 && text[0];
}

int cgroup_enter(Cgroup *cgroup) {
        _cleanup_close_ int leaf = -EBADF;
        int r = 0;

        assert(cgroup);

        if (mkdirat(cgroup->fd, OWN_LEAF, 0755) < 0 && errno != EEXIST)
                return -errno;
        leaf = openat(cgroup->fd, OWN_LEAF, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
        if (leaf < 0)
                return -errno;
        /* Moving takes the kernel some ten milliseconds, even from a cgroup into the same. */
        if (!is_populated(leaf))
                r = write_file(leaf, "cgroup.procs", "0");
        if (r < 0)
                return r;

        /* This works only after the invoker has left the cgroup: a cgroup with processes may not enable
         * controllers below itself. */
        cgroup->controllers = enable_controllers(cgroup->fd);
        return 0;
}

int cgroup_enter_scope(int slice_fd, const char *name, Cgroup *ret) {
        _cleanup_close_ int fd = -EBADF, leaf = -EBADF;
        char pid[32];
        int r;

        assert(ret);

        fd = openat(slice_fd, name, O_DIRECTORY | O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0)
                return -errno;
        if (mkdirat(fd, ANCHOR_LEAF, 0755) < 0 && errno != EEXIST)
                return -errno;
        leaf = openat(fd, ANCHOR_LEAF, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
        if (leaf < 0)
                return -errno;
        r = file_read_at(fd, "cgroup.procs", pid, sizeof(pid));
        if (r < 0)
                return r;
        r = write_file(leaf, "cgroup.procs", pid);
        if (r < 0)
                return r;

        *ret = (Cgroup){ .controllers = enable_controllers(fd) };
        ret->fd = TAKE_FD(fd);
        return 0;
}

size_t cpuset_print(const setting_cpuset *cpus, char *ret, size_t n) {
        const unsigned n_cpus = 64 * ELEMENTSOF(cpus->words);
        size_t length = 0;

        assert(n > 0);

        ret[0] = 0;
        for (unsigned i = 0; i < n_cpus; i++) {
                unsigned last = i;
                int k;

                if (!(cpus->words[i / 64] >> (i % 64) & 1))
                        continue;
                while (last + 1 < n_cpus && cpus->words[(last + 1) / 64] >> ((last + 1) % 64) & 1)
                        last++;
                k = snprintf(ret + length, n - length, last > i ? "%s%u-%u" : "%s%u", length ? "," : "", i,
                                last);
                if (k < 0 || length + (size_t) k >= n)
                        break;
                length += (size_t) k;
                i = last;
        }
        ret[length] = 0;
        return length;
}

static int leaf_limit(const Cgroup *cgroup, int fd, const LeafLimits *limits) {
        char text[4096];
        int r;

        if (cgroup->controllers & CONTROLLER_MEMORY) {
                r = write_number(fd, "memory.max", limits->memory_bytes);
                if (r < 0)
                        return r;
                /* This file exists only with swap accounting. */
                (void) write_file(fd, "memory.swap.max", "0");
        }
        if (cgroup->controllers & CONTROLLER_PIDS) {
                r = write_number(fd, "pids.max", limits->n_tasks);
                if (r < 0)
                        return r;
        }
        if (cgroup->controllers & CONTROLLER_CPU && limits->cpu_permille > 0) {
                (void) snprintf(text, sizeof(text), "%llu %d",
                                (unsigned long long) limits->cpu_permille * PERIOD_USEC / 1000, PERIOD_USEC);
                r = write_file(fd, "cpu.max", text);
                if (r < 0)
                        return r;
        }
        if (cgroup->controllers & CONTROLLER_CPUSET && limits->cpus &&
                        cpuset_print(limits->cpus, text, sizeof(text)) > 0) {
                r = write_file(fd, "cpuset.cpus", text);
                if (r < 0)
                        return r;
        }
        return 0;
}

int leaf_make(const Cgroup *cgroup, const char *name, const LeafLimits *limits, Leaf *ret) {
        _cleanup_close_ int fd = -EBADF;
        int r;

        assert(cgroup && cgroup->fd >= 0);
        assert(strlen(name) < sizeof(ret->name));
        assert(ret);

        if (mkdirat(cgroup->fd, name, 0755) < 0 && errno != EEXIST)
                return -errno;
        fd = openat(cgroup->fd, name, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        r = leaf_limit(cgroup, fd, limits);
        if (r < 0)
                return r;

        (void) snprintf(ret->name, sizeof(ret->name), "%s", name);
        ret->fd = TAKE_FD(fd);
        return 0;
}

void leaf_done(const Cgroup *cgroup, Leaf *leaf, bool remove) {
        if (leaf->fd < 0)
                return;

        leaf->fd = close_fd(leaf->fd);
        if (remove)
                (void) unlinkat(cgroup->fd, leaf->name, AT_REMOVEDIR);
}

int leaf_make_thread(const Leaf *leaf, uint32_t k) {
        _cleanup_close_ int fd = -EBADF;
        char name[32];
        int r;

        (void) snprintf(name, sizeof(name), THREAD_LEAF, k);
        if (mkdirat(leaf->fd, name, 0755) < 0)
                return -errno;
        fd = openat(leaf->fd, name, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
        r = fd < 0 ? -errno : write_file(fd, "cgroup.type", "threaded");
        if (r < 0) {
                leaf_remove_thread(leaf, k);
                return r;
        }
        return TAKE_FD(fd);
}

int leaf_move_thread(int thread_fd, pid_t tid) {
        return write_number(thread_fd, "cgroup.threads", (uint64_t) tid);
}

void leaf_remove_thread(const Leaf *leaf, uint32_t k) {
        char name[32];

        (void) snprintf(name, sizeof(name), THREAD_LEAF, k);
        (void) unlinkat(leaf->fd, name, AT_REMOVEDIR);
}

void leaf_freeze(const Leaf *leaf, bool freeze) {
        if (leaf->fd >= 0)
                (void) write_file(leaf->fd, "cgroup.freeze", freeze ? "1" : "0");
}

void leaf_kill(const Leaf *leaf) {
        if (leaf->fd >= 0)
                (void) write_file(leaf->fd, "cgroup.kill", "1");
}

/* The number behind the first `word`, or 0. */
static uint64_t number_after(const char *text, const char *word) {
        const char *found = strstr(text, word);

        return found ? strtoull(found + strlen(word), NULL, 10) : 0;
}

OutOfMemory leaf_out_of_memory(const Leaf *leaf) {
        char text[512];

        if (leaf->fd < 0 || file_read_at(leaf->fd, "memory.events", text, sizeof(text)) < 0)
                return (OutOfMemory){};
        return (OutOfMemory){ .n_limit = number_after(text, "oom "),
                .n_kills = number_after(text, "oom_kill ") };
}
