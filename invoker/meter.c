/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* There are two counters. The cpu.stat of a worker's cgroup (leaf) counts all processes that were ever in
 * the cgroup, in microseconds. A process clock counts one process, in nanoseconds, and starts again with the
 * next process. Both counters lag while the metered process runs, so they are read when it has slept for a
 * while. */
#include "invoker/meter.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/boottime.h"
#include "lib/cleanup.h"

enum { STATUS_BYTES = 4096, CPU_STAT_BYTES = 512 };

static uint64_t *time_sum_nsec; /* the time that readings take is added here; NULL: it is not measured */

void meter_time_into(uint64_t *sum) {
        time_sum_nsec = sum;
}

static uint64_t reading_begin(void) {
        return time_sum_nsec ? clock_boottime() : 0;
}

static void reading_end(uint64_t begun_nsec) {
        if (time_sum_nsec)
                *time_sum_nsec += clock_boottime() - begun_nsec;
}

/* The number in a line "KEY NUMBER", times `unit`. */
static int find_number(const char *text, const char *key, uint64_t unit, uint64_t *ret) {
        size_t n = strlen(key);

        for (const char *line = text; line; line = strchr(line, '\n')) {
                uint64_t number;
                char *end;

                line += *line == '\n';
                if (strncmp(line, key, n) != 0)
                        continue;
                number = strtoull(line + n, &end, 10);
                if (end == line + n)
                        return -EBADMSG;
                *ret = number * unit;
                return 0;
        }
        return -EBADMSG;
}

int cpu_stat_parse(const char *text, uint64_t *ret_nsec) {
        return find_number(text, "usage_usec ", 1000, ret_nsec);
}

int status_parse_peak(const char *text, uint64_t *ret_bytes) {
        return find_number(text, "VmHWM:", 1024, ret_bytes);
}

static int read_text(int fd, char *buffer, size_t n) {
        ssize_t k = pread(fd, buffer, n - 1, 0);

        if (k < 0)
                return -errno;
        buffer[k] = 0;
        return 0;
}

int meter_init(int leaf_fd, Meter *ret) {
        Meter meter = METER_EMPTY;

        assert(ret);

        if (leaf_fd >= 0) {
                meter.cpu_fd = openat(leaf_fd, "cpu.stat", O_RDONLY | O_CLOEXEC);
                if (meter.cpu_fd < 0)
                        return -errno;
        }
        *ret = meter;
        return 0;
}

static void meter_forget(Meter *meter) {
        meter->status_fd = close_fd(meter->status_fd);
        meter->refs_fd = close_fd(meter->refs_fd);
        meter->peak_nsec = 0;
        meter->has_clock = false;
}

void meter_done(Meter *meter) {
        meter_forget(meter);
        meter->cpu_fd = close_fd(meter->cpu_fd);
}

void meter_watch(Meter *meter, pid_t pid, int proc_fd) {
        char path[64];

        assert(meter);

        meter_forget(meter);
        if (meter->cpu_fd < 0) {
                meter->has_clock = clock_getcpuclockid(pid, &meter->clock) == 0;
                meter->read_nsec = 0;
        }
        if (proc_fd < 0 || pid == 0)
                return;

        (void) snprintf(path, sizeof(path), "%d/status", (int) pid);
        meter->status_fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
        (void) snprintf(path, sizeof(path), "%d/clear_refs", (int) pid);
        meter->refs_fd = openat(proc_fd, path, O_WRONLY | O_CLOEXEC);
}

static int meter_read(const Meter *meter, uint64_t *ret_nsec) {
        char buffer[CPU_STAT_BYTES];
        struct timespec ts;
        int r;

        if (meter->cpu_fd >= 0) {
                r = read_text(meter->cpu_fd, buffer, sizeof(buffer));
                return r < 0 ? r : cpu_stat_parse(buffer, ret_nsec);
        }
        if (!meter->has_clock || clock_gettime(meter->clock, &ts) < 0)
                return -ESRCH;
        *ret_nsec = (uint64_t) ts.tv_sec * 1000000000u + (uint64_t) ts.tv_nsec;
        return 0;
}

/* A counter never runs backwards: a lower reading is a kernel error and counts as no use. */
static uint64_t meter_advance(Meter *meter, uint64_t now_nsec) {
        uint64_t used = now_nsec > meter->read_nsec ? now_nsec - meter->read_nsec : 0;

        meter->read_nsec += used;
        return used;
}

uint64_t meter_take(Meter *meter) {
        uint64_t now_nsec, begun_nsec = reading_begin();
        int r;

        assert(meter);

        r = meter_read(meter, &now_nsec);
        reading_end(begun_nsec);
        return r < 0 ? 0 : meter_advance(meter, now_nsec);
}

int meter_count(int cgroup_fd, uint64_t *ret_nsec) {
        Meter meter;
        int r;

        assert(cgroup_fd >= 0);
        assert(ret_nsec);

        r = meter_init(cgroup_fd, &meter);
        if (r < 0)
                return r;
        r = meter_read(&meter, ret_nsec);
        meter_done(&meter);
        return r;
}

uint64_t meter_unwatch(Meter *meter, uint64_t reaped_nsec) {
        assert(meter);

        meter_forget(meter);
        return meter->cpu_fd >= 0 ? meter_take(meter) : meter_advance(meter, reaped_nsec);
}

uint64_t meter_peak(Meter *meter) {
        char buffer[STATUS_BYTES];
        uint64_t bytes, now = clock_boottime();
        int r;

        assert(meter);

        if (meter->status_fd < 0 || now - meter->peak_nsec < PEAK_INTERVAL_NSEC)
                return 0;
        meter->peak_nsec = now;
        r = read_text(meter->status_fd, buffer, sizeof(buffer));
        reading_end(now);
        if (r < 0 || status_parse_peak(buffer, &bytes) < 0)
                return 0;

        /* Writing 5 resets the high-water mark of memory. If this is forbidden, the mark covers the
         * process's whole life, and not only the time since the last look. */
        if (meter->refs_fd >= 0)
                (void) !write(meter->refs_fd, "5", 1);
        return bytes;
}
