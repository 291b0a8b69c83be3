/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Processes that carry out orders. A worker may write anything into its page, so the invoker trusts nothing
 * there. */
#include "invoker/worker.h"

#include <assert.h>
#include <errno.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "include/sandbox.h"
#include "lib/boottime.h"
#include "lib/cleanup.h"
#include "lib/fd.h"
#include "lib/turn.h"
#include "lib/verdict.h"

/* Set if clone3() is forbidden, as by the seccomp filter of an older Docker. Then each child itself moves
 * into its leaf. */
static bool clone3_is_absent;

int worker_init(const char *name, uint64_t page_bytes, const Cgroup *cgroup, const LeafLimits *limits,
                Worker *ret) {
        Worker worker = WORKER_EMPTY;
        void *map;
        int r;

        worker.page_bytes = page_bytes;
        worker.page_fd = memfd_make(name, page_bytes);
        if (worker.page_fd < 0)
                return worker.page_fd;
        r = fd_map(worker.page_fd, page_bytes, true, &map);
        if (r < 0)
                goto fail;
        worker.page = map;
        (void) madvise(map, page_bytes, MADV_DONTFORK);

        worker.bell_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (worker.bell_fd < 0) {
                r = -errno;
                goto fail;
        }
        if (cgroup->fd >= 0) {
                r = leaf_make(cgroup, name, limits, &worker.leaf);
                if (r < 0)
                        goto fail;
        }
        r = meter_init(worker.leaf.fd, &worker.meter);
        if (r < 0)
                goto fail;

        *ret = worker;
        return 0;

fail:
        worker_done(&worker, cgroup, true);
        return r;
}

void worker_done(Worker *worker, const Cgroup *cgroup, bool remove_leaf) {
        meter_done(&worker->meter);
        slept_done(&worker->slept);
        leaf_done(cgroup, &worker->leaf, remove_leaf);
        worker->pid_fd = close_fd(worker->pid_fd);
        worker->verdict = verdict_free(worker->verdict);
        worker->bell_fd = close_fd(worker->bell_fd);
        fd_unmap(worker->page, worker->page_bytes);
        worker->page = NULL;
        worker->page_fd = close_fd(worker->page_fd);
}

static void signals_reset(void) {
        sigset_t none;

        (void) sigemptyset(&none);
        (void) sigprocmask(SIG_SETMASK, &none, NULL);
        (void) signal(SIGPIPE, SIG_DFL);
}

static pid_t clone_worker(const Worker *worker, uint64_t clone_flags, int *ret_pid_fd) {
        struct clone_args args = {
                .flags = clone_flags | CLONE_PIDFD | (worker->leaf.fd >= 0 ? CLONE_INTO_CGROUP : 0),
                .pidfd = (uintptr_t) ret_pid_fd,
                .exit_signal = SIGCHLD,
                .cgroup = worker->leaf.fd >= 0 ? (uint64_t) worker->leaf.fd : 0,
        };
        pid_t pid;

        if (!clone3_is_absent) {
                pid = (pid_t) syscall(SYS_clone3, &args, sizeof(args));
                if (pid >= 0)
                        return pid;
                if (errno != ENOSYS || (clone_flags & ~(uint64_t) CLONE_FILES) != 0)
                        return -errno;
                clone3_is_absent = true;
        }

        pid = fork();
        if (pid < 0)
                return -errno;
        if (pid > 0) {
                *ret_pid_fd = (int) syscall(SYS_pidfd_open, pid, 0);
                if (*ret_pid_fd < 0) {
                        int r = -errno;

                        (void) kill(pid, SIGKILL);
                        (void) waitpid(pid, NULL, 0);
                        return r;
                }
        }
        return pid;
}

pid_t worker_fork(Worker *worker, uint64_t clone_flags, int proc_fd) {
        int pid_fd = -EBADF;
        pid_t pid;

        assert(worker->pid == 0);

        turn_reset(&worker->page->turn);
        /* `asleep` is set except while the invoker spins, so that a worker signals every other answer: a
         * signal costs less than a missed wake-up. */
        turn_asleep(&worker->page->turn, true);
        worker->born_with = leaf_out_of_memory(&worker->leaf);
        worker->late = worker->hangs = worker->busy = false;
        worker->born_nsec = clock_boottime();
        worker->verdict = verdict_new();
        if (!worker->verdict)
                return -ENOMEM;

        pid = clone_worker(worker, clone_flags, &pid_fd);
        if (pid == 0) {
                signals_reset();
                return 0;
        }
        if (pid < 0) {
                worker->verdict = verdict_free(worker->verdict);
                return pid;
        }
        worker->pid = pid;
        worker->pid_fd = pid_fd;
        meter_watch(&worker->meter, pid, proc_fd);
        return pid;
}

int worker_leaf_to_enter(const Worker *worker) {
        return clone3_is_absent ? worker->leaf.fd : -EBADF;
}

