/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A few threads that do the same work on different tasks, over and over. What a task computes depends on
 * its number and never on the thread that does it; tasks go to the threads that have a core, and the
 * caller does all of them where help does not pay.
 *
 * The threads are metered as if each had a core of its own and did the tasks of its number modulo n: the
 * time of a phase is that of the slowest, and waiting for it is no thread's work. */
#pragma once

#include <stdint.h>
#include <time.h>

typedef struct Threads Threads;
typedef void (*ThreadWork)(void *arg, uint32_t task, uint32_t thread);

/* n counts the caller, who works too. */
int threads_new(uint32_t n, Threads **ret);
Threads *threads_free(Threads *threads);
uint32_t threads_count(const Threads *threads);

/* Does the tasks 0 .. n_tasks - 1, in any order; returns when all are done. */
void threads_run(Threads *threads, ThreadWork work, void *arg, uint32_t n_tasks);
/* The same, but task i always runs on thread i % n: for tasks that use what belongs to one thread. */
void threads_deal(Threads *threads, ThreadWork work, void *arg, uint32_t n_tasks);

/* Starts measuring, and looks how many CPUs there are; CPU time since then: the caller's own, with the
 * slowest thread's in each phase instead of it. */
void threads_meter(Threads *threads);
uint64_t threads_metered_nsec(Threads *threads);

/* CPU time of the calling thread, since it began. */
static inline uint64_t thread_cpu_nsec(void) {
        struct timespec ts;

        (void) clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
        return (uint64_t) ts.tv_sec * 1000000000u + (uint64_t) ts.tv_nsec;
}
