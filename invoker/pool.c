/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Containers: processes that host actors, made when a round first needs them, frozen while none does, ended when lib/warm.h keeps them no longer. An
 * actor is forked from this process without exec, so that what an administrator installed is loaded once. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "actor/actor.h"
#include "include/turn.h"
#include "invoker/address.h"
#include "invoker/invoker.h"
#include "lib/boottime.h"
#include "lib/cleanup.h"
#include "lib/environments.h"
#include "lib/fd.h"
#include "sandbox/sandbox.h"

/* What a child needs of ours is filled before the fork: after it, it has a stack and these. */
static void *child_segments[ACTORS_MAX];
static ActorContext child_context;

/* A mapping of its own for a module that keeps the pointer, since children give up the invoker's. It
 * lasts as long as the module. NULL: it cannot be made. */
static const JobSettings *map_for_module(const Invoker *i) {
        void *map;

        if (fd_map(INVOKER_FD_SETTINGS, (i->inner ? 2 : 1) * sizeof(JobSettings), false, &map) < 0)
                return NULL;
        return map;
}

static bool module_keeps_settings(const Invoker *i) {
        const char *name = i->settings->environment;

        return i->inner || environment_loads_packages(name) || environment_is_mjcf(name);
}

int pool_load_environment(Invoker *i) {
        const JobSettings *settings = module_keeps_settings(i) ? map_for_module(i) : i->settings;
        const char *directory = i->invoked->directory;

        if (!settings)
                return -ENOMEM;
        if (i->inner) {
                /* It learns, too: with the kernels that the inner job's own learner would have. */
                if (putenv((char *) learner_kernel_class(i->inner)) != 0)
                        return -errno;
                return environment_load_job(settings + 1, directory, &i->env);
        }
        if (environment_loads_packages(settings->environment))
                return environment_load_packages(
                                settings, directory, settings->python[0] ? INVOKER_FD_MOUNTS : -1, &i->env);
        if (environment_is_mjcf(settings->environment))
                return environment_load_mjcf(settings, directory, INVOKER_FD_MOUNTS, &i->env);
        return environment_load_for(settings, directory, &i->env);
}

int pool_make_sandboxes(Invoker *i) {
        const Launch *l = &i->invoked->launch;
        SandboxSpec spec = {
                .kind = SANDBOX_ACTOR,
                .level = i->level,
                .n_uids = l->n_uids,
                .settings = i->settings,
                .mounts = l->mounts,
                .n_mounts = l->n_mounts,
                .libraries = invoker_runs_foreign_code(i),
                .interpreter = environment_is_gym(i->settings->environment),
                .memory_max_bytes = i->settings->memory_max_bytes,
                .memory_limited = i->cgroup.controllers & CONTROLLER_MEMORY,
                .fd_floor = LEARNER_FD_SEGMENTS + (int) i->n_actors,
                .executable_fd = -EBADF,
                .state_fd = -EBADF,
        };
        uint32_t missing;
        int r;

        r = sandbox_new(&spec, &i->actor_sandbox, &missing);
        if (r < 0)
                return r;
        i->missing |= missing;

        spec.kind = SANDBOX_LEARNER;
        spec.memory_max_bytes = learner_memory_bytes(i);
        spec.n_mounts = 0;
        spec.libraries = true;
        spec.executable_fd = INVOKER_FD_LEARNER;
        spec.state_fd = INVOKER_FD_STATE;
        r = sandbox_new(&spec, &i->learner_sandbox, &missing);
        if (r < 0)
                return r;
        i->missing |= missing;
        return 0;
}

void pool_free_sandboxes(Invoker *i) {
        i->actor_sandbox = sandbox_free(i->actor_sandbox);
        i->learner_sandbox = sandbox_free(i->learner_sandbox);
}

int pool_confine_ourselves(void) {
        return sandbox_confine_parent();
}

int pool_leave_host(void) {
        return sandbox_leave_host();
}

pid_t pool_fork_learner(Invoker *i, Worker *learner) {
        return worker_fork(learner, sandbox_clone_flags(i->learner_sandbox), i->proc_fd);
}

