/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Nodes of a cluster, at the head of the job. This file tells actord-cluster how many nodes the rounds are
 * worth, starts a carrier for each one that is up, and chooses where a container's next process runs. What
 * becomes of containers whose node is lost, conduct.c decides. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "include/cluster.h"
#include "include/settings.h"
#include "invoker/loop.h"
#include "include/record.h"
#include "invoker/carrier.h"
#include "invoker/placement.h"

#define NODE_NONE UINT32_MAX

typedef enum NodeState {
        NODE_FREE,     /* this place has no node */
        NODE_PENDING,  /* asked for */
        NODE_GREETING, /* up; its carrier waits for the node's invoker */
        NODE_READY,    /* takes containers */
        NODE_LEAVING,  /* lost or given back; only its last cost is missing */
} NodeState;

/* What a node has cost so far, idle or not. */
typedef struct NodeSum {
        uint64_t allocated_nsec;
        NodeUse use;
} NodeSum;

typedef struct Node {
        uint32_t number, state; /* actord-cluster's number; NodeState */
        uint32_t n_cpus;
        pid_t pid; /* of the carrier; 0: there is none */
        int control_fd;
        bool lost;
        bool metered; /* it has or had a carrier, and the meter at its place is its own */
        bool closing; /* it takes no containers any more, and is given back when the last one has ended */
        uint64_t idle_nsec; /* since when no container is there; 0: some are */
        uint64_t left_nsec; /* since when it is LEAVING */
        ClusterCost cost;
        NodeSum told;   /* what its records have */
        char words[32]; /* of its state: the host's name, or a reason */
} Node;

/* What has happened to a node, for its record and for the containers on it. */
typedef struct NodeNews {
        uint32_t index;        /* of the node; NODE_NONE: of none */
        uint32_t number, kind; /* ClusterEventKind */
        bool emptied;          /* it had containers and has them no more */
        ClusterCost cost;
        NodeSum rest; /* what its records lack; of GONE and LOST it is the last */
        char words[32];
} NodeNews;

typedef struct Nodes {
        const Placement *place;
        Loop *loop;
        int cluster_fd; /* -EBADF: the job has no cluster, or has lost it */
        Node nodes[NODES_MAX];
        CarrierMeter *meters; /* [NODES_MAX] */
        int meters_fd;
        uint32_t n_wanted, n_lost, newest; /* newest: number */
        uint32_t node_cpus;                /* of the node that came last; 0: none did */
        uint64_t surplus_nsec;             /* since when more are there than wanted; 0: there are not */
        /* no further node is asked for before this time, since some were lost */
        uint64_t retry_nsec;
        bool refused; /* no node will come */
        bool ending;
        uint64_t end_nsec; /* when an ending job waits for them no longer */
} Nodes;

int nodes_init(Nodes *nodes);
void nodes_done(Nodes *nodes);

static inline bool nodes_exist(const Nodes *nodes) {
        return nodes->cluster_fd >= 0;
}

/* How many nodes so many containers are worth. node_cpus 0: not known yet, so that one says more. Pure. */
uint32_t nodes_worth(uint32_t n_containers, uint32_t here_cpus, uint32_t node_cpus, setting_range range);
/* Where one more container fits best: NODE_NONE: here. The most free CPUs; the same: here, then the lowest.
 * used: containers of each node that is ready. Pure. */
uint32_t nodes_choose(const Node nodes[], uint32_t n, const uint32_t used[], uint32_t here_cpus,
                uint32_t here_used);

/* The sum at a time, of what the cluster and the carrier tell. Pure. */
NodeSum node_sum(const ClusterCost *cost, const CarrierMeter *meter, uint64_t now);
/* The part of a sum that no record has told yet, to be told now; *told grows by it. A sum that is smaller
 * than what was told adds nothing, so that no total ever falls. Pure. */
NodeSum node_sum_rest(const NodeSum *sum, NodeSum *told);

/* The node that is given back first: the fewest containers; the same: the last. NODE_NONE: one closes
 * already, or none is ready. Pure. */
uint32_t nodes_choose_closing(const Node nodes[], uint32_t n, const uint32_t used[]);

/* A round needs so many containers. used[]: containers of each node, by index. */
void nodes_want(Nodes *nodes, uint32_t n_containers, const uint32_t used[], uint64_t now);
/* A socket of frames for the container's relay on this node; negative: it cannot take it. */
int nodes_attach(Nodes *nodes, uint32_t index, uint32_t container);
/* A message of actord-cluster, or of a carrier, has come. 1 and the news; 0: there is none. */
int nodes_hear_cluster(Nodes *nodes, NodeNews *ret);
int nodes_hear_carrier(Nodes *nodes, uint32_t index, NodeNews *ret);
/* Gives all back. */
void nodes_end(Nodes *nodes, uint64_t now);
/* A node whose last cost has not come in time, or never will: 1 and the news, with what is known. */
int nodes_take_left(Nodes *nodes, uint64_t now, NodeNews *ret);
/* Whether an ending job still waits for what they cost. */
bool nodes_are_over(Nodes *nodes, uint64_t now);
