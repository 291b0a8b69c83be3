/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The learner's process. Unless it also acts (fused.c), it runs another program, so learner and actors never
 * have each other's memory. It gets all its memory as descriptors with fixed numbers. */
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

#include "invoker/fork.h"
#include "invoker/learner.h"
#include "lib/boottime.h"
#include "lib/cleanup.h"
#include "lib/fd.h"
#include "lib/arrival.h"
#include "lib/fragment.h"
#include "lib/patience.h"
#include "lib/limits.h"
#include "lib/reduce.h"

/* The least time that a learner gets, since an update may take much longer than earlier ones. */
#define LEARNER_PATIENCE_NSEC (300ull * 1000000000u)
#define NEVER_NSEC            (UINT64_MAX / 2)
#define SERVE_LOOK_NSEC       (250u * 1000 * 1000)

#define EXECUTABLE_FD 10 /* a number between the fixed descriptors and those of the segments */

enum { TASKS_SPARE = 8 };

/* Moves descriptors to the numbers that the learner's program expects. A descriptor may have a number that
 * another one must get. Targets are in ascending order. So a descriptor above its own target is placed
 * before its number is needed. The other descriptors are first moved out of the way; most need no move. With
 * thousands of actors there is no room to copy each descriptor first. */
static int put(int *sources, const int *targets, size_t n, int floor) {
        for (size_t k = 0; k < n; k++) {
                assert(k == 0 || targets[k] > targets[k - 1]);
                if (sources[k] <= targets[k])
                        sources[k] = fd_lift(sources[k], floor);
                if (sources[k] < 0)
                        return sources[k];
        }
        for (size_t k = 0; k < n; k++)
                if (dup3(sources[k], targets[k], targets[k] == EXECUTABLE_FD ? O_CLOEXEC : 0) < 0)
                        return -errno;
        return 0;
}