void pool_confine_learner(const Invoker *i, const Worker *learner, const int *keep_fds, size_t n_keep_fds,
                uint64_t mapped_bytes) {
        const SandboxEntry entry = {
                .uid = learner == &i->learner ? LEARNER_UID
                                              : LEARNER_UID - 1 - (uint32_t) (learner - i->replicas),
                .keep_fds = keep_fds,
                .n_keep_fds = n_keep_fds,
                .cgroup_fd = worker_leaf_to_enter(learner),
                .mapped_bytes = mapped_bytes,
                .name = "actord-learner",
                .verdict = learner->verdict,
        };

        sandbox_enter(i->learner_sandbox, &entry);
}

int pool_init(Invoker *i) {
        i->containers = calloc(containers_all(i), sizeof(Container));
        if (!i->containers)
                return -ENOMEM;

        for (uint32_t k = 0; k < containers_all(i); k++) {
                Container *c = &i->containers[k];

                c->worker = (Worker) WORKER_EMPTY;
                c->ask_fd = -EBADF;
                c->scope = (Cgroup){ .fd = -EBADF };
                c->index = k;
                c->unread = ACTOR_NONE;
        }
        return 0;
}

static const Cgroup *container_cgroup(const Invoker *i, const Container *c) {
        return c->scope.fd >= 0 ? &c->scope : &i->cgroup;
}

void pool_done(Invoker *i) {
        for (uint32_t k = 0; i->containers && k < containers_all(i); k++) {
                Container *c = &i->containers[k];

                worker_done(&c->worker, container_cgroup(i, c), true);
                c->ask_fd = close_fd(c->ask_fd);
                c->scope.fd = close_fd(c->scope.fd);
        }
        free(i->containers);
        i->containers = NULL;
}

static int container_acquire(Invoker *i, Container *c) {
        const JobSettings *s = i->settings;
        const LeafLimits limits = {
                .memory_bytes = s->memory_max_bytes,
                .n_tasks = s->tasks_max,
                .cpu_permille = settings_present(s, SETTING_Actor_CPUQuota) ? s->cpu_quota_permille : 0,
                .cpus = &s->allowed_cpus,
        };
        char name[32], scope[sizeof(i->invoked->scope_prefix) + 32];
        int r;

        if (c->has_worker)
                return 0;

        if (c->index < i->invoked->launch.scope_each && c->scope.fd < 0) {
                (void) snprintf(scope, sizeof(scope), ACTOR_SCOPE_NAME, i->invoked->scope_prefix, c->index);
                r = cgroup_enter_scope(INVOKER_FD_SLICE, scope, &c->scope);
                if (r < 0)
                        return invoker_complain(r, "an actor's own scope cannot be used");
        }

        (void) snprintf(name, sizeof(name), c->index < i->n_containers ? "actor-%u" : "evaluation-%u",
                        container_number(i, c));
        r = worker_init(name, container_cgroup(i, c), &limits, &c->worker);
        if (r < 0)
                return r;
        r = invoker_watch(i, &c->worker, c->index);
        if (r >= 0)
                r = learner_watch_bell(i, c);
        if (r < 0) {
                worker_done(&c->worker, container_cgroup(i, c), true);
                return r;
        }
        c->has_worker = true;
        return 0;
}

/* The stretch that a container's page and segments fit into; 0: they are too large, or there is no such
 * place, and then a futex may be anywhere. */
static uint64_t reserve_words(const Invoker *i, const Container *c) {
        uint64_t bytes = sizeof(WorkerPage), n = i->n_actors / i->n_containers + 1;

        if (i->page && __builtin_mul_overflow(n, i->page->segment.segment_bytes, &bytes))
                return 0;
        return bytes < SANDBOX_WORDS_BYTES / 4 && sandbox_has_high_addresses() ? address_reserve() : 0;
}

/* Only the segments of the actors that live here: a descriptor or mapping of another would be a way to it. */
static int child_map_segments(const Invoker *i, const Container *c, uint64_t *at, uint64_t *bytes) {
        /* No actor lives with those that evaluate. */
        for (uint32_t a = c->index < i->n_containers ? c->index : i->n_actors; a < i->n_actors;
                        a += i->n_containers) {
                child_segments[a] = address_map(i->segment_fds[a], i->page->segment.segment_bytes,
                                PROT_READ | PROT_WRITE, at);
                if (child_segments[a] == MAP_FAILED)
                        return -errno;
                *bytes += i->page->segment.segment_bytes;
        }
        return 0;
}

/* What is only read. The invoker's own mappings of the same are given up; an environment that keeps a
 * pointer to its settings was given others. */
