/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Waits until a word of shared memory changes, for lib/turn.c, lib/exchange.c and lib/reduce.c.
 * learner/threads.c spins in the same way, but sleeps on words of its own process. */
#pragma once

#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Pauses between two looks at the clock; a pause takes some 40 ns on current cores and 10 on older ones. */
enum { SPINS_PER_LOOK = 32 };

static inline void spin_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        __asm__ volatile("yield");
#endif
}

/* Not FUTEX_PRIVATE: the two sides are different processes. */
static inline void futex_wait(_Atomic uint32_t *word, uint32_t while_value) {
        (void) syscall(SYS_futex, word, FUTEX_WAIT, while_value, NULL, NULL, 0);
}

static inline void futex_wait_for(_Atomic uint32_t *word, uint32_t while_value, uint64_t nsec) {
        const struct timespec most = { .tv_sec = (time_t) (nsec / 1000000000u),
                .tv_nsec = (long) (nsec % 1000000000u) };

        (void) syscall(SYS_futex, word, FUTEX_WAIT, while_value, &most, NULL, 0);
}

static inline void futex_wake(_Atomic uint32_t *word) {
        (void) syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static inline uint64_t now_nsec(void) {
        struct timespec ts;

        (void) clock_gettime(CLOCK_MONOTONIC, &ts);
        return (uint64_t) ts.tv_sec * 1000000000u + (uint64_t) ts.tv_nsec;
}
