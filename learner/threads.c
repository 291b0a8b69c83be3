/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Task i belongs to thread i % n. Each thread has a counter of its own tasks that have not begun, and any
 * thread takes one of them by lowering the counter. A thread takes its own tasks first: what they work on is
 * in its core's cache from the phase before. Then it takes tasks of other threads. The caller takes tasks,
 * too. So it waits for a thread only if that thread is in the middle of a task, and never for a thread
 * without a core.
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
 * there is one. Both pairs of accesses are sequentially consistent, so no wake-up is lost.
 *
 * On a host with few cores Linux may wake a thread on the caller's core and leave it there, although another
 * core is free: it looks for a free core only while all cores together have little to do (SIS_UTIL, since
 * Linux 6.0). But it starts a new thread on the core that has the least to do. So a thread that loses its
 * core to the caller starts a successor, which goes on in its place. */
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
#include "lib/cpu-count.h"
#include "lib/futex.h"

enum {
        SPIN_NSEC = 100000,   /* a thread spins this long; the caller needs less time between two phases */
        BRIEF_NSEC = 10000,   /* the longest wait that needs no clock of CPU time */
        FREE_NSEC = 50000,    /* if sched_yield() takes longer, another program had the core */
        CREDIT_NSEC = 300000, /* the loss that a new try of threads may have, since they must wake up */
        CREDIT_MAX_NSEC = 5000000, /* the most credit that successful tries can collect */
        LOSS_MAX_NSEC = 4 * CREDIT_MAX_NSEC,
        FORBEARANCE = 50,
        /* the least time between two successors: starting one costs the caller some 2 ms, until it runs */
        SUCCESSION_NSEC = 100000000,
};

typedef struct Thread {
        Threads *threads;
        uint32_t index;
        uint32_t seen; /* the last phase that it has seen */
        pthread_t id, predecessor;
        bool is_successor;
        _Atomic uint32_t n_open __attribute__((aligned(64))); /* its tasks that have not begun */
        _Atomic uint32_t is_dealt;                            /* 1: tasks were dealt to this thread */
        /* CPU time of the tasks index, index + n, ... of the phase, whichever thread did them */
        _Atomic uint64_t cpu_nsec;
} __attribute__((aligned(64))) Thread;

struct Threads {
        _Atomic uint32_t phase __attribute__((aligned(64)));
        _Atomic uint32_t n_sleeping;
        _Atomic int caller_cpu;
        _Atomic uint32_t n_undone __attribute__((aligned(64))); /* tasks that are not done */
        _Atomic uint32_t caller_sleeps;
        _Atomic bool ends;
        _Atomic uint32_t n_ended;
        /* how long other programs had the core of a thread that looked for tasks */
        _Atomic uint64_t displaced_nsec;
        _Atomic uint64_t succession_nsec; /* when the last successor was started */

        ThreadWork work __attribute__((aligned(64)));
        void *arg;
        uint32_t n_tasks;

