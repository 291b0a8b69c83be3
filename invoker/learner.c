/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The learner's process: another program, since it alone links OpenBLAS, which neither survives a fork nor belongs into the memory of
 * actors. Everything it works on is a descriptor at a fixed number. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "invoker/invoker.h"
#include "lib/boottime.h"
#include "lib/cleanup.h"
#include "lib/fd.h"
#include "lib/fragment.h"
#include "lib/patience.h"
#include "lib/limits.h"
#include "lib/reduce.h"

#define EXECUTABLE_FD 10 /* between the fixed numbers and the segments */

enum { TASKS_SPARE = 8 };

/* OpenBLAS picks kernels by the CPU's family and misses AVX-512 on some that have it; equal classes give equal bits, so that the
 * choice must not be its own. Read by its constructor, hence set before exec. */
const char *learner_kernel_class(const JobSettings *settings) {
        switch (settings->kernel_class) {
        case KERNEL_CLASS_GENERIC: return "OPENBLAS_CORETYPE=Prescott";
        case KERNEL_CLASS_HASWELL: return "OPENBLAS_CORETYPE=Haswell";
        case KERNEL_CLASS_SKYLAKEX: return "OPENBLAS_CORETYPE=SkylakeX";
        }
#ifdef __x86_64__
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
                return "OPENBLAS_CORETYPE=SkylakeX";
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
                return "OPENBLAS_CORETYPE=Haswell";
        return "OPENBLAS_CORETYPE=Prescott";
#else
        return "OPENBLAS_VERBOSE=0";
#endif
}

/* Two passes: a descriptor may lie at a number that another one is to have. */
static int place(int *sources, const int *targets, size_t n, int floor) {
        for (size_t k = 0; k < n; k++) {
                sources[k] = fcntl(sources[k], F_DUPFD_CLOEXEC, floor);
                if (sources[k] < 0)
                        return -errno;
        }
        for (size_t k = 0; k < n; k++)
                if (dup3(sources[k], targets[k], targets[k] == EXECUTABLE_FD ? O_CLOEXEC : 0) < 0)
                        return -errno;
        return 0;
}

static int child_descriptors(
                const Invoker *i, const Worker *learner, int *sources, int *targets, size_t *ret_n) {
        const int fixed[][2] = {
                { INVOKER_FD_SETTINGS, LEARNER_FD_SETTINGS },
                { i->page_fd, LEARNER_FD_JOB_PAGE },
                { i->policy_fd, LEARNER_FD_POLICY },
                { learner->page_fd, LEARNER_FD_WORKER_PAGE },
                { learner->bell_fd, LEARNER_FD_BELL },
                { INVOKER_FD_STATE, LEARNER_FD_STATE },
                { INVOKER_FD_CHECKPOINT, LEARNER_FD_CHECKPOINT },
                { INVOKER_FD_LEARNER, EXECUTABLE_FD },
        };
        size_t n = 0;

        for (; n < ELEMENTSOF(fixed); n++) {
                sources[n] = fixed[n][0];
                targets[n] = fixed[n][1];
        }
        if (i->asks_fd >= 0 && learner == &i->learner) {
                sources[n] = i->asks_fd;
                targets[n++] = LEARNER_FD_ASKS;
        }
        if (i->reduce_fd >= 0) {
                sources[n] = i->reduce_fd;
                targets[n++] = LEARNER_FD_REDUCE;
        }
        for (uint32_t a = 0; a < i->n_actors; a++, n++) {
                sources[n] = i->segment_fds[a];
                targets[n] = LEARNER_FD_SEGMENTS + (int) a;
        }
        *ret_n = n;
        return place(sources, targets, n, LEARNER_FD_SEGMENTS + (int) i->n_actors);
}

static _Noreturn void child_run(const Invoker *i, const Worker *learner) {
        static int sources[ACTORS_MAX + 16], targets[ACTORS_MAX + 16];
        char *argv[] = { (char *) "actord-learner", NULL };
        char *environment[] = { (char *) learner_kernel_class(i->settings),
                (char *) "OPENBLAS_NUM_THREADS=1", NULL };
        ReduceLayout reduce;
        uint64_t mapped_bytes;
        size_t n;
        int r;

        if (i->fused)
                fused_child(i, learner);
        r = child_descriptors(i, learner, sources, targets, &n);
        if (r < 0) {
                dprintf(STDERR_FILENO, "actord-learner: its descriptors cannot be placed: %s\n",
                                strerror(-r));
                _exit(limit_exit_status(r));
        }

        mapped_bytes = sizeof(WorkerPage) + i->page->policy.segment_bytes +
                       i->n_actors * i->page->segment.segment_bytes;
        reduce_layout(i->settings, i->page, &reduce);
        mapped_bytes += i->reduce_fd >= 0 ? reduce.bytes : 0;
        pool_confine_learner(i, learner, targets, n, mapped_bytes);
        (void) syscall(SYS_execveat, EXECUTABLE_FD, "", argv, environment, AT_EMPTY_PATH);

        r = -errno;
        dprintf(STDERR_FILENO, "actord-learner cannot be started: %s\n", strerror(-r));
        _exit(limit_exit_status(r));
}

