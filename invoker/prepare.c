/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Prepares a job, from its environment's name to a learner that starts. This file makes all that a job needs
 * once, in the order in which the parts need each other. */
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "invoker/complain.h"
#include "invoker/invoker.h"
#include "lib/fd.h"
#include "lib/limits.h"
#include "lib/string-tables.h"

#define PAGE_BYTES 4096u

int prepare_level(Placement *place) {
        uint32_t choice = place->invoked->launch.sandbox;

        place->level = choice == SANDBOX_CHOICE_AUTO ? place->invoked->level : sandbox_choice_level(choice);
        if (place->level > place->invoked->level)
                return invoker_complain(-EPERM, "this host does not allow the level that Sandbox= demands");
        return 0;
}

/* An actor without a root directory of its own reaches the plugin through the plugin's descriptor. */
static const char *plugin_path(const Placement *place) {
        static_assert(INVOKER_FD_MOUNTS == 16, "path below");

        if (place->env)
                return NULL;
        return place->level >= SANDBOX_LEVEL_USERNS ? place->invoked->launch.mounts[0].at
                                                    : "/proc/self/fd/16";
}

int prepare_sandboxes(Placement *place) {
        int r;

        r = fork_make_sandboxes(place);
        if (r < 0 && !limit_is_momentary(r) && place->invoked->launch.sandbox == SANDBOX_CHOICE_AUTO &&
                        place->level > SANDBOX_LEVEL_PROCESS) {
                (void) invoker_complain(
                                r, "the full sandbox cannot be built here; actors run at level process");
                fork_free_sandboxes(place);
                place->level = SANDBOX_LEVEL_PROCESS;
                r = fork_make_sandboxes(place);
        }
        if (r < 0)
                return invoker_complain(r, "the sandbox cannot be built");
        place->plugin_path = plugin_path(place);
        /* A sandbox that could not be built may have left a directory for roots, which is empty. At level
         * process the learner needs the host's linker and libraries, and a plugin needs /proc. */
        return place->level >= SANDBOX_LEVEL_USERNS ? fork_leave_host() : 0;
}

int prepare_seal_policy(Invoker *invoker) {
        int r;

        r = memfd_seal_future_write(invoker->place.policy_fd);
        if (r < 0)
                return r;
        if (invoker->place.policy_read_fd < 0)
                invoker->place.policy_read_fd = invoker->place.policy_fd;
        return 0;
}

/* Opens a file again for reading only, so that no mapping of the new descriptor can become writable. */
static int reopen_for_reading(const Invoker *invoker, int fd) {
        char path[32];

        if (invoker->place.proc_fd < 0)
                return -EBADF;
        (void) snprintf(path, sizeof(path), "self/fd/%d", fd);
        fd = openat(invoker->place.proc_fd, path, O_RDONLY | O_CLOEXEC);
        return fd < 0 ? -EBADF : fd;
}

/* Makes room for the result of each episode of an evaluation. */
static int make_evaluation(Invoker *invoker) {
        uint64_t n = invoker->place.n_episodes, n_metrics = invoker->place.page->spec.n_metrics;
        Evaluation *e = &invoker->progress.evaluation;

        e->returns = calloc(n, sizeof(double));
        e->metrics = calloc(n, (n_metrics > 0 ? n_metrics : 1) * sizeof(double));
        return e->returns && e->metrics ? 0 : -ENOMEM;
}

