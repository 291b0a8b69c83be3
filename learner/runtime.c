/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes a Runtime. Has the functions of learner/runtime.h for facts, for the whole batch and for its
 * division into minibatches; the other functions are in the files runtime-*.c and in
 * learner/curvature/noise.c. */
#include "learner/runtime.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "learner/algorithm/advantage.h"
#include "learner/runtime-internal.h"
#include "lib/algorithm-traits.h"
#include "lib/cleanup.h"
#include "lib/network.h"
#include "lib/rng.h"
#include "lib/sampler.h"

DEFINE_CLEANUP(Runtime *, runtime_free)

static void runtime_free_gradients(Runtime *rt) {
        if (rt->reduce)
                return;
        for (unsigned i = 0; i < LANES_MAX; i++)
                free(rt->gradients[i]);
        free(rt->lane_sums);
        free(rt->block_sums);
}

void runtime_share(Runtime *rt, const JobPage *page, void *memory, uint32_t learner, uint32_t n_learners,
                uint32_t n_updaters) {
        ReduceLayout *l = &rt->reduce_layout;
        bool updates = learner < n_updaters;

        assert(memory);
        assert(learner < n_learners && LANES_MAX % n_learners == 0);
        assert(n_updaters == 1 || n_updaters == n_learners);

        runtime_free_gradients(rt);
        rt->reduce = memory;
        rt->learner = learner;
        rt->n_learners = n_learners;
        rt->n_updaters = n_updaters;
        reduce_layout(rt->settings, page, l);
        assert(l->n_rows ==
                        /* the learners share the network's outputs for all rows */
                        rt->live->n_rows);
        for (unsigned lane = 0; lane < LANES_MAX; lane++)
                rt->gradients[lane] = (float *) (rt->reduce + l->lanes_at + lane * l->lane_bytes);
        rt->lane_sums = (double(*)[REDUCE_SUMS_MAX])(rt->reduce + l->sums_at);
        rt->block_sums = (double *) (rt->reduce + l->block_sums_at);
        adam_share(rt->nets[NET_POLICY], (float *) (rt->reduce + l->parameters_at),
                        updates ? (float *) (rt->reduce + l->m_at) : NULL,
                        updates ? (float *) (rt->reduce + l->v_at) : NULL);
}

static void bench_done(Bench *bench) {
        for (unsigned k = 0; k < TAPE_PASSES_MAX; k++)
                pass_free(bench->passes[k]);
        free(bench->choices);
        free(bench->entropies);
        free(bench->actions);
        free(bench->nodes);
        free(bench->d_nodes);
        free(bench->d_input);
        free(bench->moments);
        free(bench->normal);
}

Runtime *runtime_free(Runtime *runtime) {
        if (!runtime)
                return NULL;

        for (uint32_t i = 0; runtime->benches && i < runtime->settings->n_threads; i++) {
                bench_done(&runtime->benches[i]);
        }
        runtime_free_gradients(runtime);
        for (unsigned i = 0; i < NETS_MAX; i++)
                adam_free(runtime->nets[i]);
        for (unsigned k = 0; k < NETWORKS_MAX; k++)
                free(runtime->beside[k]);
        replay_free(runtime->replay);
        buffer_free(runtime->buffer);
        free(runtime->pairs);
        threads_free(runtime->threads);
        free(runtime->benches);
        free(runtime->noise_mean);
        free(runtime->levels);
        free(runtime);
        return NULL;
}

static float *columns_new(size_t n) {
        float *columns = aligned_alloc(64, n * SHARD_ROWS_MAX * sizeof(float));

        for (size_t i = 0; columns && i < n * SHARD_ROWS_MAX; i++)
                columns[i] = 0.0f;
        return columns;
}

static int bench_init_passes(Bench *bench, const Runtime *rt) {
        for (Net net = 0; net < NETS_MAX; net += 2)
                for (uint32_t k = 0; rt->networks[net] && k < rt->shape.n_passes[net]; k++) {
                        int r = pass_new(rt->networks[net], &bench->passes[rt->shape.first_pass[net] + k]);

                        if (r < 0)
                                return r;
                }
        bench->pass = bench->passes[0];
        return 0;
}

