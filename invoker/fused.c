/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One process that acts and learns ([Distribution] Policy=fused). It is forked like an actor, confined like
 * a learner, and runs fused.so. A round is one order: ROLLOUT for all actors at once, followed by the
 * update. If there may be several actors and several threads, and the kernel allows it, each thread is
 * metered. Then a round is two orders, ROLLOUT and LEARN; a reading between them separates acting from
 * learning. There are no containers for training, but every actor still has its records. The process reports
 * the CPU time of each actor. The invoker meters the whole process, and the reports count only up to its
 * time. The actors of a metered thread share the thread's time in the ratio of their reports (divide.c). */
#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "invoker/complain.h"
#include "invoker/fork.h"
#include "invoker/learner.h"
#include "lib/boottime.h"
#include "lib/fd.h"
#include "lib/limits.h"

/* The segments as the forked child maps them. This array is static, since the child allocates no memory. */
static void *child_segments[ACTORS_MAX];

int fused_load(Placement *place) {
        char path[PATH_MAX];
        void *handle;
        int n;

        n = snprintf(path, sizeof(path), "%s/" FUSED_MODULE, place->invoked->directory);
        if (n < 0 || (size_t) n >= sizeof(path))
                return -ENAMETOOLONG;

        handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        place->run_acting = handle ? (FusedRun) dlsym(handle, FUSED_ENTRANCE) : NULL;
        if (!place->run_acting)
                return invoker_complain(
                                -ENOEXEC, FUSED_MODULE " does not load: install it beside actord-invoker");
        return 0;
}

static int child_map(const Placement *place, const Worker *learner, FusedStart *ret, uint64_t *ret_bytes) {
        void *worker;
        int r;

        *ret = (FusedStart){
                .settings = place->settings,
                .page = place->page,
                .segments = child_segments,
                .env = place->env,
                .state_fd = INVOKER_FD_STATE,
                .checkpoint_fd = INVOKER_FD_CHECKPOINT,
                .bell_fd = learner->bell_fd,
        };
        r = fd_map(learner->page_fd, sizeof(WorkerPage), true, &worker);
        if (r < 0)
                return r;
        r = fd_map(place->policy_fd, place->page->policy.segment_bytes, true, &ret->policy);
        if (r < 0)
                return r;
        for (uint32_t a = 0; a < place->n_actors; a++) {
                r = fd_map(place->segment_fds[a], place->page->segment.segment_bytes, true,
                                &child_segments[a]);
                if (r < 0)
                        return r;
        }

        ret->worker = worker;
        *ret_bytes = sizeof(WorkerPage) + place->page->policy.segment_bytes +
                     place->n_actors * place->page->segment.segment_bytes;
        return 0;
}

static int by_number(const void *a, const void *b) {
        return *(const int *) a - *(const int *) b;
}

void fused_child(const Placement *place, const Worker *learner) {
        int keep[] = { INVOKER_FD_STATE, INVOKER_FD_CHECKPOINT, learner->bell_fd };
        FusedStart start;
        uint64_t bytes;
        int r;

        r = child_map(place, learner, &start, &bytes);
        if (r < 0) {
                dprintf(STDERR_FILENO, "actord-learner: its memory cannot be mapped: %s\n", strerror(-r));
                _exit(limit_exit_status(r));
        }
        qsort(keep, sizeof(keep) / sizeof(keep[0]), sizeof(keep[0]), by_number);
        fork_confine_learner(place, learner, 0, keep, sizeof(keep) / sizeof(keep[0]), bytes);
        r = place->run_acting(&start);
        _exit(r < 0 ? limit_exit_status(r) : EXIT_SUCCESS);
}

/* Begins to meter the threads of the fused process. All of them exist, since the process has answered an
 * order before. They used CPU time before this round, but not for its actors, so that time is not billed to
 * them. */
void fused_begin(Learners *learners, const Placement *place) {
        if (!learners->threads_tried && place->settings->n_threads > 1 && place->n_actors > 1)
                (void) thread_meters_init(&learners->workers[0].leaf, place->proc_fd,
                                learners->workers[0].pid, place->settings->n_threads, &learners->threads);
        learners->threads_tried = true;
        for (uint32_t k = 0; k < learners->threads.n; k++)
                (void) meter_take(&learners->threads.meters[k]);
}

bool fused_learns(const Learners *learners) {
        return place_fuses(learners->place) && learners->threads.n == 0;
}