static int child_map_contracts(const Invoker *i, ActorContext *x, uint64_t *bytes) {
        const void *settings = address_map(INVOKER_FD_SETTINGS, sizeof(JobSettings), PROT_READ, NULL), *page,
                   *policy;

        if (settings == MAP_FAILED)
                return -errno;
        x->settings = settings;
        *bytes += sizeof(JobSettings);
        if (!i->page)
                return 0;

        page = address_map(i->page_fd, sizeof(JobPage), PROT_READ, NULL);
        if (page == MAP_FAILED)
                return -errno;
        policy = address_map(i->policy_read_fd, i->page->policy.segment_bytes, PROT_READ, NULL);
        if (policy == MAP_FAILED)
                return -errno;
        x->page = page;
        x->policy = policy;
        *bytes += sizeof(JobPage) + i->page->policy.segment_bytes;
        return 0;
}

static int child_map(const Invoker *i, const Container *c, SandboxEntry *entry) {
        uint64_t at = entry->words_at = reserve_words(i, c);
        ActorContext *x = &child_context;
        void *page;
        int r;

        page = address_map(c->worker.page_fd, sizeof(WorkerPage), PROT_READ | PROT_WRITE, &at);
        if (page == MAP_FAILED)
                return -errno;
        *x = (ActorContext){
                .worker = page,
                .env = i->env,
                .plugin_path = i->plugin_path,
                .n_containers = i->n_containers,
                .segments = child_segments,
                .bell_fd = c->worker.bell_fd,
                .ask_fd = c->ask_fd,
                .spin_nsec = i->asks_fd >= 0 && i->n_containers < i->n_cpus ? ACTOR_SPIN_NSEC : 0,
        };
        entry->mapped_bytes = sizeof(WorkerPage) + (entry->words_at ? SANDBOX_WORDS_BYTES : 0);

        r = child_map_contracts(i, x, &entry->mapped_bytes);
        if (r < 0)
                return r;
        return i->page ? child_map_segments(i, c, &at, &entry->mapped_bytes) : 0;
}

/* After the last look at them. */
static void child_forget(const Invoker *i) {
        fd_unmap((void *) i->page, sizeof(JobPage));
        fd_unmap((void *) i->settings, sizeof(JobSettings));
}

/* ps shows the words that a program was started with, and these were the invoker's. */
static void take_name(char *words, const char *name) {
        size_t n = strlen(words);

        for (size_t k = 0; k < n; k++)
                words[k] = k < strlen(name) ? name[k] : 0;
}

static _Noreturn void child_run(const Invoker *i, const Container *c) {
        int keep[3], n_keep = 0, mount_fd = INVOKER_FD_MOUNTS, bell = c->worker.bell_fd;
        SandboxEntry entry = {
                .uid = 1 + c->index,
                .keep_fds = keep,
                .cgroup_fd = worker_leaf_to_enter(&c->worker),
                .name = "actord-actor",
                .verdict = c->worker.verdict,
        };
        int r;

        take_name(program_invocation_name, entry.name);
        r = child_map(i, c, &entry);
        if (r < 0) {
                dprintf(STDERR_FILENO, "actord-actor: its memory cannot be mapped: %s\n", strerror(-r));
                _exit(EXIT_FAILURE);
        }

        /* Without a root of its own what the job brought is reached through its descriptor. */
        if (i->invoked->launch.n_mounts > 0 && i->level < SANDBOX_LEVEL_USERNS)
                keep[n_keep++] = mount_fd;
        /* In their order. */
        if (c->ask_fd >= 0)
                keep[n_keep++] = bell < c->ask_fd ? bell : c->ask_fd;
        keep[n_keep++] = bell > c->ask_fd ? bell : c->ask_fd;
        entry.n_keep_fds = (size_t) n_keep;

        child_forget(i);
        sandbox_enter(i->actor_sandbox, &entry);
        actor_main(&child_context);
}

int pool_fork(Invoker *i, Container *c) {
        const Order order = { .kind = ORDER_PROBE };
        pid_t pid;
        int r;

        assert(c->state == CONTAINER_ABSENT);

        r = container_acquire(i, c);
        if (r < 0)
                return r;

        pid = worker_fork(&c->worker, sandbox_clone_flags(i->actor_sandbox), i->proc_fd);
        if (pid == 0)
                child_run(i, c);
        if (pid < 0)
                return pid;

        slept_watch(&c->worker.slept, pid, i->proc_fd);
        c->state = CONTAINER_STARTING;
        c->fresh = true;
        c->fault = FAULT_NONE;
        r = invoker_watch_process(i, &c->worker, c->index);
        if (r < 0)
                return r;
        /* Its answer says that it is ready: the sandbox has closed and a plugin has loaded. What that took is its start-up. */
        pool_order(i, c, &order);
        return 0;
}

