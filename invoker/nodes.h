/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The nodes of a cluster, as the head of the job sees them. This file tells actord-cluster how many nodes
 * the rounds need, starts a carrier for each node that is up, and chooses where a container's next process
 * runs. cluster.c ends the containers of a lost node, and conduct.c gives their orders again. */
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
        NODE_FREE,     /* this entry is free */
        NODE_PENDING,  /* asked for */
        NODE_GREETING, /* up; its carrier waits for the node's invoker */
        NODE_READY,    /* takes containers */
        NODE_LEAVING,  /* lost or given back; only its last cost is still to come */
} NodeState;

/* What a node has cost so far, whether it was busy or idle. */
typedef struct NodeSum {
        uint64_t allocated_nsec;
        NodeUse use;
} NodeSum;

typedef struct Node {
        uint32_t number, state; /* actord-cluster's number; NodeState */
        uint32_t n_cpus;
        pid_t pid; /* the node's carrier (invoker/carrier.h), a process; 0: there is none */
        int control_fd;
        bool lost;
        bool metered; /* it has or had a carrier, so the meter at its index belongs to it */
        bool closing; /* it takes no containers any more, and is given back when its last one has ended */
        uint64_t idle_nsec; /* since when it has had no container; 0: it has some */
        uint64_t left_nsec; /* since when it has been LEAVING */
        ClusterCost cost;
        NodeSum told;   /* the part of its costs that records already have */
        char words[32]; /* about its state: the host's name, or a reason */
} Node;

/* What has happened to a node, for the node's record and for its containers. */
typedef struct NodeNews {
        uint32_t index;        /* the node's index in Nodes; NODE_NONE: it has none */
        uint32_t number, kind; /* ClusterEventKind */
        bool emptied;          /* it takes no containers any more, and has lost those that it had */
        ClusterCost cost;
        NodeSum rest; /* use that no record has yet; if the node is GONE or LOST, no more will come */
        char words[32];
} NodeNews;

/* The CPUs that a round's actors may have: n_now on the nodes that are up, n_asked if all wanted nodes were
 * up. */
typedef struct NodeCPUs {
        uint32_t n_now, n_asked;
} NodeCPUs;

typedef struct Nodes {
        const Placement *place;
        Loop *loop;
        int cluster_fd; /* -EBADF: the job has no cluster, or has lost it */
        Node nodes[NODES_MAX];
        CarrierMeter *meters; /* [NODES_MAX] */
        int meters_fd;
        uint32_t n_wanted, n_lost, newest; /* newest: the highest number so far */
        uint32_t n_unready;                /* nodes in a row that came up and could not begin */
        uint32_t node_cpus;                /* the CPUs of the newest node; 0: there was none */
        NodeCPUs cpus;                     /* as nodes_want() last saw them */
        uint64_t surplus_nsec;             /* since when there are more nodes than wanted; 0: not now */
        /* after a loss no further node is asked for before this time */
        uint64_t retry_nsec;
        bool refused; /* no node will come */
        bool ending;
        uint64_t end_nsec; /* until when an ending job waits for the nodes' costs */
} Nodes;

int nodes_init(Nodes *nodes);
void nodes_done(Nodes *nodes);

static inline bool nodes_exist(const Nodes *nodes) {
        return nodes->cluster_fd >= 0;
}

/* The number of nodes that a job with this many containers should ask for. node_cpus 0: the CPUs of a node
 * are not known yet, so one node is enough. The answer is within the range. Pure. */
uint32_t nodes_worth(uint32_t n_containers, uint32_t here_cpus, uint32_t node_cpus, setting_range range);

/* The NodeCPUs of these nodes. node_cpus 0: not known yet; then a missing node counts as if it had as many
 * CPUs as this host. Pure. */
NodeCPUs nodes_cpus(
                const Node nodes[], uint32_t n, uint32_t n_wanted, uint32_t node_cpus, uint32_t here_cpus);

/* Limits the CPU time that a node reports to the most that its CPUs can have used in this time, by the
 * head's own clock. A node may lie, and with Clock=metered its CPU time decides how long a round took.
 * Pure. */
uint64_t nodes_plausible_nsec(uint64_t told_nsec, uint64_t wall_nsec, uint32_t n_cpus);
/* Chooses a node for one more container; NODE_NONE: this host. The host with the most free CPUs wins; among
 * equals, this host does, then the node with the lowest index. used: the containers of each node that is
 * ready. Pure. */
uint32_t nodes_choose(const Node nodes[], uint32_t n, const uint32_t used[], uint32_t here_cpus,
                uint32_t here_used);

/* The costs of a node so far, from the reports of the cluster and the carrier. Pure. */
NodeSum node_sum(const ClusterCost *cost, const CarrierMeter *meter, uint64_t now);
/* The part of a sum that no record has yet. *told grows by this part. A sum below *told adds nothing, so no
 * total ever falls. Pure. */
NodeSum node_sum_rest(const NodeSum *sum, NodeSum *told);

/* Chooses the node to give back first: one that expires, or else the one with the fewest containers, the
 * last among equals. NODE_NONE: one is closing already, or none is ready. Pure. */
uint32_t nodes_choose_closing(const Node nodes[], uint32_t n, const uint32_t used[]);

/* Whether a node can be given back. It can if there are more nodes than wanted; or if a node expires and as
 * many nodes as wanted are ready without it. Pure. */
bool nodes_have_spare(const Node nodes[], uint32_t n, uint32_t n_wanted);

/* Sets how many containers a round needs. used[]: the containers of each node, by index. */
void nodes_want(Nodes *nodes, uint32_t n_containers, const uint32_t used[], uint64_t now);
/* Makes a socket that carries the frames of the container's relay to this node. Negative: the node cannot
 * take the container. */
int nodes_attach(Nodes *nodes, uint32_t index, uint32_t container);
/* Reads a message of actord-cluster, or of a carrier. 1 and the news; 0: there is none. */
int nodes_hear_cluster(Nodes *nodes, NodeNews *ret);
int nodes_hear_carrier(Nodes *nodes, uint32_t index, NodeNews *ret);
/* Gives all nodes back. */
void nodes_end(Nodes *nodes, uint64_t now);
/* Frees a node whose last cost has not come in time, or can never come. 1, with what is known of the node's
 * end in *ret; 0: there is no such node. */
int nodes_take_left(Nodes *nodes, uint64_t now, NodeNews *ret);
/* Whether an ending job need not wait for nodes any more. If it must wait for their last costs, sets the
 * timer to the end of this wait. */
bool nodes_are_over(Nodes *nodes, uint64_t now);