static int bench_init(Bench *bench, const Runtime *rt) {
        size_t n_choices = rt->network->n_choices > 0 ? rt->network->n_choices : 1;

        bench->actions = columns_new(rt->network->n_action);
        bench->choices = aligned_alloc(64, n_choices * SHARD_ROWS_MAX * sizeof(int32_t));
        bench->entropies = columns_new(n_choices);
        bench->normal = columns_new(rt->shape.n_inputs[INPUT_NORMAL]);
        bench->nodes = columns_new(rt->tape_columns);
        bench->d_nodes = columns_new(rt->tape_columns);
        if (!bench->actions || !bench->choices || !bench->entropies || !bench->normal || !bench->nodes ||
                        !bench->d_nodes)
                return -ENOMEM;
        if (rt->network->passes > 0) {
                bench->moments = columns_new(rt->shape.n_inputs[INPUT_MOMENTS]);
                if (!bench->moments)
                        return -ENOMEM;
        }
        if (rt->n_input_most > 0) {
                bench->d_input = columns_new(rt->n_input_most);
                if (!bench->d_input)
                        return -ENOMEM;
        }
        return bench_init_passes(bench, rt);
}

static int runtime_derive_beside(Runtime *rt) {
        const AlgorithmRow *row = algorithm_row(rt->settings->algorithm);

        for (uint32_t k = 1; k < NETWORKS_MAX && row->networks[k].name; k++) {
                Network *network = rt->beside[k] = calloc(1, sizeof(*network));
                int r;

                if (!network)
                        return -ENOMEM;
                r = network_derive_beside(rt->settings, rt->network, &row->networks[k], network);
                if (r < 0)
                        return r;
                if (network->n_observation > rt->n_input_most)
                        rt->n_input_most = network->n_observation;
                if (network_inputs(network) > rt->n_input_most)
                        rt->n_input_most = (uint32_t) network_inputs(network);
        }
        return 0;
}

/* Lists the values that tapes may read and the networks that they may apply. A network and its target have
 * one shape, so they share the memory of their passes. */
static void runtime_shape_tapes(Runtime *rt) {
        uint32_t n = 0, most = 1, member, n_inputs;

        for (Net net = 0; net < NETS_MAX; net++) {
                const NetworkRow *of = algorithm_net(rt->settings->algorithm, net & ~1u, &member);

                if (!of)
                        break;
                rt->shape.networks[net] = rt->networks[net];
                rt->shape.first_pass[net] = n;
                rt->shape.n_passes[net] = of->passes;
                most = of->passes > most ? of->passes : most;
                n += net_is_target(net) ? of->passes : 0;
        }
        assert(n <= TAPE_PASSES_MAX);
        rt->shape.n_inputs[INPUT_OBSERVATION] = rt->network->n_observation;
        rt->shape.n_inputs[INPUT_ACTION] = rt->network->n_action;
        rt->shape.n_inputs[INPUT_NORMAL] = rt->network->n_action * (rt->network->passes + 1);
        rt->shape.n_inputs[INPUT_MOMENTS] = rt->network->passes > 0 ? 2 * MOMENT_NUMBERS + 1 : 0;
        /* Before each pass of a policy, observation, action and time are joined one after the other. */
        n_inputs = rt->network->passes > 0 ? 3 * rt->n_input_most : rt->n_input_most;
        /* Up to three networks read monomials of their input (Network.n_edited): a policy and two
         * critics. */
        n_inputs += 3 * EDITED_MAX;
        rt->tape_columns = TAPE_NODES_MAX + most * (TAPE_WIDE_MAX * rt->network->n_action + n_inputs);
}

/* Derives the shapes of all networks and of the tape. */
static int runtime_shape(Runtime *rt) {
        const AlgorithmRow *row = algorithm_row(rt->settings->algorithm);
        int r;

        r = runtime_derive_beside(rt);
        if (r < 0)
                return r;
        for (Net net = 0; net < NETS_MAX; net++) {
                uint32_t member;
                const NetworkRow *of = algorithm_net(rt->settings->algorithm, net, &member);

                if (of)
                        rt->networks[net] =
                                        of == row->networks ? rt->network : rt->beside[of - row->networks];
        }
        /* In a policy that acts in passes, the network is an operation of the tape, and its gradient needs
         * room for its inputs, too. */
        if (rt->network->passes > 0 && network_inputs(rt->network) > rt->n_input_most)
                rt->n_input_most = (uint32_t) network_inputs(rt->network);
        runtime_shape_tapes(rt);
        return 0;
}

