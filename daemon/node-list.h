/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The nodes of a cluster that a job has or had, from its records. Pure. */
#pragma once

#include "include/cluster.h"
#include "include/record.h"
#include "include/settings.h"

/* Every node that has not ended has an entry: without it the node's end would not be counted. */
#define NODE_LIST_MAX NODES_MAX

typedef struct NodeSeen {
        uint64_t number;
        uint32_t kind; /* ClusterEventKind; CLUSTER_EVENT_NONE: the entry is free */
        char words[32];
        uint64_t allocated_nsec;
} NodeSeen;

typedef struct NodeList {
        uint32_t n_up, n_max, n_lost; /* max: the most that were up at once */
        uint64_t allocated_nsec;      /* of all nodes so far, by the cluster's accounts */
        NodeUse use;                  /* sums over all nodes; billing_milli is not summed */
        NodeSeen seen[NODE_LIST_MAX];
} NodeList;

void node_list_clear(
                NodeList *list); /* Clears the list when a life of the job begins, which has no nodes yet. */
void node_list_add(NodeList *list, const Record *record);
/* The nodes that have not ended, ordered by number: "2 up n1 for 40 s", "3 pending Priority".
 * NULL-terminated, to be freed. */
char **node_list_words(const NodeList *list);
