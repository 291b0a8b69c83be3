/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The functions that run the network. A minibatch is cut into shards with a fixed number of rows. The shards
 * are dealt to at most LANES_MAX lanes. Each lane adds its shards one after the other, and the lanes are
 * added in a tree. All this depends only on the number of rows, so the number of threads changes only the
 * time. */
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "learner/runtime-internal.h"
#include "learner/algorithm/values.h"
#include "learner/kernel/choices.h"
#include "lib/forward.h"
#include "lib/network.h"

static_assert(SUMS_MAX <= REDUCE_SUMS_MAX, "room for a lane's sums");

enum { GATHER_NUMBERS = 64 }; /* how many numbers of a row are gathered at a time */

/* Writes zeros into n columns behind the last gathered row, up to the stride. */
static void columns_clear(float *column, const Gathered *g, uint32_t n) {
        for (uint32_t i = g->n; i < g->stride; i++)
                for (uint32_t k = 0; k < n; k++)
                        column[(size_t) k * g->stride + i] = 0.0f;
}

/* A multiple of 16 as long as there are 16. */
static uint32_t numbers_at_once(uint32_t left) {
        if (left >= GATHER_NUMBERS)
                return GATHER_NUMBERS;
        return left < KERNEL_LANES ? left : left / KERNEL_LANES * KERNEL_LANES;
}

static void bench_gather_pixels(float *input, const Batch *b, const Gathered *g) {
        uint32_t length = (uint32_t) batch_frame_numbers(b), n;

        for (uint32_t first = 0; first < g->n; first += n) {
                const uint8_t *frames[KERNEL_LANES][ACTORD_STACK_MAX], *rows[KERNEL_LANES];

                n = g->n - first < KERNEL_LANES ? g->n - first : KERNEL_LANES;
                for (uint32_t i = 0; i < n; i++)
                        batch_stack(b, gathered_row(g, first + i), frames[i]);
                for (uint32_t f = 0; f < b->frames; f++) {
                        /* Lanes beyond the last row read the row of lane 0; columns_clear() overwrites their
                         * numbers. */
                        for (uint32_t i = 0; i < KERNEL_LANES; i++)
                                rows[i] = frames[i < n ? i : 0][f];
                        kernel_pixels(rows, length, FORWARD_PIXEL, g->stride,
                                        input + (size_t) f * length * g->stride + first);
                }
        }
        columns_clear(input, g, b->n_observation);
}

/* Turns n numbers of all rows into columns, for a multiple of 16. */
static void bench_gather_whole(
                float *column, const Batch *b, const Gathered *g, uint32_t first, uint32_t n) {
        float rows[SHARD_ROWS_MAX * GATHER_NUMBERS];

        for (uint32_t i = 0; i < g->n; i++)
                memcpy(rows + i * n, b->observations + gathered_row(g, i) * b->n_observation + first,
                                n * sizeof(float));
        memset(rows + g->n * n, 0, (g->stride - g->n) * n * sizeof(float));
        kernel_transpose(rows, g->stride, n, column);
}

/* Turns observations into columns. It copies a few numbers of every row, then the next few, so that the
 * columns that it writes stay in the cache. */
static void bench_gather_observations(float *input, const Batch *b, const Gathered *g) {
        if (b->images) {
                bench_gather_pixels(input, b, g);
                return;
        }
        for (uint32_t first = 0, n; first < b->n_observation; first += n) {
                float *column = input + (size_t) first * g->stride;

                n = numbers_at_once(b->n_observation - first);
                if (n % KERNEL_LANES == 0) {
                        bench_gather_whole(column, b, g, first, n);
                        continue;
                }
                for (uint32_t i = 0; i < g->n; i++) {
                        size_t at = gathered_row(g, i) * b->n_observation + first;

                        for (uint32_t k = 0; k < n; k++)
                                column[(size_t) k * g->stride + i] = b->observations[at + k];
                }
                columns_clear(column, g, n);
        }
}

