/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The loop over all events of a job. It sleeps in epoll, or spins for an answer (spin.h). All consequences
 * of an event follow immediately, here or in conduct.c. While records wait because the spool is full, the
 * job pauses: the loop then reacts only to the daemon and to signals. */
#include "invoker/complain.h"
#include "invoker/invoker.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/boottime.h"
#include "lib/cleanup.h"
#include "lib/limits.h"
#include "lib/saturate.h"
#include "lib/string-tables.h"

DEFINE_CLEANUP(Invoker *, invoker_free)

static int make_loop(Invoker *invoker) {
        int r;

        r = loop_init(&invoker->loop);
        if (r < 0)
                return r;
        r = link_init(INVOKER_FD_SOCKET, invoker->place.n_actors, &invoker->link);
        if (r < 0)
                return r;
        r = loop_watch(&invoker->loop, invoker->signal_fd, EVENT_SIGNAL);
        if (r < 0)
                return r;
        r = loop_watch(&invoker->loop, invoker->link.listen_fd, EVENT_LISTEN);
        return r < 0 ? r : nodes_init(&invoker->nodes);
}

/* The most records that one event can cause. Each container may end, be parked (idle until another round)
 * and have its meter read. The rollout of each actor may be wasted, and another one recorded. A round and
 * the job may end. The spool must have room for all of these before the loop serves an event. */
static uint32_t records_at_once(const Invoker *invoker) {
        return 10 * containers_all(&invoker->place) + 2 * invoker->place.n_actors + LEARNERS_MAX + 16 +
               ACTORD_METRICS_MAX + 2 * NODES_MAX;
}

static int make_spool(Invoker *invoker) {
        int r;

        r = spool_init(invoker->place.invoked->launch.life, &invoker->reporter.spool);
        return r < 0 ? r : spool_reserve(&invoker->reporter.spool, records_at_once(invoker));
}

/* Takes over from the spawner, step by step. A failure is printed to standard error, if that is set up
 * already, and *why tells it to the daemon. */
static int start(Invoker *invoker, Failed *why) {
        int r;

        why->step = INVOKER_STEP_CONTRACTS;
        r = setup_contracts(&invoker->place);
        if (r < 0)
                return r;
        why->step = INVOKER_STEP_STREAMS;
        r = setup_streams();
        if (r < 0)
                return invoker_complain(r, invoker_step_sentence(why->step));
        why->step = INVOKER_STEP_SIGNALS;
        r = invoker->signal_fd = setup_signals();
        if (r < 0)
                return invoker_complain(r, invoker_step_sentence(why->step));
        setup_cgroup(&invoker->place);
        why->step = INVOKER_STEP_FILES;
        r = setup_files(&invoker->place, &why->needed, &why->limit);
        if (r < 0)
                return invoker_complain(r, invoker_step_sentence(why->step));

        meter_watch(&invoker->reporter.control, 0, -EBADF);
        report_watch_slice(&invoker->reporter);
        invoker->place.proc_fd = setup_proc();
        ourselves_watch(&invoker->reporter.ourselves, invoker->place.proc_fd);
        why->step = INVOKER_STEP_RECORDS;
        r = make_spool(invoker);
        if (r < 0)
                return invoker_complain(r, invoker_step_sentence(why->step));
        why->step = INVOKER_STEP_LOOP;
        r = make_loop(invoker);
        return r < 0 ? invoker_complain(r, invoker_step_sentence(why->step)) : 0;
}