void worker_forgive(Worker *worker, uint64_t now) {
        if (__builtin_add_overflow(now, worker->timeout_nsec, &worker->deadline_nsec))
                worker->deadline_nsec = UINT64_MAX;
}

void worker_order(Worker *worker, const Order *order, uint64_t timeout_nsec) {
        assert(worker->pid > 0);
        assert(!worker->busy);

        worker->busy = true;
        worker->order = *order;
        worker->ordered_nsec = clock_boottime();
        worker->timeout_nsec = timeout_nsec;
        worker_forgive(worker, worker->ordered_nsec);
        turn_order(&worker->page->turn, order, false);
}

bool worker_answered(const Worker *worker, Answer *ret) {
        return worker->busy && turn_answer(&worker->page->turn, ret) >= 0;
}

bool worker_spin(Worker *worker, uint64_t spin_nsec) {
        assert(worker->busy);

        turn_asleep(&worker->page->turn, false);
        (void) turn_await(&worker->page->turn, spin_nsec);
        turn_asleep(&worker->page->turn, true);
        return turn_answered(&worker->page->turn);
}

void worker_kill(const Worker *worker) {
        if (worker->pid > 0)
                (void) syscall(SYS_pidfd_send_signal, worker->pid_fd, SIGKILL, NULL, 0);
}

uint32_t answer_claim(const Answer *answer) {
        switch (answer->fault) {
        case FAULT_NONE:
        case FAULT_LOAD:
        case FAULT_SPEC:
        case FAULT_ENVIRONMENT:
        case FAULT_DATASET:
        case FAULT_INTERNAL: return answer->fault;
        default: return FAULT_ANSWER;
        }
}

/* The exit status proves nothing, since code in the sandbox can choose it. If a step of the sandbox failed,
 * the Verdict says so. */
static void classify_exit(int status, uint32_t failed, uint32_t *ret_fault, int32_t *ret_detail) {
        if (failed > 0 && failed <= _SANDBOX_STEP_MAX) {
                *ret_fault = FAULT_SANDBOX;
                *ret_detail = (int32_t) failed - 1;
                return;
        }
        switch (status) {
        case EXIT_ENVIRONMENT_LOAD:
                *ret_fault = FAULT_LOAD;
                *ret_detail = ENOEXEC;
                return;
        case EXIT_ABORTED:
                *ret_fault = FAULT_KILLED;
                *ret_detail = SIGABRT;
                return;
        default: *ret_fault = FAULT_EXITED; *ret_detail = status;
        }
}

void ended_classify(int code, int status, uint32_t failed, OutOfMemory memory, uint32_t *ret_fault,
                int32_t *ret_detail) {
        if (code == CLD_EXITED) {
                classify_exit(status, failed, ret_fault, ret_detail);
                return;
        }

        *ret_detail = status;
        if (status == SIGSYS)
                *ret_fault = FAULT_SYSCALL;
        else if (status == SIGKILL && memory.n_kills > 0) {
                *ret_fault = memory.n_limit > 0 ? FAULT_MEMORY : FAULT_HOST_MEMORY;
                *ret_detail = (int32_t) memory.n_kills;
        } else
                *ret_fault = FAULT_KILLED;
}

int worker_reap(Worker *worker, int wait_msec, Ended *ret) {
        struct pollfd fd = { .fd = worker->pid_fd, .events = POLLIN };
        struct rusage usage = {};
        siginfo_t info = {};
        OutOfMemory memory;
        Ended ended;

        assert(worker->pid > 0);

        /* The job does not wait for a process that hangs in the kernel and so outlives SIGKILL. */
        if (poll(&fd, 1, wait_msec) <= 0)
                return -EAGAIN;
        /* The system call itself, since glibc's waitid() does not return the usage. */
        if (syscall(SYS_waitid, P_PIDFD, worker->pid_fd, &info, WEXITED, &usage) < 0)
                return -errno;

        memory = leaf_out_of_memory(&worker->leaf);
        memory.n_limit -= worker->born_with.n_limit;
        memory.n_kills -= worker->born_with.n_kills;
        ended_classify(info.si_code, info.si_status, worker->verdict->failed, memory, &ended.fault,
                        &ended.detail);
        if (worker->late) {
                ended.fault = FAULT_TIMEOUT;
                ended.detail = (int32_t) (worker->timeout_nsec / 1000000000u);
        }
        ended.cpu_nsec = meter_unwatch(&worker->meter,
                        ((uint64_t) usage.ru_utime.tv_sec + (uint64_t) usage.ru_stime.tv_sec) * 1000000000u +
                                        ((uint64_t) usage.ru_utime.tv_usec +
                                                        (uint64_t) usage.ru_stime.tv_usec) *
                                                        1000u);

        worker->pid = 0;
        worker->pid_fd = close_fd(worker->pid_fd);
        worker->verdict = verdict_free(worker->verdict);
        worker->busy = worker->late = false;
        /* A frozen leaf would freeze the next process at its start. */
        leaf_freeze(&worker->leaf, false);
        *ret = ended;
        return 0;
}