/* Turns rows of the batch into columns of the shard: the network's input, and the taken actions. */
void bench_gather(Bench *bench, const Batch *b, const Gathered *g) {
        bench->pass->stride = g->stride;
        bench_gather_observations(bench->pass->input, b, g);
        for (uint32_t i = 0; i < g->n; i++) {
                size_t row = gathered_row(g, i);

                if (!act_is_continuous(b->act))
                        for (uint32_t k = 0; k < b->n_choices; k++)
                                bench->choices[(size_t) k * g->stride + i] =
                                                b->choices[row * b->n_choices + k];
                else
                        for (uint32_t k = 0; k < b->n_action; k++)
                                bench->actions[(size_t) k * g->stride + i] =
                                                b->actions[row * b->n_action + k];
        }

        for (uint32_t i = g->n; i < g->stride; i++) {
                for (uint32_t k = 0; k < b->n_choices; k++)
                        bench->choices[(size_t) k * g->stride + i] = 0;
                for (uint32_t k = 0; k < b->n_action; k++)
                        bench->actions[(size_t) k * g->stride + i] = 0.0f;
        }
}

void bench_gather_columns(Bench *bench, const Batch *b, const Gathered *g, float weight) {
        const float *const from[] = {
                [COLUMN_ADVANTAGE] = b->advantage,
                [COLUMN_TARGET] = b->target,
                [COLUMN_OLD_LOG_PROBABILITY] = b->log_probability,
                [COLUMN_OLD_VALUE] = b->value,
                [COLUMN_BEHAVIOUR_LOG_PROBABILITY] = b->behaviour_log_probability,
        };

        for (uint32_t i = 0; i < g->stride; i++)
                bench->weight[i] = i < g->n ? weight : 0.0f;
        for (unsigned c = 0; c < sizeof(from) / sizeof(from[0]); c++) {
                for (uint32_t i = 0; i < g->n; i++)
                        bench->columns[c][i] = from[c][gathered_row(g, i)];
                for (uint32_t i = g->n; i < g->stride; i++)
                        bench->columns[c][i] = 0.0f;
        }
}

static float *bench_value(const Runtime *rt, Bench *bench) {
        return rt->layer_value == UINT32_MAX ? bench->terms[TERM_VALUE]
                                             : bench->pass->output[rt->layer_value];
}

static float *bench_d_value(const Runtime *rt, Bench *bench) {
        return rt->layer_value == UINT32_MAX ? bench->d_terms[TERM_VALUE]
                                             : bench->pass->d_output[rt->layer_value];
}

/* Computes the forward pass, then probability, entropy and value of the taken actions; or one half of it. */
static void bench_forward(Runtime *rt, Bench *bench, Half half, const float *parameters) {
        Pass *pass = bench->pass;
        float *log_probability = bench->terms[TERM_LOG_PROBABILITY], *entropy = bench->terms[TERM_ENTROPY];

        pass->first = half == HALF_VALUE ? rt->value_from : 0;
        pass->end = half == HALF_POLICY ? rt->value_from : rt->network->n_layers;
        pass_forward(pass, parameters);
        if (half == HALF_VALUE)
                return;
        switch ((ActKind) rt->network->act) {
        case ACT_CATEGORICAL:
                choices_forward(rt->network, pass->output[rt->layer_action], bench->choices, pass->stride,
                                bench->entropies, log_probability, entropy);
                break;
        case ACT_GAUSSIAN:
                kernel_gaussian(pass->output[rt->layer_action], pass->output[rt->layer_log_sd],
                                bench->actions, rt->network->n_action, pass->stride, log_probability,
                                entropy);
                break;
        case ACT_EPSILON_GREEDY:
                values_of(pass->output[rt->layer_action], bench->choices, rt->network->n_action,
                                pass->stride, bench->terms[TERM_VALUE]);
                memset(log_probability, 0, pass->stride * sizeof(float));
                memset(entropy, 0, pass->stride * sizeof(float));
                break;
        case ACT_CONSISTENCY:
        case ACT_DIFFUSION:
        case ACT_DETERMINISTIC:
        case ACT_SQUASHED:
                assert(!"the losses of these policies need no probabilities of a batch's actions");
                break;
        }
}