        uint32_t n, n_started;
        _Atomic bool stay; /* no thread has a successor */
        bool has_cores;    /* there are several cores */
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

/* Whether the caller has this thread's core, and enough time has passed for another successor. */
static bool succession_is_due(Threads *threads, uint64_t nsec) {
        uint64_t last_nsec = atomic_load(&threads->succession_nsec);

        return !threads->stay && sched_getcpu() == atomic_load(&threads->caller_cpu) &&
               nsec - last_nsec > SUCCESSION_NSEC &&
               atomic_compare_exchange_strong(&threads->succession_nsec, &last_nsec, nsec);
}

/* The loop of a helping thread without a task. It offers its core to other programs. Otherwise a program
 * that wants the core would take it later, in the middle of a task. Returns false if a successor on another
 * core should take its place. */
static bool phase_wait(Threads *threads, uint32_t seen) {
        uint64_t begun_nsec = now_nsec(), before_nsec, after_nsec;

        do {
                if (word_changes(&threads->phase, seen))
                        return true;
                before_nsec = now_nsec();
                (void) sched_yield();
                after_nsec = now_nsec();
                if (after_nsec - before_nsec > FREE_NSEC) {
                        if (succession_is_due(threads, after_nsec))
                                return false;
                        atomic_fetch_add(&threads->displaced_nsec, after_nsec - before_nsec);
                }
        } while (after_nsec - begun_nsec < SPIN_NSEC);
        word_sleep(&threads->phase, seen, &threads->n_sleeping);
        return true;
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

/* Counts the time since start_nsec for the thread to which the tasks belong. Returns the time now. */
static uint64_t tasks_meter(Threads *threads, uint32_t owner, uint64_t start_nsec) {
        uint64_t now = thread_cpu_nsec();

        atomic_fetch_add_explicit(&threads->members[owner].cpu_nsec, now - start_nsec, memory_order_relaxed);
        return now;
}

/* Takes a task of this thread, or else one of the threads after it. */
static bool task_take(Threads *threads, uint32_t thread, uint32_t *ret) {
        for (uint32_t k = 0; k < threads->n; k++) {
                uint32_t owner = (thread + k) % threads->n;
                uint32_t n = atomic_load(&threads->members[owner].n_open);

                while (n > 0)
                        if (atomic_compare_exchange_weak(&threads->members[owner].n_open, &n, n - 1)) {
                                *ret = owner + (n - 1) * threads->n;
                                return true;
                        }
        }
        return false;
}

/* Takes tasks until all have begun. Returns how many it did, and the CPU times of the thread at the
 * beginning and at the end. Reading the clock is a system call, so tasks of one owner that follow each other
 * are measured together. The description of the phase may be read only after a task was taken: from then on
 * it does not change until all tasks are done. */
static uint32_t tasks_take(
                Threads *threads, uint32_t thread, uint64_t *ret_begun_nsec, uint64_t *ret_end_nsec) {
        uint64_t begun_nsec = 0, at_nsec = 0;
        uint32_t task, n = 0, owner = thread;

        for (; task_take(threads, thread, &task); n++) {
                if (n == 0)
                        begun_nsec = at_nsec = thread_cpu_nsec();
                else if (task % threads->n != owner)
                        at_nsec = tasks_meter(threads, owner, at_nsec);
                owner = task % threads->n;
                threads->work(threads->arg, task, thread);
        }
        if (n > 0)
                at_nsec = tasks_meter(threads, owner, at_nsec);
        *ret_begun_nsec = begun_nsec;
        *ret_end_nsec = at_nsec;
        return n;
}

static uint32_t tasks_dealt(Threads *threads, uint32_t thread) {
        uint64_t start_nsec = thread_cpu_nsec();
        uint32_t n = 0;

        for (uint32_t i = thread; i < threads->n_tasks; i += threads->n, n++)
                threads->work(threads->arg, i, thread);
        (void) tasks_meter(threads, thread, start_nsec);
        return n;
}

static void *thread_main(void *arg);

/* Starts a thread that does this thread's tasks from now on. */
static bool thread_succeed(Thread *thread) {
        pthread_t successor;

        thread->predecessor = pthread_self();
        thread->is_successor = true;
        return pthread_create(&successor, NULL, thread_main, thread) == 0;
}

static void *thread_main(void *arg) {
        Thread *thread = arg;
        Threads *threads = thread->threads;
        uint64_t begun_nsec, end_nsec;

        if (thread->is_successor) {
                (void) pthread_join(thread->predecessor, NULL);
                thread->id = pthread_self();
        }
        for (;;) {
                if (!phase_wait(threads, thread->seen) && thread_succeed(thread))
                        return NULL;
                thread->seen = atomic_load(&threads->phase);
                if (atomic_load(&threads->ends)) {
                        atomic_fetch_add(&threads->n_ended, 1);
                        (void) word_wake(&threads->n_ended, &threads->caller_sleeps);
                        return NULL;
                }

                if (atomic_exchange(&thread->is_dealt, 0))
                        undone_less(threads, tasks_dealt(threads, thread->index));
                undone_less(threads, tasks_take(threads, thread->index, &begun_nsec, &end_nsec));
        }
}

Threads *threads_free(Threads *threads) {
        if (!threads)
                return NULL;

        atomic_store(&threads->ends, true);
        atomic_fetch_add(&threads->phase, 1);
        (void) word_wake(&threads->phase, &threads->n_sleeping);
        /* From then on no thread has a successor. */
        for (uint32_t n; (n = atomic_load(&threads->n_ended)) < threads->n_started;)
                word_sleep(&threads->n_ended, n, &threads->caller_sleeps);
        for (uint32_t i = 0; i < threads->n_started; i++)
                (void) pthread_join(threads->members[i + 1].id, NULL);

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
        *threads = (Threads){ .n = n, .balance_nsec = CREDIT_NSEC, .has_cores = n > 1 && cpu_count(n) > 1 };

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

void threads_stay(Threads *threads) {
        assert(threads);

        threads->stay = true;
}

static bool is_alone(const Threads *threads) {
        return threads->n == 1 || !threads->has_cores ||
               (threads->alone_until_nsec > 0 && now_nsec() < threads->alone_until_nsec);
}

bool threads_help(const Threads *threads) {
        assert(threads);

        return !is_alone(threads);
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

/* How many of n tasks belong to this thread. */
static uint32_t tasks_of(const Threads *threads, uint32_t n, uint32_t thread) {
        return thread < n ? (n - thread + threads->n - 1) / threads->n : 0;
}

/* Opens a phase. Returns the time that it took to wake sleepers, in ns. */
static uint64_t phase_open(Threads *threads) {
        uint64_t begun_nsec;

        atomic_store_explicit(&threads->caller_cpu, sched_getcpu(), memory_order_relaxed);
        atomic_fetch_add(&threads->phase, 1);
        if (atomic_load(&threads->n_sleeping) == 0)
                return 0;

        /* What a thread lost before it slept has cost this phase nothing. */
        atomic_store(&threads->displaced_nsec, 0);
        begun_nsec = now_nsec();
        (void) word_wake(&threads->phase, &threads->n_sleeping);
        return now_nsec() - begun_nsec;
}

void threads_rouse(Threads *threads) {
        assert(threads);

        if (!is_alone(threads) && atomic_load(&threads->n_sleeping) > 0)
                (void) phase_open(threads);
}

/* Adds the time that a phase would have taken if each thread had done its own tasks: the time of the slowest
 * thread. */
static void phase_meter(Threads *threads, uint64_t within_nsec) {
        uint64_t slowest_nsec = 0;

        for (uint32_t i = 0; i < threads->n; i++) {
                uint64_t nsec = atomic_load_explicit(&threads->members[i].cpu_nsec, memory_order_relaxed);

                slowest_nsec = nsec > slowest_nsec ? nsec : slowest_nsec;
        }
        threads->phases_nsec += slowest_nsec;
        threads->within_nsec += within_nsec;
}

static void work_together(Threads *threads) {
        uint64_t lost_nsec, begun_nsec, end_nsec, waited_nsec;
        uint32_t n = threads->n_tasks, n_own;

        for (uint32_t i = 0; i < threads->n; i++)
                atomic_store(&threads->members[i].n_open, tasks_of(threads, n, i));
        lost_nsec = phase_open(threads);
        n_own = tasks_take(threads, 0, &begun_nsec, &end_nsec);
        undone_less(threads, n_own);
        waited_nsec = undone_wait(threads);
        lost_nsec += waited_nsec;
        if (atomic_load_explicit(&threads->displaced_nsec, memory_order_relaxed) > 0)
                lost_nsec += atomic_exchange(&threads->displaced_nsec, 0);
        if (n_own > 0)
                balance_move(threads, n - n_own, (end_nsec - begun_nsec) / n_own, lost_nsec);
        /* A short wait was all CPU time, and need not be measured once more. */
        if (waited_nsec > BRIEF_NSEC)
                waited_nsec = n_own > 0 ? thread_cpu_nsec() - end_nsec : 0;
        phase_meter(threads, end_nsec - begun_nsec + waited_nsec);
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
        (void) phase_open(threads);
        undone_less(threads, tasks_dealt(threads, 0));
        (void) undone_wait(threads);
        phase_meter(threads, thread_cpu_nsec() - start_nsec);
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
        threads->has_cores = threads->n > 1 && cpu_count(threads->n) > 1;
        threads->start_nsec = thread_cpu_nsec();
        threads->phases_nsec = threads->within_nsec = 0;
}

uint64_t threads_metered_nsec(Threads *threads) {
        return thread_cpu_nsec() - threads->start_nsec - threads->within_nsec + threads->phases_nsec;
}
