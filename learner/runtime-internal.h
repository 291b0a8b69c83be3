/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The layer below the verbs: parameter sets, lanes, threads and one working place for each thread. */
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
#include "lib/spent.h"

enum {
        /* in which the shards of a minibatch are summed, whatever the number of threads */
        LANES_MAX = GRADIENT_PARTS,
        PARAMETER_BLOCK =
                        /* of one task, where every parameter is done alike; fewer are not worth a
                         * thread's wake-up */
        REDUCE_BLOCK,
        SHARD_ROWS_SMALL = 32, /* so that small minibatches have work for two threads as well */
        SHARD_SMALL_BELOW = 128,
};

/* A thread's place. */
typedef struct Bench {
        Pass *pass; /* of the policy: the first of `passes` */
        float columns[_COLUMN_MAX][SHARD_ROWS_MAX] __attribute__((aligned(64)));
        float weight[SHARD_ROWS_MAX] __attribute__((aligned(64)));
        /* outputs of the network that are computed from layers; others lie in their layers of `pass` */
        float terms[_TERM_MAX][SHARD_ROWS_MAX] __attribute__((aligned(64)));
        float d_terms[_TERM_MAX][SHARD_ROWS_MAX] __attribute__((aligned(64)));
        float *nodes, *d_nodes;        /* [tape_columns][SHARD_ROWS_MAX] */
        int32_t *choices;              /* [n_choices, at least 1][SHARD_ROWS_MAX] */
        float *entropies;              /* the same, of each number of an action that is several choices */
        float *actions;                /* [n_action][SHARD_ROWS_MAX] */
        float *normal;                 /* [those of INPUT_NORMAL][SHARD_ROWS_MAX] */
        float *moments;                /* the same of INPUT_MOMENTS; NULL: the policy acts in one pass */
        Pass *passes[TAPE_PASSES_MAX]; /* as TapeShape numbers them */
        float *d_input; /* [the widest input beside the policy's][SHARD_ROWS_MAX]; NULL: there is none */
} Bench;

/* The rows of the batch that a shard takes; the rest of its rows are zeros. */
typedef struct Gathered {
        const uint32_t *order; /* NULL: first, first + 1, ... */
        size_t first;
        uint32_t n, stride;
} Gathered;

static inline size_t gathered_row(const Gathered *g, uint32_t i) {
        return g->order ? g->order[i] : g->first + i;
}

typedef struct Work { /* of the phase in progress */
        Net net;
        Rows rows;
        Tape tape;
        bool applies; /* the tape applies networks; otherwise it has terms of one */
        bool draws;   /* and reads normal numbers */
        bool times;   /* and moments */
        uint32_t draw;
        uint32_t stride, n_shards, n_lanes;
        uint32_t tasks_per_actor;
        uint32_t n_sharers; /* learners that recompute together */
        float *values, *log_probabilities;
        AdamScalars scalars;
} Work;

struct Runtime {
        const JobSettings *settings;
        const Network *network;
        Batch *live;    /* the round's data */
        Batch *batch;   /* what the verbs work on: the round's, or earlier ones */
        Buffer *buffer; /* NULL: the algorithm has none */
        Replay *replay; /* NULL: the algorithm has none */
        Pair *pairs;    /* of the round; NULL: the algorithm has none */
        uint32_t n_pairs, pair_steps;
        Threads *threads;
        Bench *benches; /* [threads] */

        Adam *nets[NETS_MAX];              /* NULL: the algorithm has no such net */
        const Network *networks[NETS_MAX]; /* the shape of each */
        Network *beside[NETWORKS_MAX];     /* the shapes of those beside the policy, by row */
        uint32_t n_boundaries;             /* that moments are drawn from */
        uint32_t n_input_most;             /* the widest input of these */
        TapeShape shape;
        uint32_t tape_columns;
        float *gradients[LANES_MAX];
        double (*lane_sums)[REDUCE_SUMS_MAX];
        double *block_sums;
        double *noise_mean; /* [n_parameters]; NULL: not asked for */
        uint32_t learner, n_learners;
        uint32_t n_updaters; /* learners that apply the gradient: the first one, or all */
        /* where several learners have gradients, sums and parameters; NULL: one learner has its own */
        uint8_t *reduce;
        ReduceLayout reduce_layout;
        bool forsaken;         /* another learner did not come */
        uint32_t outputs_bank; /* changes with what is recomputed */
        /* Other learners may still be reading the newest gradient: it was not applied, and they meet only
         * there. */
        bool gradient_is_read;
        uint32_t layer_action, layer_log_sd, layer_value;

        /* The round */
        uint32_t n_actors, n_live_actors; /* of `batch`, and of `live` */
        uint64_t update;
        uint64_t n_env_steps_before; /* of all rounds before this one */
        Statistics *statistics;
        double state[ALGORITHM_STATE_MAX];
        Work work;
        Spent *spent; /* NULL: not asked for */
};

int runtime_new(const JobSettings *settings, const JobPage *page, Batch *batch, Runtime **ret);
Runtime *runtime_free(Runtime *runtime);

/* The number of parameter blocks of the net that the work in progress trains. */
static inline uint32_t runtime_blocks(const Runtime *runtime) {
        return (uint32_t) ((runtime->nets[runtime->work.net]->n + PARAMETER_BLOCK - 1) / PARAMETER_BLOCK);
}

/* Columns of the policy's input, and of the actions that were taken. */
void bench_gather(Bench *bench, const Batch *batch, const Gathered *g);
/* Gathers the columns that a loss reads; each row gets this weight. */
void bench_gather_columns(Bench *bench, const Batch *batch, const Gathered *g, float weight);
/* Where a tape is executed. */
TapePlace bench_place(const Runtime *runtime, Bench *bench, uint32_t stride);
/* Standard normal numbers for a tape that reads them: those of row i of the minibatch have a random stream
 * of their own. */
void bench_draw(const Runtime *runtime, Bench *bench, RandomPurpose purpose, const Gathered *g);
/* Records a loss, whose gradient is for this net. */
void runtime_record(Runtime *runtime, Net net, Loss loss, const void *arg);
/* Targets become copies of what they follow. */
void runtime_copy_targets(Runtime *runtime);

/* One of several: each computes some lanes of every gradient and some rows of what is recomputed, and
 * each of the first n_updaters adds up and moves some blocks of parameters. memory: as lib/reduce.h has
 * it. */
void runtime_share(Runtime *runtime, const JobPage *page, void *memory, uint32_t learner,
                uint32_t n_learners, uint32_t n_updaters);
/* Until all learners have come; 0, or -ETIMEDOUT: one of them has stopped. */
int runtime_meet(Runtime *runtime);

/* Before learn(): the batch holds a round of n_actors, observations normalised, rewards scaled. */
void runtime_begin(Runtime *runtime, uint32_t n_actors, uint64_t update, uint64_t n_env_steps_before,
                Statistics *statistics);
