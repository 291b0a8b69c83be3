/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What has become of a job's nodes of a cluster, from its records. Pure. */
#pragma once

#include "include/cluster.h"
#include "include/record.h"

#define NODE_LIST_MAX 32u /* nodes that are told of by name, the newest; the counts are of all */

typedef struct NodeSeen {
        uint64_t number;
        uint32_t kind; /* ClusterEventKind; CLUSTER_EVENT_NONE: the place is free */
        char words[32];
        uint64_t allocated_nsec;
} NodeSeen;

typedef struct NodeList {
        uint32_t n_up, n_max, n_lost; /* max: up at once */
        uint64_t allocated_nsec;      /* of all so far, by the cluster's accounts */
        NodeUse use;                  /* the same; billing_milli is 0 */
        NodeSeen seen[NODE_LIST_MAX];
} NodeList;

void node_list_clear(NodeList *list); /* a life begins: it has no nodes yet */
void node_list_add(NodeList *list, const Record *record);
/* "2 up n1 for 40 s", "3 pending Priority": the ones that are not over, NULL-terminated, by number; to be
 * freed. */
char **node_list_words(const NodeList *list);
