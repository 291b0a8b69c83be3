/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The clock of reports and deadlines, CLOCK_BOOTTIME: one for all processes of a host, which goes on while it sleeps. */
#pragma once

#include <stdint.h>
#include <time.h>

/* Nanoseconds. */
static inline uint64_t clock_boottime(void) {
        struct timespec t;

        (void) clock_gettime(CLOCK_BOOTTIME, &t);
        return (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
}

/* How much of that the host has slept so far. */
static inline uint64_t clock_suspended(void) {
        struct timespec t;
        uint64_t awake;

        (void) clock_gettime(CLOCK_MONOTONIC, &t);
        awake = (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
        return clock_boottime() - awake;
}
