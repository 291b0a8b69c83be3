/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where one process acts and learns (Distribution.Policy=fused). It is forked like an actor, confined like a learner, and runs
 * fused.so. A round is two orders: ROLLOUT for all actors at once, then LEARN. There are no containers for training, and every actor
 * keeps its records all the same: what the process used is read from outside, thread by thread where the kernel can (divide.c), and its
 * threads' clocks only say how to divide it. */
#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "invoker/invoker.h"
#include "lib/boottime.h"
#include "lib/fd.h"
#include "lib/limits.h"

/* What the child needs of ours is filled before the fork. */
static void *child_segments[ACTORS_MAX];

int fused_load(Invoker *i) {
        char path[PATH_MAX];
        void *handle;
        int n;

        n = snprintf(path, sizeof(path), "%s/" FUSED_MODULE, i->invoked->directory);
        if (n < 0 || (size_t) n >= sizeof(path))
                return -ENAMETOOLONG;
        /* Read when the library loads; it must not make threads here, which would not survive the fork. */
        if (putenv((char *) learner_kernel_class(i->settings)) != 0 ||
                        putenv((char *) "OPENBLAS_NUM_THREADS=1") != 0)
                return -errno;

        handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        i->fused_run = handle ? (FusedRun) dlsym(handle, FUSED_ENTRANCE) : NULL;
        if (!i->fused_run)
                return invoker_complain(
                                -ENOEXEC, FUSED_MODULE " does not load: install it beside actord-invoker");
        return 0;
}

static int child_map(const Invoker *i, const Worker *learner, FusedStart *ret, uint64_t *ret_bytes) {
        void *worker;
        int r;

        *ret = (FusedStart){
                .settings = i->settings,
                .page = i->page,
                .segments = child_segments,
                .env = i->env,
                .state_fd = INVOKER_FD_STATE,
                .checkpoint_fd = INVOKER_FD_CHECKPOINT,
                .bell_fd = learner->bell_fd,
        };
        r = fd_map(learner->page_fd, sizeof(WorkerPage), true, &worker);
        if (r >= 0)
                r = fd_map(i->policy_fd, i->page->policy.segment_bytes, true, &ret->policy);
        for (uint32_t a = 0; a < i->n_actors && r >= 0; a++)
                r = fd_map(i->segment_fds[a], i->page->segment.segment_bytes, true, &child_segments[a]);
        if (r < 0)
                return r;

        ret->worker = worker;
        *ret_bytes = sizeof(WorkerPage) + i->page->policy.segment_bytes +
                     i->n_actors * i->page->segment.segment_bytes;
        return 0;
}

static int by_number(const void *a, const void *b) {
        return *(const int *) a - *(const int *) b;
}

void fused_child(const Invoker *i, const Worker *learner) {
        int keep[] = { INVOKER_FD_STATE, INVOKER_FD_CHECKPOINT, learner->bell_fd };
        FusedStart start;
        uint64_t bytes;
        int r;

        r = child_map(i, learner, &start, &bytes);
        if (r < 0) {
                dprintf(STDERR_FILENO, "actord-learner: its memory cannot be mapped: %s\n", strerror(-r));
                _exit(limit_exit_status(r));
        }
        qsort(keep, sizeof(keep) / sizeof(keep[0]), sizeof(keep[0]), by_number);
        pool_confine_learner(i, learner, keep, sizeof(keep) / sizeof(keep[0]), bytes);
        r = i->fused_run(&start);
        _exit(r < 0 ? limit_exit_status(r) : EXIT_SUCCESS);
}

/* One container after the other would have been started by now, and some ended again: on the emulated clock, which is a fleet's, the first
 * invocation of each is a cold one, as it is where they exist. */
static void containers_imagine(Invoker *i) {
        WarmRest rest = warm_rest(i->settings);

        for (uint32_t k = 0; k < i->n_containers; k++)
                i->containers[k].fresh = imagined_arrange(
                                &i->containers[k].imagined, k < i->round->n_actors, &rest, i->emulated_nsec);
}