/* The number of parameters of the largest network. */
static size_t numbers_most(const Runtime *rt) {
        size_t most = rt->network->n_parameters;

        for (unsigned k = 1; k < NETWORKS_MAX; k++)
                if (rt->beside[k] && rt->beside[k]->n_parameters > most)
                        most = rt->beside[k]->n_parameters;
        return most;
}

static int runtime_allocate(Runtime *rt) {
        size_t n = (numbers_most(rt) + 15) / 16 * 16;
        int r;

        rt->block_sums = calloc((n + PARAMETER_BLOCK - 1) / PARAMETER_BLOCK, sizeof(double));
        rt->lane_sums = calloc(LANES_MAX, sizeof(*rt->lane_sums));
        rt->benches = aligned_alloc(64, rt->settings->n_threads * sizeof(Bench));
        if (!rt->block_sums || !rt->lane_sums || !rt->benches)
                return -ENOMEM;
        if (settings_noise_scale(rt->settings)) {
                rt->noise_mean = calloc(n, sizeof(double));
                if (!rt->noise_mean)
                        return -ENOMEM;
        }
        for (uint32_t i = 0; i < rt->settings->n_threads; i++)
                rt->benches[i] = (Bench){};
        for (uint32_t i = 0; i < rt->settings->n_threads; i++) {
                r = bench_init(&rt->benches[i], rt);
                if (r < 0)
                        return r;
        }

        /* Room for the gradient of each lane. The kernel gives memory only to lanes that are used. */
        for (unsigned i = 0; i < LANES_MAX; i++) {
                rt->gradients[i] = aligned_alloc(64, n * sizeof(float));
                if (!rt->gradients[i])
                        return -ENOMEM;
        }
        for (Net net = 0; net < NETS_MAX; net++) {
                r = rt->networks[net] ? adam_new(rt->networks[net]->n_parameters, &rt->nets[net]) : 0;
                if (r < 0)
                        return r;
        }
        return threads_new(rt->settings->n_threads, &rt->threads);
}

/* Allocates the data that the algorithm keeps from round to round. */
static int runtime_allocate_stores(Runtime *rt) {
        const AlgorithmRow *row = algorithm_row(rt->settings->algorithm);

        rt->pair_steps = algorithm_pair_steps(rt->settings);
        if (row->pairs) {
                /* a pair has at least two rows */
                rt->pairs = calloc((size_t) rt->live->n_blocks * rt->live->step_rows / 2, sizeof(Pair));
                if (!rt->pairs)
                        return -ENOMEM;
        }
        switch ((Store) row->store) {
        case STORE_ROLLOUT: return 0;
        case STORE_BUFFER: return buffer_new(rt->settings->buffer_batches, rt->live, &rt->buffer);
        case STORE_REPLAY: return replay_new(rt->settings, rt->live, &rt->replay);
        }
        return -EINVAL;
}

/* Whether the policy's own network estimates the value of an observation. */
static bool has_value(const JobSettings *settings, const Network *network) {
        return (network->act == ACT_CATEGORICAL || network->act == ACT_GAUSSIAN) &&
               !algorithm_row(settings->algorithm)->no_value;
}

static bool has_deviation(const Network *network) {
        return network->act == ACT_GAUSSIAN || network->act == ACT_SQUASHED;
}

/* The first layer of the value's own network, whose layers are the last ones; 0: the value shares layers. */
static uint32_t value_from(const Runtime *rt) {
        const Layer *layers = rt->network->layers;
        uint32_t first = rt->layer_value;

        if (!has_value(rt->settings, rt->network))
                return 0;
        while (layers[first].input != first)
                first = layers[first].input;
        for (uint32_t i = first; i < rt->network->n_layers; i++)
                if (layers[i].input < first || i == rt->layer_action || i == rt->layer_log_sd)
                        return 0;
        return first;
}