/* Where it also acts, what its actors may use comes on top. */
uint64_t learner_memory_bytes(const Invoker *i) {
        uint64_t bytes;

        if (!i->fused)
                return i->settings->learner_memory_max_bytes;
        if (__builtin_mul_overflow(i->settings->memory_max_bytes, (uint64_t) i->n_actors, &bytes) ||
                        __builtin_add_overflow(bytes, i->settings->learner_memory_max_bytes, &bytes))
                return UINT64_MAX / 2;
        return bytes;
}

static int start(Invoker *i, uint32_t k) {
        const LeafLimits limits = {
                .memory_bytes = learner_memory_bytes(i),
                .n_tasks = i->settings->n_threads + TASKS_SPARE,
        };
        Worker *learner = learner_at(i, k);
        char name[32] = "learner";
        pid_t pid;
        int r;

        if (k > 0)
                (void) snprintf(name, sizeof(name), "learner-%u", k);
        r = worker_init(name, &i->cgroup, &limits, learner);
        if (r < 0)
                return r;
        learner->page->learner = k;
        r = invoker_watch(i, learner, ACTOR_LEARNER - k);
        if (r < 0)
                return r;

        pid = pool_fork_learner(i, learner);
        if (pid == 0)
                child_run(i, learner);
        if (pid < 0)
                return pid;
        return invoker_watch_process(i, learner, ACTOR_LEARNER - k);
}

int learner_start(Invoker *i) {
        ReduceLayout reduce;
        int r = 0;

        if (i->n_learners > 1) {
                reduce_layout(i->settings, i->page, &reduce);
                i->reduce_fd = memfd_make("actord-reduce", reduce.bytes);
                if (i->reduce_fd < 0)
                        return i->reduce_fd;
        }
        for (uint32_t k = 0; k < i->n_learners && r >= 0; k++)
                r = start(i, k);
        return r;
}

bool learners_busy(const Invoker *i) {
        bool busy = i->learner.busy;

        for (uint32_t k = 1; k < i->n_learners; k++)
                busy = busy || i->replicas[k - 1].busy;
        return busy;
}

/* Bells of their own, not the learner's one for all: whoever could empty it could silence the others. */
int learner_make_bells(Invoker *i) {
        struct epoll_event event = { .events = EPOLLIN | EPOLLET };

        if (!distribution_serves(i->distribution))
                return 0;
        i->asks_fd = epoll_create1(EPOLL_CLOEXEC);
        i->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (i->asks_fd < 0 || i->stop_fd < 0)
                return -errno;
        return epoll_ctl(i->asks_fd, EPOLL_CTL_ADD, i->stop_fd, &event) < 0 ? -errno : 0;
}

int learner_watch_bell(Invoker *i, Container *c) {
        struct epoll_event event = { .events = EPOLLIN | EPOLLET, .data.u32 = c->index };

        if (i->asks_fd < 0)
                return 0;
        c->ask_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (c->ask_fd < 0)
                return -errno;
        return epoll_ctl(i->asks_fd, EPOLL_CTL_ADD, c->ask_fd, &event) < 0 ? -errno : 0;
}

/* What the job says, or else what follows from what its learner has taken so far. */
static uint64_t learner_timeout_nsec(const Invoker *i, uint64_t longest_nsec) {
        uint64_t nsec;

        if (!settings_present(i->settings, SETTING_Learner_TimeoutSec))
                return patience_nsec(longest_nsec, LEARNER_PATIENCE_NSEC);
        if (i->settings->learner_timeout_usec == 0 ||
                        __builtin_mul_overflow(i->settings->learner_timeout_usec, 1000u, &nsec))
                return NEVER_NSEC;
        return nsec;
}

static uint64_t n_parts(const Invoker *i, uint32_t kind) {
        return kind == ORDER_LEARN && i->round->n_rollouts > 0 ? i->round->n_rollouts : 1;
}

/* An update of more rollouts takes longer. */
static void see_duration(Invoker *i, const Worker *learner) {
        uint64_t *longest_nsec = &i->learner_longest_nsec[learner->order.kind];
        uint64_t nsec = (clock_boottime() - learner->ordered_nsec) / n_parts(i, learner->order.kind);

        if (nsec > *longest_nsec)
                *longest_nsec = nsec;
}

/* Serving has no end of its own: while it lasts the deadlines are the actors', from here on it is the learner's. */
void learner_stop_serving(Invoker *i) {
        static const uint64_t one = 1;

        if (!i->learner.busy || i->learner.order.kind != ORDER_SERVE ||
                        i->learner.deadline_nsec != UINT64_MAX)
                return;
        atomic_store_explicit(&i->learner.page->serve_stop, 1, memory_order_seq_cst);
        (void) !write(i->stop_fd, &one, sizeof(one));
        i->learner.timeout_nsec = learner_timeout_nsec(i, LEARNER_PATIENCE_NSEC / PATIENCE_FACTOR);
        worker_forgive(&i->learner, clock_boottime());
        invoker_want_timer(i, i->learner.deadline_nsec);
}

