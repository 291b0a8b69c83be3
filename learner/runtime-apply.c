/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The second part of a gradient step: the lanes are added up, and Adam updates the parameters. A task is a
 * block of parameters; or, if each half of the network has its own thread, the part of a block that belongs
 * to one half. Which parameters a task has changes nothing in the result. */
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "learner/runtime-internal.h"

/* All learners have about equal work; the first one also reads checkpoints and measures curvature. A learner
 * that makes the others wait so long has stopped. */
#define REDUCE_TIMEOUT_NSEC (600ull * 1000000000u)

int runtime_meet(Runtime *rt) {
        int r;

        if (!rt->reduce)
                return 0;
        r = rt->forsaken ? -ETIMEDOUT
                         : reduce_wait((ReduceHead *) rt->reduce, rt->n_learners, REDUCE_TIMEOUT_NSEC);
        rt->forsaken = r < 0;
        return r;
}

typedef struct Range {
        size_t first, n;
} Range;

static Range block_range(const Runtime *rt, uint32_t block) {
        size_t first = (size_t) block * PARAMETER_BLOCK, left = rt->nets[rt->work.net]->n - first;

        return (Range){ first, left < PARAMETER_BLOCK ? left : PARAMETER_BLOCK };
}

/* Adds up the squares in a fixed order. */
static double squares_sum(const double squares[KERNEL_LANES]) {
        double sum = 0.0;

        for (unsigned l = 0; l < KERNEL_LANES; l++)
                sum += squares[l];
        return sum;
}

/* Adds the lanes of one block into lane 0. */
static void block_reduce_task(void *arg, uint32_t task, uint32_t thread) {
        Runtime *rt = arg;
        uint32_t block = rt->learner + task * rt->n_updaters;
        Range range = block_range(rt, block);
        double squares[KERNEL_LANES] = {};

        kernel_parts_add(rt->gradients, rt->work.n_lanes, range.first, range.n, squares);
        rt->block_sums[block] = squares_sum(squares);
}

/* The halves meet within a group of KERNEL_LANES parameters, whose squares are summed together. */
typedef struct Border {
        size_t low, high; /* the group's first parameter, and the first one after it; or both the border */
} Border;

static Border border_of(const Runtime *rt) {
        size_t at = rt->network->layers[rt->value_from].weight_at, n = rt->network->n_parameters;
        size_t low = at / KERNEL_LANES * KERNEL_LANES, high = at == low ? low : low + KERNEL_LANES;

        return (Border){ low, high < n ? high : n };
}

/* The block, or the part of a block, of one half that a task adds up or updates. Parameters from `meet` on
 * belong to the value's half. Some tasks have nothing to do, since one half may have more blocks. */
static Range half_range(const Runtime *rt, uint32_t task, size_t meet, uint32_t *ret_block) {
        uint32_t first = task % 2 == HALF_VALUE ? (uint32_t) (meet / PARAMETER_BLOCK) : 0;
        Range range;
        size_t end;

        *ret_block = first + task / 2;
        if (*ret_block >= runtime_blocks(rt))
                return (Range){};
        range = block_range(rt, *ret_block);
        end = range.first + range.n;
        if (task % 2 == HALF_VALUE)
                range.first = range.first > meet ? range.first : meet;
        else
                end = end < meet ? end : meet;
        range.n = end > range.first ? end - range.first : 0;
        return range;
}

static uint32_t half_tasks(const Runtime *rt) {
        uint32_t before = (uint32_t) (border_of(rt).high / PARAMETER_BLOCK), n = runtime_blocks(rt);

        return 2 * (before + 1 > n - before ? before + 1 : n - before);
}

/* The thread that ends the last lane of a half adds them up, while the other half may still be computed. So
 * the group where the halves meet is left out. */