static int make_memory(Invoker *invoker) {
        char name[32];
        int r = 0;

        invoker->place.policy_fd = memfd_make("actord-policy", invoker->place.page->policy.segment_bytes);
        if (invoker->place.policy_fd < 0)
                return invoker->place.policy_fd;
        invoker->place.policy_read_fd = reopen_for_reading(invoker, invoker->place.policy_fd);

        invoker->place.segment_fds = malloc(invoker->place.n_actors * sizeof(int));
        invoker->progress.round = malloc(sizeof(Round));
        if (invoker->place.n_episodes > 0)
                r = make_evaluation(invoker);
        if (!invoker->place.segment_fds || !invoker->progress.round || r < 0)
                return -ENOMEM;
        memset(invoker->place.segment_fds, 0xff, invoker->place.n_actors * sizeof(int)); /* -1: none yet */
        round_init(invoker->progress.round, invoker->place.n_actors, invoker->place.n_containers);

        for (uint32_t a = 0; a < invoker->place.n_actors; a++) {
                (void) snprintf(name, sizeof(name), "actord-segment-%u", a);
                invoker->place.segment_fds[a] = memfd_make(name, invoker->place.page->segment.segment_bytes);
                if (invoker->place.segment_fds[a] < 0)
                        return invoker->place.segment_fds[a];
                if (fcntl(invoker->place.segment_fds[a], F_ADD_SEALS, F_SEAL_SEAL) < 0)
                        return -errno;
        }
        return 0;
}

static int give_back(struct dl_phdr_info *object, size_t size, void *userdata) {
        for (unsigned k = 0; k < object->dlpi_phnum; k++) {
                const ElfW(Phdr) *part = &object->dlpi_phdr[k];
                uintptr_t first = object->dlpi_addr + part->p_vaddr, last = first + part->p_memsz;

                /* Lets the kernel drop pages of a mapped file. Writable parts are left out: their changes
                 * would be lost. */
                if (part->p_type != PT_LOAD || part->p_flags & PF_W)
                        continue;
                first = (first + PAGE_BYTES - 1) & ~(uintptr_t) (PAGE_BYTES - 1);
                last &= ~(uintptr_t) (PAGE_BYTES - 1);
                if (last > first)
                        (void) madvise((void *) first, last - first, MADV_DONTNEED);
        }
        return 0;
}

/* Most code ran only once, at the start. The kernel may drop its pages: if they are needed again, they come
 * back from the page cache, and until then this process is small. */
static void forget_the_start(void) {
        (void) malloc_trim(0);
        (void) dl_iterate_phdr(give_back, NULL);
}

static int prepare_pool(Pool *pool) {
        int r;

        r = pool_init(pool);
        return r < 0 ? r : pool_make_ask_bells(pool);
}

/* Does everything that needs no spec. *ret_fault: the fault with which the job ends if this fails. */
static int prepare_host(Invoker *invoker, uint32_t *ret_fault, int32_t *ret_detail) {
        int r;

        *ret_fault = FAULT_SANDBOX;
        *ret_detail = SANDBOX_STEP_namespaces;
        r = prepare_level(&invoker->place);
        if (r < 0)
                return r;
        r = probe_load(&invoker->place, ret_fault, ret_detail);
        if (r < 0)
                return r;
        r = probe_map_dataset(&invoker->place, ret_fault, ret_detail);
        if (r < 0)
                return r;
        r = place_fuses(&invoker->place) ? fused_load(&invoker->place) : 0;
        if (r < 0) {
                *ret_fault = FAULT_INTERNAL;
                *ret_detail = -r;
                return r;
        }

        r = prepare_sandboxes(&invoker->place);
        if (r < 0) {
                /* The daemon tries a life again if the host lacked memory for a moment. */
                *ret_fault = limit_is_momentary(r) ? FAULT_INTERNAL : FAULT_SANDBOX;
                *ret_detail = limit_is_momentary(r) ? -r : SANDBOX_STEP_root;
                return r;
        }

        *ret_fault = FAULT_INTERNAL;
        r = prepare_pool(&invoker->pool);
        *ret_detail = -r;
        return r;
}

/* asked: actor 0 was asked for the spec, so it is at fault unless the fault is internal. */
static void fail(Invoker *invoker, uint32_t fault, int32_t detail, bool asked) {
        finish_begin(invoker, PLAN_END_FAILED, fault, detail,
                        asked && fault != FAULT_INTERNAL ? 0 : ACTOR_NONE);
}

static int start_learner(Invoker *invoker, bool verifies) {
        int r;

        r = make_memory(invoker);
        if (r < 0)
                return r;
        return verifies ? 0 : learner_start(&invoker->learners);
}

