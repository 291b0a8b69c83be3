/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A counter has the number of tasks that have not begun. A thread takes a task by lowering the counter by
 * one; the new value is the number of its task. The caller takes tasks, too. So it waits for a thread only
 * if that thread is in the middle of a task, and never for a thread without a core.
 *
 * Even this wait may be long: if other programs want the cores, a thread may lose its core in the middle of
 * a task, for some milliseconds. And a thread that looks for tasks takes time from other programs and from
 * the caller. So the caller keeps a balance. Each task of another thread adds the time that the caller would
 * have needed for it. The times of waiting and waking are subtracted. So is the time during which a thread
 * looked for tasks while other programs wanted its core. When the balance is below 0, the threads did not
 * help: the caller works alone for FORBEARANCE times the loss, and then tries again. So threads that do not
 * help cost at most about 1/50 of the caller's time. A loss counts only up to LOSS_MAX_NSEC: if the program
 * was stopped for minutes, the threads were not the reason.
 *
 * Between two phases a thread looks for tasks for SPIN_NSEC, and yields its core to programs that want it.
 * Then it sleeps on a word that goes up with each phase. The writer of the word wakes a sleeper only if
 * there is one. Both pairs of accesses are sequentially consistent, so no wake-up is lost. */
#include "learner/threads.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/futex.h"

enum {
        SPIN_NSEC = 100000,   /* a thread spins this long; the caller needs less time between two phases */
        FREE_NSEC = 50000,    /* if sched_yield() takes longer, another program had the core */
        CREDIT_NSEC = 300000, /* the loss that a new try of threads may have, since they must wake up */
        CREDIT_MAX_NSEC = 5000000, /* the most credit that successful tries can collect */
        LOSS_MAX_NSEC = 4 * CREDIT_MAX_NSEC,
        FORBEARANCE = 50,
};

typedef struct Thread {
        Threads *threads;
        uint32_t index;
        pthread_t id;
        _Atomic uint32_t is_dealt __attribute__((aligned(64))); /* 1: tasks were dealt to this thread */
        /* CPU time of the tasks index, index + n, ... of the phase, whichever thread did them */
        _Atomic uint64_t cpu_nsec;
} __attribute__((aligned(64))) Thread;

struct Threads {
        _Atomic uint32_t phase __attribute__((aligned(64)));
        _Atomic uint32_t n_sleeping;
        _Atomic uint32_t n_open __attribute__((aligned(64))); /* tasks that have not begun */
        _Atomic uint32_t n_undone;                            /* tasks that are not done */
        _Atomic uint32_t caller_sleeps;
        _Atomic bool ends;
        /* how long other programs had the core of a thread that looked for tasks */
        _Atomic uint64_t displaced_nsec;

        ThreadWork work __attribute__((aligned(64)));
        void *arg;
        uint32_t n_tasks;

        uint32_t n, n_started;
        bool has_cores; /* there are several cores */
        int64_t balance_nsec;
        uint64_t alone_until_nsec;
        uint64_t start_nsec, phases_nsec, within_nsec;
        Thread *members;
};

DEFINE_CLEANUP(Threads *, threads_free)

static void word_sleep(_Atomic uint32_t *word, uint32_t while_value, _Atomic uint32_t *sleepers) {
        atomic_fetch_add(sleepers, 1);
        while (atomic_load(word) == while_value)
                (void) syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, while_value, NULL, NULL, 0);
        atomic_fetch_sub(sleepers, 1);
}

/* Returns whether there was a sleeper. */
static bool word_wake(_Atomic uint32_t *word, _Atomic uint32_t *sleepers) {
        if (atomic_load(sleepers) == 0)
                return false;
        (void) syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
        return true;
}

static bool word_changes(_Atomic uint32_t *word, uint32_t from) {
        for (unsigned i = 0; i < SPINS_PER_LOOK; i++) {
                if (atomic_load_explicit(word, memory_order_acquire) != from)
                        return true;
                spin_pause();
        }
        return false;
}

