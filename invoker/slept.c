/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Measures CPU time by the process's CPU clock, which is exact while the process runs. (The CPU time in
 * schedstat is up to a tick old.) The delay is read from schedstat. It is never old here: the kernel counts
 * it when a wait for a CPU ends, and a process that has just answered has not waited since. */
#include "invoker/slept.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/saturate.h"

enum { SCHEDSTAT_BYTES = 128 };

typedef struct Look {
        uint64_t wall_nsec, cpu_nsec, delay_nsec, own_nsec;
} Look;

int schedstat_parse(const char *text, uint64_t *ret_cpu_nsec, uint64_t *ret_delay_nsec) {
        char *end, *last;
        uint64_t cpu_nsec = strtoull(text, &end, 10), delay_nsec;

        if (end == text || *end != ' ')
                return -EBADMSG;
        delay_nsec = strtoull(end, &last, 10);
        if (last == end)
                return -EBADMSG;
        /* A running process has used some CPU time, so zeros mean that the kernel does not count. */
        if (cpu_nsec == 0)
                return -ENODATA;
        *ret_cpu_nsec = cpu_nsec;
        *ret_delay_nsec = delay_nsec;
        return 0;
}

uint64_t slept_of(uint64_t wall_nsec, uint64_t cpu_nsec, uint64_t delay_nsec, uint64_t own_nsec) {
        uint64_t awake_nsec = saturating_add(saturating_add(cpu_nsec, delay_nsec), own_nsec);
        uint64_t slept_nsec = wall_nsec > awake_nsec ? wall_nsec - awake_nsec : 0;

        return slept_nsec < SLEPT_LEAST_NSEC || slept_nsec < wall_nsec / SLEPT_LEAST_PART ? 0 : slept_nsec;
}

static int read_delay(int fd, uint64_t *ret_nsec) {
        char text[SCHEDSTAT_BYTES];
        uint64_t cpu_nsec;
        ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

        if (n < 0)
                return -errno;
        text[n] = 0;
        return schedstat_parse(text, &cpu_nsec, ret_nsec);
}

static int read_clock(clockid_t clock, uint64_t *ret_nsec) {
        struct timespec ts;

        if (clock_gettime(clock, &ts) < 0)
                return -errno;
        *ret_nsec = (uint64_t) ts.tv_sec * 1000000000u + (uint64_t) ts.tv_nsec;
        return 0;
}

/* CLOCK_MONOTONIC stands still while the host is suspended: that time is not the actor's sleep. */
static int look(const Slept *s, const Ourselves *o, Look *ret) {
        uint64_t own_cpu_nsec = 0, own_delay_nsec = 0;
        int r;

        r = read_clock(CLOCK_MONOTONIC, &ret->wall_nsec);
        if (r < 0)
                return r;
        r = read_clock(s->clock, &ret->cpu_nsec);
        if (r < 0)
                return r;
        r = read_delay(s->fd, &ret->delay_nsec);
        if (r < 0)
                return r;
        r = read_clock(CLOCK_PROCESS_CPUTIME_ID, &own_cpu_nsec);
        if (r < 0)
                return r;
        r = read_delay(o->fd, &own_delay_nsec);
        if (r < 0)
                return r;
        ret->own_nsec = own_cpu_nsec + own_delay_nsec + o->waited_nsec;
        return 0;
}

void ourselves_watch(Ourselves *o, int proc_fd) {
        assert(o);

        if (proc_fd >= 0)
                o->fd = openat(proc_fd, "self/schedstat", O_RDONLY | O_CLOEXEC);
}

void ourselves_done(Ourselves *o) {
        o->fd = close_fd(o->fd);
}

void slept_watch(Slept *s, pid_t pid, int proc_fd) {
        char path[64];

        assert(s);

        slept_done(s);
        if (proc_fd < 0 || clock_getcpuclockid(pid, &s->clock) != 0)
                return;
        (void) snprintf(path, sizeof(path), "%d/schedstat", (int) pid);
        s->fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
}

void slept_done(Slept *s) {
        slept_forget(s);
        s->fd = close_fd(s->fd);
}

void slept_forget(Slept *s) {
        s->begun = false;
        s->nsec = 0;
}

void slept_begin(Slept *s, const Ourselves *o) {
        Look begin = {};

        slept_forget(s);
        if (s->fd < 0 || o->fd < 0 || look(s, o, &begin) < 0)
                return;
        s->begun = true;
        s->wall_nsec = begin.wall_nsec;
        s->cpu_nsec = begin.cpu_nsec;
        s->delay_nsec = begin.delay_nsec;
        s->own_nsec = begin.own_nsec;
}

void slept_end(Slept *s, const Ourselves *o) {
        uint64_t now_nsec = 0;
        Look end = {};

        if (!s->begun)
                return;
        s->begun = false;
        /* Most invocations are too short for a sleep that counts. */
        if (read_clock(CLOCK_MONOTONIC, &now_nsec) < 0 || now_nsec - s->wall_nsec < SLEPT_LEAST_NSEC ||
                        look(s, o, &end) < 0)
                return;
        s->nsec = slept_of(end.wall_nsec - s->wall_nsec, end.cpu_nsec - s->cpu_nsec,
                        end.delay_nsec - s->delay_nsec, end.own_nsec - s->own_nsec);
}
