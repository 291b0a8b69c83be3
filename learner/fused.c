/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* fused.so: the learner's process if it also acts (Distribution.Policy=fused). It takes a learner's orders,
 * and also ROLLOUT for all actors that the page names. Each actor belongs to one thread. The thread steps
 * the actor's environments and acts for it exactly as a separate process would. Then the learner takes the
 * rollout, with the same checks. An order may also ask for the update, which saves a wake-up on each side.
 * The usage of an invocation is the CPU time of its thread. The invoker accepts this figure only up to its
 * own measurement of the process or, if possible, of the thread. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actor/host.h"
#include "learner/learner.h"
#include "learner/threads.h"
#include "lib/cleanup.h"
#include "lib/spent.h"
#include "lib/turn.h"

enum { SPIN_NSEC = 50000 };

typedef struct Acting {
        WorkerPage *worker;
        LearnerContext learner_context;
        Learner *learner;
        ActorContext actor_context;
        Threads *threads; /* shared with the learner, which never learns while it acts */
        uint32_t n_hosts;
        Host **hosts;  /* one for each thread */
        Spent *spents; /* [threads] */
        const Order *order;
} Acting;

static void acting_done(Acting *x) {
        for (uint32_t k = 0; x->hosts && k < x->n_hosts; k++)
                (void) host_free(x->hosts[k]);
        free(x->hosts);
        free(x->spents);
        x->learner = learner_free(x->learner);
}

static int acting_init(const FusedStart *start, Acting *x) {
        int r;

        x->worker = start->worker;
        x->learner_context = (LearnerContext){
                .settings = start->settings,
                .page = start->page,
                .worker = start->worker,
                .policy = start->policy,
                .segments = start->segments,
                .state_fd = start->state_fd,
                .checkpoint_fd = start->checkpoint_fd,
        };
        r = learner_new(&x->learner_context, &x->learner);
        if (r < 0)
                return r;

        assert(x->learner);
        x->threads = x->learner->runtime->threads;
        x->n_hosts = threads_count(x->threads);
        /* The invoker meters each thread, and knows them by the order in which they began. */
        if (settings_actors_max(start->settings) > 1)
                threads_stay(x->threads);
        /* Threads take the place of containers: actor a lives in thread a modulo their number. */
        x->actor_context = (ActorContext){
                .settings = start->settings,
                .page = start->page,
                .worker = start->worker,
                .env = start->env,
                .n_containers = x->n_hosts,
                .segments = start->segments,
                .policy = start->policy,
                .bell_fd = -EBADF,
                .ask_fd = -EBADF,
        };
        x->hosts = calloc(x->n_hosts, sizeof(Host *));
        x->spents = calloc(x->n_hosts, sizeof(Spent));
        if (!x->hosts || !x->spents)
                return -ENOMEM;
        for (uint32_t k = 0; k < x->n_hosts && r >= 0; k++)
                r = host_new(&x->actor_context, start->env, &x->hosts[k]);
        return r;
}

static bool is_asked_for(const Acting *x, uint32_t actor) {
        return x->worker->ordinals[actor] != ORDINAL_NONE;
}

static Order order_of(const Acting *x, uint32_t kind, uint32_t actor) {
        Order order = *x->order;

        order.kind = kind;
        order.actor = actor;
        order.ordinal = x->worker->ordinals[actor];
        order.snapshot_bank = x->worker->banks[actor];
        return order;
}

static void act(void *arg, uint32_t task, uint32_t thread) {
        Acting *x = arg;

        for (uint32_t a = task; a < x->order->n_actors; a += x->n_hosts) {
                const Order order = order_of(x, ORDER_ROLLOUT, a);
                uint64_t start_nsec = thread_cpu_nsec();
                Answer answer = {};

                if (!is_asked_for(x, a))
                        continue;
                invocation_run(x->hosts[thread], &order, &answer);
                spent_add(&x->spents[thread], &answer.spent);
                x->worker->acted[a] = (Acted){
                        .cpu_nsec = thread_cpu_nsec() - start_nsec,
                        .fault = answer.fault,
                        .detail = answer.detail,
                };
        }
}