/* The loop of a helping thread without a task. It offers its core to other programs. Otherwise a program
 * that wants the core would take it later, in the middle of a task. */
static void phase_wait(Threads *threads, uint32_t seen) {
        uint64_t begun_nsec = now_nsec(), before_nsec, after_nsec;

        do {
                if (word_changes(&threads->phase, seen))
                        return;
                before_nsec = now_nsec();
                (void) sched_yield();
                after_nsec = now_nsec();
                if (after_nsec - before_nsec > FREE_NSEC)
                        atomic_fetch_add(&threads->displaced_nsec, after_nsec - before_nsec);
        } while (after_nsec - begun_nsec < SPIN_NSEC);
        word_sleep(&threads->phase, seen, &threads->n_sleeping);
}

/* The thread that began the phase waits until all tasks are done. Returns the time that it waited, in ns. */
static uint64_t undone_wait(Threads *threads) {
        uint64_t begun_nsec;
        uint32_t n = atomic_load(&threads->n_undone);

        if (n == 0)
                return 0;
        begun_nsec = now_nsec();
        while ((n = atomic_load(&threads->n_undone)) > 0)
                if (!word_changes(&threads->n_undone, n) && now_nsec() - begun_nsec > SPIN_NSEC)
                        word_sleep(&threads->n_undone, n, &threads->caller_sleeps);
        return now_nsec() - begun_nsec;
}

static void undone_less(Threads *threads, uint32_t n) {
        if (n > 0 && atomic_fetch_sub(&threads->n_undone, n) == n)
                (void) word_wake(&threads->n_undone, &threads->caller_sleeps);
}

/* Does a task that begins at start_nsec. Returns the time at its end. */
static uint64_t task_do(Threads *threads, uint32_t task, uint32_t thread, uint64_t start_nsec) {
        uint64_t end_nsec;

        threads->work(threads->arg, task, thread);
        end_nsec = thread_cpu_nsec();
        atomic_fetch_add_explicit(&threads->members[task % threads->n].cpu_nsec, end_nsec - start_nsec,
                        memory_order_relaxed);
        return end_nsec;
}

static bool task_take(Threads *threads, uint32_t *ret) {
        uint32_t n = atomic_load(&threads->n_open);

        while (n > 0)
                if (atomic_compare_exchange_weak(&threads->n_open, &n, n - 1)) {
                        *ret = n - 1;
                        return true;
                }
        return false;
}

/* Returns how many tasks it did. The description of the phase may be read only after a task was taken: from
 * then on it does not change until all tasks are done. */
static uint32_t tasks_take(Threads *threads, uint32_t thread) {
        uint32_t task, n = 0;
        uint64_t at_nsec = 0;

        for (; task_take(threads, &task); n++)
                at_nsec = task_do(threads, task, thread, n == 0 ? thread_cpu_nsec() : at_nsec);
        return n;
}

static uint32_t tasks_dealt(Threads *threads, uint32_t thread) {
        uint64_t at_nsec = thread_cpu_nsec();
        uint32_t n = 0;

        for (uint32_t i = thread; i < threads->n_tasks; i += threads->n, n++)
                at_nsec = task_do(threads, i, thread, at_nsec);
        return n;
}

static void *thread_main(void *arg) {
        Thread *thread = arg;
        Threads *threads = thread->threads;

        for (uint32_t seen = 0;;) {
                phase_wait(threads, seen);
                seen = atomic_load(&threads->phase);
                if (atomic_load(&threads->ends))
                        return NULL;

                if (atomic_exchange(&thread->is_dealt, 0))
                        undone_less(threads, tasks_dealt(threads, thread->index));
                undone_less(threads, tasks_take(threads, thread->index));
        }
}