/* Marks all descriptors as closed, and gives each part pointers to the parts that it needs. */
static void make_empty(Invoker *invoker) {
        invoker->place = (Placement) PLACEMENT_EMPTY;
        invoker->progress.taken = invoker->progress.ending.actor = ACTOR_NONE;
        invoker->loop = (Loop) LOOP_EMPTY;
        invoker->link = (Link) LINK_EMPTY;
        invoker->signal_fd = -EBADF;
        invoker->reporter = (Reporter){
                .spool = SPOOL_EMPTY,
                .control = METER_EMPTY,
                .ourselves = OURSELVES_EMPTY,
                .place = &invoker->place,
                .progress = &invoker->progress,
        };
        invoker->pool = (Pool){
                .place = &invoker->place,
                .progress = &invoker->progress,
                .loop = &invoker->loop,
                .reporter = &invoker->reporter,
                .nodes = &invoker->nodes,
        };
        invoker->nodes.place = &invoker->place;
        invoker->nodes.loop = &invoker->loop;
        invoker->nodes.cluster_fd = invoker->nodes.meters_fd = -EBADF;
        invoker->learners.place = &invoker->place;
        invoker->learners.progress = &invoker->progress;
        invoker->learners.loop = &invoker->loop;
        invoker->learners.reporter = &invoker->reporter;
        for (uint32_t k = 0; k < LEARNERS_MAX; k++)
                invoker->learners.workers[k] = (Worker) WORKER_EMPTY;
}

int invoker_new(Invoker **ret) {
        _cleanup_(invoker_freep) Invoker *invoker = calloc(1, sizeof(*invoker));
        Failed why = { .abi = PLAN_ABI, .message = PLAN_MESSAGE_FAILED, .error = -ENOMEM };
        int r;

        /* raises the limit of open files, since each actor needs a handful of descriptors */
        limits_prepare();
        if (!invoker) {
                link_tell_failed(INVOKER_FD_SOCKET, &why);
                return invoker_complain(-ENOMEM, "out of memory");
        }
        make_empty(invoker);
        invoker->reporter.started_nsec = clock_boottime();
        invoker->suspended_nsec = clock_suspended();

        r = start(invoker, &why);
        if (r < 0) {
                why.error = r;
                link_tell_failed(INVOKER_FD_SOCKET, &why);
                return r;
        }
        *ret = TAKE_PTR(invoker);
        return 0;
}

/* Handles an event of a container. Looks for an answer first, since the process may have answered and then
 * died. Returns whether there was an answer. */
static bool container_event(Invoker *invoker, Container *c, bool ended) {
        Answer answer;
        bool answered = c->state != CONTAINER_ENDING && worker_answered(&c->worker, &answer);
        Ended how;

        if (answered) {
                storm_over(&invoker->reporter);
                conduct_container_answered(invoker, c, &answer);
        }
        if (ended)
                slept_end(&c->worker.slept, &invoker->reporter.ourselves);
        if (ended && c->worker.pid > 0 && worker_reap(&c->worker, 0, &how) >= 0)
                conduct_container_ended(invoker, c, &how);
        return answered;
}

static bool learner_event(Invoker *invoker, uint32_t k, bool ended) {
        Worker *learner = &invoker->learners.workers[k];
        Answer answer;
        bool answered = worker_answered(learner, &answer);
        Ended how;

        if (answered) {
                storm_over(&invoker->reporter);
                spin_learn(&invoker->spin, learner->order.kind, learner->ordered_nsec, clock_boottime());
                if (learner_answered(&invoker->learners, k, &answer))
                        conduct_learner_answered(invoker, &invoker->learners.answer);
        }
        if (ended && learner->pid > 0 && worker_reap(learner, 0, &how) >= 0) {
                invoker->reporter.spare_nsec += how.cpu_nsec;
                if (how.fault == FAULT_TIMEOUT && learner->order.kind == ORDER_ROLLOUT &&
                                fused_learning_nsec(&invoker->learners) == 0)
                        how.fault = FAULT_ACTING;
                if (!invoker->learners.lost)
                        report_fault(&invoker->reporter, ACTOR_LEARNER, 0, how.fault, how.detail);
                finish_learner_lost(invoker, how.fault, how.detail);
                learner_forsake(&invoker->learners);
                finish_begin(invoker, PLAN_END_FAILED, how.fault, how.detail, ACTOR_LEARNER);
        }
        return answered;
}

static bool is_learner(uint32_t index) {
        return index > ACTOR_LEARNER - LEARNERS_MAX;
}

static void process_event(Invoker *invoker, uint32_t index) {
        if (is_learner(index))
                (void) learner_event(invoker, ACTOR_LEARNER - index, true);
        else
                (void) container_event(invoker, &invoker->pool.containers[index], true);
}

