/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A few threads that do the same work on different tasks, again and again. The result of a task depends on
 * its number, and never on the thread that does it. Tasks go to the threads that have a core. If threads do
 * not help, the caller does all tasks.
 *
 * The threads are metered as if each had its own core, and thread i of n did the tasks i, i + n, i + 2n, ...
 * The time of a phase is that of the slowest thread. Waiting for this thread does not count as work. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

typedef struct Threads Threads;
typedef void (*ThreadWork)(void *arg, uint32_t task, uint32_t thread);

/* n includes the caller, which works, too. */
int threads_new(uint32_t n, Threads **ret);
Threads *threads_free(Threads *threads);
uint32_t threads_count(const Threads *threads);

/* Keeps the same threads for ever, for a process whose threads are metered from outside. Without this call,
 * a thread that shares the caller's core starts a successor on another core. Call it before the first
 * phase. */
void threads_stay(Threads *threads);

/* Does the tasks 0 .. n_tasks - 1, in any order; returns when all are done. Thread i % n does task i if it
 * has a core. So tasks of later phases should have the same number if they work on the same memory. */
void threads_run(Threads *threads, ThreadWork work, void *arg, uint32_t n_tasks);
/* Like threads_run(), but task i always runs on thread i % n, for tasks that use a thread's own memory. */
void threads_deal(Threads *threads, ThreadWork work, void *arg, uint32_t n_tasks);

/* Whether other threads will be asked to help with the next phase. */
bool threads_help(const Threads *threads);

/* Wakes threads that sleep: a phase begins soon. */
void threads_rouse(Threads *threads);

/* threads_meter() starts to measure, and counts the CPUs. threads_metered_nsec() returns the CPU time since
 * then: in each phase that of the slowest thread, and between phases the caller's own. */
void threads_meter(Threads *threads);
uint64_t threads_metered_nsec(Threads *threads);

/* CPU time of the calling thread, since it began. */
static inline uint64_t thread_cpu_nsec(void) {
        struct timespec ts;

        (void) clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
        return (uint64_t) ts.tv_sec * 1000000000u + (uint64_t) ts.tv_nsec;
}
