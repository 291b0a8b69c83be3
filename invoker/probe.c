/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the job trains on. An administrator's environment loads here, before any fork; a user's is asked in a sandboxed actor, and what it
 * says of itself is believed as far as a check goes. From the spec follow all sizes, once. */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "include/record.h"
#include "invoker/invoker.h"
#include "lib/boottime.h"
#include "lib/cleanup.h"
#include "lib/environments.h"
#include "lib/fd.h"
#include "lib/slot.h"

static bool stop_wanted(const Invoker *i) {
        return i->stop || (i->link.has_plan && i->link.plan.end != PLAN_END_NOT);
}

/* Nothing else can be done before the spec is there, but a plugin that hangs must not make a stop wait for its deadline. */
static int wait_for_probe(Invoker *i, Container *c, Answer *ret) {
        int ended = 0;

        for (;;) {
                bool alone = i->invoked->launch.exit_with_daemon && !i->link.was_connected;
                uint64_t now = clock_boottime(), until = i->started_nsec + FIRST_CONNECTION_NSEC, rings;

                (void) !read(c->worker.bell_fd, &rings, sizeof(rings));
                if (worker_answered(&c->worker, ret))
                        return 0;
                if (ended < 0)
                        return ended;
                if (alone && now >= until)
                        finish_kill(i);
                if (stop_wanted(i))
                        return -EINTR;
                if (now >= c->worker.deadline_nsec)
                        return -ETIMEDOUT;

                if (!alone || until > c->worker.deadline_nsec)
                        until = c->worker.deadline_nsec;
                ended = invoker_wait_outside(i, &c->worker, until);
        }
}

static int end_probe(Container *c, Ended *ret) {
        int r;

        worker_kill(&c->worker);
        r = worker_reap(&c->worker, REAP_MSEC, ret);
        if (r < 0)
                return r;
        c->state = CONTAINER_ABSENT;
        c->doing = ORDER_NONE;
        c->spare_nsec += ret->cpu_nsec;
        return 0;
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
        c->worker.late = r == -ETIMEDOUT;
        if (end_probe(c, &ended) < 0)
                return -ECHILD;

        if (r == 0 && answer.fault == FAULT_NONE)
                return 0; /* what it used is in the record of the actor that starts next */
        if (r == 0) {
                ended.fault = answer_claim(&answer);
                ended.detail = answer.detail;
        } else if (r == -EINTR)
                ended.fault = FAULT_NONE;
        report_worker(i, &c->worker, c->index, pool_take(c), ended.fault,
                        ended.fault == FAULT_NONE ? 0 : ended.detail);
        if (r == -EINTR && !i->stop)
                finish_begin(i, i->link.plan.end, FAULT_NONE, 0, ACTOR_NONE);

        *ret_fault = ended.fault;
        *ret_detail = ended.detail;
        return r < 0 ? r : -EINVAL;
}

bool invoker_runs_foreign_code(const Invoker *i) {
        return !i->env || environment_is_foreign(i->settings->environment);
}

int probe_load(Invoker *i, uint32_t *ret_fault, int32_t *ret_detail) {
        int r = 0;

        if (!environment_is_file(i->settings->environment))
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
                *ret_detail = r == -EOPNOTSUPP ? SPEC_FIELD_VALUES
                              : r == -ENOSPC   ? SPEC_FIELD_STORE
                              : r == -EDOM     ? SPEC_FIELD_IMAGE
                              : r == -E2BIG    ? SPEC_FIELD_SIZE
                              : r == -EFBIG    ? SPEC_FIELD_BANKS
                                               : SPEC_FIELD_ACTION_KIND;
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
        if (!invoker_runs_foreign_code(i)) {
                r = i->env->spec(i->settings->options, i->settings->n_options, &spec);
                *ret_detail = -r;
        } else {
                i->asked = true;
                r = probe_plugin(i, &spec, ret_fault, ret_detail);
        }
        if (r < 0)
                return r;

        return make_page(i, &spec, ret_fault, ret_detail);
}