/* Computes the gradients of the outputs of which the terms are made. */
static void terms_backward(Runtime *rt, Bench *bench) {
        Pass *pass = bench->pass;
        const float *d_log_probability = bench->d_terms[TERM_LOG_PROBABILITY];
        const float *d_entropy = bench->d_terms[TERM_ENTROPY];

        switch ((ActKind) rt->network->act) {
        case ACT_CATEGORICAL:
                choices_backward(rt->network, pass->output[rt->layer_action], bench->choices, pass->stride,
                                rt->network->n_choices > 1 ? bench->entropies : bench->terms[TERM_ENTROPY],
                                d_log_probability, d_entropy, pass->d_output[rt->layer_action]);
                break;
        case ACT_GAUSSIAN:
                kernel_gaussian_backward(pass->output[rt->layer_action], pass->output[rt->layer_log_sd],
                                bench->actions, d_log_probability, d_entropy, rt->network->n_action,
                                pass->stride, pass->d_output[rt->layer_action],
                                pass->d_output[rt->layer_log_sd]);
                break;
        case ACT_EPSILON_GREEDY:
                values_of_backward(bench->choices, bench->d_terms[TERM_VALUE], rt->network->n_action,
                                pass->stride, pass->d_output[rt->layer_action]);
                break;
        case ACT_CONSISTENCY:
        case ACT_DIFFUSION:
        case ACT_DETERMINISTIC:
        case ACT_SQUASHED:
                assert(!"the losses of these policies need no probabilities of a batch's actions");
                break;
        }
}

/* Recomputing */

static void recompute_task(void *arg, uint32_t task, uint32_t thread) {
        Runtime *rt = arg;
        Batch *b = rt->batch;
        Bench *bench = &rt->benches[thread];
        uint32_t shared = task * rt->work.n_sharers + rt->learner % rt->work.n_sharers;
        uint32_t actor = shared / rt->work.tasks_per_actor, part = shared % rt->work.tasks_per_actor;
        uint32_t first = part * SHARD_ROWS_MAX, end = b->next_rows + b->n_finals[actor];
        Gathered g = { .first = batch_block(b, actor) + first };

        if (first >= end)
                return;
        g.n = end - first < SHARD_ROWS_MAX ? end - first : SHARD_ROWS_MAX;
        g.stride = kernel_padded(g.n);

        bench_gather(bench, b, &g);
        bench_forward(rt, bench, HALF_BOTH, rt->nets[rt->work.net]->parameters);
        memcpy(rt->work.log_probabilities + g.first, bench->terms[TERM_LOG_PROBABILITY],
                        g.n * sizeof(float));
        memcpy(rt->work.values + g.first, bench_value(rt, bench), g.n * sizeof(float));
}

/* Divides a round's rows among the learners: each computes the values and log-probabilities of its part,
 * then all read all parts. A batch without a round's number of rows (one of the replay store) does not match
 * the shared memory, so each learner computes all of it. */
static bool recompute_begin(Runtime *rt) {
        const ReduceLayout *l = &rt->reduce_layout;
        Batch *b = rt->batch;
        float *outputs;

        rt->work.n_sharers = 1;
        rt->work.values = b->value;
        rt->work.log_probabilities = b->log_probability;
        if (!rt->reduce || b->n_rows != l->n_rows)
                return false;

        rt->outputs_bank ^= 1;
        outputs = (float *) (rt->reduce + l->outputs_at[rt->outputs_bank]);
        rt->work.n_sharers = rt->n_learners;
        rt->work.values = outputs;
        rt->work.log_probabilities = outputs + l->n_rows;
        return true;
}

