/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The training loop as data: fragments, the tensors between them, and the places where a distribution puts
 * the fragments. As in "MSRL: Distributed Reinforcement Learning with Dataflow Fragments" (Zhu et al.,
 * ATC'23), the algorithm is written once, and a row, one distribution, decides how it runs. lib/fragment.c
 * (pure functions) maps a row onto the graph, and refuses rows that cannot work. actorctl prints the graph.
 * The invoker follows the row, and knows no distribution by name. */
#pragma once

/* Tables and layouts are aligned by hand. */
/* clang-format off */

#include <stdbool.h>
#include <stdint.h>
#include "include/settings.h"

#define EDGES_MAX 32u
#define EDGE_DIMS_MAX 3u
/* A minibatch's gradient is added up in this many partial sums (lanes), and parameters are updated in this
 * many sets of blocks. The number does not depend on the number of processes. */
#define GRADIENT_PARTS 16u

/* X(NAME, word, its task) */
#define FRAGMENTS(X)                                                                \
        X(STEP, "step", "steps environments")                                       \
        X(INFERENCE, "inference", "acts: observation to action, by the policy")     \
        X(STORE, "store", "keeps a round's trajectories, copied and checked")       \
        X(ADVANTAGE, "advantage", "values, advantages and targets of a round")      \
        X(GRADIENT, "gradient", "gradients of a minibatch, in shards of rows")      \
        X(UPDATE, "update", "adds gradients up and moves the parameters")           \
        X(PUBLISH, "publish", "publishes parameters as the next policy version")           \
        X(EVALUATE, "evaluate", "plays episodes without learning from them")

#define HOSTS(X)                                                                    \
        X(ACTOR, "actor") X(LEARNER, "learner") X(LEARNERS, "every learner") X(FUSED, "one process")

#define CHANNELS(X)                     /* X(NAME, word, its meaning) */                     \
        X(SEGMENT, "segment", "the actor's shared memory, handed over by an order")          \
        X(EXCHANGE, "exchange", "rows of that memory, handed over step by step")             \
        X(POLICY, "policy", "banks of versions, which only the learner writes")               \
        X(REDUCE, "reduce", "the learners' shared lanes, added in a fixed tree")             \
        X(PARAMETERS, "parameters",                                                          \
                "the learners' shared parameters, written by the learners that update them")

#define RATES(X)                                                                     \
        X(STEP, "step") X(GRADIENT, "gradient") X(INVOCATION, "invocation") X(ROUND, "round")

/* X(NAME, the actors for which an update, or a step of inference at the learner, waits). The barrier of
 * inference changes no result. The barrier of updates does: with READY the learner learns from the actor
 * that is ready (async). */
#define BARRIERS(X) X(NONE, "no actor") X(READY, "the actors that are ready") X(ALL, "all actors")

typedef enum Fragment {
#define X(name, ...) FRAGMENT_##name,
        FRAGMENTS(X)
#undef X
        _FRAGMENT_MAX,
} Fragment;
typedef enum FragmentHost {
#define X(name, word) HOST_##name,
        HOSTS(X)
#undef X
        _HOST_MAX,
} FragmentHost;
typedef enum ChannelKind {
#define X(name, ...) CHANNEL_##name,
        CHANNELS(X)
#undef X
        _CHANNEL_MAX,
} ChannelKind;
typedef enum Rate {
#define X(name, word) RATE_##name,
        RATES(X)
#undef X
        _RATE_MAX,
} Rate;
typedef enum Barrier {
#define X(name, word) BARRIER_##name,
        BARRIERS(X)
#undef X
        _BARRIER_MAX,
} Barrier;

typedef struct Distribution {           /* a row of the table: everything that defines a distribution */
        uint32_t host[_FRAGMENT_MAX];   /* FragmentHost */
        uint32_t round_barrier;         /* Barrier: the actors for which an update waits */
        /* Barrier: the actors for which the learner waits before it acts; NONE: the process that steps also
         * acts */
        uint32_t inference_barrier;
        const char *help;
} Distribution;

typedef struct Dim {                    /* value 0: it depends on the environment */
        const char *name;
        uint64_t value;
} Dim;

typedef struct Edge {
        const char *tensor;
        uint32_t from, to;              /* Fragment */
        uint32_t rate;
        uint32_t element;               /* ActordElement; 0: the environment decides it */
        uint32_t n_dims;
        Dim dims[EDGE_DIMS_MAX];
        bool held;                      /* it has a value before its producer runs, so it breaks a cycle */
        /* pieces that replicas divide among themselves; 0: each replica has the whole */
        uint32_t n_parts;
        uint64_t n_a_round;             /* how often a round sends it; 0: as often as the algorithm asks */
} Edge;

typedef struct Channel {
        uint32_t kind, edge;
} Channel;

typedef struct Graph {                  /* one job's graph under one distribution */
        uint32_t host[_FRAGMENT_MAX];
        uint32_t n_replicas[_HOST_MAX];
        uint32_t round_barrier, inference_barrier;
        uint32_t n_edges, n_channels;
        Edge edges[EDGES_MAX];
        Channel channels[EDGES_MAX];
} Graph;
