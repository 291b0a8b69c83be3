/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Updates a job's records and containers when nodes of its cluster come and go. */
#include "invoker/invoker.h"
#include "lib/boottime.h"
#include "lib/clock.h"
#include "lib/saturate.h"

void cluster_want(Invoker *invoker, uint32_t n_containers) {
        uint32_t used[NODES_MAX], here;
        uint64_t now = clock_boottime();
        NodeNews news;

        if (!nodes_exist(&invoker->nodes)) {
                invoker->nodes.cpus = (NodeCPUs){};
                return;
        }
        pool_count(&invoker->pool, used, &here);
        nodes_want(&invoker->nodes, n_containers, used, now);
        while (nodes_take_left(&invoker->nodes, now, &news) > 0)
                report_node(&invoker->reporter, &news);
}

uint64_t cluster_waited(const Invoker *invoker) {
        const Round *round = invoker->progress.round;
        const NodeCPUs *cpus = &invoker->nodes.cpus;
        uint64_t cpu_nsec, most_nsec;

        round_cpu_nsec(round, &cpu_nsec, &most_nsec);
        /* If rounds overlap, a round has the rollout of one actor. Each other actor used as much CPU time in
         * the meantime. */
        cpu_nsec = saturate_u64((unsigned __int128) cpu_nsec * invoker->progress.decision.n_actors /
                                round->n_rollouts);
        return clock_wait_nsec(invoker->place.settings, cpu_nsec, most_nsec, cpus->n_now, cpus->n_asked);
}

void cluster_news(Invoker *invoker, const NodeNews *news) {
        if (news->kind != CLUSTER_EVENT_NONE)
                report_node(&invoker->reporter, news);
        if (!news->emptied)
                return;
        for (uint32_t k = 0; k < containers_all(&invoker->place); k++) {
                Container *c = &invoker->pool.containers[k];

                if (c->state == CONTAINER_ABSENT || c->node_index != news->index)
                        continue;
                if (c->state == CONTAINER_PARKED)
                        report_pool(&invoker->reporter, c, pool_take(c));
                pool_end(c, FAULT_NODE, (int32_t) c->worker.node);
        }
}

bool cluster_close(Invoker *invoker) {
        uint64_t now = clock_boottime();
        NodeNews news;

        nodes_end(&invoker->nodes, now);
        while (nodes_take_left(&invoker->nodes, now, &news) > 0)
                report_node(&invoker->reporter, &news);
        return nodes_are_over(&invoker->nodes, now);
}
