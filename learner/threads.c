/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One word goes up at each phase, one goes down as threads finish. A waiting thread looks for some
 * microseconds and then sleeps on the word; the writer wakes it only if it said that it sleeps. Both
 * pairs are sequentially consistent, so no wake-up is lost. */
#include "learner/threads.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/futex.h"

enum { SPINS = 2000 };

typedef struct Thread {
        Threads *threads;
        uint32_t index;
        pthread_t id;
        uint64_t cpu_nsec; /* of the last phase */
} __attribute__((aligned(64))) Thread;

struct Threads {
        _Atomic uint32_t phase __attribute__((aligned(64)));
        _Atomic uint32_t n_sleeping;
        _Atomic uint32_t n_busy __attribute__((aligned(64)));
        _Atomic uint32_t caller_sleeps;

        ThreadWork work __attribute__((aligned(64)));
        void *arg;
        uint32_t n_tasks;
        bool ends;

        uint32_t n, n_started;
        uint64_t start_nsec, waited_nsec, excess_nsec;
        Thread *members;
};

DEFINE_CLEANUP(Threads *, threads_free)

static void word_wait(_Atomic uint32_t *word, uint32_t while_value, _Atomic uint32_t *sleepers) {
        for (unsigned i = 0; i < SPINS; i++) {
                if (atomic_load_explicit(word, memory_order_acquire) != while_value)
                        return;
                spin_pause();
        }

        atomic_fetch_add(sleepers, 1);
        while (atomic_load(word) == while_value)
                (void) syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, while_value, NULL, NULL, 0);
        atomic_fetch_sub(sleepers, 1);
}

static void word_wake(_Atomic uint32_t *word, _Atomic uint32_t *sleepers) {
        if (atomic_load(sleepers) > 0)
                (void) syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void thread_work(Threads *threads, uint32_t index) {
        for (uint32_t i = index; i < threads->n_tasks; i += threads->n)
                threads->work(threads->arg, i, index);
}

static void *thread_main(void *arg) {
        Thread *thread = arg;
        Threads *threads = thread->threads;

        for (uint32_t phase = 0;; phase++) {
                uint64_t start_nsec;

                word_wait(&threads->phase, phase, &threads->n_sleeping);
                if (threads->ends)
                        return NULL;

                start_nsec = thread_cpu_nsec();
                thread_work(threads, thread->index);
                thread->cpu_nsec = thread_cpu_nsec() - start_nsec;

                if (atomic_fetch_sub(&threads->n_busy, 1) == 1)
                        word_wake(&threads->n_busy, &threads->caller_sleeps);
        }
}

Threads *threads_free(Threads *threads) {
        if (!threads)
                return NULL;

        threads->ends = true;
        atomic_fetch_add(&threads->phase, 1);
        word_wake(&threads->phase, &threads->n_sleeping);
        for (uint32_t i = 0; i < threads->n_started; i++)
                (void) pthread_join(threads->members[i].id, NULL);

        free(threads->members);
        free(threads);
        return NULL;
}

int threads_new(uint32_t n, Threads **ret) {
        _cleanup_(threads_freep) Threads *threads = NULL;

        assert(n > 0);
        assert(ret);

        threads = aligned_alloc(64, sizeof(*threads));
        if (!threads)
                return -ENOMEM;
        *threads = (Threads){ .n = n };

        threads->members = aligned_alloc(64, n * sizeof(Thread));
        if (!threads->members)
                return -ENOMEM;

        for (uint32_t i = 0; i + 1 < n; i++) {
                Thread *thread = &threads->members[i];
                int r;

                *thread = (Thread){ .threads = threads, .index = i + 1 };
                r = pthread_create(&thread->id, NULL, thread_main, thread);
                if (r != 0)
                        return -r;
                threads->n_started++;
        }

        *ret = TAKE_PTR(threads);
        return 0;
}

uint32_t threads_count(const Threads *threads) {
        return threads->n;
}

/* Returns how much longer than the caller the slowest thread worked. The caller's time plus this is the
 * time of the phase. */
static uint64_t phase_excess_nsec(const Threads *threads, uint64_t own_nsec) {
        uint64_t slowest_nsec = own_nsec;

        for (uint32_t i = 0; i < threads->n_started; i++)
                if (threads->members[i].cpu_nsec > slowest_nsec)
                        slowest_nsec = threads->members[i].cpu_nsec;
        return slowest_nsec - own_nsec;
}

void threads_run(Threads *threads, ThreadWork work, void *arg, uint32_t n_tasks) {
        uint64_t start_nsec, done_nsec;
        uint32_t busy;

        assert(threads);
        assert(work);

        threads->work = work;
        threads->arg = arg;
        threads->n_tasks = n_tasks;

        if (threads->n == 1 || n_tasks <= 1) {
                for (uint32_t i = 0; i < n_tasks; i++)
                        work(arg, i, 0);
                return;
        }

        start_nsec = thread_cpu_nsec();
        atomic_store(&threads->n_busy, threads->n - 1);
        atomic_fetch_add(&threads->phase, 1);
        word_wake(&threads->phase, &threads->n_sleeping);

        thread_work(threads, 0);

        done_nsec = thread_cpu_nsec();
        while ((busy = atomic_load(&threads->n_busy)) > 0)
                word_wait(&threads->n_busy, busy, &threads->caller_sleeps);
        threads->excess_nsec += phase_excess_nsec(threads, done_nsec - start_nsec);
        threads->waited_nsec += thread_cpu_nsec() - done_nsec;
}

void threads_meter(Threads *threads) {
        threads->start_nsec = thread_cpu_nsec();
        threads->waited_nsec = threads->excess_nsec = 0;
}

uint64_t threads_metered_nsec(Threads *threads) {
        return thread_cpu_nsec() - threads->start_nsec - threads->waited_nsec + threads->excess_nsec;
}