int runtime_new(const JobSettings *settings, const JobPage *page, Batch *batch, Runtime **ret) {
        _cleanup_(runtime_freep) Runtime *rt = NULL;
        int r;

        assert(settings);
        assert(page);
        assert(batch);
        assert(ret);

        rt = calloc(1, sizeof(*rt));
        if (!rt)
                return -ENOMEM;
        rt->settings = settings;
        rt->n_learners = rt->n_updaters = 1;
        rt->network = &page->network;
        rt->live = rt->batch = batch;
        rt->layer_action = network_find(rt->network, OUTPUT_ACTION);
        rt->layer_log_sd = network_find(rt->network, OUTPUT_LOG_STD);
        rt->layer_value = network_find(rt->network, OUTPUT_VALUE);
        if (rt->layer_action == UINT32_MAX ||
                        (has_value(settings, rt->network) && rt->layer_value == UINT32_MAX) ||
                        (has_deviation(rt->network) && rt->layer_log_sd == UINT32_MAX))
                return -EINVAL;
        rt->value_from = value_from(rt);

        r = runtime_shape(rt);
        if (r < 0)
                return r;
        r = runtime_allocate(rt);
        if (r < 0)
                return r;
        r = runtime_levels(rt);
        if (r < 0)
                return r;
        r = runtime_allocate_stores(rt);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(rt);
        return 0;
}

void runtime_begin(Runtime *rt, uint32_t n_actors, uint64_t update, uint64_t n_env_steps_before,
                Statistics *statistics) {
        rt->batch = rt->live;
        rt->n_actors = rt->n_live_actors = n_actors;
        rt->update = update;
        rt->n_env_steps_before = n_env_steps_before;
        rt->statistics = statistics;
}

const JobSettings *runtime_settings(const Runtime *rt) {
        return rt->settings;
}

double runtime_scheduled(const Runtime *rt, double value, uint32_t schedule) {
        double done = (double) rt->n_env_steps_before / (double) rt->settings->stop_steps;

        return schedule == SCHEDULE_LINEAR ? value * (1.0 - fmin(done, 1.0)) : value;
}

double *runtime_state(Runtime *rt) {
        return rt->state;
}

const Network *runtime_policy(const Runtime *rt) {
        return rt->network;
}

Statistics *runtime_statistics(Runtime *rt) {
        return rt->statistics;
}

/* The steps of one actor, whose rows of the batch begin at `block`. */
static StepsIn actor_steps(const Batch *b, uint32_t actor, size_t block, double gamma) {
        return (StepsIn){
                .steps = b->steps,
                .envs = b->envs,
                .rewards = b->scaled + block,
                .ends = b->ends + block,
                .active = b->active ? b->active + block : NULL,
                .values = b->value + block,
                .final_values = b->value + block + b->next_rows,
                .n_finals = b->n_finals[actor],
                .gamma = gamma,
        };
}

void runtime_advantage(Runtime *rt, double gamma, double lambda) {
        const Batch *b = rt->batch;

        for (uint32_t a = 0; a < rt->n_actors; a++) {
                size_t block = batch_block(b, a);
                StepsIn in = actor_steps(b, a, block, gamma);

                advantage_estimate(&in, lambda, b->advantage + block, b->target + block);
        }
}

void runtime_vtrace(Runtime *rt, double gamma, double rho_bar, double c_bar) {
        const Batch *b = rt->batch;

        for (uint32_t a = 0; a < rt->n_actors; a++) {
                size_t block = batch_block(b, a);
                StepsIn in = actor_steps(b, a, block, gamma);
                VtraceIn policies = {
                        .log_probability = b->log_probability + block,
                        .behaviour_log_probability = b->behaviour_log_probability + block,
                        .rho_bar = rho_bar,
                        .c_bar = c_bar,
                };

                vtrace_estimate(&in, &policies, b->advantage + block, b->target + block);
        }
}

/* The number of the round's rows that are learned from. */
static uint32_t rows_count(const Runtime *rt) {
        const Batch *b = rt->batch;
        uint32_t n = 0;

        if (!b->active)
                return rt->n_actors * b->step_rows;
        for (uint32_t a = 0; a < rt->n_actors; a++)
                for (uint32_t i = 0; i < b->step_rows; i++)
                        n += batch_active(b, batch_block(b, a) + i);
        return n;
}

