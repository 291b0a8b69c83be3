/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The one door to a cluster: an engine starts and stops nodes, and says how they are and what they have
 * cost. It is a row of functions below (slurm.c; allocation.c inside an allocation of Slurm); another engine
 * is one more file.
 *
 * An engine never waits and never calls back. The head writes its wishes into the nodes, polls what the
 * engine polls, lets it take a step, and reads the nodes. */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include "cluster/hello.h"

enum { ENGINE_FDS_MAX = 1100, ENGINE_ADDRESS_BYTES = 256 };

typedef enum EngineState {
        ENGINE_FREE,   /* no node is here */
        ENGINE_WANTED, /* not asked for yet */
        ENGINE_ASKED,  /* words: why it is not there yet */
        ENGINE_RUNNING,
        ENGINE_OVER, /* words: how it ended; its cost is final */
} EngineState;

typedef struct EngineNode {
        uint32_t number; /* used once a job */
        EngineState state;
        bool stop;     /* the head wants no more of it: withdraw it, or give it back */
        bool stopping; /* the engine has done so */
        char id[32];   /* the cluster's, once it is asked for */
        char name[64]; /* the host's, once it runs */
        char words[256];
        /* in seconds since 1970, by the cluster's clock; 0: not known */
        int64_t asked, started, ended;
        int64_t seen;  /* running, by the newest look */
        int64_t limit; /* when the cluster ends it, by its own word; 0: no limit is known */
        uint64_t memory_bytes;
        uint32_t n_cpus, n_gpus;
        double billing;
        int exit_status; /* OVER: of the node's program; -1: not known */
} EngineNode;

typedef struct EngineTerms {
        /* of [Slurm]; "": none */
        const char *partition, *account, *constraint, *options;
        uint64_t time_limit_sec;
        const char *directory; /* where our programs lie */
        uint8_t token[TOKEN_BYTES];
} EngineTerms;

typedef enum EngineOpen {
        ENGINE_CHECKING,
        /* it accepts nodes; address is of one of them, by which the head finds its own address on that
         * network */
        ENGINE_OPEN,
        ENGINE_REFUSED, /* words */
} EngineOpen;

typedef struct Engine Engine;

typedef struct EngineKind {
        const char *name;
        int (*init)(Engine *engine);
        void (*done)(Engine *engine);
        /* Fills in at most ENGINE_FDS_MAX; lowers *timeout_msec (-1: none). */
        size_t (*poll)(const Engine *engine, struct pollfd *ret, int *timeout_msec, uint64_t now_nsec);
        void (*step)(Engine *engine, uint64_t now_nsec);
        /* The program ends: gives back everything at once, and waits for some seconds at most. */
        void (*abandon)(Engine *engine);
} EngineKind;

struct Engine {
        const EngineKind *kind;
        EngineTerms terms;
        EngineOpen open;
        char words[256];
        char address[ENGINE_ADDRESS_BYTES];
        /* Where nodes reach the head; port 0: it does not listen yet, and no node is asked for. */
        char head_address[64];
        unsigned head_port;
        EngineNode *nodes;
        size_t n_nodes;
        void *own;
};

/* engine->open becomes ENGINE_REFUSED, with these words. */
__attribute__((format(printf, 2, 3))) void engine_refuse(Engine *engine, const char *format, ...);
/* The arguments of actord-cluster on a node, to be executed there. */
enum { ENGINE_ARGUMENTS = 6, ENGINE_ARGUMENT_BYTES = 4200 };
typedef struct EngineArguments {
        char program[ENGINE_ARGUMENT_BYTES], port[8], token[TOKEN_TEXT_BYTES], number[16];
        char *argv[ENGINE_ARGUMENTS + 1];
} EngineArguments;
void engine_arguments(const Engine *engine, const EngineNode *node, EngineArguments *ret);
/* The node is over, for a reason; "" keeps its words. */
void engine_node_over(EngineNode *node, const char *words);

extern const EngineKind engine_slurm, engine_allocation;
