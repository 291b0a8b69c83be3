/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The clock of reports and deadlines: CLOCK_BOOTTIME, which all processes of a host share and which also
 * counts while the host sleeps. */
#pragma once

#include <stdint.h>
#include <time.h>

/* Nanoseconds. */
static inline uint64_t clock_boottime(void) {
        struct timespec t;

        (void) clock_gettime(CLOCK_BOOTTIME, &t);
        return (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
}

/* The part of that time for which the host was asleep. */
static inline uint64_t clock_suspended(void) {
        struct timespec t;
        uint64_t awake;

        (void) clock_gettime(CLOCK_MONOTONIC, &t);
        awake = (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
        return clock_boottime() - awake;
}
