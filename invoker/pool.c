/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Containers: processes that host actors. A container is made when a round first needs it, frozen while no
 * round needs it, and ended when lib/warm.h does not keep it any longer. This file starts containers, gives
 * them orders, parks, thaws, meters and ends them. conduct.c decides which container gets an order, and what
 * follows from an answer. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "invoker/complain.h"
#include "invoker/fork.h"
#include "invoker/pool.h"
#include "lib/boottime.h"
#include "lib/cleanup.h"

int pool_init(Pool *pool) {
        pool->containers = calloc(containers_all(pool->place), sizeof(Container));
        if (!pool->containers)
                return -ENOMEM;

        for (uint32_t k = 0; k < containers_all(pool->place); k++) {
                Container *c = &pool->containers[k];

                c->worker = (Worker) WORKER_EMPTY;
                c->ask_fd = c->relay_fd = -EBADF;
                c->node_index = NODE_NONE;
                c->scope = (Cgroup){ .fd = -EBADF };
                c->index = k;
                c->unread = ACTOR_NONE;
        }
        return 0;
}

static const Cgroup *container_cgroup(const Pool *pool, const Container *c) {
        return c->scope.fd >= 0 ? &c->scope : &pool->place->cgroup;
}

void pool_done(Pool *pool) {
        for (uint32_t k = 0; pool->containers && k < containers_all(pool->place); k++) {
                Container *c = &pool->containers[k];

                worker_done(&c->worker, container_cgroup(pool, c), true);
                c->ask_fd = close_fd(c->ask_fd);
                c->scope.fd = close_fd(c->scope.fd);
        }
        free(pool->containers);
        pool->containers = NULL;
}

/* Makes the invoker listen to the container's eventfd. If the learner acts, it listens to a second one. */
static int watch_bells(Pool *pool, Container *c) {
        struct epoll_event event = { .events = EPOLLIN | EPOLLET, .data.u32 = c->index };
        int r;

        r = loop_watch_bell(pool->loop, &c->worker, c->index);
        if (r < 0 || pool->place->asks_fd < 0)
                return r;
        c->ask_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (c->ask_fd < 0)
                return -errno;
        return epoll_ctl(pool->place->asks_fd, EPOLL_CTL_ADD, c->ask_fd, &event) < 0 ? -errno : 0;
}

static int container_acquire(Pool *pool, Container *c) {
        const JobSettings *s = pool->place->settings;
        const LeafLimits limits = {
                .memory_bytes = s->memory_max_bytes,
                .n_tasks = s->tasks_max,
                .cpu_permille = settings_present(s, SETTING_Actor_CPUQuota) ? s->cpu_quota_permille : 0,
                .cpus = &s->allowed_cpus,
        };
        char name[32], scope[sizeof(pool->place->invoked->scope_prefix) + 32];
        int r;

        if (c->has_worker)
                return 0;

        if (c->index < pool->place->invoked->launch.scope_each && c->scope.fd < 0) {
                (void) snprintf(scope, sizeof(scope), ACTOR_SCOPE_NAME, pool->place->invoked->scope_prefix,
                                c->index);
                r = cgroup_enter_scope(INVOKER_FD_SLICE, scope, &c->scope);
                if (r < 0)
                        return invoker_complain(r, "an actor's own scope cannot be used");
        }

        (void) snprintf(name, sizeof(name),
                        c->index < pool->place->n_containers ? "actor-%u" : "evaluation-%u",
                        container_number(pool->place, c));
        r = worker_init(name, ACTOR_PAGE_BYTES, container_cgroup(pool, c), &limits, &c->worker);
        if (r < 0)
                return r;
        r = watch_bells(pool, c);
        if (r < 0) {
                worker_done(&c->worker, container_cgroup(pool, c), true);
                return r;
        }
        c->has_worker = true;
        return 0;
}

/* Each container has an eventfd of its own: an actor that could empty a common one could silence the
 * others. */
int pool_make_ask_bells(Pool *pool) {
        struct epoll_event event = { .events = EPOLLIN | EPOLLET };

        if (pool->place->traits.rolls_with != ORDER_SERVE)
                return 0;
        pool->place->asks_fd = epoll_create1(EPOLL_CLOEXEC);
        pool->place->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (pool->place->asks_fd < 0 || pool->place->stop_fd < 0)
                return -errno;
        return epoll_ctl(pool->place->asks_fd, EPOLL_CTL_ADD, pool->place->stop_fd, &event) < 0 ? -errno : 0;
}

void pool_count(const Pool *pool, uint32_t used[NODES_MAX], uint32_t *ret_here) {
        memset(used, 0, NODES_MAX * sizeof(*used));
        *ret_here = 0;
        for (uint32_t k = 0; k < containers_all(pool->place); k++) {
                const Container *c = &pool->containers[k];

                if (c->state != CONTAINER_ABSENT)
                        (*(c->node_index == NODE_NONE ? ret_here : &used[c->node_index]))++;
        }
}