Threads *threads_free(Threads *threads) {
        if (!threads)
                return NULL;

        atomic_store(&threads->ends, true);
        atomic_fetch_add(&threads->phase, 1);
        (void) word_wake(&threads->phase, &threads->n_sleeping);
        for (uint32_t i = 0; i < threads->n_started; i++)
                (void) pthread_join(threads->members[i + 1].id, NULL);

        free(threads->members);
        free(threads);
        return NULL;
}

/* Whether there are several CPUs. sched_getaffinity() fails if cpu_set_t has no room for all of the host. */
static bool has_cores(void) {
        cpu_set_t set;

        return sched_getaffinity(0, sizeof(set), &set) < 0 || CPU_COUNT(&set) > 1;
}

int threads_new(uint32_t n, Threads **ret) {
        _cleanup_(threads_freep) Threads *threads = NULL;

        assert(n > 0);
        assert(ret);

        threads = aligned_alloc(64, sizeof(*threads));
        if (!threads)
                return -ENOMEM;
        *threads = (Threads){ .n = n, .balance_nsec = CREDIT_NSEC, .has_cores = n > 1 && has_cores() };

        threads->members = aligned_alloc(64, n * sizeof(Thread));
        if (!threads->members)
                return -ENOMEM;

        for (uint32_t i = 0; i < n; i++)
                threads->members[i] = (Thread){ .threads = threads, .index = i };
        for (uint32_t i = 1; i < n; i++) {
                int r = pthread_create(&threads->members[i].id, NULL, thread_main, &threads->members[i]);

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

static bool is_alone(const Threads *threads) {
        return !threads->has_cores ||
               (threads->alone_until_nsec > 0 && now_nsec() < threads->alone_until_nsec);
}

/* Changes the balance (see above) after a phase. Other threads did n_helped tasks, each of which would have
 * cost the caller task_nsec. lost_nsec: what their help cost. */
static void balance_move(Threads *threads, uint32_t n_helped, uint64_t task_nsec, uint64_t lost_nsec) {
        int64_t balance_nsec = threads->balance_nsec + (int64_t) (n_helped * task_nsec);

        balance_nsec -= lost_nsec < LOSS_MAX_NSEC ? (int64_t) lost_nsec : LOSS_MAX_NSEC;
        if (balance_nsec >= 0) {
                threads->balance_nsec = balance_nsec < CREDIT_MAX_NSEC ? balance_nsec : CREDIT_MAX_NSEC;
                return;
        }
        threads->alone_until_nsec = now_nsec() + FORBEARANCE * (uint64_t) (CREDIT_NSEC - balance_nsec);
        threads->balance_nsec = CREDIT_NSEC;
}

/* Opens a phase. Returns the time that it took to wake sleepers, in ns. */
static uint64_t phase_open(Threads *threads, uint32_t n_open) {
        uint64_t begun_nsec;

        atomic_store(&threads->n_open, n_open);
        atomic_fetch_add(&threads->phase, 1);
        if (atomic_load(&threads->n_sleeping) == 0)
                return 0;

        begun_nsec = now_nsec();
        (void) word_wake(&threads->phase, &threads->n_sleeping);
        return now_nsec() - begun_nsec;
}

void threads_rouse(Threads *threads) {
        assert(threads);

        if (threads->n > 1 && !is_alone(threads) && atomic_load(&threads->n_sleeping) > 0)
                (void) phase_open(threads, 0);
}

/* Adds the time that a phase would have taken if each thread had done its own tasks: the time of the slowest
 * thread. */
static void phase_meter(Threads *threads, uint64_t start_nsec) {
        uint64_t slowest_nsec = 0;

        for (uint32_t i = 0; i < threads->n; i++) {
                uint64_t nsec = atomic_load_explicit(&threads->members[i].cpu_nsec, memory_order_relaxed);

                slowest_nsec = nsec > slowest_nsec ? nsec : slowest_nsec;
        }
        threads->phases_nsec += slowest_nsec;
        threads->within_nsec += thread_cpu_nsec() - start_nsec;
}

static void work_together(Threads *threads) {
        uint64_t lost_nsec = phase_open(threads, threads->n_tasks - 1), start_nsec = thread_cpu_nsec(),
                 end_nsec;
        uint32_t n = threads->n_tasks, n_own = 1;

        /* The caller takes the last task before another thread can take all of them. */
        end_nsec = task_do(threads, n - 1, 0, start_nsec);
        for (uint32_t task; task_take(threads, &task); n_own++)
                end_nsec = task_do(threads, task, 0, end_nsec);
        undone_less(threads, n_own);
        lost_nsec += undone_wait(threads);
        if (atomic_load_explicit(&threads->displaced_nsec, memory_order_relaxed) > 0)
                lost_nsec += atomic_exchange(&threads->displaced_nsec, 0);
        balance_move(threads, n - n_own, (end_nsec - start_nsec) / n_own, lost_nsec);
        phase_meter(threads, start_nsec);
}

/* The tasks of a phase are alike, and reading the clock is a system call. So each task counts as the mean of
 * all. */
static void work_alone(Threads *threads) {
        uint64_t start_nsec = thread_cpu_nsec(), nsec;
        uint32_t n = threads->n_tasks;

        assert(n > 0);

        for (uint32_t i = 0; i < n; i++)
                threads->work(threads->arg, i, 0);
        nsec = thread_cpu_nsec() - start_nsec;
        threads->within_nsec += nsec;
        threads->phases_nsec += nsec * ((n + threads->n - 1) / threads->n) / n;
}

static void work_dealt(Threads *threads) {
        uint64_t start_nsec = thread_cpu_nsec();

        /* Only threads with tasks are marked. A thread without tasks may come late, when the next phase has
         * begun, and must find no mark of this phase. */
        for (uint32_t i = 1; i < threads->n && i < threads->n_tasks; i++)
                atomic_store(&threads->members[i].is_dealt, 1);
        (void) phase_open(threads, 0);
        undone_less(threads, tasks_dealt(threads, 0));
        (void) undone_wait(threads);
        phase_meter(threads, start_nsec);
}

/* Returns whether the phase is done already, as it is with one thread or one task. */
static bool phase_begin(Threads *threads, ThreadWork work, void *arg, uint32_t n_tasks) {
        assert(threads);
        assert(work);

        if (threads->n == 1 || n_tasks <= 1) {
                for (uint32_t i = 0; i < n_tasks; i++)
                        work(arg, i, 0);
                return true;
        }

        threads->work = work;
        threads->arg = arg;
        threads->n_tasks = n_tasks;
        /* The count must be set before any task can be taken. A thread that is late from the last phase may
         * take tasks at once, and lowers the count for each. */
        atomic_store(&threads->n_undone, n_tasks);
        for (uint32_t i = 0; i < threads->n; i++)
                atomic_store_explicit(&threads->members[i].cpu_nsec, 0, memory_order_relaxed);
        return false;
}

void threads_run(Threads *threads, ThreadWork work, void *arg, uint32_t n_tasks) {
        if (phase_begin(threads, work, arg, n_tasks))
                return;
        if (is_alone(threads))
                work_alone(threads);
        else
                work_together(threads);
}

void threads_deal(Threads *threads, ThreadWork work, void *arg, uint32_t n_tasks) {
        if (!phase_begin(threads, work, arg, n_tasks))
                work_dealt(threads);
}

void threads_meter(Threads *threads) {
        threads->has_cores = threads->n > 1 && has_cores();
        threads->start_nsec = thread_cpu_nsec();
        threads->phases_nsec = threads->within_nsec = 0;
}

uint64_t threads_metered_nsec(Threads *threads) {
        return thread_cpu_nsec() - threads->start_nsec - threads->within_nsec + threads->phases_nsec;
}
