/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The layer below learner/runtime.h: parameter sets, partial sums of gradients (lanes), threads, and working
 * memory for each thread. */
#pragma once

#include <stdbool.h>

#include "include/slot.h"
#include "learner/adam.h"
#include "learner/store/batch.h"
#include "learner/store/buffer.h"
#include "learner/gradient.h"
#include "learner/store/replay.h"
#include "learner/runtime.h"
#include "learner/threads.h"
#include "lib/algorithm-traits.h"
#include "lib/reduce.h"
#include "lib/rng.h"
#include "lib/sampler.h"
#include "lib/spent.h"

enum {
        /* the most lanes of a gradient (learner/runtime-gradient.c), with any number of threads */
        LANES_MAX = GRADIENT_PARTS,
        /* how many parameters one task updates; fewer are not worth waking a thread */
        PARAMETER_BLOCK = REDUCE_BLOCK,
        SHARD_ROWS_SMALL = 32, /* so that two threads have work even for small minibatches */
        SHARD_SMALL_BELOW = 128,
};

/* An actor-critic without shared layers has two halves: the value's network and the policy's. Their
 * gradients need nothing of each other but the norm of both. If there are threads that help, each half is a
 * task of its own and stays with one thread. So this half's parameters, gradient and Adam's state stay in
 * the cache of that thread's core. The order is that of tape_divide(). */
typedef enum Half { HALF_VALUE, HALF_POLICY, HALF_BOTH } Half;

/* The working memory of a thread. */
typedef struct Bench {
        Pass *pass; /* the policy's own pass, passes[0] */
        float columns[_COLUMN_MAX][SHARD_ROWS_MAX] __attribute__((aligned(64)));
        float weight[SHARD_ROWS_MAX] __attribute__((aligned(64)));
        /* outputs that are computed from several layers; other outputs are in their layers of `pass` */
        float terms[_TERM_MAX][SHARD_ROWS_MAX] __attribute__((aligned(64)));
        float d_terms[_TERM_MAX][SHARD_ROWS_MAX] __attribute__((aligned(64)));
        float *nodes, *d_nodes; /* [tape_columns][SHARD_ROWS_MAX] */
        int32_t *choices;       /* [n_choices, at least 1][SHARD_ROWS_MAX] */
        /* the entropy of each choice, for actions of several choices; columns as in `choices` */
        float *entropies;
        float *actions; /* [n_action][SHARD_ROWS_MAX] */
        float *normal;  /* [numbers of INPUT_NORMAL][SHARD_ROWS_MAX] */
        float *moments; /* [numbers of INPUT_MOMENTS][SHARD_ROWS_MAX]; NULL: the policy acts in one pass */
        Pass *passes[TAPE_PASSES_MAX]; /* numbered as in TapeShape */
        /* room for the gradient of a network's input: [Runtime.n_input_most][SHARD_ROWS_MAX]; NULL: that is
         * 0 */
        float *d_input;
} Bench;

/* A level of noise from which rows are drawn. */
typedef struct Level {
        double time; /* ACT_CONSISTENCY: sampler_boundary() */
        Moment moment;
} Level;

/* The rows of the batch that make up a shard. A shard with fewer rows is filled up with zeros. */
typedef struct Gathered {
        const uint32_t *order; /* NULL: the rows are first, first + 1, ... */
        size_t first;
        uint32_t n, stride;
} Gathered;

static inline size_t gathered_row(const Gathered *g, uint32_t i) {
        return g->order ? g->order[i] : g->first + i;
}

typedef struct Work { /* what the threads are working on: a recomputation, a gradient or an update */
        Net net;
        Net chooser; /* chooses the actions whose values are bootstrapped */
        Rows rows;
        Tape tape;
        bool halved; /* each half of the tape is a task */
        Tape halves[HALF_BOTH];
        /* Whether a half is added up as soon as its lanes are there; how many are not there yet. */
        bool reduces_halves;
        _Atomic uint32_t n_lanes_left[HALF_BOTH];
        /* Whether the tape itself applies networks. If not, the trained network is applied first, and the
         * tape reads its outputs. */
        bool applies;
        bool draws; /* the tape reads normal numbers */
        bool times; /* the tape reads Moments (lib/sampler.h) */
        uint32_t draw;
        uint32_t stride, n_shards, n_lanes;
        uint32_t tasks_per_actor;
        uint32_t n_sharers; /* how many learners share the work of this phase: 1, or all */
        float *values, *log_probabilities;
        AdamScalars scalars;
        double squares[KERNEL_LANES]; /* of the policy's half, in the block where the halves meet */
} Work;

struct Runtime {
        const JobSettings *settings;
        const Network *network;
        Batch *live;    /* the round's data */
        Batch *batch;   /* the data in use: the round's, or earlier data */
        Buffer *buffer; /* NULL: the algorithm has none */
        Replay *replay; /* NULL: the algorithm has none */
        Pair *pairs;    /* the round's pairs; NULL: the algorithm has none */
        uint32_t n_pairs, pair_steps;
        Threads *threads;
        Bench *benches; /* [threads] */