double runtime_explained_variance(const Runtime *rt) {
        const Batch *b = rt->batch;
        double n = rows_count(rt), target = 0.0, error = 0.0, m2 = 0.0, error_m2 = 0.0;

        for (uint32_t a = 0; a < rt->n_actors; a++)
                for (size_t i = batch_block(b, a), end = i + b->step_rows; i < end; i++) {
                        if (!batch_active(b, i))
                                continue;
                        target += (double) b->target[i] / n;
                        error += ((double) b->target[i] - (double) b->value[i]) / n;
                }
        for (uint32_t a = 0; a < rt->n_actors; a++)
                for (size_t i = batch_block(b, a), end = i + b->step_rows; i < end; i++) {
                        double d = (double) b->target[i] - target;
                        double e = (double) b->target[i] - (double) b->value[i] - error;

                        if (!batch_active(b, i))
                                continue;
                        m2 += d * d;
                        error_m2 += e * e;
                }
        return m2 > 0.0 ? 1.0 - error_m2 / m2 : NAN;
}

/* The rows of one minibatch, by Updates=. per-data: a constant, so more data give more gradient steps.
 * per-round: so many that a round takes as many gradient steps as one actor's data would. */
static uint32_t minibatch_rows(const Runtime *rt, uint32_t n_rows) {
        uint32_t size = rt->settings->minibatch_size, n;

        switch ((enum Updates_) rt->settings->updates) {
        case UPDATES_PER_DATA: return size;
        case UPDATES_PER_ROUND: n = (rt->batch->step_rows + size - 1) / size; return (n_rows + n - 1) / n;
        case UPDATES_FULL_BATCH: return n_rows;
        case _UPDATES_MAX: break;
        }
        assert(!"unreachable: settings are checked");
        return n_rows;
}

Rows runtime_rows(Runtime *rt) {
        uint32_t *order = rt->batch->order, k = 0;

        for (uint32_t a = 0; a < rt->n_actors; a++)
                for (uint32_t i = 0; i < rt->batch->step_rows; i++) {
                        uint32_t row = a * rt->batch->block_rows + i;

                        if (batch_active(rt->batch, row))
                                order[k++] = row;
                }
        return (Rows){ .order = order, .n = k };
}

/* "Algorithm 235: Random permutation" (Durstenfeld), with a random stream of this update and epoch. A
 * minibatch of all rows needs no order. */
static void rows_shuffle(Runtime *rt, uint32_t epoch, uint32_t n_rows, uint32_t size) {
        uint32_t *order = rt->batch->order;
        ActordRandom random;

        (void) runtime_rows(rt);
        if (size >= n_rows)
                return;

        random_begin(&random, rt->settings->seed, RANDOM_SHUFFLE, 0, rt->update, epoch);
        for (uint32_t i = n_rows; i > 1; i--) {
                uint32_t j = random_below(&random, i), other = order[j];

                order[j] = order[i - 1];
                order[i - 1] = other;
        }
}

Rows runtime_sample(Runtime *rt, uint32_t epoch, uint32_t minibatch) {
        uint32_t n_rows = rows_count(rt), size = minibatch_rows(rt, n_rows);
        uint64_t first = (uint64_t) minibatch * size;

        if (first >= n_rows)
                return (Rows){};
        if (minibatch == 0)
                rows_shuffle(rt, epoch, n_rows, size);

        return (Rows){
                .order = rt->batch->order + first,
                .n = n_rows - (uint32_t) first < size ? n_rows - (uint32_t) first : size,
        };
}

AdvantageScale runtime_advantage_scale(const Runtime *rt, Rows rows) {
        const float *advantage = rt->batch->advantage;
        double sums[4] = {}, squares[4] = {}, mean, sd;

        /* a single row has no standard deviation */
        if (!rt->settings->normalize_advantages || rows.n <= 1)
                return (AdvantageScale){ .scale = 1.0 };

        for (uint32_t i = 0; i < rows.n; i++)
                sums[i % 4] += (double) advantage[rows.order[i]];
        mean = ((sums[0] + sums[1]) + (sums[2] + sums[3])) / rows.n;
        for (uint32_t i = 0; i < rows.n; i++) {
                double d = (double) advantage[rows.order[i]] - mean;

                squares[i % 4] += d * d;
        }

        sd = sqrt(((squares[0] + squares[1]) + (squares[2] + squares[3])) / (rows.n - 1));
        return (AdvantageScale){ .mean = mean, .scale = 1.0 / (sd + 1e-8) };
}
