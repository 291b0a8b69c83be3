/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Conducts a trial. It loads the environment and makes the sandbox as for a job. Then, for each thing to
 * try, it forks an actor, watches it and collects the verdict. */
#include "invoker/trial.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "include/trial.h"
#include "invoker/complain.h"
#include "invoker/invoker.h"
#include "lib/cleanup.h"
#include "lib/environments.h"
#include "lib/fd.h"

enum { TICK_MSEC = 50, BENCH_RUNS = 7 };
/* The time limit for loading, a reset or a step. A user waits for the answer, and a job could not use a
 * slower environment. Only Python gets as much time as in a job, since its imports depend on the disk and on
 * other load. */
#define STALL_NSEC_MAX UINT64_C(10000000000)

typedef struct Trying {
        Placement place;
        TrialOrder order;
        Container actor;
} Trying;

/* Maps the file of the request: the request itself, followed by its numbers. */
static int map_request(const TrialRequest **ret) {
        const TrialRequest *request;
        uint64_t n, bytes;
        void *map;
        int r;

        r = memfd_check_sealed(TRIAL_FD_REQUEST);
        if (r < 0)
                return r;
        r = fd_map(TRIAL_FD_REQUEST, sizeof(TrialRequest), false, &map);
        if (r < 0)
                return r;
        request = map;
        if (request->abi != TRIAL_ABI || request->struct_bytes != sizeof(TrialRequest) ||
                        request->kind >= _TRIAL_KIND_MAX || request->actions >= _TRIAL_ACTIONS_MAX)
                return -EBADMSG;
        if (__builtin_mul_overflow(request->n_actions, (uint64_t) request->action_numbers, &n) ||
                        __builtin_add_overflow(n, request->n_policy, &n) ||
                        __builtin_add_overflow(n, (uint64_t) request->n_state, &n) ||
                        __builtin_mul_overflow(n, sizeof(double), &bytes) ||
                        __builtin_add_overflow(bytes, sizeof(TrialRequest), &bytes))
                return -EOVERFLOW;
        fd_unmap(map, sizeof(TrialRequest));
        r = fd_map(TRIAL_FD_REQUEST, bytes, false, &map);
        if (r < 0)
                return r;
        *ret = map;
        return 0;
}

static int say(uint32_t kind, const void *body, size_t n) {
        const TrialRecord record = { .kind = kind, .n_bytes = (uint32_t) n };
        int r;

        r = write_full(TRIAL_FD_ROWS, &record, sizeof(record));
        return r < 0 ? r : write_full(TRIAL_FD_ROWS, body, n);
}

/* Whether the reader has fallen behind: the pipe is full, and an actor that has a row must wait. */
static bool rows_wait(void) {
        struct pollfd p = { .fd = TRIAL_FD_ROWS, .events = POLLOUT };

        return poll(&p, 1, 0) == 0;
}

/* Waits until the actor ends or makes no progress for too long, or until the reader closes the pipe. Then
 * kills the actor. The time for which the reader lets it wait does not count: the reader may be a user who
 * reads page by page. */
static void watch(Worker *worker) {
        struct pollfd p[] = { { .fd = worker->pid_fd, .events = POLLIN }, { .fd = TRIAL_FD_ROWS } };
        uint64_t seen = 0, idle_nsec = 0;

        while (poll(p, ELEMENTSOF(p), TICK_MSEC) <= 0) {
                uint64_t now = atomic_load(&worker->page->trial.progress);

                idle_nsec = now == seen && !rows_wait() ? idle_nsec + TICK_MSEC * UINT64_C(1000000) : 0;
                seen = now;
                worker->late = idle_nsec >= worker->timeout_nsec;
                if (worker->late)
                        break;
        }
        worker_kill(worker);
}

/* Runs one actor, from its fork to its end. */
static Fault try_once(Trying *t, int32_t *ret_detail) {
        Worker *worker = &t->actor.worker;
        TrialPage *page = &worker->page->trial;
        Ended ended;
        int r;

        memset(page, 0, sizeof(*page));
        r = fork_actor(&t->place, &t->actor);
        if (r < 0) {
                *ret_detail = -r;
                return FAULT_INTERNAL;
        }
        worker->timeout_nsec = timeout_nsec(&t->place);
        if (!environment_is_python(t->place.settings->environment) && worker->timeout_nsec > STALL_NSEC_MAX)
                worker->timeout_nsec = STALL_NSEC_MAX;
        watch(worker);
        r = worker_reap(worker, REAP_MSEC, &ended);
        if (r < 0) {
                *ret_detail = -r;
                return FAULT_INTERNAL;
        }

        *ret_detail = ended.detail;
        if (ended.fault != FAULT_EXITED || ended.detail != 0 || !page->finished)
                return ended.fault;
        *ret_detail = page->detail;
        return page->fault < _FAULT_MAX ? page->fault : FAULT_ANSWER;
}

/* Tries each TrialPoint of the environment in an actor of its own. If a point does not end, or the spec is
 * unusable, the remaining points are not tried. */