/* For whom it acts: who has rolled already is none of its clients. Banks matter where it also steps. */
static void name_clients(Invoker *i) {
        WorkerPage *page = i->learner.page;

        for (uint32_t a = 0; a < i->round->n_actors; a++)
                page->ordinals[a] =
                                seat_rolls(&i->round->seats[a]) ? i->round->seats[a].ordinal : ORDINAL_NONE;
        for (uint32_t a = 0; a < i->round->n_actors; a++)
                page->banks[a] = i->round->seats[a].bank;
        atomic_store_explicit(&page->serve_stop, 0, memory_order_seq_cst);
}

static uint64_t order_timeout_nsec(const Invoker *i, uint32_t kind) {
        uint64_t longest_nsec;

        if (kind == ORDER_SERVE)
                return UINT64_MAX;
        if (kind == ORDER_ROLLOUT)
                return fused_timeout_nsec(i);
        longest_nsec = i->learner_longest_nsec[kind];
        return learner_timeout_nsec(
                        i, longest_nsec > 0 ? longest_nsec * n_parts(i, kind) : PATIENCE_MAX_NSEC);
}

void learner_order(Invoker *i, uint32_t kind, uint32_t actor) {
        Order order = {
                .kind = kind,
                .round = kind == ORDER_SERVE || kind == ORDER_ROLLOUT || kind == ORDER_TAKE ||
                                                         kind == ORDER_LEARN
                                         ? i->round->number
                         : kind == ORDER_RESTORE ? i->invoked->launch.resume_round
                                                 : i->number,
                .policy_version = i->policy_version,
                .policy_bank = (uint32_t) i->arrival.policy_bank,
                .actor = actor,
        };

        if (kind == ORDER_TAKE) {
                order.ordinal = i->round->seats[actor].ordinal;
                order.attempt = i->round->seats[actor].attempts.n;
                order.snapshot_bank = i->round->seats[actor].bank;
                overlap_name_policy(i, actor, &order);
        }
        if (kind == ORDER_LEARN) {
                order.ordinal = i->round->number - 1;
                order.n_actors = i->round->n_rollouts;
                order.policy_bank = arrival_bank(&i->arrival, i->n_actors, i->page->policy.n_banks);
        }

        if (kind == ORDER_SERVE || kind == ORDER_ROLLOUT) {
                order.n_actors = i->round->n_actors;
                name_clients(i);
        }

        i->learners_answer = (Answer){};
        i->n_learners_answered = 0;
        for (uint32_t k = 0; k < (kind == ORDER_SERVE || kind == ORDER_CHECKPOINT ? 1 : i->n_learners);
                        k++) {
                Worker *learner = learner_at(i, k);

                storm_listen(i, learner, ACTOR_LEARNER - k);
                worker_order(learner, &order, order_timeout_nsec(i, kind));
                invoker_want_timer(i, learner->deadline_nsec);
        }
}

void learner_answered(Invoker *i, uint32_t k, const Answer *answer) {
        Answer *all = &i->learners_answer;
        bool disagrees = i->n_learners_answered > 0 &&
                         memcmp(answer->sha256, all->sha256, sizeof(all->sha256)) != 0;
        uint32_t fault = all->fault != FAULT_NONE ? all->fault : answer->fault;
        int32_t detail = all->fault != FAULT_NONE ? all->detail : answer->detail;

        learner_at(i, k)->busy = false;
        see_duration(i, learner_at(i, k));
        i->learner_slowest_nsec[k] = answer->slowest_thread_nsec;
        if (k == 0 || i->n_learners_answered == 0)
                *all = *answer;
        all->fault = fault;
        all->detail = detail;
        /* Equal parts of equal data: only an actor that rewrote its rollout between two of them can have done that. */
        if (disagrees && fault == FAULT_NONE) {
                all->fault = FAULT_INTERNAL;
                all->detail = EBADMSG;
        }
        i->n_learners_answered++;
        if (!learners_busy(i))
                conduct_learner_answered(i, all);
}

void learner_forsake(Invoker *i) {
        i->learner_lost = true;
        i->no_last_checkpoint = true;
        for (uint32_t k = 0; k < i->n_learners; k++)
                worker_kill(learner_at(i, k));
}

void learner_end(Invoker *i) {
        Ended ended;

        for (uint32_t k = 0; k < LEARNERS_MAX; k++)
                worker_kill(learner_at(i, k));
        for (uint32_t k = 0; k < LEARNERS_MAX; k++) {
                Worker *learner = learner_at(i, k);

                if (learner->pid > 0 && worker_reap(learner, REAP_MSEC, &ended) >= 0)
                        i->spare_nsec += ended.cpu_nsec;
        }
}