/* The learner wrote this time into its page, so it is only a claim: it is cut to the time of the order. */
uint64_t fused_learning_nsec(const Learners *learners) {
        const Worker *learner = &learners->workers[0];
        uint64_t nsec, now = clock_boottime();

        if (learner->order.kind != ORDER_ROLLOUT || !learner->order.learns)
                return 0;
        nsec = atomic_load_explicit(&learner->page->learning_nsec, memory_order_acquire);
        if (nsec == 0 || nsec == LEARNING_FORBIDDEN)
                return 0;
        if (nsec < learner->ordered_nsec)
                return learner->ordered_nsec;
        return nsec < now ? nsec : now;
}

bool fused_forbid_learning(Learners *learners) {
        Worker *learner = &learners->workers[0];
        uint64_t none = 0;

        if (!learner->busy || learner->order.kind != ORDER_ROLLOUT || !learner->order.learns)
                return false;
        return !atomic_compare_exchange_strong(&learner->page->learning_nsec, &none, LEARNING_FORBIDDEN) &&
               none != LEARNING_FORBIDDEN;
}

/* Each actor gets the CPU time that the process claims for it. If threads are metered, the actors of a
 * thread share the thread's reading in the ratio of their claims. An actor's number decides its thread. So a
 * false claim can only move CPU time between actors of one thread. */
void fused_answered(Learners *learners, Round *round) {
        uint64_t claims[ACTORS_MAX];

        for (uint32_t a = 0; a < round->n_actors; a++) {
                uint64_t nsec = learners->workers[0].page->acted[a].cpu_nsec;

                claims[a] = nsec < CLAIM_NONE ? nsec : 0;
                if (round->seats[a].state != SEAT_ROLLING)
                        claims[a] = CLAIM_NONE;
        }
        for (uint32_t k = 0; k < learners->threads.n; k++)
                divide_reading(meter_take(&learners->threads.meters[k]), k, learners->threads.n,
                                round->n_actors, claims);
        for (uint32_t a = 0; a < round->n_actors; a++)
                if (claims[a] != CLAIM_NONE)
                        round->seats[a].metered.cpu_nsec = claims[a];
}

void fused_ordered(const Pool *pool, const Learners *learners, Round *round) {
        for (uint32_t a = 0; a < round->n_actors; a++) {
                if (round->seats[a].state != SEAT_WAITING)
                        continue;
                round_order(round, a,
                                pool_is_cold(pool, &pool->containers[a % pool->place->n_containers], a));
                round->seats[a].metered.start_nsec = learners->workers[0].ordered_nsec;
        }
}

/* The time limit of a fused order. Each thread runs the invocations of its actors one after another, so the
 * limit is that of one invocation times the most actors of a thread. */
uint64_t fused_timeout_nsec(const Placement *place, const Round *round) {
        uint32_t n_threads = place->settings->n_threads, n = (round->n_actors + n_threads - 1) / n_threads;
        uint64_t nsec;

        return __builtin_mul_overflow(timeout_nsec(place), (uint64_t) n, &nsec) ? UINT64_MAX / 2 : nsec;
}

static void meter_actor(Learners *learners, Metered *metered) {
        if (metered->cpu_nsec > learners->acting_nsec)
                metered->cpu_nsec = learners->acting_nsec;
        metered->memory_peak_bytes = meter_peak(&learners->workers[0].meter);
        learners->acting_nsec -= metered->cpu_nsec;
}

void fused_meter(Learners *learners, Round *round) {
        learners->acting_nsec += meter_take(&learners->workers[0].meter);
        for (uint32_t a = 0; a < round->n_actors; a++)
                meter_actor(learners, &round->seats[a].metered);
}

uint32_t fused_take(Learners *learners, Round *round, uint32_t actor, int32_t *ret_detail) {
        const volatile Acted *page = &learners->workers[0].page->acted[actor];
        uint64_t learning_nsec = fused_learning_nsec(learners);
        /* Read once: a fault that vanished after the first look would leave the seat neither accepted nor
         * failed. */
        uint32_t fault = page->fault;

        round->seats[actor].metered.end_nsec = learning_nsec > 0 ? learning_nsec : clock_boottime();
        round_answer(round, actor);
        round_take(round, actor);
        if (fault == FAULT_NONE) {
                round_accept(round, actor);
                return FAULT_NONE;
        }
        learners->acting_nsec += meter_take(&learners->workers[0].meter);
        meter_actor(learners, &round->seats[actor].metered);
        *ret_detail = page->detail;
        return fault_known(fault);
}

void fused_done(Learners *learners) {
        thread_meters_done(&learners->threads, &learners->workers[0].leaf);
}
