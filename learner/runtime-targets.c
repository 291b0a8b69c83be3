/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Computes the targets of replayed rows: from the value of the action that a network chooses, or with a tape
 * of which only the forward pass runs. */
#include <assert.h>
#include <string.h>

#include "learner/algorithm/values.h"
#include "learner/runtime-internal.h"

/* The network that chooses an action and the network that values it have the same shape, so they read the
 * same columns. */
static void bootstrap_task(void *arg, uint32_t task, uint32_t thread) {
        Runtime *rt = arg;
        Batch *b = rt->batch;
        Bench *bench = &rt->benches[thread];
        const float *outputs = bench->pass->output[rt->layer_action];
        float *value = bench->terms[TERM_VALUE];
        uint32_t first = task * SHARD_ROWS_MAX, left = b->step_rows - first;
        Gathered after = { .first = b->step_rows + first, .stride = SHARD_ROWS_MAX };

        after.n = left < SHARD_ROWS_MAX ? left : SHARD_ROWS_MAX;
        bench_gather(bench, b, &after);
        pass_forward(bench->pass, rt->nets[rt->work.chooser]->parameters);
        values_greatest(outputs, rt->network->n_action, SHARD_ROWS_MAX, bench->choices);
        pass_forward(bench->pass, rt->nets[rt->work.net]->parameters);
        values_of(outputs, bench->choices, rt->network->n_action, SHARD_ROWS_MAX, value);
        for (uint32_t i = 0; i < after.n; i++)
                b->target[first + i] = b->scaled[first + i] + rt->replay->discounts[first + i] * value[i];
}

void runtime_bootstrap(Runtime *rt, Net chooser, Net net) {
        assert(rt->network->act == ACT_EPSILON_GREEDY);
        assert(rt->replay && rt->batch == rt->replay->drawn);

        rt->work.chooser = chooser;
        rt->work.net = net;
        threads_run(rt->threads, bootstrap_task, rt,
                        (rt->batch->step_rows + SHARD_ROWS_MAX - 1) / SHARD_ROWS_MAX);
        spent_count(rt->spent, PRODUCT_advantage, rt->batch->step_rows,
                        2 * network_forward_operations(rt->network));
}

static void targets_task(void *arg, uint32_t task, uint32_t thread) {
        Runtime *rt = arg;
        Batch *b = rt->batch;
        Bench *bench = &rt->benches[thread];
        uint32_t first = task * SHARD_ROWS_MAX, left = rt->work.rows.n - first;
        Gathered rows = { .first = first, .stride = SHARD_ROWS_MAX }, after;
        TapePlace place = bench_place(rt, bench, SHARD_ROWS_MAX);

        rows.n = left < SHARD_ROWS_MAX ? left : SHARD_ROWS_MAX;
        after = rows;
        after.first += b->step_rows;
        bench_gather(bench, b, &after);
        bench_draw(rt, bench, RANDOM_TARGET, &rows);
        memcpy(bench->columns[COLUMN_REWARD], b->scaled + first, rows.n * sizeof(float));
        memcpy(bench->columns[COLUMN_DISCOUNT], rt->replay->discounts + first, rows.n * sizeof(float));
        memcpy(b->target + first, tape_evaluate(&rt->work.tape, &place), rows.n * sizeof(float));
}

void runtime_targets(Runtime *rt, Rows rows, Loss record, const void *arg) {
        uint64_t operations = 0;

        assert(rt->replay && rt->batch == rt->replay->drawn);

        runtime_record(rt, NETS_MAX, record, arg);
        for (Node k = 0; k < rt->work.tape.n_nodes; k++)
                if (rt->work.tape.nodes[k].op == TAPE_NETWORK)
                        operations += network_forward_operations(rt->networks[rt->work.tape.nodes[k].of]);
        rt->work.rows = rows;
        threads_run(rt->threads, targets_task, rt, (rows.n + SHARD_ROWS_MAX - 1) / SHARD_ROWS_MAX);
        spent_count(rt->spent, PRODUCT_advantage, rows.n, operations);
}
