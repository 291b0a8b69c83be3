/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A few threads that do the same work on different tasks, over and over. The result of a task depends on its
 * number and never on the thread that does it. Tasks go to the threads that have a core; where threads do
 * not help, the caller does all tasks.
 *
 * The threads are metered as if each had its own core and did the tasks with its number modulo n. The time
 * of a phase is that of the slowest thread, and waiting for it is not counted as work. */
#pragma once

#include <stdint.h>
#include <time.h>

typedef struct Threads Threads;
typedef void (*ThreadWork)(void *arg, uint32_t task, uint32_t thread);

/* n includes the caller, which works, too. */
int threads_new(uint32_t n, Threads **ret);
Threads *threads_free(Threads *threads);
uint32_t threads_count(const Threads *threads);

/* Does the tasks 0 .. n_tasks - 1, in any order; returns when all are done. */
void threads_run(Threads *threads, ThreadWork work, void *arg, uint32_t n_tasks);
/* The same, but task i always runs on thread i % n, for tasks that use a thread's own memory. */
void threads_deal(Threads *threads, ThreadWork work, void *arg, uint32_t n_tasks);

/* Starts measuring, and counts the CPUs. Then: CPU time since that start, as the caller's own time, with the
 * time of the slowest thread in the place of the caller's in each phase. */
void threads_meter(Threads *threads);
uint64_t threads_metered_nsec(Threads *threads);

/* CPU time of the calling thread, since it began. */
static inline uint64_t thread_cpu_nsec(void) {
        struct timespec ts;

        (void) clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
        return (uint64_t) ts.tv_sec * 1000000000u + (uint64_t) ts.tv_nsec;
}