void pool_order(Invoker *i, Container *c, const Order *order) {
        c->doing = order->kind;
        storm_listen(i, &c->worker, c->index);
        /* Under a model nothing measured counts; whoever asks the learner for actions waits for it, and
         * not by its own will. */
        if (i->settings->clock != CLOCK_MODEL && !order->remote)
                slept_begin(&c->worker.slept, &i->ourselves);
        else
                slept_forget(&c->worker.slept);
        worker_order(&c->worker, order, timeout_nsec(i));
        invoker_want_timer(i, c->worker.deadline_nsec);
}

uint64_t pool_take(Container *c) {
        uint64_t nsec = c->spare_nsec + meter_take(&c->worker.meter);

        c->spare_nsec = 0;
        return nsec;
}

void pool_read(Invoker *i, Container *c) {
        Metered *metered;

        if (c->unread == ACTOR_NONE)
                return;

        metered = &i->round->seats[c->unread].metered;
        metered->cpu_nsec += pool_take(c);
        metered->memory_peak_bytes = meter_peak(&c->worker.meter);
        c->unread = ACTOR_NONE;
}

void pool_park(Container *c, uint64_t emulated_nsec) {
        leaf_freeze(&c->worker.leaf, true);
        c->state = CONTAINER_PARKED;
        c->parked_nsec = clock_boottime();
        c->parked_emulated_nsec = c->idle_emulated_nsec = emulated_nsec;
}

void pool_thaw(Invoker *i, Container *c) {
        leaf_freeze(&c->worker.leaf, false);
        report_pool(i, c);
        c->state = CONTAINER_READY;
}

/* Who is still to be taken is needed, whatever the round's number. */
void pool_arrange(Invoker *i, uint32_t n_needed) {
        WarmRest rest = warm_rest(i->settings);

        for (uint32_t k = 0; k < n_needed; k++)
                if (i->containers[k].state == CONTAINER_PARKED)
                        pool_thaw(i, &i->containers[k]);

        for (uint32_t k = n_needed; k < i->n_containers; k++) {
                Container *c = &i->containers[k];
                bool idle = c->state == CONTAINER_READY && c->doing == ORDER_NONE;

                if (round_needs(i->round, k))
                        continue;
                if (c->state != CONTAINER_PARKED && !idle)
                        continue;
                if (warm_keeps(&rest, idle ? 0 : i->emulated_nsec - c->idle_emulated_nsec)) {
                        if (idle)
                                pool_park(c, i->emulated_nsec);
                        continue;
                }
                if (c->state == CONTAINER_PARKED)
                        report_pool(i, c);
                pool_end(c, FAULT_NONE, 0);
        }
}

void pool_end(Container *c, uint32_t fault, int32_t detail) {
        if (c->state == CONTAINER_ABSENT || c->state == CONTAINER_ENDING)
                return;

        c->state = CONTAINER_ENDING;
        c->fault = fault;
        c->detail = detail;
        worker_kill(&c->worker);
}

void pool_end_all(Invoker *i) {
        for (uint32_t k = 0; k < containers_all(i); k++) {
                Container *c = &i->containers[k];

                if (c->state == CONTAINER_PARKED)
                        report_pool(i, c);
                pool_end(c, FAULT_NONE, 0);
        }

        for (uint32_t k = 0; k < containers_all(i); k++) {
                Container *c = &i->containers[k];
                Ended ended;

                slept_end(&c->worker.slept, &i->ourselves);
                if (c->state != CONTAINER_ENDING || worker_reap(&c->worker, REAP_MSEC, &ended) < 0)
                        continue;
                c->state = CONTAINER_ABSENT;
                c->spare_nsec += ended.cpu_nsec;
                /* An episode that is cut short is waste, as a rollout would be. */
                if (c->doing == ORDER_EVALUATE && i->phase == PHASE_ENDING)
                        report_evaluation(i, c, NULL, pool_take(c), FAULT_NONE, 0);
                c->doing = ORDER_NONE;
                pool_read(i, c);
        }
}