static void recompute_gather(Runtime *rt) {
        Batch *b = rt->batch;

        /* If a learner has died and this wait fails, the next gradient fails as well, and reports it. */
        (void) runtime_meet(rt);
        for (uint32_t a = 0; a < rt->n_actors; a++) {
                size_t block = batch_block(b, a), n = b->next_rows + b->n_finals[a];

                memcpy(b->value + block, rt->work.values + block, n * sizeof(float));
                memcpy(b->log_probability + block, rt->work.log_probabilities + block, n * sizeof(float));
        }
}

void runtime_recompute(Runtime *rt, Net net) {
        uint32_t n_most = 0, n_tasks;
        uint64_t n_rows = 0;
        bool gathers;

        for (uint32_t a = 0; a < rt->n_actors; a++) {
                n_rows += rt->batch->next_rows + rt->batch->n_finals[a];
                if (rt->batch->n_finals[a] > n_most)
                        n_most = rt->batch->n_finals[a];
        }

        rt->work.net = net;
        rt->work.tasks_per_actor = (rt->batch->next_rows + n_most + SHARD_ROWS_MAX - 1) / SHARD_ROWS_MAX;
        gathers = recompute_begin(rt);
        n_tasks = rt->n_actors * rt->work.tasks_per_actor;
        threads_run(rt->threads, recompute_task, rt,
                        gathers ? runtime_part(rt, n_tasks, rt->n_learners) : n_tasks);
        spent_count(rt->spent, PRODUCT_advantage, n_rows / rt->work.n_sharers,
                        network_forward_operations(rt->network));
        if (gathers)
                recompute_gather(rt);
}

/* Gradients */

TapePlace bench_place(const Runtime *rt, Bench *bench, uint32_t stride) {
        TapePlace place = {
                .stride = stride,
                .weight = bench->weight,
                .values = bench->nodes,
                .d = bench->d_nodes,
                .inputs = {
                        [INPUT_OBSERVATION] = bench->pass->input,
                        [INPUT_ACTION] = bench->actions,
                        [INPUT_NORMAL] = bench->normal,
                        [INPUT_MOMENTS] = bench->moments,
                },
                .d_input = bench->d_input,
        };

        for (unsigned c = 0; c < _COLUMN_MAX; c++)
                place.columns[c] = bench->columns[c];
        for (unsigned t = 0; t < _TERM_MAX; t++) {
                place.terms[t] = bench->terms[t];
                place.d_terms[t] = bench->d_terms[t];
        }
        place.terms[TERM_VALUE] = bench_value(rt, bench);
        place.d_terms[TERM_VALUE] = bench_d_value(rt, bench);
        memcpy(place.passes, bench->passes, sizeof(place.passes));
        for (Net net = 0; net < NETS_MAX; net++)
                place.parameters[net] = rt->nets[net] ? rt->nets[net]->parameters : NULL;
        return place;
}

static void shard_gradient(Runtime *rt, Bench *bench, Half half, const Tape *tape, const Gathered *g,
                bool accumulate, uint32_t lane, double *sums) {
        const Work *w = &rt->work;
        const float *parameters = rt->nets[w->net]->parameters;
        TapePlace place = bench_place(rt, bench, g->stride);

        place.sums = sums;
        place.gradient = rt->gradients[lane];
        place.accumulate = accumulate;
        bench_gather(bench, rt->batch, g);
        bench_gather_columns(bench, rt->batch, g, 1.0f / (float) w->rows.n);
        if (w->applies) {
                bench_draw(rt, bench, RANDOM_POLICY, g);
                tape_execute(tape, &place);
                return;
        }
        bench_forward(rt, bench, half, parameters);
        tape_execute(tape, &place);
        if (half != HALF_VALUE)
                terms_backward(rt, bench);
        pass_backward(bench->pass, parameters, accumulate, rt->gradients[lane], NULL);
}

/* The first shard of a lane. A lane is a range of shards that one thread computes in order. */
static uint32_t shard_of_lane(const Work *w, uint32_t lane) {
        assert(w->n_lanes > 0);

        return (uint32_t) ((uint64_t) w->n_shards * lane / w->n_lanes);
}