void fused_begin(Invoker *i) {
        containers_imagine(i);
        fused_feed(i);
}

/* They are all there: the process has answered before. What they used until now is no actor's. */
static void threads_begin(Invoker *i) {
        if (!i->threads_tried)
                (void) thread_meters_init(&i->learner.leaf, i->proc_fd, i->learner.pid,
                                i->settings->n_threads, &i->threads);
        i->threads_tried = true;
        for (uint32_t k = 0; k < i->threads.n; k++)
                (void) meter_take(&i->threads.meters[k]);
}

/* What each claims to have used, and where threads are metered, their readings in the ratio of these claims. Actors are dealt to threads by
 * number, so that a process can only shift between those of one thread. */
static void threads_divide(Invoker *i) {
        Round *round = i->round;
        uint64_t claims[ACTORS_MAX];

        for (uint32_t a = 0; a < round->n_actors; a++) {
                uint64_t nsec = i->learner.page->acted[a].cpu_nsec;

                claims[a] = round->seats[a].state != SEAT_ROLLING ? CLAIM_NONE
                            : nsec < CLAIM_NONE                   ? nsec
                                                                  : 0;
        }
        for (uint32_t k = 0; k < i->threads.n; k++)
                divide_reading(meter_take(&i->threads.meters[k]), k, i->threads.n, round->n_actors, claims);
        for (uint32_t a = 0; a < round->n_actors; a++)
                if (claims[a] != CLAIM_NONE)
                        round->seats[a].metered.cpu_nsec = claims[a];
}

void fused_feed(Invoker *i) {
        Round *round = i->round;

        if (i->phase != PHASE_ROLLING || learners_busy(i))
                return;
        if (round_is_complete(round)) {
                i->phase = PHASE_LEARNING;
                i->update_nsec = clock_boottime();
                learner_order(i, ORDER_LEARN, ACTOR_NONE);
                return;
        }

        threads_begin(i);
        learner_order(i, ORDER_ROLLOUT, ACTOR_NONE);
        for (uint32_t a = 0; a < round->n_actors; a++) {
                Container *c = &i->containers[a % i->n_containers];

                if (round->seats[a].state != SEAT_WAITING)
                        continue;
                round_order(round, a, c->fresh);
                c->fresh = false;
                round->seats[a].metered.start_nsec = i->learner.ordered_nsec;
        }
}

/* An order for several invocations lasts as long as those of one thread. */
uint64_t fused_timeout_nsec(const Invoker *i) {
        uint32_t n_threads = i->settings->n_threads, n = (i->round->n_actors + n_threads - 1) / n_threads;
        uint64_t nsec;

        return __builtin_mul_overflow(timeout_nsec(i), (uint64_t) n, &nsec) ? UINT64_MAX / 2 : nsec;
}

void fused_meter(Invoker *i, uint32_t actor) {
        Metered *metered = &i->round->seats[actor].metered;

        i->fused_nsec += meter_take(&i->learner.meter);
        if (metered->cpu_nsec > i->fused_nsec)
                metered->cpu_nsec = i->fused_nsec;
        metered->memory_peak_bytes = meter_peak(&i->learner.meter);
        i->fused_nsec -= metered->cpu_nsec;
}

void fused_answered(Invoker *i) {
        Round *round = i->round;
        uint64_t now = clock_boottime();

        threads_divide(i);
        for (uint32_t a = 0; a < round->n_actors && i->phase == PHASE_ROLLING; a++) {
                const Acted *acted = &i->learner.page->acted[a];

                if (round->seats[a].state != SEAT_ROLLING)
                        continue;
                round->seats[a].metered.end_nsec = now;
                round_answer(round, a);
                round_take(round, a);
                if (acted->fault == FAULT_NONE) {
                        round_accept(round, a);
                        continue;
                }
                fused_meter(i, a);
                conduct_attempt_failed(i, a, acted->fault < _FAULT_MAX ? acted->fault : FAULT_ANSWER,
                                acted->detail);
        }
}

void fused_done(Invoker *i) {
        thread_meters_done(&i->threads, &i->learner.leaf);
}