static void bell_event(Invoker *invoker, uint32_t index) {
        Container *c = is_learner(index) ? NULL : &invoker->pool.containers[index];

        if (c ? container_event(invoker, c, false) : learner_event(invoker, ACTOR_LEARNER - index, false))
                return;
        storm_ring(&invoker->loop, &invoker->reporter,
                        c ? &c->worker : &invoker->learners.workers[ACTOR_LEARNER - index], c);
}

static void lost_daemon(Invoker *invoker) {
        invoker->alone_nsec = clock_boottime();
        if (invoker->place.invoked->launch.exit_with_daemon && invoker->progress.phase != PHASE_ENDED)
                finish_kill(invoker);
        /* Records that the daemon has not read stay in the spool for the next daemon. */
        if (invoker->place.invoked->launch.exit_with_daemon)
                invoker->stop = true;
}

static void link_event(Invoker *invoker) {
        if (link_receive(&invoker->link, &invoker->reporter.spool) < 0)
                lost_daemon(invoker);
}

static void listen_event(Invoker *invoker) {
        const Hello hello = {
                .abi = PLAN_ABI,
                .message = PLAN_MESSAGE_HELLO,
                .job = invoker->place.invoked->launch.job,
                .life = invoker->place.invoked->launch.life,
                .round = invoker->progress.number,
                .through_round = invoker->link.plan.through_round,
                .written = invoker->reporter.spool.written,
                .decision = invoker->progress.decision,
        };

        if (link_accept(&invoker->link, &hello, &invoker->reporter.spool) >= 0)
                (void) loop_watch(&invoker->loop, invoker->link.fd, EVENT_LINK);
}

/* A process that hangs in the kernel outlives SIGKILL, for example until a file server answers again. Only
 * when it has ended does the job go on, so its user must know what it waits for. */
static void check_killed(Invoker *invoker, Worker *worker, uint32_t actor, uint64_t now) {
        uint64_t until = saturating_add(worker->deadline_nsec, REAP_MSEC * 1000000ull);
        char name[32] = "the learner";

        if (now < until) {
                loop_want_timer(&invoker->loop, until);
                return;
        }
        if (actor != ACTOR_LEARNER)
                (void) snprintf(name, sizeof(name), "actor %" PRIu32, actor);
        if (!worker->hangs)
                (void) fprintf(stderr,
                                "actord-invoker: %s was killed at its TimeoutSec=, but hangs in the kernel "
                                "(state D in ps): the job goes on when the kernel lets it end\n",
                                name);
        worker->hangs = true;
}

static void check_container(Invoker *invoker, Container *c, uint64_t now) {
        if (!c->worker.busy)
                return;
        if (now < c->worker.deadline_nsec && !c->worker.muted) {
                loop_want_timer(&invoker->loop, c->worker.deadline_nsec);
                return;
        }
        /* An answer counts even if the invoker notices it late. */
        if (!container_event(invoker, c, false))
                storm_looked(&invoker->loop, &invoker->reporter, &c->worker, c);
        if (!c->worker.busy)
                return;
        if (now < c->worker.deadline_nsec) {
                loop_want_timer(&invoker->loop, c->worker.deadline_nsec);
                return;
        }
        if (learner_excuses(&invoker->learners, &c->worker, now))
                return;
        c->worker.late = true;
        pool_end(c, FAULT_NONE, 0);
        check_killed(invoker, &c->worker, container_number(&invoker->place, c), now);
}

static void check_learner(Invoker *invoker, uint32_t k, uint64_t now) {
        Worker *learner = &invoker->learners.workers[k];

        if (k == 0)
                learner_look(&invoker->learners, now);
        if (learner->busy && (now >= learner->deadline_nsec || learner->muted) &&
                        !learner_event(invoker, k, false))
                storm_looked(&invoker->loop, &invoker->reporter, learner, NULL);
        if (!learner->busy)
                return;
        if (now < learner->deadline_nsec) {
                loop_want_timer(&invoker->loop, learner->deadline_nsec);
                return;
        }
        learner->late = true;
        worker_kill(learner);
        check_killed(invoker, learner, ACTOR_LEARNER, now);
}

