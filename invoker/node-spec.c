/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "invoker/node-spec.h"

#include <errno.h>
#include <poll.h>

#include "invoker/fork.h"
#include "lib/boottime.h"
#include "lib/cleanup.h"

enum { LOOK_MSEC = 20 };

/* The actor's eventfd is ignored: a hostile actor may signal it without end. */
static int await_answer(const Worker *worker, int signal_fd, Answer *ret) {
        struct pollfd p[] = { { .fd = signal_fd, .events = POLLIN },
                { .fd = INVOKER_FD_SOCKET, .events = POLLRDHUP },
                { .fd = worker->pid_fd, .events = POLLIN } };

        while (!worker_answered(worker, ret)) {
                if (clock_boottime() > worker->deadline_nsec)
                        return -ETIMEDOUT;
                if (poll(p, ELEMENTSOF(p), LOOK_MSEC) < 0 && errno != EINTR)
                        return -errno;
                if (p[0].revents || p[1].revents)
                        return -ECANCELED;
                if (p[2].revents)
                        return worker_answered(worker, ret) ? 0 : -ECHILD;
        }
        return 0;
}

int node_spec_ask(const Placement *place, int signal_fd, Container *c, ActordEnvSpec *ret,
                const char **words) {
        const Order order = { .kind = ORDER_PROBE };
        Answer answer = {};
        Ended ended;
        int r, reaped;

        *words = "the node cannot start an actor";
        r = (int) fork_actor(place, c);
        if (r < 0)
                return r;
        worker_order(&c->worker, &order, timeout_nsec(place));
        r = await_answer(&c->worker, signal_fd, &answer);
        *ret = c->worker.page->spec;
        worker_kill(&c->worker);
        *words = "an actor on the node does not end";
        reaped = worker_reap(&c->worker, REAP_MSEC, &ended);
        if (reaped < 0)
                return reaped;
        c->spare_nsec += ended.cpu_nsec;
        *words = "the environment takes longer to load there than TimeoutSec= allows";
        if (r == -ETIMEDOUT || r == -ECANCELED)
                return r;
        *words = "the environment does not load there: are all libraries that it needs on the node (ldd)?";
        return r < 0 || answer.fault != FAULT_NONE ? -ENOEXEC : 0;
}