/* A task is a lane, or a half of it. With an even number of threads, a thread does tasks of one half. */
static void lane_task(void *arg, uint32_t task, uint32_t thread) {
        Runtime *rt = arg;
        Half half = rt->work.halved ? task % 2 : HALF_BOTH;
        uint32_t lane = rt->learner + (rt->work.halved ? task / 2 : task) * rt->n_learners;
        uint32_t first = shard_of_lane(&rt->work, lane), end = shard_of_lane(&rt->work, lane + 1);
        const Tape *tape = half == HALF_BOTH ? &rt->work.tape : &rt->work.halves[half];
        double sums[REDUCE_SUMS_MAX] = {};

        for (uint32_t shard = first; shard < end; shard++) {
                uint32_t row = shard * rt->work.stride, left = rt->work.rows.n - row;
                Gathered g = {
                        .order = rt->work.rows.order + row,
                        .n = left < rt->work.stride ? left : rt->work.stride,
                        .stride = rt->work.stride,
                };

                shard_gradient(rt, &rt->benches[thread], half, tape, &g, shard > first, lane, sums);
        }
        /* The other half writes other sums, perhaps at the same time. */
        for (uint32_t k = 0; k < tape->n_sums; k++)
                rt->lane_sums[lane][tape->sums[k].number] = sums[tape->sums[k].number];
        if (rt->work.reduces_halves && atomic_fetch_sub(&rt->work.n_lanes_left[half], 1) == 1)
                runtime_reduce_half(rt, half);
}

/* Adds up the lanes' sums in a copy, since other learners read the same sums. */
static void sums_reduce(const Runtime *rt, double *ret_sums, unsigned n_sums) {
        double sums[LANES_MAX][REDUCE_SUMS_MAX];

        memcpy(sums, rt->lane_sums, rt->work.n_lanes * sizeof(sums[0]));
        for (uint32_t step = 1; step < rt->work.n_lanes; step *= 2)
                for (uint32_t lane = 0; lane + step < rt->work.n_lanes; lane += 2 * step)
                        for (unsigned k = 0; k < n_sums; k++)
                                sums[lane][k] += sums[lane + step][k];
        memcpy(ret_sums, sums[0], n_sums * sizeof(double));
}

/* Computes all lanes first, then all blocks: no thread begins a block before all lanes are done. */
static int lanes_and_blocks(Runtime *rt) {
        uint32_t n_lanes;
        int r;

        r = rt->gradient_is_read ? runtime_meet(rt) : 0;
        if (r < 0)
                return r;
        n_lanes = runtime_part(rt, rt->work.n_lanes, rt->n_learners);
        for (uint32_t k = 0; k < n_lanes; k++)
                memset(rt->lane_sums[rt->learner + k * rt->n_learners], 0, sizeof(rt->lane_sums[0]));
        threads_run(rt->threads, lane_task, rt, rt->work.halved ? 2 * n_lanes : n_lanes);
        r = runtime_meet(rt);
        if (r < 0)
                return r;
        rt->gradient_is_read = true;
        if (rt->work.tape.n_losses == 0)
                return 0;
        runtime_reduce(rt);
        return runtime_meet(rt);
}

/* How many rows of the minibatch are in the lanes (groups of shards) that this learner computes. */
static uint64_t rows_of_lanes(const Runtime *rt) {
        const Work *w = &rt->work;
        uint64_t n = 0;

        for (uint32_t lane = rt->learner; lane < w->n_lanes; lane += rt->n_learners) {
                uint64_t first = (uint64_t) shard_of_lane(w, lane) * w->stride;
                uint64_t end = (uint64_t) shard_of_lane(w, lane + 1) * w->stride;

                n += (end < w->rows.n ? end : w->rows.n) - first;
        }
        return n;
}

/* Counts the operations of one row's gradient. The gradient goes through a network with fixed parameters
 * only if that network's input depends on trained parameters. The gradient of the trained network's input is
 * computed under the same condition. */
