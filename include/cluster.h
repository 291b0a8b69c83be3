/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* invoker <-> actord-cluster: a SEQPACKET socket with fixed records and no pointers. The invoker says how
 * many nodes its rounds are worth; actord-cluster, which runs as the job's user and alone knows the cluster,
 * its network and its credentials, says what became of that. With a node that is up comes one descriptor: a
 * SOCK_STREAM socket that carries bytes to and from the invoker of that node. What the bytes mean,
 * actord-cluster does not know (invoker/frame.h).
 *
 * The head. The spawner starts `actord-cluster` beside the job's invoker, in the job's cgroup, with nothing
 * but these descriptors (ClusterFd). It ends when the socket is closed, and gives back every node first:
 * a killed invoker leaves no allocation behind.
 *
 * A node. actord-cluster hands a Launch of the purpose NODE to an actord-spawn of its own there, as
 * `actorctl env` hands one of the purpose TRIAL, so that an actor of a node is confined as strongly as that
 * node allows. Of the Launch in CLUSTER_FD_LAUNCH it fills in what depends on the node: uid_first, n_uids,
 * owner, submitter. The descriptors, in the order of LaunchFd: a sealed memfd with the bytes of
 * CLUSTER_FD_SETTINGS; stderr; /dev/null as the state; the node's end of the stream; /dev/null as the
 * checkpoint. That invoker ends when its stream does, and closes the stream when it ends. */
#pragma once

/* Tables and layouts are aligned by hand. */
/* clang-format off */

#include <assert.h>
#include <stdint.h>

#define CLUSTER_ABI 1u
#define CLUSTER_NODES_MAX 1024u         /* that a job may ask for at once */
#define CLUSTER_PROGRAM "actord-cluster"

/* What actord-cluster finds after exec (its stderr is the job's; argv has its name alone). */
typedef enum ClusterFd {
        CLUSTER_FD_SOCKET = 3,
        CLUSTER_FD_SETTINGS,    /* sealed memfd: JobSettings; the keys of [Slurm] are in it */
        CLUSTER_FD_LAUNCH,      /* sealed memfd: Launch of the purpose NODE */
        CLUSTER_FD_DIRECTORY,   /* O_PATH: where our programs and modules lie */
} ClusterFd;

typedef enum ClusterRequestKind {
        /* n_nodes: up and asked for, together. More than there are: ask the cluster for the rest. Fewer than
         * there are: withdraw those that are still pending; one that is up stays until its RELEASE */
        CLUSTER_WANT = 1,
        CLUSTER_RELEASE,        /* node: give it back; its GONE follows */
        CLUSTER_END,            /* give back all; a GONE for each node, then the socket is closed */
} ClusterRequestKind;

typedef struct ClusterRequest {
        uint32_t abi, kind;
        uint32_t n_nodes;
        uint32_t node;
} ClusterRequest;

/* X(NAME, word): what has become of a node; `actorctl status` has these words. */
#define CLUSTER_EVENTS(X)                                                                               \
        X(PENDING, "pending")   /* it is asked for; words: the cluster's reason (Priority) */           \
        X(UP, "up")             /* with the stream's descriptor; name, n_cpus, memory_bytes are set */  \
        X(LOST, "lost")         /* it or the way to it failed; words: why. It is given back already */  \
        X(GONE, "gone")         /* it was given back, or withdrawn, as the invoker wished */            \
        X(COST, "cost")         /* what it has cost so far, or in the end (final) */                    \
        X(REFUSED, "refused")   /* no node will come, whatever is asked: words. node is 0 */

typedef enum ClusterEventKind {
        CLUSTER_EVENT_NONE,
#define X(name, word) CLUSTER_##name,
        CLUSTER_EVENTS(X)
#undef X
        _CLUSTER_EVENT_MAX,
} ClusterEventKind;

/* Of one allocation, in the cluster's own accounts: they count from its start to its end, whether an actor
 * ran or not. Each event repeats the whole sum, as of when the cluster last said that it runs, so that it
 * never exceeds the next; the last one has final = 1 and comes after LOST or GONE. */
typedef struct ClusterCost {
        uint64_t allocated_usec;
        uint64_t waited_usec;                   /* from asking to the start */
        uint64_t memory_bytes;                  /* allocated */
        uint32_t n_cpus, n_gpus;                /* allocated */
        /* TRES billing units by the site's weights; 0: it has none */
        double billing;
        uint32_t final, reserved;
} ClusterCost;

typedef struct ClusterEvent {
        uint32_t abi, kind;
        uint32_t node;                          /* counted from 1; no number is used twice in a job */
        uint32_t n_cpus;                        /* UP: that actors may use there */
        uint64_t memory_bytes;                  /* UP: the same */
        ClusterCost cost;                       /* COST */
        char name[64];                          /* UP: the host's; ended by a zero */
        char words[256];                        /* one line in printable ASCII, ended by a zero */
} ClusterEvent;
static_assert(sizeof(ClusterCost) == 48 && sizeof(ClusterEvent) == 392, "ABI");
