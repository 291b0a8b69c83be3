/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The interface to a cluster. An engine starts and stops nodes, and reports their states and costs. Each
 * engine is a file with a table of the functions below: slurm.c, or allocation.c inside an allocation of
 * Slurm.
 *
 * An engine never calls the head, and waits only in abandon(). The head writes its requests into the nodes,
 * polls the engine's descriptors, calls step(), and reads the nodes. */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include "cluster/hello.h"
#include "include/cluster.h"
#include "lib/boottime.h"

enum { ENGINE_FDS_MAX = 1100, ENGINE_ADDRESS_BYTES = 256, ENGINE_AVOID_BYTES = 512 };

typedef enum EngineState {
        ENGINE_FREE,   /* the place has no node */
        ENGINE_WANTED, /* the engine has not asked the cluster for the node yet */
        ENGINE_ASKED,  /* words: why the node is not there yet */
        ENGINE_RUNNING,
        ENGINE_OVER, /* words: how the node ended; its cost is final */
} EngineState;

typedef struct EngineNode {
        uint32_t number; /* used only once in a job */
        EngineState state;
        bool stop;      /* the head needs the node no more: withdraw it, or give it back */
        bool stopping;  /* the engine has begun to withdraw the node or to give it back */
        bool excused;   /* OVER: this is no failure, so the head asks for another node at once */
        bool awaits;    /* RUNNING: the programs are still on their way to it */
        bool suspended; /* RUNNING: it costs nothing now */
        char id[32];    /* the cluster's name for it, once that is known */
        char name[64];  /* the host's name, once it runs */
        char words[256];
        /* In seconds since 1970, by the cluster's clock; 0: not known. seen: when it was last seen running.
         * The time for which the cluster had suspended it is subtracted from `ended` and `seen`. */
        int64_t asked, started, ended, seen;
        /* the seconds from engine_clock() to the cluster's clock, minus the seconds for which the cluster
         * had suspended the node */
        int64_t ahead;
        int64_t limit; /* when the cluster will end the node; 0: no limit is known */
        uint64_t memory_bytes;
        uint32_t n_cpus, n_gpus;
        double billing;
        int exit_status; /* OVER: the status of the program on the node; -1: not known */
} EngineNode;

typedef struct EngineTerms {
        /* keys of [Slurm]; "": not set */
        const char *partition, *account, *constraint, *options;
        uint64_t time_limit_sec;
        uint32_t n_least;      /* the fewest nodes that the job wants */
        const char *directory; /* the directory of actord's programs */
        uint8_t token[TOKEN_BYTES];
} EngineTerms;

typedef enum EngineOpen {
        ENGINE_CHECKING,
        /* nodes may be asked for. engine->address: the address of some node, with which the head finds its
         * own address on the nodes' network */
        ENGINE_OPEN,
        ENGINE_REFUSED, /* with words */
} EngineOpen;

typedef struct Engine Engine;

static inline void timeout_lower(int *timeout_msec, int to) {
        if (to >= 0 && (*timeout_msec < 0 || to < *timeout_msec))
                *timeout_msec = to;
}

typedef struct EngineKind {
        const char *name;
        int (*init)(Engine *engine);
        void (*done)(Engine *engine);
        /* Fills in the descriptors to wait for, at most ENGINE_FDS_MAX, and lowers *timeout_msec (-1: no
         * limit). Returns how many. step() runs after the wait. */
        size_t (*poll)(const Engine *engine, struct pollfd *ret, int *timeout_msec, uint64_t now_nsec);
        void (*step)(Engine *engine, uint64_t now_nsec);
        /* Called at the end of the program: gives back all nodes at once, and waits some seconds at most. */
        void (*abandon)(Engine *engine);
} EngineKind;

struct Engine {
        const EngineKind *kind;
        EngineTerms terms;
        EngineOpen open;
        char words[256];
        char address[ENGINE_ADDRESS_BYTES];
        /* The address at which nodes reach the head. Port 0: the head does not listen yet, and no node is
         * asked for. */
        char head_address[64];
        unsigned head_port;
        char avoid[ENGINE_AVOID_BYTES]; /* hosts on which nodes have failed, with commas between them */
        EngineNode *nodes;
        size_t n_nodes;
        void *own;
};

/* The monotonic clock of this host, in seconds. It cannot be set, so a change of this host's time changes no
 * node's cost. It stands still while this host sleeps; the job's nodes then end by themselves. */
static inline int64_t engine_clock(void) {
        return (int64_t) (clock_nsec(CLOCK_MONOTONIC) / 1000000000u);
}

/* Sets engine->open to ENGINE_REFUSED. The text is the reason that the user reads. */
__attribute__((format(printf, 2, 3))) void engine_refuse(Engine *engine, const char *format, ...);
/* Adds the node's host to `avoid`, if that host may be why the node failed. */
void engine_avoid(Engine *engine, const EngineNode *node);
bool engine_avoids(const Engine *engine, const char *host);
/* The arguments with which actord-cluster is executed on a node. */
enum { ENGINE_ARGUMENTS = 6, ENGINE_ARGUMENT_BYTES = 4200 };
typedef struct EngineArguments {
        char program[ENGINE_ARGUMENT_BYTES], port[8], token[TOKEN_TEXT_BYTES], number[16];
        char *argv[ENGINE_ARGUMENTS + 1];
} EngineArguments;
void engine_arguments(const Engine *engine, const EngineNode *node, EngineArguments *ret);
/* Marks the node as over. words: the reason; "": the node keeps its words. */
void engine_node_over(EngineNode *node, const char *words);
/* The node's cost so far or, with `final`, its whole cost. */
void engine_node_cost(const EngineNode *node, bool final, ClusterCost *ret);
/* Whether the node needs a successor because the cluster will soon end it. time_limit_sec: the limit that
 * was asked for; 0: none. */
bool engine_node_expires(const EngineNode *node, uint64_t time_limit_sec);
/* Notes that the node still ran at that time of engine_clock(), so its cost counts at least until then. */
void engine_node_runs(EngineNode *node, int64_t clock);

extern const EngineKind engine_slurm, engine_allocation;