/* Computes all sizes from the spec, and makes everything that a round needs. */
static void prepare_training(Invoker *invoker, const ActordEnvSpec *spec, bool asked) {
        bool verifies = invoker->place.invoked->launch.purpose == LAUNCH_VERIFY;
        uint32_t fault;
        int32_t detail;
        int r;

        if (probe_make_page(&invoker->place, spec, &fault, &detail) < 0) {
                fail(invoker, fault, detail, asked);
                return;
        }
        report_metrics(&invoker->reporter);
        r = start_learner(invoker, verifies);
        forget_the_start();
        if (r < 0) {
                fail(invoker, FAULT_INTERNAL, -r, asked);
                return;
        }
        invoker->progress.phase = verifies ? PHASE_VERIFYING : PHASE_STARTING;
        if (!verifies)
                learner_order(&invoker->learners, ORDER_RESTORE, ACTOR_NONE);
}

void prepare_begin(Invoker *invoker) {
        ActordEnvSpec spec = {};
        uint32_t fault;
        int32_t detail;
        bool foreign;
        int r;

        if (prepare_host(invoker, &fault, &detail) < 0) {
                fail(invoker, fault, detail, false);
                return;
        }
        report_started(&invoker->reporter);
        foreign = fork_runs_foreign_code(&invoker->place);
        /* Environments of actord's own are asked here. With a data set an actor is asked once more, since
         * only an actor may read the file. The first question must come before the fork: the answer may need
         * a model (MuJoCo), which the actor's sandbox could not load. */
        if (!foreign && probe_ask(&invoker->place, &spec, &fault, &detail) < 0)
                fail(invoker, fault, detail, false);
        else if (foreign || invoker->place.dataset) {
                invoker->progress.phase = PHASE_PROBING;
                r = pool_fork(&invoker->pool, &invoker->pool.containers[0]);
                if (r < 0)
                        fail(invoker, FAULT_INTERNAL, -r, true);
        } else
                prepare_training(invoker, &spec, false);
}

/* The process ends after its answer: a round begins in a new process, without traces of the probe. */
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

/* The fault is the actor's, also an internal one, which an actor may claim: an internal fault of no actor
 * would be this host's, and the daemon would begin further lives without end. */
static void probe_failed(Invoker *invoker, Container *c, uint32_t fault, int32_t detail) {
        report_worker(&invoker->reporter, &c->worker, c->index, pool_take(c), fault, detail);
        finish_begin(invoker, PLAN_END_FAILED, fault, detail, 0);
}

void prepare_answered(Invoker *invoker, Container *c, const Answer *answer) {
        ActordEnvSpec spec = c->worker.page->spec;
        Ended ended;

        if (end_probe(c, &ended) < 0)
                fail(invoker, FAULT_LOAD, ECHILD, true);
        else if (answer->fault != FAULT_NONE)
                probe_failed(invoker, c, answer_claim(answer), answer->detail);
        else
                /* The CPU time of the probe (the process that told the environment's spec) goes into the
                 * record of the next actor that starts. */
                prepare_training(invoker, &spec, true);
}

void prepare_ended(Invoker *invoker, Container *c, const Ended *ended) {
        bool from_outside = fault_is_kill(ended->fault, ended->detail);

        c->doing = ORDER_NONE;
        /* A kill from outside is not the environment's fault, so the probe is repeated. */
        if (from_outside && attempts_fail(&c->starts, 0, ended->fault, ended->detail)) {
                report_fault(&invoker->reporter, c->index, c->starts.n, ended->fault, ended->detail);
                if (pool_fork(&invoker->pool, c) >= 0)
                        return;
        }
        probe_failed(invoker, c, ended->fault, ended->detail);
}

void prepare_stop(Invoker *invoker) {
        Container *c = &invoker->pool.containers[0];
        Ended ended;

        if (end_probe(c, &ended) >= 0)
                report_worker(&invoker->reporter, &c->worker, c->index, pool_take(c), FAULT_NONE, 0);
        finish_begin(invoker, invoker->link.plan.end, FAULT_NONE, 0, ACTOR_NONE);
}