static uint64_t gradient_operations(const Runtime *rt) {
        const Tape *tape = &rt->work.tape;
        uint64_t sum = rt->work.applies ? 0 : network_gradient_operations(rt->networks[rt->work.net]);

        for (Node k = 0; k < tape->n_nodes; k++) {
                const TapeNode *node = &tape->nodes[k];

                if (node->op != TAPE_NETWORK)
                        continue;
                if (node->of == rt->work.net && tape->n_losses > 0)
                        sum += network_gradient_operations(rt->networks[node->of]);
                else
                        sum += network_forward_operations(rt->networks[node->of]);
                if (tape->nodes[node->a].moves && tape->n_losses > 0)
                        sum += network_forward_operations(rt->networks[node->of]);
        }
        return sum;
}

void runtime_record(Runtime *rt, Net net, Loss loss, const void *arg) {
        Work *w = &rt->work;

        w->net = net;
        w->applies = w->draws = w->times = false;
        rt->shape.trained = net;
        tape_begin_with(&w->tape, &rt->shape);
        loss(&w->tape, arg);

        assert(w->tape.n_columns <= rt->tape_columns);
        for (Node k = 0; k < w->tape.n_nodes; k++) {
                const TapeNode *node = &w->tape.nodes[k];

                if (node->op == TAPE_INPUT && node->of == INPUT_NORMAL)
                        w->draws = true;
                if (node->op == TAPE_INPUT && node->of == INPUT_MOMENTS)
                        w->times = true;
                if (node->op == TAPE_NETWORK)
                        w->applies = true;
        }
}

static int walk(Runtime *rt, Net net, Rows rows, Loss loss, const void *arg, double *ret_sums,
                unsigned n_sums) {
        Work *w = &rt->work;
        uint64_t begun_nsec = spent_begin(rt->spent);
        int r;

        assert(rows.n > 0);
        assert(n_sums <= SUMS_MAX);

        runtime_record(rt, net, loss, arg);
        w->rows = rows;
        w->stride = rows.n < SHARD_SMALL_BELOW ? SHARD_ROWS_SMALL : SHARD_ROWS_MAX;
        w->n_shards = (rows.n + w->stride - 1) / w->stride;
        w->n_lanes = w->n_shards < LANES_MAX ? w->n_shards : LANES_MAX;
        w->halved = net == NET_POLICY && rt->value_from > 0 && !w->applies && threads_help(rt->threads) &&
                    tape_divide(&w->tape, w->halves);
        w->reduces_halves = w->halved && !rt->reduce;
        w->n_lanes_left[HALF_VALUE] = w->n_lanes_left[HALF_POLICY] = w->n_lanes;
        memset(w->squares, 0, sizeof(w->squares));

        r = lanes_and_blocks(rt);
        if (r < 0)
                return r;

        sums_reduce(rt, ret_sums, n_sums);
        spent_end(rt->spent, PROFILE_gradient, begun_nsec);
        if (rt->spent)
                spent_count(rt->spent, PRODUCT_gradient, rows_of_lanes(rt), gradient_operations(rt));
        for (unsigned k = 0; k < n_sums; k++)
                if (!isfinite(ret_sums[k]))
                        return -ERANGE;
        return 0;
}

int runtime_gradient(Runtime *rt, Net net, Rows rows, Loss loss, const void *arg, double *ret_sums,
                unsigned n_sums) {
        int r;

        r = walk(rt, net, rows, loss, arg, ret_sums, n_sums);
        assert(r < 0 || rt->work.tape.n_losses > 0);
        return r;
}

int runtime_sums(Runtime *rt, Rows rows, Loss record, const void *arg, double *ret_sums, unsigned n_sums) {
        int r;

        r = walk(rt, NET_POLICY, rows, record, arg, ret_sums, n_sums);
        assert(r < 0 || rt->work.tape.n_losses == 0);
        return r;
}
