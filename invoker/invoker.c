/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One loop over all events of a job. It sleeps in epoll; whatever an event leads to happens at once, here or in conduct.c. */
#include "invoker/invoker.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "lib/boottime.h"
#include "lib/cleanup.h"
#include "lib/limits.h"
#include "lib/words.h"

DEFINE_CLEANUP(Invoker *, invoker_free)

enum {
        EVENT_BELL = 1,
        EVENT_PROCESS,
        EVENT_SIGNAL,
        EVENT_TIMER,
        EVENT_LISTEN,
        EVENT_LINK,
        EVENTS_AT_ONCE = 64
};

int invoker_complain(int r, const char *what) {
        fprintf(stderr, "actord-invoker: %s: %s\n", what, strerror(-r));
        return r;
}

static int watch(Invoker *i, int fd, uint32_t events, uint32_t kind, uint32_t index) {
        struct epoll_event event = { .events = events, .data.u64 = (uint64_t) kind << 32 | index };

        return epoll_ctl(i->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

/* By edges: each ring is heard once, and nobody has to empty the bell. */
int invoker_watch(Invoker *i, const Worker *worker, uint32_t index) {
        return watch(i, worker->bell_fd, EPOLLIN | EPOLLET, EVENT_BELL, index);
}

int invoker_listen(Invoker *i, const Worker *worker, uint32_t index) {
        struct epoll_event event = { .events = EPOLLIN | EPOLLET,
                .data.u64 = (uint64_t) EVENT_BELL << 32 | index };

        return epoll_ctl(i->epoll_fd, EPOLL_CTL_MOD, worker->bell_fd, &event) < 0 ? -errno : 0;
}

int invoker_watch_process(Invoker *i, const Worker *worker, uint32_t index) {
        return watch(i, worker->pid_fd, EPOLLIN, EVENT_PROCESS, index);
}

void invoker_want_timer(Invoker *i, uint64_t nsec) {
        struct itimerspec at = { .it_value = { .tv_sec = (time_t) (nsec / 1000000000u),
                                                 .tv_nsec = (long) (nsec % 1000000000u) } };

        /* It rings for the earliest of all, and whoever is served by that ring asks again. */
        if (nsec >= i->timer_nsec || nsec == 0)
                return;
        i->timer_nsec = nsec;
        (void) timerfd_settime(i->timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
}

static int make_loop(Invoker *i) {
        int r;

        i->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
        if (i->epoll_fd < 0)
                return -errno;
        i->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
        if (i->timer_fd < 0)
                return -errno;
        i->timer_nsec = UINT64_MAX;

        r = link_init(INVOKER_FD_SOCKET, i->n_actors, &i->link);
        if (r < 0)
                return r;
        if ((r = watch(i, i->signal_fd, EPOLLIN, EVENT_SIGNAL, 0)) < 0 ||
                        (r = watch(i, i->timer_fd, EPOLLIN, EVENT_TIMER, 0)) < 0)
                return r;
        return watch(i, i->link.listen_fd, EPOLLIN, EVENT_LISTEN, 0);
}

/* What failed is said on the job's stream, which may not be there yet, and by *ret_step to the daemon. */
static int start(Invoker *i, InvokerStep *ret_step) {
        int r;

        *ret_step = INVOKER_STEP_CONTRACTS;
        r = setup_contracts(i);
        if (r < 0)
                return r;
        *ret_step = INVOKER_STEP_STREAMS;
        r = setup_streams();
        if (r < 0)
                return invoker_complain(r, invoker_step_sentence(*ret_step));
        *ret_step = INVOKER_STEP_SIGNALS;
        r = setup_signals(i);
        if (r < 0)
                return invoker_complain(r, invoker_step_sentence(*ret_step));
        setup_cgroup(i);

        meter_watch(&i->control, 0, -EBADF);
        i->proc_fd = setup_proc();
        ourselves_watch(&i->ourselves, i->proc_fd);
        *ret_step = INVOKER_STEP_RECORDS;
        r = spool_init(i->invoked->launch.life, &i->spool);
        if (r < 0)
                return invoker_complain(r, invoker_step_sentence(*ret_step));
        *ret_step = INVOKER_STEP_LOOP;
        r = make_loop(i);
        return r < 0 ? invoker_complain(r, invoker_step_sentence(*ret_step)) : 0;
}

int invoker_new(Invoker **ret) {
        _cleanup_(invoker_freep) Invoker *i = calloc(1, sizeof(*i));
        InvokerStep step;
        int r;

        limits_prepare(); /* a handful of descriptors for each actor */
        if (!i) {
                link_tell_failed(INVOKER_FD_SOCKET, INVOKER_STEP_CONTRACTS, -ENOMEM);
                return invoker_complain(-ENOMEM, "out of memory");
        }
        i->epoll_fd = i->signal_fd = i->timer_fd = i->proc_fd = -EBADF;
        i->page_fd = i->policy_fd = i->policy_read_fd = i->asks_fd = i->stop_fd = i->reduce_fd = -EBADF;
        i->cgroup.fd = -EBADF;
        i->control = (Meter) METER_EMPTY;
        i->ourselves = (Ourselves) OURSELVES_EMPTY;
        i->spool = (Spool) SPOOL_EMPTY;
        i->link = (Link) LINK_EMPTY;
        for (uint32_t k = 0; k < LEARNERS_MAX; k++)
                *learner_at(i, k) = (Worker) WORKER_EMPTY;
        i->end_actor = ACTOR_NONE;
        i->started_nsec = clock_boottime();
        i->suspended_nsec = clock_suspended();

        r = start(i, &step);
        if (r < 0) {
                link_tell_failed(INVOKER_FD_SOCKET, step, r);
                return r;
        }
        *ret = TAKE_PTR(i);
        return 0;
}

static void begin(Invoker *i) {
        uint32_t fault;
        int32_t detail;

        if (prepare_job(i, &fault, &detail) < 0) {
                /* The one process there was is the actor that was asked for its environment's spec. */
                bool asked = i->asked && !i->page && fault != FAULT_INTERNAL;

                finish_begin(i, PLAN_END_FAILED, fault, detail, asked ? 0 : ACTOR_NONE);
                return;
        }
        if (i->invoked->launch.purpose == LAUNCH_VERIFY) {
                i->phase = PHASE_VERIFYING;
                return;
        }
        i->phase = PHASE_STARTING;
        learner_order(i, ORDER_RESTORE, ACTOR_NONE);
        if (i->invoked->launch.exit_with_daemon)
                invoker_want_timer(i, i->started_nsec + FIRST_CONNECTION_NSEC);
}

/* The answer first: a process may have given one and died after it. Returns whether it had given one. */
static bool container_event(Invoker *i, Container *c, bool ended) {
        Answer answer;
        bool answered = c->state != CONTAINER_ENDING && worker_answered(&c->worker, &answer);
        Ended how;

        if (answered) {
                storm_over(i);
                conduct_container_answered(i, c, &answer);
        }
        if (ended)
                slept_end(&c->worker.slept, &i->ourselves);
        if (ended && c->worker.pid > 0 && worker_reap(&c->worker, 0, &how) >= 0)
                conduct_container_ended(i, c, &how);
        return answered;
}

static bool learner_event(Invoker *i, uint32_t k, bool ended) {
        Worker *learner = learner_at(i, k);
        Answer answer;
        bool answered = worker_answered(learner, &answer);
        Ended how;

        if (answered) {
                storm_over(i);
                learner_answered(i, k, &answer);
        }
        if (ended && learner->pid > 0 && worker_reap(learner, 0, &how) >= 0) {
                i->spare_nsec += how.cpu_nsec;
                if (!i->learner_lost)
                        report_fault(i, ACTOR_LEARNER, 0, how.fault, how.detail);
                finish_learner_lost(i, how.fault, how.detail);
                learner_forsake(i);
                finish_begin(i, PLAN_END_FAILED, how.fault, how.detail, ACTOR_LEARNER);
        }
        return answered;
}

static bool is_learner(uint32_t index) {
        return index > ACTOR_LEARNER - LEARNERS_MAX;
}

static void process_event(Invoker *i, uint32_t index) {
        if (is_learner(index))
                (void) learner_event(i, ACTOR_LEARNER - index, true);
        else
                (void) container_event(i, &i->containers[index], true);
}

static void bell_event(Invoker *i, uint32_t index) {
        Container *c = is_learner(index) ? NULL : &i->containers[index];

        if (c ? container_event(i, c, false) : learner_event(i, ACTOR_LEARNER - index, false))
                return;
        storm_ring(i, c ? &c->worker : learner_at(i, ACTOR_LEARNER - index), c);
}

static void lost_daemon(Invoker *i) {
        if (i->invoked->launch.exit_with_daemon && i->phase != PHASE_ENDED)
                finish_kill(i);
        /* Everything that it knows not yet stays in the spool; another one may come for it. */
        if (i->invoked->launch.exit_with_daemon)
                i->stop = true;
}

static void link_event(Invoker *i) {
        if (link_receive(&i->link, &i->spool) < 0)
                lost_daemon(i);
}

static void listen_event(Invoker *i) {
        const Hello hello = {
                .abi = PLAN_ABI,
                .message = PLAN_MESSAGE_HELLO,
                .job = i->invoked->launch.job,
                .life = i->invoked->launch.life,
                .round = i->number,
                .through_round = i->link.plan.through_round,
                .written = i->spool.written,
                .decision = i->decision,
        };

        if (link_accept(&i->link, &hello, &i->spool) >= 0)
                (void) watch(i, i->link.fd, EPOLLIN, EVENT_LINK, 0);
}

static void check_container(Invoker *i, Container *c, uint64_t now) {
        if (!c->worker.busy)
                return;
        if (now < c->worker.deadline_nsec && !c->worker.muted) {
                invoker_want_timer(i, c->worker.deadline_nsec);
                return;
        }
        /* An answer that lies there is an answer, late as it may be heard. */
        if (!container_event(i, c, false))
                storm_looked(i, &c->worker, c);
        if (!c->worker.busy)
                return;
        if (now < c->worker.deadline_nsec) {
                invoker_want_timer(i, c->worker.deadline_nsec);
                return;
        }
        c->worker.late = true;
        pool_end(c, FAULT_NONE, 0);
}

static void check_learner(Invoker *i, uint32_t k, uint64_t now) {
        Worker *learner = learner_at(i, k);

        if (learner->busy && (now >= learner->deadline_nsec || learner->muted) &&
                        !learner_event(i, k, false))
                storm_looked(i, learner, NULL);
        if (!learner->busy)
                return;
        if (now < learner->deadline_nsec) {
                invoker_want_timer(i, learner->deadline_nsec);
                return;
        }
        learner->late = true;
        worker_kill(learner);
}

static void check_end(Invoker *i, uint64_t now) {
        const Plan *plan = &i->link.plan;
        uint64_t until;

        if (i->phase == PHASE_ENDED) {
                /* A daemon that is there says what it has, and may be waiting for space; it is watched by
                 * others, and its end is seen here. */
                until = i->link.fd >= 0 ? UINT64_MAX
                                        : i->ended_nsec + (i->invoked->launch.exit_with_daemon
                                                                                          ? END_MISSED_NSEC
                                                                                          : END_ALONE_NSEC);
                if (i->spool.acknowledged == i->spool.written || now >= until)
                        i->stop = true;
                else if (i->link.fd < 0)
                        invoker_want_timer(i, until);
                return;
        }

        if (i->invoked->launch.exit_with_daemon && !i->link.was_connected) {
                if (now >= i->started_nsec + FIRST_CONNECTION_NSEC)
                        finish_kill(i);
                else
                        invoker_want_timer(i, i->started_nsec + FIRST_CONNECTION_NSEC);
        }

        if (!i->link.has_plan || plan->end == PLAN_END_NOT || plan->stop_deadline_nsec == 0 ||
                        i->phase == PHASE_ENDING)
                return;
        if (now < plan->stop_deadline_nsec)
                invoker_want_timer(i, plan->stop_deadline_nsec);
        else if (i->phase == PHASE_ROLLING || i->phase == PHASE_EVALUATING || i->phase == PHASE_VERIFYING ||
                        (i->phase == PHASE_IDLE && i->evaluation.goes_on))
                finish_begin(i, plan->end, FAULT_NONE, 0, ACTOR_NONE);
}

/* A deadline counts the time that a worker could use. We were stopped, or the host slept: all begin anew. */
static void forgive_absence(Invoker *i, uint64_t now) {
        uint64_t suspended_nsec = clock_suspended();
        bool slept = suspended_nsec - i->suspended_nsec >= ABSENT_NSEC;

        i->suspended_nsec = suspended_nsec;
        if (!slept && now - i->timer_nsec < ABSENT_NSEC)
                return;
        for (uint32_t k = 0; i->containers && k < containers_all(i); k++) {
                worker_forgive(&i->containers[k].worker, now);
                slept_forget(&i->containers[k].worker.slept);
        }
        for (uint32_t k = 0; k < i->n_learners; k++)
                worker_forgive(learner_at(i, k), now);
}

static void timer_event(Invoker *i) {
        uint64_t rings, now = clock_boottime();

        (void) !read(i->timer_fd, &rings, sizeof(rings));
        forgive_absence(i, now);
        i->timer_nsec = UINT64_MAX;
        for (uint32_t k = 0; i->containers && k < containers_all(i); k++)
                check_container(i, &i->containers[k], now);
        for (uint32_t k = 0; k < i->n_learners; k++)
                check_learner(i, k, now);
}

static void dispatch(Invoker *i, uint64_t data) {
        uint32_t kind = (uint32_t) (data >> 32), index = (uint32_t) data;

        if (kind != EVENT_BELL && kind != EVENT_TIMER)
                storm_over(i);
        switch (kind) {
        case EVENT_BELL: bell_event(i, index); break;
        case EVENT_PROCESS: process_event(i, index); break;
        case EVENT_SIGNAL: finish_kill(i); break;
        case EVENT_TIMER: timer_event(i); break;
        case EVENT_LISTEN: listen_event(i); break;
        case EVENT_LINK: link_event(i); break;
        }
}

int invoker_wait_outside(Invoker *i, Worker *worker, uint64_t until_nsec) {
        bool deaf = worker && worker->n_false_rings >= FALSE_RINGS_MAX;
        struct pollfd fds[] = {
                { .fd = i->link.listen_fd, .events = POLLIN },
                { .fd = i->link.fd, .events = POLLIN },
                { .fd = i->signal_fd, .events = POLLIN },
                { .fd = worker && !deaf ? worker->bell_fd : -EBADF, .events = POLLIN },
                { .fd = worker ? worker->pid_fd : -EBADF, .events = POLLIN },
        };
        uint64_t now = clock_boottime(), msec = until_nsec > now ? (until_nsec - now) / 1000000u + 1 : 0;

        /* A storm is looked at now and then, as in the loop. */
        if (deaf && msec > STORM_LOOK_NSEC / 1000000u)
                msec = STORM_LOOK_NSEC / 1000000u;
        link_tell(&i->link, &i->spool);
        if (poll(fds, ELEMENTSOF(fds), msec > INT32_MAX ? -1 : (int) msec) < 0)
                return errno == EINTR ? 0 : -errno;
        if (fds[2].revents)
                finish_kill(i);
        else if (fds[0].revents)
                listen_event(i);
        else if (fds[1].revents)
                link_event(i);
        if (worker && fds[3].revents)
                worker->n_false_rings++;
        return fds[4].revents ? -ECHILD : 0;
}

int invoker_run(Invoker *i) {
        struct epoll_event events[EVENTS_AT_ONCE];

        begin(i);
        while (!i->stop) {
                int n;

                check_end(i, clock_boottime());
                conduct_advance(i);
                link_tell(&i->link, &i->spool);
                if (i->stop)
                        break;

                n = epoll_wait(i->epoll_fd, events, EVENTS_AT_ONCE, -1);
                if (n < 0 && errno != EINTR)
                        return invoker_complain(-errno, "its events cannot be waited for");
                for (int k = 0; k < n && !i->stop; k++)
                        dispatch(i, events[k].data.u64);
        }
        return i->phase == PHASE_ENDED ? 0 : -EINTR;
}

Invoker *invoker_free(Invoker *i) {
        bool own = i->invoked && i->invoked->cgroup == INVOKER_CGROUP_OWN;

        if (i->containers)
                pool_end_all(i);
        learner_end(i);
        fused_done(i);

        pool_done(i);
        for (uint32_t k = 0; k < LEARNERS_MAX; k++)
                worker_done(learner_at(i, k), &i->cgroup, true);
        for (uint32_t a = 0; i->segment_fds && a < i->n_actors; a++)
                (void) close_fd(i->segment_fds[a]);
        free(i->segment_fds);
        free(i->round);
        free(i->returns);
        pool_free_sandboxes(i);
        if (own)
                cgroup_leave(&i->cgroup);

        link_done(&i->link);
        spool_done(&i->spool);
        meter_done(&i->control);
        ourselves_done(&i->ourselves);
        (void) close_fd(i->asks_fd);
        (void) close_fd(i->stop_fd);
        (void) close_fd(i->reduce_fd);
        (void) close_fd(i->proc_fd);
        (void) close_fd(i->timer_fd);
        (void) close_fd(i->signal_fd);
        (void) close_fd(i->epoll_fd);
        free(i);
        return NULL;
}