        Adam *nets[NETS_MAX];              /* NULL: the algorithm has no such network */
        const Network *networks[NETS_MAX]; /* the shapes of `nets` */
        /* shapes of the networks beside the policy, numbered as in the algorithm's row */
        Network *beside[NETWORKS_MAX];
        /* ACT_DIFFUSION: its steps; ACT_CONSISTENCY: the boundaries of the noise schedule; otherwise NULL */
        Level *levels;
        uint32_t n_levels; /* of those: rows are drawn from these now */
        /* the widest input of the networks beside the policy and, if the policy acts in passes, of itself */
        uint32_t n_input_most;
        TapeShape shape;
        uint32_t tape_columns;
        float *gradients[LANES_MAX];
        double (*lane_sums)[REDUCE_SUMS_MAX];
        double *block_sums;
        double *noise_mean; /* [n_parameters]; NULL: not needed */
        uint32_t learner, n_learners;
        uint32_t n_updaters; /* how many learners apply the gradient: only the first one, or all */
        /* where several learners share gradients, sums and parameters; NULL: there is one learner */
        uint8_t *reduce;
        ReduceLayout reduce_layout;
        bool forsaken;         /* another learner has stopped */
        uint32_t outputs_bank; /* 0 or 1: which of reduce_layout.outputs_at gets the next outputs */
        /* Other learners may still read the newest gradient, since it was not applied: learners wait for
         * each other only when a gradient is applied. */
        bool gradient_is_read;
        uint32_t layer_action, layer_log_sd, layer_value;
        uint32_t value_from; /* the value's own layers are those from here on; 0: it shares layers */

        /* The round */
        uint32_t n_actors, n_live_actors; /* of `batch`, and of `live` */
        uint64_t update;
        uint64_t n_env_steps_before; /* of all earlier rounds */
        Statistics *statistics;
        double state[ALGORITHM_STATE_MAX];
        Work work;
        /* where to count the time of each part of the learning; NULL: the job has no Profile=yes */
        Spent *spent;
};

int runtime_new(const JobSettings *settings, const JobPage *page, Batch *batch, Runtime **ret);
Runtime *runtime_free(Runtime *runtime);

/* The number of parameter blocks of the network that is being trained. */
static inline uint32_t runtime_blocks(const Runtime *runtime) {
        return (uint32_t) ((runtime->nets[runtime->work.net]->n + PARAMETER_BLOCK - 1) / PARAMETER_BLOCK);
}

/* How many of n tasks (lanes or blocks) this learner does. The first n_sharers learners share the tasks:
 * each does the task with its own number, and every n_sharers-th task after it. */
static inline uint32_t runtime_part(const Runtime *rt, uint32_t n, uint32_t n_sharers) {
        return rt->learner < n_sharers && rt->learner < n ? (n - rt->learner + n_sharers - 1) / n_sharers
                                                          : 0;
}

/* Adds the lanes of the gradient into lane 0, and finds the sum of the squares of each block. With
 * Work.reduces_halves, runtime_reduce_half() has done most of it for both halves. */
void runtime_reduce(Runtime *runtime);
void runtime_reduce_half(Runtime *runtime, Half half);

/* Gathers the columns of the policy's input and of the taken actions. */
void bench_gather(Bench *bench, const Batch *batch, const Gathered *g);
/* Gathers the columns that a loss reads. Each row gets this weight. */
void bench_gather_columns(Bench *bench, const Batch *batch, const Gathered *g, float weight);
/* The memory in which a tape is executed. */
TapePlace bench_place(const Runtime *runtime, Bench *bench, uint32_t stride);
/* Makes the table of levels, if the policy acts in passes. 0 or -ENOMEM. */
int runtime_levels(Runtime *runtime);
/* Draws the standard normal numbers and the Moments (lib/sampler.h) for a tape that reads any of them. Each
 * row has its own random stream. */
void bench_draw(const Runtime *runtime, Bench *bench, RandomPurpose purpose, const Gathered *g);
/* Runs `loss` to record its operations on the tape. Gradients are then computed for this network. */
void runtime_record(Runtime *runtime, Net net, Loss loss, const void *arg);
/* Makes each target a copy of the network that it follows. */
void runtime_copy_targets(Runtime *runtime);

/* Makes this learner one of several. Each computes some lanes of every gradient
 * (learner/runtime-gradient.c), and its share of the rows of runtime_recompute(). Each of the first
 * n_updaters learners adds up and updates some blocks of parameters. memory: laid out as in lib/reduce.h. */
void runtime_share(Runtime *runtime, const JobPage *page, void *memory, uint32_t learner,
                uint32_t n_learners, uint32_t n_updaters);
/* Waits until all learners have called this function. 0; -ETIMEDOUT: one of them has stopped. */
int runtime_meet(Runtime *runtime);

/* Call this before learn(). The batch holds a round of n_actors, with normalised observations and scaled
 * rewards. */
void runtime_begin(Runtime *runtime, uint32_t n_actors, uint64_t update, uint64_t n_env_steps_before,
                Statistics *statistics);