static int check(Trying *t) {
        int32_t failed = 0; /* the point after which no other point is tried */

        for (uint32_t i = 0; i < _TRIAL_POINT_MAX; i++) {
                TrialPoint point = { .point = i, .finding = TRIAL_FINDING_NOT_TRIED, .detail = failed };
                int r;

                if (failed == 0) {
                        t->order.point = i;
                        point.fault = try_once(t, &point.detail);
                        point.finding = point.fault != FAULT_NONE ? TRIAL_FINDING_FAULT
                                                                  : t->actor.worker.page->trial.finding;
                        if (point.finding >= _TRIAL_FINDING_MAX)
                                point = (TrialPoint){ i, TRIAL_FINDING_FAULT, FAULT_ANSWER, 0 };
                        /* pid > 0: the process does not end, and no other can be forked in its place */
                        if (point.fault == FAULT_TIMEOUT || t->actor.worker.pid > 0 ||
                                        (i == TRIAL_POINT_SPEC && point.finding != TRIAL_FINDING_KEPT))
                                failed = (int32_t) i + 1;
                }
                r = say(TRIAL_POINT, &point, sizeof(point));
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Measures the environment's speed outside the sandbox and inside it by turns, so that other load affects
 * both speeds equally. Code of a user runs only inside. */
static Fault bench(Trying *t, int32_t *ret_detail) {
        bool foreign = fork_runs_foreign_code(&t->place);

        for (uint32_t i = 0; i < 2 * BENCH_RUNS; i++) {
                TrialRate rate = { .inside = i % 2, .level = t->place.level };
                Fault fault;

                if (foreign && !rate.inside)
                        continue;
                t->order.inside = rate.inside;
                fault = try_once(t, ret_detail);
                if (fault != FAULT_NONE)
                        return fault;
                rate.steps_per_second = t->actor.worker.page->trial.rate;
                if (say(TRIAL_RATE, &rate, sizeof(rate)) < 0)
                        return FAULT_NONE;
        }
        return FAULT_NONE;
}

static int close_sandbox(Placement *place) {
        int r;

        r = prepare_level(place);
        return r < 0 ? r : prepare_sandboxes(place);
}

/* Loads the environment and makes the sandbox as for a job's actors. The catalogue needs neither: it lists
 * environments that an administrator installed. */
static int prepare(Trying *t, TrialVerdict *ret) {
        ActordEnvSpec spec = {};
        int r;

        ret->problem = TRIAL_PROBLEM_SETUP;
        r = worker_init("trial", ACTOR_PAGE_BYTES, &t->place.cgroup, NULL, &t->actor.worker);
        if (r < 0) {
                ret->detail = -r;
                return r;
        }
        if (t->order.request->kind == TRIAL_CATALOGUE)
                return 0;

        ret->problem = TRIAL_PROBLEM_FAULT;
        r = probe_load(&t->place, &ret->fault, &ret->detail);
        if (r < 0)
                return r;
        /* An administrator's engine reads its models at its first spec(). So the spec is asked for while the
         * invoker still has the host's file system. */
        r = fork_runs_foreign_code(&t->place) ? 0 : probe_ask(&t->place, &spec, &ret->fault, &ret->detail);
        if (r < 0)
                return r;

        ret->problem = TRIAL_PROBLEM_SETUP;
        r = close_sandbox(&t->place);
        ret->detail = -r;
        t->order.inside = true;
        return r;
}

static void conduct(Trying *t, TrialVerdict *ret) {
        const TrialPage *page = &t->actor.worker.page->trial;

        *ret = (TrialVerdict){};
        if (t->order.request->kind == TRIAL_CHECK) {
                (void) check(t);
                return;
        }
        ret->fault = t->order.request->kind == TRIAL_BENCH ? bench(t, &ret->detail)
                                                           : try_once(t, &ret->detail);
        if (ret->fault != FAULT_NONE)
                ret->problem = TRIAL_PROBLEM_FAULT;
        else
                ret->problem = page->problem < _TRIAL_PROBLEM_MAX ? page->problem : TRIAL_PROBLEM_SETUP;
}

int trial_serve(void) {
        Trying t = { .place = PLACEMENT_EMPTY, .actor = { .worker = WORKER_EMPTY, .ask_fd = -EBADF } };
        TrialVerdict verdict = {};
        int r;

        r = setup_contracts(&t.place);
        if (r < 0)
                return r;
        r = setup_streams();
        if (r < 0)
                return invoker_complain(r, "its standard streams cannot be set up");
        r = map_request(&t.order.request);
        if (r < 0)
                return invoker_complain(r,
                                "descriptor 8 does not hold a trial's request: install actorctl and "
                                "actord-invoker from one build");
        (void) signal(SIGPIPE, SIG_IGN);
        t.place.trial = &t.order;

        r = prepare(&t, &verdict);
        if (r >= 0)
                conduct(&t, &verdict);
        verdict.done = 1;
        fork_free_sandboxes(&t.place);
        worker_done(&t.actor.worker, &t.place.cgroup, true);
        return pwrite(TRIAL_FD_VERDICT, &verdict, sizeof(verdict), 0) == sizeof(verdict) ? 0 : -EIO;
}