static int child_descriptors(const Placement *place, const Worker *learner, uint32_t k, int *sources,
                int *targets, size_t *ret_n) {
        const int fixed[][2] = {
                { INVOKER_FD_SETTINGS, LEARNER_FD_SETTINGS },
                { place->page_fd, LEARNER_FD_JOB_PAGE },
                { place->policy_fd, LEARNER_FD_POLICY },
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
        if (place->asks_fd >= 0 && k == 0) {
                sources[n] = place->asks_fd;
                targets[n++] = LEARNER_FD_ASKS;
        }
        if (place->reduce_fd >= 0) {
                sources[n] = place->reduce_fd;
                targets[n++] = LEARNER_FD_REDUCE;
        }
        for (uint32_t a = 0; a < place->n_actors; a++, n++) {
                sources[n] = place->segment_fds[a];
                targets[n] = LEARNER_FD_SEGMENTS + (int) a;
        }
        *ret_n = n;
        return put(sources, targets, n, LEARNER_FD_SEGMENTS + (int) place->n_actors);
}

static _Noreturn void child_run(const Placement *place, const Worker *learner, uint32_t k) {
        static int sources[ACTORS_MAX + 16], targets[ACTORS_MAX + 16];
        char *argv[] = { (char *) "actord-learner", NULL };
        char *environment[] = { NULL };
        ReduceLayout reduce;
        uint64_t mapped_bytes;
        size_t n;
        int r;

        if (place_fuses(place))
                fused_child(place, learner);
        r = child_descriptors(place, learner, k, sources, targets, &n);
        if (r < 0) {
                dprintf(STDERR_FILENO, "actord-learner: its descriptors cannot be placed: %s\n",
                                strerror(-r));
                _exit(limit_exit_status(r));
        }

        mapped_bytes = sizeof(WorkerPage) + place->page->policy.segment_bytes +
                       place->n_actors * place->page->segment.segment_bytes;
        reduce_layout(place->settings, place->page, &reduce);
        mapped_bytes += place->reduce_fd >= 0 ? reduce.bytes : 0;
        fork_confine_learner(place, learner, k, targets, n, mapped_bytes);
        (void) syscall(SYS_execveat, EXECUTABLE_FD, "", argv, environment, AT_EMPTY_PATH);

        r = -errno;
        dprintf(STDERR_FILENO, "actord-learner cannot be started: %s\n", strerror(-r));
        _exit(limit_exit_status(r));
}

static int start(Learners *learners, uint32_t k) {
        const LeafLimits limits = {
                .memory_bytes = fork_learner_memory_bytes(learners->place),
                .n_tasks = learners->place->settings->n_threads + TASKS_SPARE,
        };
        Worker *learner = &learners->workers[k];
        char name[32] = "learner";
        pid_t pid;
        int r;

        if (k > 0)
                (void) snprintf(name, sizeof(name), "learner-%u", k);
        r = worker_init(name, sizeof(WorkerPage), &learners->place->cgroup, &limits, learner);
        if (r < 0)
                return r;
        learner->page->learner = k;
        r = loop_watch_bell(learners->loop, learner, ACTOR_LEARNER - k);
        if (r < 0)
                return r;

        pid = fork_learner(learners->place, learner);
        if (pid == 0)
                child_run(learners->place, learner, k);
        if (pid < 0)
                return pid;
        return loop_watch_process(learners->loop, learner, ACTOR_LEARNER - k);
}

int learner_start(Learners *learners) {
        ReduceLayout reduce;
        int r = 0;

        if (learners->place->n_learners > 1) {
                reduce_layout(learners->place->settings, learners->place->page, &reduce);
                learners->place->reduce_fd = memfd_make("actord-reduce", reduce.bytes);
                if (learners->place->reduce_fd < 0)
                        return learners->place->reduce_fd;
        }
        for (uint32_t k = 0; k < learners->place->n_learners && r >= 0; k++)
                r = start(learners, k);
        return r;
}

bool learners_busy(const Learners *learners) {
        for (uint32_t k = 0; k < learners->place->n_learners; k++)
                if (learners->workers[k].busy)
                        return true;
        return false;
}

/* How long the learner may take: TimeoutSec= (0: for ever); if unset, a multiple of its longest time so
 * far. */
static uint64_t learner_timeout_nsec(const Learners *learners, uint64_t longest_nsec) {
        uint64_t nsec;

        if (!settings_present(learners->place->settings, SETTING_Learner_TimeoutSec))
                return patience_nsec(longest_nsec, LEARNER_PATIENCE_NSEC);
        if (learners->place->settings->learner_timeout_usec == 0 ||
                        __builtin_mul_overflow(
                                        learners->place->settings->learner_timeout_usec, 1000u, &nsec))
                return NEVER_NSEC;
        return nsec;
}

static uint64_t n_parts(const Learners *learners, uint32_t kind) {
        uint32_t n = learners->progress->round->n_rollouts;

        return kind == ORDER_LEARN && n > 0 ? n : 1;
}

/* Notes how long an order took, if no order of its kind took longer. An update learns from several rollouts,
 * so its time is divided by their number. */
static void see_duration(Learners *learners, const Worker *learner) {
        uint64_t learning_nsec = fused_learning_nsec(learners);
        uint32_t kind = learning_nsec > 0 ? ORDER_LEARN : learner->order.kind;
        uint64_t begun_nsec = learning_nsec > 0 ? learning_nsec : learner->ordered_nsec;
        uint64_t *longest_nsec = &learners->longest_nsec[kind];
        uint64_t nsec = (clock_boottime() - begun_nsec) / n_parts(learners, kind);

        if (nsec > *longest_nsec)
                *longest_nsec = nsec;
}

static bool serves(const Learners *learners) {
        return learners->workers[0].busy && learners->workers[0].order.kind == ORDER_SERVE &&
               atomic_load_explicit(&learners->workers[0].page->serve_stop, memory_order_relaxed) == 0;
}

/* When the learner last looked at its actors; before its first look: when it was ordered to serve them. */
static uint64_t seen_nsec(const Learners *learners) {
        uint64_t nsec = atomic_load_explicit(&learners->workers[0].page->served_nsec, memory_order_relaxed);

        return nsec > learners->workers[0].ordered_nsec ? nsec : learners->workers[0].ordered_nsec;
}

static uint64_t order_timeout_nsec(const Learners *learners, uint32_t kind) {
        uint64_t longest_nsec;

        if (kind == ORDER_SERVE)
                return learner_timeout_nsec(learners, LEARNER_PATIENCE_NSEC / PATIENCE_FACTOR);
        if (kind == ORDER_ROLLOUT)
                return fused_timeout_nsec(learners->place, learners->progress->round);
        longest_nsec = learners->longest_nsec[kind];
        return learner_timeout_nsec(learners,
                        longest_nsec > 0 ? longest_nsec * n_parts(learners, kind) : PATIENCE_MAX_NSEC);
}

/* Serving has no end of its own, so its deadline moves each time that the learner looks at its actors. If a
 * learner has ended the rollouts in time and goes on to learn, it gets the time of an update. */
void learner_look(Learners *learners, uint64_t now) {
        Worker *learner = &learners->workers[0];
        uint64_t since = fused_learning_nsec(learners), timeout_nsec = learner->timeout_nsec;

        if (!learner->busy || now < learner->deadline_nsec)
                return;
        if (since > 0)
                timeout_nsec = order_timeout_nsec(learners, ORDER_LEARN);
        else if (serves(learners))
                since = seen_nsec(learners);
        else
                return;
        if (since > now || since + timeout_nsec <= learner->deadline_nsec)
                return;
        learner->timeout_nsec = timeout_nsec;
        worker_forgive(learner, since);
}

/* Whether the learner, and not the actor, is at fault. An actor for which the learner acts is late if the
 * learner has looked at it since its deadline, and there is still no answer. If the learner has not looked,
 * the actor is not at fault, and its time begins again. */
bool learner_excuses(Learners *learners, Worker *actor, uint64_t now) {
        uint64_t seen;

        if (!actor->order.remote || !learners->workers[0].busy)
                return false;
        seen = serves(learners) ? seen_nsec(learners) : learners->workers[0].ordered_nsec;
        if (seen >= actor->deadline_nsec)
                return false;
        if (now - seen < ABSENT_NSEC) {
                loop_want_timer(learners->loop, now + SERVE_LOOK_NSEC);
                return true;
        }
        worker_forgive(actor, now);
        loop_want_timer(learners->loop, actor->deadline_nsec);
        return true;
}

/* Tells the learner to stop serving. From now on it has the deadline of one answer, which begins now. */
void learner_stop_serving(Learners *learners) {
        static const uint64_t one = 1;

        if (!serves(learners))
                return;
        atomic_store_explicit(&learners->workers[0].page->serve_stop, 1, memory_order_seq_cst);
        (void) !write(learners->place->stop_fd, &one, sizeof(one));
        worker_forgive(&learners->workers[0], clock_boottime());
        loop_want_timer(learners->loop, learners->workers[0].deadline_nsec);
}

/* Lists the actors for which the learner acts: those whose rollouts have not ended yet. If the learner also
 * steps, it needs the banks of these actors. */
static void name_clients(Learners *learners) {
        WorkerPage *page = learners->workers[0].page;

        for (uint32_t a = 0; a < learners->progress->round->n_actors; a++) {
                const Seat *seat = &learners->progress->round->seats[a];

                page->ordinals[a] = seat_rolls(seat) ? seat->ordinal : ORDINAL_NONE;
                page->banks[a] = seat->bank;
        }
        atomic_store_explicit(&page->serve_stop, 0, memory_order_seq_cst);
        atomic_store_explicit(&page->learning_nsec, 0, memory_order_seq_cst);
}

/* The round of an order: the present round if the order is part of it, otherwise the last round that has
 * ended. */
static uint64_t round_of(const Learners *learners, uint32_t kind) {
        switch (kind) {
        case ORDER_SERVE:
        case ORDER_ROLLOUT:
        case ORDER_TAKE:
        case ORDER_LEARN: return learners->progress->round->number;
        case ORDER_RESTORE: return learners->place->invoked->launch.resume_round;
        default: return learners->progress->number;
        }
}

static uint32_t next_bank(const Learners *learners) {
        return arrival_bank(&learners->progress->arrival, learners->place->n_actors,
                        learners->place->page->policy.n_banks);
}

static void give(Learners *learners, uint32_t kind, uint32_t actor, bool last) {
        bool first_alone = kind == ORDER_SERVE || kind == ORDER_CHECKPOINT;
        Order order = {
                .kind = kind,
                .round = round_of(learners, kind),
                .policy_version = learners->progress->policy_version,
                .policy_bank = (uint32_t) learners->progress->arrival.policy_bank,
                .actor = actor,
                .last = last,
                .plays = kind == ORDER_RESTORE &&
                         learners->place->invoked->launch.purpose == LAUNCH_EVALUATE,
        };

        if (kind == ORDER_TAKE) {
                order.ordinal = learners->progress->round->seats[actor].ordinal;
                order.attempt = learners->progress->round->seats[actor].attempts.n;
                order.snapshot_bank = learners->progress->round->seats[actor].bank;
                overlap_name_policy(learners->progress, learners->place, actor, &order);
        }
        if (kind == ORDER_TAKE || kind == ORDER_LEARN)
                order.hashes = learners->place->n_learners > 1; /* for comparing the learners' digests */
        if (kind == ORDER_LEARN) {
                order.ordinal = learners->progress->round->number - 1;
                order.n_actors = learners->progress->round->n_rollouts;
                order.policy_bank = next_bank(learners);
        }
        if (kind == ORDER_SERVE || kind == ORDER_ROLLOUT) {
                order.n_actors = learners->progress->round->n_actors;
                name_clients(learners);
        }
        if (kind == ORDER_ROLLOUT && fused_learns(learners)) {
                order.learns = 1;
                order.next_bank = next_bank(learners);
        }

        learners->answer = (Answer){};
        learners->n_answered = 0;
        for (uint32_t k = 0; k < (first_alone ? 1 : learners->place->n_learners); k++) {
                Worker *learner = &learners->workers[k];

                storm_listen(learners->loop, learner, ACTOR_LEARNER - k);
                worker_order(learner, &order, order_timeout_nsec(learners, kind));
                loop_want_timer(learners->loop, learner->deadline_nsec);
        }
}

void learner_order(Learners *learners, uint32_t kind, uint32_t actor) {
        give(learners, kind, actor,
                        kind == ORDER_RESTORE && learners->place->invoked->launch.purpose == LAUNCH_TRAIN);
}

void learner_order_checkpoint(Learners *learners, bool last) {
        for (uint32_t a = 0; a < learners->place->n_actors; a++) {
                learners->workers[0].page->ordinals[a] = learners->progress->round->seats[a].ordinal;
                learners->workers[0].page->banks[a] = learners->progress->round->seats[a].bank;
        }
        arrival_copy(&learners->workers[0].page->arrival, &learners->progress->arrival,
                        learners->place->n_actors);
        give(learners, ORDER_CHECKPOINT, ACTOR_NONE, last);
}

bool learner_answered(Learners *learners, uint32_t k, const Answer *answer) {
        Answer *all = &learners->answer;
        bool disagrees = learners->n_answered > 0 &&
                         memcmp(answer->sha256, all->sha256, sizeof(all->sha256)) != 0;
        uint32_t fault = all->fault != FAULT_NONE ? all->fault : answer->fault;
        int32_t detail = all->fault != FAULT_NONE ? all->detail : answer->detail;

        learners->workers[k].busy = false;
        see_duration(learners, &learners->workers[k]);
        learners->slowest_nsec[k] = answer->slowest_thread_nsec;
        if (k == 0 || learners->n_answered == 0)
                *all = *answer;
        all->fault = fault;
        all->detail = detail;
        /* Two learners have different copies of a rollout only if the actor changed it between the copies.
         * From different copies they would learn different things, or make another number of steps, and wait
         * for each other. From the same data they publish the same policy. */
        if (disagrees && fault == FAULT_NONE) {
                bool takes = learners->workers[k].order.kind == ORDER_TAKE;

                all->fault = takes ? FAULT_CHANGED : FAULT_INTERNAL;
                all->detail = takes ? 0 : EBADMSG;
        }
        learners->n_answered++;
        return !learners_busy(learners);
}

void learner_forsake(Learners *learners) {
        learners->lost = true;
        learners->progress->checkpoints.no_last = true;
        for (uint32_t k = 0; k < learners->place->n_learners; k++)
                worker_kill(&learners->workers[k]);
}

void learner_end(Learners *learners) {
        Ended ended;

        for (uint32_t k = 0; k < LEARNERS_MAX; k++)
                worker_kill(&learners->workers[k]);
        for (uint32_t k = 0; k < LEARNERS_MAX; k++) {
                Worker *learner = &learners->workers[k];

                if (learner->pid > 0 && worker_reap(learner, REAP_MSEC, &ended) >= 0)
                        learners->reporter->spare_nsec += ended.cpu_nsec;
        }
}
