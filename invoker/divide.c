/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes a threaded cgroup for each thread of a process, below the leaf, which is the process's own cgroup.
 * The leaf keeps the limits and the counters of the whole process. */
#include "invoker/divide.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/cleanup.h"

/* Lists threads in the order in which they began, as procfs does. Writes at most n of them, and returns how
 * many there are. */
static int list_threads(int proc_fd, pid_t pid, uint32_t n, pid_t *ret) {
        _cleanup_closedir_ DIR *directory = NULL;
        struct dirent *entry;
        char path[64];
        int fd, found = 0;

        (void) snprintf(path, sizeof(path), "%d/task", (int) pid);
        fd = openat(proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        directory = fdopendir(fd);
        if (!directory) {
                (void) close_fd(fd);
                return -ENOMEM;
        }
        while ((entry = readdir(directory))) {
                if (entry->d_name[0] == '.')
                        continue;
                if ((uint32_t) found < n)
                        ret[found] = (pid_t) strtol(entry->d_name, NULL, 10);
                found++;
        }
        return found;
}

void thread_meters_done(ThreadMeters *meters, const Leaf *leaf) {
        for (uint32_t k = 0; k < meters->n; k++) {
                meter_done(&meters->meters[k]);
                leaf_remove_thread(leaf, k);
        }
        free(meters->meters);
        *meters = (ThreadMeters){};
}

static int meter_moved(int fd, pid_t tid, Meter *ret) {
        int r;

        r = meter_init(fd, ret);
        if (r < 0)
                return r;
        return leaf_move_thread(fd, tid);
}

static int meter_thread(const Leaf *leaf, uint32_t k, pid_t tid, Meter *ret) {
        _cleanup_close_ int fd = leaf_make_thread(leaf, k);
        int r;

        if (fd < 0)
                return fd;
        r = meter_moved(fd, tid, ret);
        if (r < 0) {
                meter_done(ret);
                leaf_remove_thread(leaf, k);
        }
        return r;
}

/* Refuses a process with more or fewer than n threads: some threads would not be metered, and it would not
 * be clear which thread is which. */
static int meter_each(
                const Leaf *leaf, int proc_fd, pid_t pid, uint32_t n, pid_t *tids, ThreadMeters *made) {
        int r;

        r = list_threads(proc_fd, pid, n, tids);
        if (r < 0)
                return r;
        if ((uint32_t) r != n)
                return -ESRCH;
        for (; made->n < n; made->n++) {
                made->meters[made->n] = (Meter) METER_EMPTY;
                r = meter_thread(leaf, made->n, tids[made->n], &made->meters[made->n]);
                if (r < 0)
                        return r;
        }
        return 0;
}

int thread_meters_init(const Leaf *leaf, int proc_fd, pid_t pid, uint32_t n, ThreadMeters *ret) {
        _cleanup_free_ pid_t *tids = NULL;
        ThreadMeters made = {};
        int r;

        assert(n > 0);
        assert(ret);

        if (leaf->fd < 0 || proc_fd < 0)
                return -EOPNOTSUPP;
        tids = calloc(n, sizeof(*tids));
        made.meters = calloc(n, sizeof(*made.meters));
        r = tids && made.meters ? meter_each(leaf, proc_fd, pid, n, tids, &made) : -ENOMEM;
        if (r < 0) {
                for (uint32_t k = 0; k < made.n; k++)
                        (void) leaf_move_thread(leaf->fd, tids[k]);
                thread_meters_done(&made, leaf);
                return r;
        }

        *ret = made;
        return 0;
}

void divide_reading(uint64_t reading_nsec, uint32_t first, uint32_t stride, uint32_t n, uint64_t *claims) {
        uint64_t left_nsec = reading_nsec;
        unsigned __int128 sum = 0;
        uint32_t n_left = 0;

        assert(stride > 0);

        for (uint32_t a = first; a < n; a += stride)
                if (claims[a] != CLAIM_NONE) {
                        sum += claims[a];
                        n_left++;
                }

        /* Each claim takes its part of the remaining sum, so that the parts add up in spite of rounding. */
        for (uint32_t a = first; a < n; a += stride) {
                uint64_t claim = claims[a];

                if (claim == CLAIM_NONE)
                        continue;
                if (n_left <= 1)
                        claims[a] = left_nsec;
                else if (sum == 0)
                        claims[a] = left_nsec / n_left;
                else
                        claims[a] = (uint64_t) ((double) left_nsec * ((double) claim / (double) sum));
                if (claims[a] > left_nsec)
                        claims[a] = left_nsec;
                left_nsec -= claims[a];
                sum -= claim;
                n_left--;
        }
}