/* The threads that have an actor in this round; no other thread is woken. */
static uint32_t n_acting(const Acting *x) {
        return x->order->n_actors < x->n_hosts ? x->order->n_actors : x->n_hosts;
}

/* Adds up where the threads' time went, and takes the mean, since threads act at the same time. Adds the
 * time of taking rollouts. */
static void spents_sum_up(const Acting *x, uint64_t taken_nsec, Spent *ret) {
        uint32_t n = n_acting(x);
        Spent sum = {};

        for (uint32_t k = 0; k < n; k++)
                spent_add(&sum, &x->spents[k]);
        for (uint32_t i = 0; i < _PROFILE_PART_MAX && n > 0; i++)
                sum.nsec[i] /= n;
        sum.nsec[PROFILE_validation] += taken_nsec;
        *ret = sum;
}

/* Takes the rollouts of all actors that had to act. Returns whether none of them failed. */
static bool take_all(const Acting *x) {
        bool all = true;

        for (uint32_t a = 0; a < x->order->n_actors; a++) {
                const Order take = order_of(x, ORDER_TAKE, a);
                Acted *acted = &x->worker->acted[a];
                Answer answer;

                if (!is_asked_for(x, a))
                        continue;
                if (acted->fault == FAULT_NONE) {
                        learner_obey(x->learner, &take, &answer);
                        acted->fault = answer.fault;
                        acted->detail = answer.detail;
                }
                all = all && acted->fault == FAULT_NONE;
        }
        return all;
}

/* Notes when the learner begins to learn from the round; until then its state has not changed. False: the
 * invoker has forbidden to learn. */
static bool begin_learning(Acting *x) {
        uint64_t none = 0;

        return atomic_compare_exchange_strong(&x->worker->learning_nsec, &none, clock_boottime());
}

static void learn(Acting *x, Answer *ret) {
        Order order = *x->order;

        order.kind = ORDER_LEARN;
        order.ordinal = x->order->round - 1;
        order.policy_bank = x->order->next_bank;
        learner_obey(x->learner, &order, ret);
        ret->learned = 1;
}

static void obey_rollout(Acting *x, const Order *order, Answer *ret) {
        bool profile = x->learner_context.settings->profile, all;
        uint64_t begun_nsec = profile ? clock_boottime() : 0, rolled_nsec;
        Spent spent = {};

        *ret = (Answer){};
        if (order->n_actors > settings_actors_max(x->learner_context.settings)) {
                ret->fault = FAULT_INTERNAL;
                ret->detail = ENXIO;
                return;
        }

        x->order = order;
        memset(x->spents, 0, x->n_hosts * sizeof(Spent));
        threads_deal(x->threads, act, x, n_acting(x));
        rolled_nsec = profile ? clock_boottime() : 0;
        all = take_all(x);
        if (profile)
                spents_sum_up(x, clock_boottime() - rolled_nsec, &spent);
        if (order->learns && all && begin_learning(x))
                learn(x, ret);
        if (!profile)
                return;
        spent_add(&ret->spent, &spent);
        ret->spent.busy_nsec = clock_boottime() - begun_nsec;
}

static int acting_run(const FusedStart *start, Acting *x) {
        int r;

        r = acting_init(start, x);
        if (r < 0) {
                (void) fprintf(stderr,
                                "actord-learner: the memory of this job's actors, batch and network "
                                "cannot be set up: %s\n",
                                strerror(-r));
                return r;
        }

        for (;;) {
                Answer answer;
                Order order;

                turn_wait(&x->worker->turn, SPIN_NSEC, &order);
                if (order.kind == ORDER_END)
                        return 0;
                if (order.kind == ORDER_ROLLOUT)
                        obey_rollout(x, &order, &answer);
                else
                        learner_obey(x->learner, &order, &answer);
                turn_reply(&x->worker->turn, &answer, start->bell_fd);
        }
}

__attribute__((visibility("default"))) int actord_fused_run(const FusedStart *start);

/* The module's only entry point. */
int actord_fused_run(const FusedStart *start) {
        Acting x = {};
        int r;

        assert(start && start->settings && start->page && start->worker && start->env);

        r = acting_run(start, &x);
        acting_done(&x);
        return r;
}
