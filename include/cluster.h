/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* invoker <-> actord-cluster: a SEQPACKET socket with fixed records and no pointers. The invoker says how
 * many nodes its rounds need, and actord-cluster reports the nodes that it got. actord-cluster runs as the
 * job's user. Only actord-cluster knows the cluster, its network and its credentials. A node that is up
 * comes with one descriptor: a SOCK_STREAM socket that carries bytes to and from the invoker of that node.
 * actord-cluster does not know the meaning of these bytes (invoker/frame.h).
 *
 * The head. The spawner starts `actord-cluster` beside the job's invoker, in the spawner's own cgroup and
 * not in the job's. actord-cluster has only the descriptors of ClusterFd. When the socket is closed, it
 * gives back all nodes and ends. So a killed invoker leaves no allocation behind.
 *
 * A node. On a node, actord-cluster starts an actord-spawn of its own, and sends it a Launch of the purpose
 * NODE. (In the same way `actorctl env` sends a Launch of the purpose TRIAL.) So an actor on a node is
 * confined as strongly as that node allows. The Launch is that of CLUSTER_FD_LAUNCH. actord-cluster fills in
 * the members that depend on the node: uid_first, n_uids, owner, submitter. The descriptors, in the order of
 * LaunchFd, are: a sealed memfd with the bytes of CLUSTER_FD_SETTINGS; stderr; /dev/null as the state; the
 * node's end of the stream; /dev/null as the checkpoint; for Environment=FILE a sealed memfd with the bytes
 * of CLUSTER_FD_PLUGIN. The node's invoker ends when its stream ends, and closes the stream when it ends. */
#pragma once

/* Tables and layouts are aligned by hand. */
/* clang-format off */

#include <assert.h>
#include <stdint.h>

#define CLUSTER_ABI 2u
#define CLUSTER_NODES_MAX 1024u         /* the most that actord-cluster asks for; a job may have NODES_MAX */
#define CLUSTER_PROGRAM "actord-cluster"
/* The largest file of Environment=FILE that is sent to nodes. A host with a fast network can send such a
 * file to a hundred nodes within a minute, and each node must have it within a minute. */
#define CLUSTER_PLUGIN_MAX (64u << 20)

/* The descriptors of actord-cluster after exec. Its stderr is the job's, and argv has only its name. */
typedef enum ClusterFd {
        CLUSTER_FD_SOCKET = 3,
        CLUSTER_FD_SETTINGS,    /* sealed memfd: JobSettings; the keys of [Slurm] are in it */
        CLUSTER_FD_LAUNCH,      /* sealed memfd: Launch of the purpose NODE */
        CLUSTER_FD_DIRECTORY,   /* O_PATH: the directory of actord's programs and modules */
        CLUSTER_FD_PLUGIN,      /* the file of Environment=FILE, if the Launch has its mount */
} ClusterFd;

typedef enum ClusterRequestKind {
        /* n_nodes: how many nodes should be up or pending, together. If there are fewer, ask the cluster for
         * the rest. If there are more, withdraw pending ones; a node that is up stays until its RELEASE */
        CLUSTER_WANT = 1,
        CLUSTER_RELEASE,        /* node: give it back; its GONE follows */
        CLUSTER_END,            /* give back all nodes: a GONE for each, then the socket is closed */
} ClusterRequestKind;

typedef struct ClusterRequest {
        uint32_t abi, kind;
        uint32_t n_nodes;
        uint32_t node;
} ClusterRequest;

/* X(NAME, word): events of a node; `actorctl status` prints these words. */
#define CLUSTER_EVENTS(X)                                                                               \
        X(PENDING, "pending")   /* it waits in the queue; words: why, as the cluster says (Priority) */  \
        X(UP, "up")             /* with the stream's descriptor; name, n_cpus, memory_bytes are set */  \
        X(LOST, "lost")         /* it failed; words: why. It has been given back */                     \
        X(GONE, "gone")         /* it was given back, or withdrawn, as requested */                     \
        X(COST, "cost")         /* its cost so far, or its whole cost (final) */                        \
        X(REFUSED, "refused")   /* the cluster will give no node at all; words: why. node is 0 */

typedef enum ClusterEventKind {
        CLUSTER_EVENT_NONE,
#define X(name, word) CLUSTER_##name,
        CLUSTER_EVENTS(X)
#undef X
        _CLUSTER_EVENT_MAX,
} ClusterEventKind;

/* The cost of one allocation, by the cluster's own accounts. They count from the allocation's start to its
 * end, whether or not an actor ran. Each event has the whole sum so far. The sum counts up to the time at
 * which the cluster last reported that the allocation runs, so it never exceeds the next sum. The last event
 * has final = 1, and comes after LOST or GONE. */
typedef struct ClusterCost {
        uint64_t allocated_usec;
        uint64_t waited_usec;                   /* from the request to the start */
        uint64_t memory_bytes;                  /* allocated */
        uint32_t n_cpus, n_gpus;                /* allocated */
        /* TRES billing units by the site's weights; 0: the site has no weights */
        double billing;
        uint32_t final;
        /* 1: the node is near its time limit, and n_nodes of WANT does not count it */
        uint32_t expires;
} ClusterCost;

typedef struct ClusterEvent {
        uint32_t abi, kind;
        uint32_t node;                          /* counted from 1; a job uses no number twice */
        uint32_t n_cpus;                        /* UP: how many CPUs actors may use there */
        uint64_t memory_bytes;                  /* UP: the memory that actors may use there */
        ClusterCost cost;                       /* COST */
        char name[64];                          /* UP: the host's name; NUL-terminated */
        /* the reason of PENDING, LOST, GONE or REFUSED: a line of printable ASCII, NUL-terminated */
        char words[256];
} ClusterEvent;
static_assert(sizeof(ClusterCost) == 48 && sizeof(ClusterEvent) == 392, "ABI");