/* When this invoker ends if no daemon connects. UINT64_MAX: a daemon is connected, or the invoker waits for
 * one without limit. */
static uint64_t alone_until(const Invoker *invoker) {
        const Launch *launch = &invoker->place.invoked->launch;
        uint64_t most_nsec, until;

        if (launch->exit_with_daemon || launch->alone_usec == 0 || invoker->link.fd >= 0 ||
                        __builtin_mul_overflow(launch->alone_usec, 1000u, &most_nsec) ||
                        __builtin_add_overflow(invoker->alone_nsec, most_nsec, &until))
                return UINT64_MAX;
        return until;
}

/* A job without a daemon keeps its memory and its records for a daemon that may come back, but not for ever.
 * If the job gives up, a later daemon starts it again, and the work after the last checkpoint is
 * repeated. */
static void check_alone(Invoker *invoker) {
        uint64_t until = alone_until(invoker);

        if (clock_boottime() < until) {
                loop_want_timer(&invoker->loop, until);
                return;
        }
        fputs("actord-invoker: no daemon has come back within OrphanTimeoutSec= of actord.conf, so the "
              "job's processes end\n",
                        stderr);
        finish_kill(invoker);
}

static void check_end(Invoker *invoker, uint64_t now) {
        const Plan *plan = &invoker->link.plan;
        uint64_t until;

        if (invoker->progress.phase == PHASE_ENDED) {
                /* A connected daemon may take long to acknowledge, since it may wait for disk space. If the
                 * daemon ends, its connection ends. */
                until = invoker->link.fd < 0 && invoker->place.invoked->launch.exit_with_daemon
                                        ? invoker->progress.ending.nsec + END_MISSED_NSEC
                                        : UINT64_MAX;
                if (invoker->reporter.spool.acknowledged == invoker->reporter.spool.written || now >= until)
                        invoker->stop = true;
                else
                        loop_want_timer(&invoker->loop, until);
                return;
        }

        if (invoker->place.invoked->launch.exit_with_daemon && !invoker->link.was_connected) {
                if (now >= invoker->alone_nsec + FIRST_CONNECTION_NSEC)
                        finish_kill(invoker);
                else
                        loop_want_timer(&invoker->loop, invoker->alone_nsec + FIRST_CONNECTION_NSEC);
        }

        if (!invoker->link.has_plan || plan->end == PLAN_END_NOT || plan->stop_deadline_nsec == 0 ||
                        invoker->progress.phase == PHASE_ENDING)
                return;
        if (now < plan->stop_deadline_nsec)
                loop_want_timer(&invoker->loop, plan->stop_deadline_nsec);
        else if (invoker->progress.phase == PHASE_ROLLING || invoker->progress.phase == PHASE_EVALUATING ||
                        invoker->progress.phase == PHASE_VERIFYING ||
                        (invoker->progress.phase == PHASE_IDLE && invoker->progress.evaluation.goes_on))
                finish_begin(invoker, plan->end, FAULT_NONE, 0, ACTOR_NONE);
}

/* A deadline counts only time in which a worker could work. If the invoker was stopped, or the host slept,
 * all deadlines begin again. */
static void forgive_absence(Invoker *invoker, uint64_t due_nsec, uint64_t now) {
        uint64_t suspended_nsec = clock_suspended();
        bool slept = suspended_nsec - invoker->suspended_nsec >= ABSENT_NSEC;

        invoker->suspended_nsec = suspended_nsec;
        if (!slept && now - due_nsec < ABSENT_NSEC)
                return;
        for (uint32_t k = 0; invoker->pool.containers && k < containers_all(&invoker->place); k++) {
                worker_forgive(&invoker->pool.containers[k].worker, now);
                slept_forget(&invoker->pool.containers[k].worker.slept);
        }
        for (uint32_t k = 0; k < invoker->place.n_learners; k++)
                worker_forgive(&invoker->learners.workers[k], now);
}

static void timer_event(Invoker *invoker) {
        uint64_t now = clock_boottime();

        forgive_absence(invoker, loop_timer_rang(&invoker->loop), now);
        for (uint32_t k = 0; invoker->pool.containers && k < containers_all(&invoker->place); k++)
                check_container(invoker, &invoker->pool.containers[k], now);
        for (uint32_t k = 0; k < invoker->place.n_learners; k++)
                check_learner(invoker, k, now);
}

