/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The loop inside an actor's sandbox: wait for an order, carry it out, answer. An order's result depends
 * only on the order, the slots and the policy. So this process may be killed at any instruction, and another
 * one can repeat the order with the same result (unless the environment is sticky: actor/host.c). */
#include "actor/actor.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "actor/host.h"
#include "include/sandbox.h"
#include "lib/turn.h"

static void on_abort(int signal) {
        _exit(EXIT_ABORTED);
}

/* abort() raises SIGABRT. Process 1 of a PID namespace ignores SIGABRT by default, and then crashes by
 * another signal. Without this handler the record would name that other signal. */
static void abort_exits(void) {
        struct sigaction action = { .sa_handler = on_abort };

        (void) sigaction(SIGABRT, &action, NULL);
}

const ActordEnv *actor_acquire(const ActorContext *context) {
        const ActordEnv *env = context->env;

        abort_exits();
        if (!env && (!context->plugin_path || plugin_load(context->plugin_path, &env) < 0))
                _exit(EXIT_ENVIRONMENT_LOAD);
        if (environment_check(env) < 0)
                _exit(EXIT_ENVIRONMENT_LOAD);
        return env;
}

/* Makes the actor's Host (actor/host.c) when the first order needs it. A probe has no Host, since the sizes
 * of memory are not known before the first probe. */
static int host_acquire(const ActorContext *context, const ActordEnv *env, Host **host) {
        if (*host)
                return 0;
        if (!context->page)
                return -EINVAL;
        return host_new(context, env, host);
}

static void order_carry_out(const ActorContext *context, const ActordEnv *env, Host **host,
                const Order *order, Answer *ret) {
        int r;

        if (order->kind == ORDER_PROBE) {
                probe(context, env, ret);
                return;
        }

        r = host_acquire(context, env, host);
        if (r < 0)
                answer_fault(ret, FAULT_INTERNAL, -r);
        else if (order->kind == ORDER_ROLLOUT)
                (context->dataset_module ? offline_run : invocation_run)(*host, order, ret);
        else if (order->kind == ORDER_EVALUATE)
                evaluation_run(*host, order, ret);
        else
                answer_fault(ret, FAULT_INTERNAL, EOPNOTSUPP);
}

void actor_main(const ActorContext *context) {
        const ActordEnv *env;
        Host *host = NULL;

        assert(context);
        assert(context->settings);
        assert(context->worker);

        env = actor_acquire(context);

        for (;;) {
                Answer answer = { .fault = FAULT_NONE };
                Order order;

                turn_wait(&context->worker->turn, context->spin_nsec, &order);
                if (order.kind == ORDER_END)
                        break;

                order_carry_out(context, env, &host, &order, &answer);
                turn_reply(&context->worker->turn, &answer, context->bell_fd);
        }

        (void) host_free(host);
        _exit(0);
}
