/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The clock for reports and deadlines: CLOCK_BOOTTIME. All processes of a host share this clock, and it goes
 * on while the host sleeps. */
#pragma once

#include <stdint.h>
#include <time.h>

/* Any clock, in nanoseconds. 0: it cannot be read. */
static inline uint64_t clock_nsec(clockid_t clock) {
        struct timespec t = {};

        (void) clock_gettime(clock, &t);
        return (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
}

static inline uint64_t clock_boottime(void) {
        return clock_nsec(CLOCK_BOOTTIME);
}

/* How long the host has been asleep since it started. */
static inline uint64_t clock_suspended(void) {
        uint64_t awake = clock_nsec(CLOCK_MONOTONIC);

        return clock_boottime() - awake;
}
