/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A worker's use of CPU and memory, read from the kernel and never from the worker. Each reading counts from
 * the reading before, so all use is billed exactly once. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

typedef struct Meter {
        int cpu_fd; /* cpu.stat of the process's cgroup; -EBADF: the process clock is read instead */
        clockid_t clock;
        bool has_clock;
        int status_fd, refs_fd; /* status and clear_refs of the process, for its peak memory; or -EBADF */
        uint64_t read_nsec;     /* the counter's value at the last reading */
        uint64_t peak_nsec;     /* when the peak was last read */
} Meter;

#define METER_EMPTY \
        { .cpu_fd = -EBADF, .status_fd = -EBADF, .refs_fd = -EBADF }

/* leaf_fd: the directory of the process's cgroup; -EBADF: it has none. */
int meter_init(int leaf_fd, Meter *ret);
void meter_done(Meter *meter);

/* Begins to meter a process. proc_fd: /proc as this process sees it; -EBADF: peak memory is not measured.
 * pid 0: the caller itself, without peak memory. */
void meter_watch(Meter *meter, pid_t pid, int proc_fd);
/* Call this when the process has been reaped. reaped_nsec: its whole CPU time, as wait4() reported it.
 * Returns its CPU time since the last reading. */
uint64_t meter_unwatch(Meter *meter, uint64_t reaped_nsec);

/* The CPU time since the last reading; 0 if the counter cannot be read. */
uint64_t meter_take(Meter *meter);
/* Everything that a cgroup has counted since it was made. 0, or a negative errno. */
int meter_count(int cgroup_fd, uint64_t *ret_nsec);
/* The highest resident memory since the last look; 0: not measured. The kernel prints a page of text for
 * this number, which takes as long as a short invocation. So it is read at most once in PEAK_INTERVAL_NSEC,
 * and a reading covers all invocations since the reading before. */
#define PEAK_INTERVAL_NSEC 5000000u
uint64_t meter_peak(Meter *meter);

/* From now on adds the wall time of readings to *sum (Profile=yes); NULL: stops. */
void meter_time_into(uint64_t *sum);

/* The parsers, for the tests. -EBADMSG: the field is missing. */
int cpu_stat_parse(const char *text, uint64_t *ret_nsec);
int status_parse_peak(const char *text, uint64_t *ret_bytes);
