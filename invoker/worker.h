/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A worker is a container of actors, or a learner. It has one page of shared memory for orders, one
 * eventfd to signal answers (its bell), one cgroup (its leaf), one meter, and one process at a time. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "include/record.h"
#include "include/turn.h"
#include "invoker/cgroup.h"
#include "invoker/meter.h"
#include "invoker/slept.h"
#include "lib/verdict.h"

typedef struct Worker {
        WorkerPage *page; /* not inherited by any child */
        uint64_t page_bytes;
        int page_fd, bell_fd;
        pid_t pid; /* 0: there is no process */
        int pid_fd;
        Leaf leaf;
        Meter meter;
        Slept slept;      /* only of an actor */
        Verdict *verdict; /* which step of its sandbox failed (lib/verdict.h); NULL: there is no process */
        OutOfMemory born_with; /* the counts of its leaf when the process started */
        uint64_t born_nsec;
        uint64_t parting_nsec; /* how long its start waited until it had descriptors of its own (fork.c) */
        uint32_t node; /* the cluster's node for which the process is a relay; 0: the process itself works */

        bool busy;   /* it has an order */
        Order order; /* the last one */
        uint64_t ordered_nsec, timeout_nsec, deadline_nsec;
        bool late;              /* it was killed because its deadline had passed */
        bool hangs;             /* it has not ended since, and the invoker has said so */
        uint32_t n_false_rings; /* since the last order: how often its bell rang without an answer */
        bool muted;             /* the invoker ignores its bell, which rang too often (invoker/storm.c) */
} Worker;

#define WORKER_EMPTY                                                                        \
        {                                                                                   \
                .page_fd = -EBADF, .bell_fd = -EBADF, .pid_fd = -EBADF, .leaf = LEAF_EMPTY, \
                .meter = METER_EMPTY, .slept = SLEPT_EMPTY                                  \
        }

#define REAP_MSEC 5000 /* the longest wait after SIGKILL */

/* How a process ended. */
typedef struct Ended {
        uint32_t fault;
        int32_t detail;
        uint64_t cpu_nsec; /* the CPU time since the last reading */
} Ended;

/* page_bytes: ACTOR_PAGE_BYTES, or the size of a WorkerPage. */
int worker_init(const char *name, uint64_t page_bytes, const Cgroup *cgroup, const LeafLimits *limits,
                Worker *ret);
void worker_done(Worker *worker, const Cgroup *cgroup, bool remove_leaf);

/* Forks a child into the worker's cgroup (its leaf). Returns 0 in the child, with default signal settings.
 * Otherwise returns the child's pid or a negative errno. clone_flags may have CLONE_FILES, which makes the
 * fork cheap if there are many descriptors. Without clone3() the child gets copies of them nevertheless. */
pid_t worker_fork(Worker *worker, uint64_t clone_flags, int proc_fd);
/* The cgroup (leaf) that the child must enter by itself, since clone3() does not exist here; -EBADF: the
 * child was started in it, or has none. */
int worker_leaf_to_enter(const Worker *worker);

void worker_order(Worker *worker, const Order *order, uint64_t timeout_nsec);
/* Restarts the worker's deadline: the invoker or the whole host was stopped, and could not notice an
 * answer. */
void worker_forgive(Worker *worker, uint64_t now);
bool worker_answered(const Worker *worker, Answer *ret);
/* Spins for the answer, at most for spin_nsec. An answer in this time need not ring the bell. So if this
 * returns true, the answer must be fetched. */
bool worker_spin(Worker *worker, uint64_t spin_nsec);

void worker_kill(const Worker *worker);
/* Reaps a process that has ended, or ends within wait_msec. *ret: its CPU time since the last reading, and
 * why it ended. 0; -EAGAIN: it has not ended; another negative errno. */
int worker_reap(Worker *worker, int wait_msec, Ended *ret);

/* The fault that an actor claims. It may only claim faults of its environment and of itself. The invoker
 * itself sees how processes end, and the learner finds errors in a rollout. Pure. */
uint32_t answer_claim(const Answer *answer);
/* Checks the fault that a learner or a relay reports: an unknown number becomes FAULT_ANSWER. */
static inline uint32_t fault_known(uint32_t fault) {
        return fault < _FAULT_MAX ? fault : FAULT_ANSWER;
}

/* Why a process ended. code, status: as from waitid(); failed: as in Verdict; memory: what its leaf has
 * counted since it started. Pure. */
void ended_classify(int code, int status, uint32_t failed, OutOfMemory memory, uint32_t *ret_fault,
                int32_t *ret_detail);
