/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the job trains on. An administrator's environment loads here, before any fork; a user's is asked in a sandboxed actor, and what it
 * says of itself is believed as far as a check goes. From the spec follow all sizes, once. */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "include/record.h"
#include "invoker/invoker.h"
#include "lib/cleanup.h"
#include "lib/fd.h"
#include "lib/slot.h"

/* The only wait outside the loop: nothing else can be done before the spec is there. A daemon that connects waits a moment. */
static int wait_for_probe(Invoker *i, Container *c, Answer *ret) {
        struct pollfd fds[] = {
                { .fd = c->worker.bell_fd, .events = POLLIN },
                { .fd = c->worker.pid_fd, .events = POLLIN },
                { .fd = i->signal_fd, .events = POLLIN },
        };

        for (;;) {
                uint64_t now = clock_boottime(), rings;

                (void) !read(c->worker.bell_fd, &rings, sizeof(rings));
                if (worker_answered(&c->worker, ret))
                        return 0;
                if (fds[1].revents || fds[2].revents)
                        return fds[2].revents ? -EINTR : -ECHILD;
                if (now >= c->worker.deadline_nsec)
                        return -ETIMEDOUT;

                now = (c->worker.deadline_nsec - now) / 1000000u + 1;
                if (poll(fds, ELEMENTSOF(fds), now > INT32_MAX ? INT32_MAX : (int) now) < 0 &&
                                errno != EINTR)
                        return -errno;
        }
}

static int probe_plugin(Invoker *i, ActordEnvSpec *ret, uint32_t *ret_fault, int32_t *ret_detail) {
        Container *c = &i->containers[0];
        Answer answer;
        Ended ended;
        int r;

        r = pool_fork(i, c);
        if (r < 0) {
                *ret_fault = FAULT_INTERNAL;
                *ret_detail = -r;
                return r;
        }

        r = wait_for_probe(i, c, &answer);
        if (r == 0)
                *ret = c->worker.page->spec;
        if (r == -ETIMEDOUT)
                c->worker.late = true;
        worker_kill(&c->worker);
        if (worker_reap(&c->worker, REAP_MSEC, &ended) < 0)
                return -ECHILD;
        c->state = CONTAINER_ABSENT;
        c->doing = ORDER_NONE;
        c->spare_nsec += ended.cpu_nsec;

        if (r < 0) {
                *ret_fault = ended.fault;
                *ret_detail = ended.detail;
                return r;
        }
        if (answer.fault != FAULT_NONE) {
                *ret_fault = answer_claim(&answer);
                *ret_detail = answer.detail;
                return -EINVAL;
        }
        return 0;
}

int probe_load(Invoker *i, uint32_t *ret_fault, int32_t *ret_detail) {
        int r = 0;

        if (!strchr(i->settings->environment, '/'))
                r = pool_load_environment(i);
        else if (i->invoked->launch.n_mounts == 0)
                r = -ENOENT;

        *ret_fault = FAULT_LOAD;
        *ret_detail = -r;
        return r;
}

static int make_page(Invoker *i, const ActordEnvSpec *spec, uint32_t *ret_fault, int32_t *ret_detail) {
        static JobPage page;
        void *map;
        int r, field;

        *ret_fault = FAULT_SPEC;
        r = spec_check(spec, &field);
        if (r < 0) {
                *ret_detail = field;
                return r;
        }
        r = job_page_make(i->settings, spec, &page);
        if (r < 0) {
                *ret_detail = SPEC_FIELD_ACTION_KIND;
                return r;
        }

        *ret_fault = FAULT_INTERNAL;
        i->page_fd = memfd_make_sealed("actord-job-page", &page, sizeof(page));
        r = i->page_fd < 0 ? i->page_fd : fd_map(i->page_fd, sizeof(page), false, &map);
        if (r < 0) {
                *ret_detail = -r;
                return r;
        }
        i->page = map;
        return 0;
}

int probe_environment(Invoker *i, uint32_t *ret_fault, int32_t *ret_detail) {
        ActordEnvSpec spec = {};
        int r;

        /* Without a root of its own an actor reaches the plugin through the descriptor that the job brought. */
        static_assert(INVOKER_FD_MOUNTS == 16, "path below");
        if (!i->env)
                i->plugin_path = i->level >= SANDBOX_LEVEL_USERNS ? i->invoked->launch.mounts[0].at
                                                                  : "/proc/self/fd/16";

        *ret_fault = FAULT_LOAD;
        if (i->env) {
                r = i->env->spec(i->settings->options, i->settings->n_options, &spec);
                *ret_detail = -r;
        } else
                r = probe_plugin(i, &spec, ret_fault, ret_detail);
        if (r < 0)
                return r;

        return make_page(i, &spec, ret_fault, ret_detail);
}
