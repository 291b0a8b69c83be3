/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How long a process may be silent before it counts as hung. Pure. */
#pragma once

#include <stdint.h>

#define PATIENCE_FACTOR   20u
#define PATIENCE_MAX_NSEC (3600ull * 1000000000u)

/* The least silence of an invoker for which the daemon kills it. */
#define INVOKER_PATIENCE_MSEC 30000u

/* How long to wait: a multiple of the longest silence so far, at most an hour, but never less than the
 * floor. longest_nsec 0: there was no silence yet. */
static inline uint64_t patience_nsec(uint64_t longest_nsec, uint64_t floor_nsec) {
        uint64_t nsec;

        if (__builtin_mul_overflow(longest_nsec, (uint64_t) PATIENCE_FACTOR, &nsec) ||
                        nsec > PATIENCE_MAX_NSEC)
                nsec = PATIENCE_MAX_NSEC;
        return nsec > floor_nsec ? nsec : floor_nsec;
}