void runtime_reduce_half(Runtime *rt, Half half) {
        Border border = border_of(rt);
        uint32_t block, n = half_tasks(rt);

        for (uint32_t task = half; task < n; task += 2) {
                double squares[KERNEL_LANES] = {};
                Range range = half_range(rt, task, half == HALF_VALUE ? border.high : border.low, &block);

                if (range.n == 0)
                        continue;
                kernel_parts_add(rt->gradients, rt->work.n_lanes, range.first, range.n, squares);
                if (range.n == block_range(rt, block).n)
                        rt->block_sums[block] = squares_sum(squares);
                else if (half == HALF_POLICY)
                        memcpy(rt->work.squares, squares, sizeof(squares));
        }
}

/* In the block where the halves meet, the sums of squares of the policy's half go on in the group between
 * them, and then in the value's half, as if one thread had added all. */
static void halves_join(Runtime *rt) {
        Border border = border_of(rt);
        uint32_t block = (uint32_t) (border.low / PARAMETER_BLOCK);
        size_t end;

        if (border.low == border.high && border.low % PARAMETER_BLOCK == 0)
                return;
        end = block_range(rt, block).first + block_range(rt, block).n;
        kernel_parts_add(rt->gradients, rt->work.n_lanes, border.low, border.high - border.low,
                        rt->work.squares);
        kernel_parts_add(rt->gradients, 1, border.high, end - border.high, rt->work.squares);
        rt->block_sums[block] = squares_sum(rt->work.squares);
}

void runtime_reduce(Runtime *rt) {
        if (rt->work.reduces_halves)
                halves_join(rt);
        else
                threads_run(rt->threads, block_reduce_task, rt,
                                runtime_part(rt, runtime_blocks(rt), rt->n_updaters));
}

/* Whether each learner updates all parameters of this network, since each keeps its own copy. */
static bool applies_alone(const Runtime *rt) {
        return !rt->nets[rt->work.net]->shared;
}

static void block_apply_task(void *arg, uint32_t task, uint32_t thread) {
        Runtime *rt = arg;
        uint32_t block = applies_alone(rt) ? task : rt->learner + task * rt->n_updaters;
        Range range = block_range(rt, block);

        adam_apply(rt->nets[rt->work.net], &rt->work.scalars, rt->gradients[0], range.first, range.n);
}

static void half_apply_task(void *arg, uint32_t task, uint32_t thread) {
        Runtime *rt = arg;
        uint32_t block;
        Range range = half_range(rt, task, border_of(rt).high, &block);

        adam_apply(rt->nets[rt->work.net], &rt->work.scalars, rt->gradients[0], range.first, range.n);
}

/* The longest gradient that is applied. The squares of a longer one may be too large for a float. Then
 * Adam's second moment would be infinite: parameters would never move again, and learner_restore() would
 * refuse the job's checkpoints. */
#define NORM_MOST 1e19

int runtime_apply(Runtime *rt, Net net, double rate, double norm_max, double *ret_norm) {
        const JobSettings *s = rt->settings;
        uint64_t begun_nsec = spent_begin(rt->spent);
        double sum = 0.0, norm, scale = 1.0;
        int r;

        rt->work.net = net;
        for (uint32_t i = 0; i < runtime_blocks(rt); i++)
                sum += rt->block_sums[i];
        norm = sqrt(sum);
        if (!isfinite(norm))
                return -ERANGE;
        if (norm_max > 0.0)
                scale = fmin(1.0, norm_max / (norm + 1e-6));
        if (norm * scale > NORM_MOST)
                return -ERANGE;

        rt->work.scalars = adam_begin(
                        rt->nets[net], rate, s->adam_beta1, s->adam_beta2, s->adam_epsilon, scale);
        if (net == NET_POLICY && rt->work.reduces_halves)
                threads_run(rt->threads, half_apply_task, rt, half_tasks(rt));
        else
                threads_run(rt->threads, block_apply_task, rt,
                                applies_alone(rt) ? runtime_blocks(rt)
                                                  : runtime_part(rt, runtime_blocks(rt), rt->n_updaters));
        r = runtime_meet(rt);
        if (r < 0)
                return r;
        rt->gradient_is_read = false;
        spent_end(rt->spent, PROFILE_apply, begun_nsec);

        *ret_norm = norm;
        return 0;
}