static void dispatch(Invoker *invoker, const Event *event) {
        NodeNews news;

        if (event->kind != EVENT_BELL && event->kind != EVENT_TIMER && event->kind != EVENT_ALARM)
                storm_over(&invoker->reporter);
        switch ((EventKind) event->kind) {
        case EVENT_BELL: bell_event(invoker, event->index); break;
        case EVENT_PROCESS: process_event(invoker, event->index); break;
        case EVENT_SIGNAL: finish_kill(invoker); break;
        case EVENT_TIMER: timer_event(invoker); break;
        case EVENT_ALARM: break;
        case EVENT_LISTEN: listen_event(invoker); break;
        case EVENT_LINK: link_event(invoker); break;
        case EVENT_CLUSTER:
                if (nodes_hear_cluster(&invoker->nodes, &news) > 0)
                        cluster_news(invoker, &news);
                break;
        case EVENT_CARRIER:
                if (nodes_hear_carrier(&invoker->nodes, event->index, &news) > 0)
                        cluster_news(invoker, &news);
                break;
        }
}

/* The reason for which the invoker sleeps (Profile=yes). */
static ProfileSleep sleeps_for(const Invoker *invoker) {
        if (learners_busy(&invoker->learners))
                return profile_sleep_of(invoker->learners.workers[0].order.kind);
        for (uint32_t k = 0; k < invoker->place.n_containers; k++)
                if (invoker->pool.containers[k].doing == ORDER_ROLLOUT)
                        return SLEEP_ROLLOUT;
        return SLEEP_OTHER;
}

/* When to begin to spin for the answer of a process that acts and learns, if there is a second core. */
static uint64_t spins_from(const Invoker *invoker, uint64_t now_nsec) {
        const Worker *learner = &invoker->learners.workers[0];

        if (!invoker->place.run_acting || !learner->busy || invoker->place.n_cpus < 2)
                return SPIN_NEVER;
        return spin_begin_nsec(&invoker->spin, learner->order.kind, learner->ordered_nsec, now_nsec);
}

static int wait_for_event(Invoker *invoker) {
        uint64_t now_nsec = clock_boottime(), due_nsec = spins_from(invoker, now_nsec);
        Worker *learner = &invoker->learners.workers[0];
        bool answered = false;

        if (due_nsec <= now_nsec) {
                answered = worker_spin(learner, SPIN_NSEC);
                spin_ended(&invoker->spin, learner->ordered_nsec, answered);
        } else if (due_nsec != SPIN_NEVER)
                loop_alarm(&invoker->loop, due_nsec);
        return answered ? loop_ring(&invoker->loop, ACTOR_LEARNER) : loop_wait(&invoker->loop);
}

static int sleep_until_event(Invoker *invoker) {
        ProfileSleep sleep;
        int r;

        if (!invoker->profile.on)
                return wait_for_event(invoker);

        sleep = sleeps_for(invoker);
        profile_fall_asleep(&invoker->profile);
        r = wait_for_event(invoker);
        profile_wake(&invoker->profile, sleep);
        return r;
}

/* Whether the daemon's last plan allows rounds after the one in progress (a plan is a lease of rounds). Then
 * the daemon has nothing to decide, so it need not be woken. */
static bool has_leased(const Invoker *invoker) {
        const Plan *plan = &invoker->link.plan;

        return invoker->link.has_plan && plan->end == PLAN_END_NOT && !invoker->link.asked &&
               invoker->progress.phase < PHASE_ENDING &&
               plan->through_round > saturating_add(invoker->progress.number, 1);
}

/* Tells the daemon that there are new records. Each message wakes the daemon, which then commits. Rounds may
 * last 100 us, so while the daemon's plan has more rounds, one message announces the records of several
 * rounds. */