/* Chooses where the container's process runs. If the chosen node cannot take it, that node is about to be
 * lost, and the process runs on this host. */
static void choose_node(Pool *pool, Container *c) {
        uint32_t used[NODES_MAX], here;

        c->node_index = NODE_NONE;
        c->worker.node = 0;
        if (!nodes_exist(pool->nodes))
                return;
        pool_count(pool, used, &here);
        c->node_index = nodes_choose(pool->nodes->nodes, NODES_MAX, used, pool->place->n_cpus, here);
        if (c->node_index == NODE_NONE)
                return;
        c->relay_fd = nodes_attach(pool->nodes, c->node_index, c->index);
        if (c->relay_fd < 0)
                c->node_index = NODE_NONE;
        else
                c->worker.node = pool->nodes->nodes[c->node_index].number;
}

/* Whether a container on this host has no CPU of its own here and would have one on a node. */
static bool would_move(const Pool *pool, const Container *c) {
        uint32_t used[NODES_MAX], here, best;

        if (c->node_index != NODE_NONE || !nodes_exist(pool->nodes))
                return false;
        pool_count(pool, used, &here);
        if (here <= pool->place->n_cpus)
                return false;
        best = nodes_choose(pool->nodes->nodes, NODES_MAX, used, pool->place->n_cpus, here);
        return best != NODE_NONE && used[best] < pool->nodes->nodes[best].n_cpus;
}

/* Whether the container is on a node that is being given back. */
static bool must_leave(const Pool *pool, const Container *c) {
        return c->node_index != NODE_NONE && nodes_exist(pool->nodes) &&
               pool->nodes->nodes[c->node_index].closing;
}

void pool_came_home(const Pool *pool, Container *c, const Answer *answer) {
        uint64_t now_nsec;

        if (c->worker.node == 0)
                return;
        now_nsec = clock_boottime();
        c->spare_nsec += nodes_plausible_nsec(answer->node_cpu_nsec, now_nsec - c->away_nsec,
                        pool->nodes->nodes[c->node_index].n_cpus);
        c->away_nsec = now_nsec;
        if (answer->node_memory_peak_bytes > c->node_peak_bytes)
                c->node_peak_bytes = answer->node_memory_peak_bytes;
}

uint32_t pool_claim(const Container *c, const Answer *answer) {
        return c->worker.node > 0 ? fault_known(answer->fault) : answer_claim(answer);
}

int pool_fork(Pool *pool, Container *c) {
        const Order order = { .kind = ORDER_PROBE };
        pid_t pid;
        int r;

        assert(c->state == CONTAINER_ABSENT);

        r = container_acquire(pool, c);
        if (r < 0)
                return r;

        choose_node(pool, c);
        pid = fork_actor(pool->place, c);
        c->relay_fd = close_fd(c->relay_fd);
        if (pid < 0)
                return pid;

        pool->reporter->ourselves.waited_nsec += c->worker.parting_nsec;
        slept_watch(&c->worker.slept, pid, pool->place->proc_fd);
        c->state = CONTAINER_STARTING;
        c->away_nsec = clock_boottime();
        c->fresh = true;
        c->fault = FAULT_NONE;
        r = loop_watch_process(pool->loop, &c->worker, c->index);
        if (r < 0)
                return r;
        /* The answer to this order shows that the sandbox is finished and a plugin has loaded. The use until
         * then is start-up. */
        pool_order(pool, c, &order);
        return 0;
}

void pool_order(Pool *pool, Container *c, const Order *order) {
        c->doing = order->kind;
        storm_listen(pool->loop, &c->worker, c->index);
        /* Whether the actor's sleep is measured. Under Clock=model no measurement counts. An actor that asks
         * the learner for actions waits for the learner, and a relay waits for its node; such waits are not
         * the actor's own sleep. */
        if (pool->place->settings->clock != CLOCK_MODEL && !order->remote && c->worker.node == 0)
                slept_begin(&c->worker.slept, &pool->reporter->ourselves);
        else
                slept_forget(&c->worker.slept);
        worker_order(&c->worker, order, timeout_nsec(pool->place));
        loop_want_timer(pool->loop, c->worker.deadline_nsec);
}

uint64_t pool_spare_nsec(const Pool *pool) {
        uint64_t nsec = 0;

        for (uint32_t k = 0; pool->containers && k < containers_all(pool->place); k++)
                nsec += pool->containers[k].spare_nsec;
        return nsec;
}

uint64_t pool_take(Container *c) {
        uint64_t nsec = c->spare_nsec + meter_take(&c->worker.meter);

        c->spare_nsec = 0;
        return nsec;
}

