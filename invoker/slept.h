/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How long an actor itself slept during an invocation. The actor holds its memory meanwhile, so this time is
 * billed. The time is that from order to answer, minus the actor's CPU time, its waiting for a CPU, and the
 * time in which the invoker was busy or waited itself. So a busy host adds nothing. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* A sleep shorter than this, or than a hundredth of the invocation, does not count: it comes from
 * wake-ups. */
#define SLEPT_LEAST_NSEC 1000000u
#define SLEPT_LEAST_PART 100u

typedef struct Ourselves {
        int fd; /* /proc/self/schedstat; -EBADF: there is none, and no sleep is counted */
        /* how long the invoker has waited for the daemon to make room in the spool, and for actors to get
         * descriptors of their own (fork.c) */
        uint64_t waited_nsec;
} Ourselves;

typedef struct Slept {
        int fd; /* /proc/PID/schedstat */
        clockid_t clock;
        bool begun;
        uint64_t wall_nsec, cpu_nsec, delay_nsec, own_nsec; /* values at the time of the order */
        uint64_t nsec;                                      /* sleep in the last invocation */
} Slept;

#define OURSELVES_EMPTY \
        { .fd = -EBADF }
#define SLEPT_EMPTY \
        { .fd = -EBADF }

void ourselves_watch(Ourselves *o, int proc_fd);
void ourselves_done(Ourselves *o);

void slept_watch(Slept *s, pid_t pid, int proc_fd);
void slept_done(Slept *s);
void slept_begin(Slept *s, const Ourselves *o); /* call it before an order */
/* Call this when the order is answered, or when the process has ended and is not reaped yet. */
void slept_end(Slept *s, const Ourselves *o);
void slept_forget(Slept *s); /* this invocation cannot be measured and counts as awake */

/* The parser and the rule for a sleep, for the tests. -EBADMSG: the text does not have two numbers;
 * -ENODATA: the kernel counts nothing. */
int schedstat_parse(const char *text, uint64_t *ret_cpu_nsec, uint64_t *ret_delay_nsec);
uint64_t slept_of(uint64_t wall_nsec, uint64_t cpu_nsec, uint64_t delay_nsec, uint64_t own_nsec);
