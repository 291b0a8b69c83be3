/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Targets of replayed rows, computed by a tape that is executed only forwards. */
#include <assert.h>
#include <string.h>

#include "learner/runtime-internal.h"

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