void pool_read(Pool *pool, Container *c) {
        Metered *metered;

        if (c->unread == ACTOR_NONE)
                return;

        metered = &pool->progress->round->seats[c->unread].metered;
        metered->cpu_nsec += pool_take(c);
        metered->memory_peak_bytes = c->worker.node > 0 ? c->node_peak_bytes : meter_peak(&c->worker.meter);
        c->node_peak_bytes = 0;
        c->unread = ACTOR_NONE;
}

void pool_park(Container *c, uint64_t emulated_nsec) {
        leaf_freeze(&c->worker.leaf, true);
        c->state = CONTAINER_PARKED;
        c->parked_nsec = clock_boottime();
        c->parked_emulated_nsec = c->idle_emulated_nsec = emulated_nsec;
}

void pool_thaw(Pool *pool, Container *c) {
        leaf_freeze(&c->worker.leaf, false);
        report_pool(pool->reporter, c, pool_take(c));
        c->state = CONTAINER_READY;
}

void pool_report_idle(Pool *pool) {
        for (uint32_t k = 0; k < containers_all(pool->place); k++)
                if (pool->containers[k].state == CONTAINER_PARKED)
                        report_pool(pool->reporter, &pool->containers[k], pool_take(&pool->containers[k]));
}

void pool_imagine(Pool *pool, uint32_t n_needed) {
        WarmRest rest = warm_rest(pool->place->settings);

        for (uint32_t k = 0; k < pool->place->n_containers; k++)
                pool->containers[k].begins_cold = imagined_arrange(&pool->containers[k].imagined,
                                k < n_needed, &rest, pool->progress->emulated_nsec);
}

bool pool_is_cold(const Pool *pool, const Container *c, uint32_t actor) {
        bool imagined = place_fuses(pool->place) || pool->place->settings->clock == CLOCK_MODEL;
        bool first = actor == c->index; /* a container serves the actor of its own number first */

        return overlap_is_cold(
                        pool->progress, pool->place, actor, imagined ? c->begins_cold && first : c->fresh);
}

void pool_resume(Pool *pool) {
        for (uint32_t a = 0; a < pool->place->n_actors; a++)
                if (pool->progress->round->seats[a].ordinal > 0)
                        pool->containers[a % pool->place->n_containers].imagined =
                                        (Imagined){ .started = true, .needed = true };
}

/* A container that is not needed also stays while the learner has not taken the rollout of one of its
 * actors. */
void pool_arrange(Pool *pool, uint32_t n_needed) {
        WarmRest rest = warm_rest(pool->place->settings);

        for (uint32_t k = 0; k < n_needed; k++) {
                Container *c = &pool->containers[k];

                if (c->state == CONTAINER_PARKED)
                        pool_thaw(pool, c);
                if (c->state == CONTAINER_READY && c->doing == ORDER_NONE &&
                                (would_move(pool, c) || must_leave(pool, c)))
                        pool_end(c, FAULT_NONE, 0);
        }

        for (uint32_t k = n_needed; k < pool->place->n_containers; k++) {
                Container *c = &pool->containers[k];
                bool idle = c->state == CONTAINER_READY && c->doing == ORDER_NONE;

                if (round_needs(pool->progress->round, k))
                        continue;
                if (c->state != CONTAINER_PARKED && !idle)
                        continue;
                if (!must_leave(pool, c) &&
                                warm_keeps(&rest, idle ? 0
                                                       : pool->progress->emulated_nsec -
                                                                                  c->idle_emulated_nsec)) {
                        if (idle)
                                pool_park(c, pool->progress->emulated_nsec);
                        continue;
                }
                if (c->state == CONTAINER_PARKED)
                        report_pool(pool->reporter, c, pool_take(c));
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

void pool_end_all(Pool *pool) {
        for (uint32_t k = 0; k < containers_all(pool->place); k++) {
                Container *c = &pool->containers[k];

                if (c->state == CONTAINER_PARKED)
                        report_pool(pool->reporter, c, pool_take(c));
                pool_end(c, FAULT_NONE, 0);
        }

        for (uint32_t k = 0; k < containers_all(pool->place); k++) {
                Container *c = &pool->containers[k];
                Ended ended;

                slept_end(&c->worker.slept, &pool->reporter->ourselves);
                if (c->state != CONTAINER_ENDING || worker_reap(&c->worker, REAP_MSEC, &ended) < 0)
                        continue;
                c->state = CONTAINER_ABSENT;
                c->spare_nsec += ended.cpu_nsec;
                /* An episode that is cut short counts as waste, like a rollout. */
                if (c->doing == ORDER_EVALUATE && pool->progress->phase == PHASE_ENDING)
                        report_evaluation(pool->reporter, c, NULL, pool_take(c), FAULT_NONE, 0);
                c->doing = ORDER_NONE;
                pool_read(pool, c);
        }
}