static void tell(Invoker *invoker) {
        const Spool *spool = &invoker->reporter.spool;
        uint64_t due_nsec = invoker->link.told_nsec + TELL_NSEC;

        if (!has_leased(invoker) || spool->written - invoker->link.told > SPOOL_RECORDS / 4 ||
                        clock_boottime() >= due_nsec)
                link_tell(&invoker->link, spool, learners_busy(&invoker->learners));
        else if (spool->written > invoker->link.told)
                loop_want_timer(&invoker->loop, due_nsec);
}

/* The spool is full: only the daemon and signals are heard. Other events are served afterwards. */
static void wait_for_room(Invoker *invoker) {
        struct pollfd fds[] = {
                { .fd = invoker->signal_fd, .events = POLLIN },
                { .fd = invoker->link.listen_fd, .events = POLLIN },
                { .fd = invoker->link.fd, .events = POLLIN },
        };
        uint64_t begun_nsec = clock_boottime(), until = alone_until(invoker);
        uint64_t msec = until > begun_nsec ? (until - begun_nsec) / 1000000u + 1 : 0;
        int r;

        link_tell(&invoker->link, &invoker->reporter.spool, learners_busy(&invoker->learners));
        profile_fall_asleep(&invoker->profile);
        r = poll(fds, ELEMENTSOF(fds), msec > INT32_MAX ? -1 : (int) msec);
        profile_wake(&invoker->profile, SLEEP_OTHER);
        if (r < 0)
                return;
        if (fds[0].revents)
                finish_kill(invoker);
        else if (fds[1].revents)
                listen_event(invoker);
        else if (fds[2].revents)
                link_event(invoker);
        invoker->reporter.ourselves.waited_nsec += clock_boottime() - begun_nsec;
        check_alone(invoker);
}

int invoker_run(Invoker *invoker) {
        Event event;
        int r;

        /* Only from here on is a connection accepted. */
        invoker->alone_nsec = clock_boottime();
        prepare_begin(invoker);
        invoker->profile.on = training(invoker) && invoker->place.settings->profile;
        if (invoker->place.invoked->launch.exit_with_daemon)
                loop_want_timer(&invoker->loop, invoker->alone_nsec + FIRST_CONNECTION_NSEC);
        while (!invoker->stop) {
                if (spool_is_behind(&invoker->reporter.spool)) {
                        wait_for_room(invoker);
                        continue;
                }
                if (loop_next(&invoker->loop, &event)) {
                        dispatch(invoker, &event);
                        continue;
                }

                check_alone(invoker);
                check_end(invoker, clock_boottime());
                conduct_advance(invoker);
                tell(invoker);
                if (invoker->stop || spool_is_behind(&invoker->reporter.spool))
                        continue;
                r = sleep_until_event(invoker);
                if (r < 0)
                        return invoker_complain(r, "it cannot wait for its events");
        }
        return invoker->progress.phase == PHASE_ENDED ? 0 : -EINTR;
}

Invoker *invoker_free(Invoker *invoker) {
        if (invoker->pool.containers)
                pool_end_all(&invoker->pool);
        learner_end(&invoker->learners);
        fused_done(&invoker->learners);

        pool_done(&invoker->pool);
        for (uint32_t k = 0; k < LEARNERS_MAX; k++)
                worker_done(&invoker->learners.workers[k], &invoker->place.cgroup, true);
        for (uint32_t a = 0; invoker->place.segment_fds && a < invoker->place.n_actors; a++)
                (void) close_fd(invoker->place.segment_fds[a]);
        free(invoker->place.segment_fds);
        free(invoker->progress.round);
        free(invoker->progress.evaluation.returns);
        free(invoker->progress.evaluation.metrics);
        fork_free_sandboxes(&invoker->place);

        nodes_done(&invoker->nodes);
        link_done(&invoker->link);
        spool_done(&invoker->reporter.spool);
        meter_done(&invoker->reporter.control);
        ourselves_done(&invoker->reporter.ourselves);
        (void) close_fd(invoker->place.asks_fd);
        (void) close_fd(invoker->place.stop_fd);
        (void) close_fd(invoker->place.reduce_fd);
        (void) close_fd(invoker->place.proc_fd);
        (void) close_fd(invoker->signal_fd);
        loop_done(&invoker->loop);
        free(invoker);
        return NULL;
}
