/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Verbs of algorithms whose critics estimate the value of an action that is a number. A policy's gradient
 * comes through a critic: how the value would change with the action, and the action with the policy's
 * parameters ("Deterministic Policy Gradient Algorithms", Silver et al. 2014). Shards, lanes and the tree
 * that sums them are those of any gradient, and an action that is drawn here has a random stream of its
 * own (update, draw, row): threads and learners change nothing. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "learner/runtime-internal.h"
#include "lib/doubles.h"
#include "lib/forward.h"
#include "lib/network.h"
#include "lib/rng.h"

enum { SUM_LOSS, SUM_ENTROPY, N_SUMS };

#define LOG_SQRT_2PI 0.91893853320467274178

static Net critic_net(uint32_t k, bool target) {
        return NET_CRITIC + 2 * k + target;
}

static const float *net_parameters(const Runtime *rt, Net net) {
        return rt->nets[net]->parameters;
}

static const float *critic_value(const Runtime *rt, const Bench *bench, uint32_t k) {
        return bench->critics[k]->output[rt->critic->n_layers - 1];
}

static float *critic_d_value(const Runtime *rt, const Bench *bench, uint32_t k) {
        return bench->critics[k]->d_output[rt->critic->n_layers - 1];
}

/* What a critic says of the observations of the policy's pass, and of bench->actions. */
static void critic_forward(const Runtime *rt, Bench *bench, uint32_t k, Net net) {
        Pass *critic = bench->critics[k];
        size_t n = (size_t) rt->network->n_observation * bench->pass->stride;

        critic->stride = bench->pass->stride;
        memcpy(critic->input, bench->pass->input, n * sizeof(float));
        memcpy(critic->input + n, bench->actions,
                        (size_t) rt->network->n_action * bench->pass->stride * sizeof(float));
        pass_forward(critic, net_parameters(rt, net));
}

/* The stream of the action in row i of the minibatch. */
static void stream_begin(const Runtime *rt, RandomPurpose purpose, size_t i, ActordRandom *ret) {
        random_begin(ret, rt->settings->seed, purpose, (uint32_t) i & RANDOM_SLOT_MAX, rt->update,
                        rt->work.draw);
}

static float bounded(const Network *network, double x) {
        return (float) fmin(fmax(x, network->action_low), network->action_high);
}

/* Target policy smoothing, (14) of "Addressing Function Approximation Error in Actor-Critic Methods"
 * (Fujimoto et al. 2018); without noise, (5) of "Continuous control with deep reinforcement learning"
 * (Lillicrap et al. 2016). `first`: the row that the shard begins with. */
static void act_smoothed(Runtime *rt, Bench *bench, size_t first, uint32_t n) {
        const CriticTargets *how = rt->work.targets;
        const float *share = bench->pass->output[rt->layer_action];
        double middle = action_middle(rt->network), reach = action_reach(rt->network);

        for (uint32_t i = 0; i < n; i++) {
                ActordRandom random;

                stream_begin(rt, RANDOM_TARGET, first + i, &random);
                for (uint32_t k = 0; k < rt->network->n_action; k++) {
                        size_t at = (size_t) k * bench->pass->stride + i;
                        double noise = how->noise > 0.0 ? how->noise * actord_random_normal(&random) : 0.0;

                        noise = fmin(fmax(noise, -how->noise_clip), how->noise_clip);
                        bench->actions[at] =
                                        bounded(rt->network, middle + reach * ((double) share[at] + noise));
                }
        }
}

/* Draws an action of each row by its standard normal numbers, and says how probable it is. */
static double row_act_squashed(Runtime *rt, Bench *bench, uint32_t i, ActordRandom *random) {
        const float *mean = bench->pass->output[rt->layer_action];
        const float *share = bench->pass->output[rt->layer_log_sd];
        double middle = action_middle(rt->network), reach = action_reach(rt->network), log_probability = 0.0;

        for (uint32_t k = 0; k < rt->network->n_action; k++) {
                size_t at = (size_t) k * bench->pass->stride + i;
                double log_sd = squashed_log_sd(share[at]), normal = actord_random_normal(random);
                double spread = double_exp(log_sd) * normal, x = (double) mean[at] + spread;
                double y = double_tanh(x);

                bench->squashed[at] = (float) y;
                bench->spread[at] = (float) spread;
                bench->actions[at] = bounded(rt->network, middle + reach * y);
                log_probability -= 0.5 * normal * normal + log_sd + LOG_SQRT_2PI + log_squash_slope(x) +
                                   double_log(reach);
        }
        return log_probability;
}

static float least_value(const Runtime *rt, const Bench *bench, uint32_t i, uint32_t *ret_critic) {
        float least = critic_value(rt, bench, 0)[i];

        *ret_critic = 0;
        for (uint32_t k = 1; k < rt->n_critics; k++)
                if (critic_value(rt, bench, k)[i] < least) {
                        least = critic_value(rt, bench, k)[i];
                        *ret_critic = k;
                }
        return least;
}

static void target_task(void *arg, uint32_t task, uint32_t thread) {
        Runtime *rt = arg;
        Batch *b = rt->batch;
        Bench *bench = &rt->benches[thread];
        uint32_t first = task * SHARD_ROWS_MAX, left = rt->work.rows.n - first, critic;
        Gathered g = { .first = b->step_rows + first, .stride = SHARD_ROWS_MAX };
        double log_probability[SHARD_ROWS_MAX] = {};

        g.n = left < SHARD_ROWS_MAX ? left : SHARD_ROWS_MAX;
        bench_gather(bench, b, &g);
        pass_forward(bench->pass, net_parameters(rt, rt->work.targets->policy));
        if (rt->network->act == ACT_DETERMINISTIC)
                act_smoothed(rt, bench, first, g.n);
        else
                for (uint32_t i = 0; i < g.n; i++) {
                        ActordRandom random;

                        stream_begin(rt, RANDOM_TARGET, first + i, &random);
                        log_probability[i] = row_act_squashed(rt, bench, i, &random);
                }
        for (uint32_t k = 0; k < rt->n_critics; k++)
                critic_forward(rt, bench, k, critic_net(k, true));
        for (uint32_t i = 0; i < g.n; i++) {
                double value = (double) least_value(rt, bench, i, &critic) -
                               rt->work.targets->temperature * log_probability[i];

                b->target[first + i] = (float) ((double) b->scaled[first + i] +
                                                (double) rt->replay->discounts[first + i] * value);
        }
}

void runtime_critic_targets(Runtime *rt, Rows rows, uint32_t draw, const CriticTargets *how) {
        assert(rt->n_critics > 0 && rt->batch == rt->replay->drawn);

        rt->work.rows = rows;
        rt->work.targets = how;
        rt->work.draw = draw;
        threads_run(rt->threads, target_task, rt, (rows.n + SHARD_ROWS_MAX - 1) / SHARD_ROWS_MAX);
        spent_count(rt->spent, PRODUCT_advantage, rows.n,
                        network_forward_operations(rt->network) +
                                        rt->n_critics * network_forward_operations(rt->critic));
}

static void critic_shard(Runtime *rt, Bench *bench, const Gathered *g, bool accumulate, uint32_t lane) {
        bench_gather(bench, rt->batch, g);
        bench_gather_columns(bench, rt->batch, g, 1.0f / (float) rt->work.rows.n);
        critic_forward(rt, bench, 0, rt->work.net);
        bench_loss(rt, bench, critic_value(rt, bench, 0), critic_d_value(rt, bench, 0), lane);
        pass_backward(bench->critics[0], net_parameters(rt, rt->work.net), accumulate, rt->gradients[lane]);
}

int runtime_critic_gradient(Runtime *rt, Net critic, Rows rows, Loss loss, const void *arg, double *ret_sums,
                unsigned n_sums) {
        runtime_record(rt, loss, arg);
        return runtime_gradient_by(rt, critic, rows, critic_shard, ret_sums, n_sums);
}

/* What the action gets from the critics that the rows of `critic` name, [n_action][stride] of d_inputs. */
static const float *critics_backward(
                Runtime *rt, Bench *bench, uint32_t k, const Gathered *g, const uint32_t *critic) {
        float weight = 1.0f / (float) rt->work.rows.n, *d_value = critic_d_value(rt, bench, k);

        for (uint32_t i = 0; i < g->stride; i++)
                d_value[i] = i < g->n && critic[i] == k ? -weight : 0.0f;
        pass_backward_input(bench->critics[k], net_parameters(rt, critic_net(k, false)), bench->d_inputs);
        return bench->d_inputs + (size_t) rt->network->n_observation * g->stride;
}

/* The mean of -Q(s, mu(s)), (6) of Lillicrap et al. */
static void deterministic_shard(
                Runtime *rt, Bench *bench, const Gathered *g, bool accumulate, uint32_t lane) {
        float weight = 1.0f / (float) rt->work.rows.n, reach = (float) action_reach(rt->network);
        size_t n = (size_t) rt->network->n_action * g->stride;
        const uint32_t first[SHARD_ROWS_MAX] = {};
        float *d = bench->pass->d_output[rt->layer_action];
        const float *share, *d_action;

        bench_gather(bench, rt->batch, g);
        pass_forward(bench->pass, net_parameters(rt, NET_POLICY));
        share = bench->pass->output[rt->layer_action];
        for (size_t i = 0; i < n; i++)
                bench->actions[i] = bounded(rt->network,
                                action_middle(rt->network) + action_reach(rt->network) * (double) share[i]);
        critic_forward(rt, bench, 0, NET_CRITIC);
        for (uint32_t i = 0; i < g->n; i++)
                rt->lane_sums[lane][SUM_LOSS] -= (double) (weight * critic_value(rt, bench, 0)[i]);

        d_action = critics_backward(rt, bench, 0, g, first);
        for (size_t i = 0; i < n; i++)
                d[i] = reach * d_action[i];
        pass_backward(bench->pass, net_parameters(rt, NET_POLICY), accumulate, rt->gradients[lane]);
}

/* The gradients of log(pi) with respect to mean and log standard deviation, by the number that was drawn:
 * the tanh's slope is in it, and in how the action follows that number. */
static void squashed_backward(Runtime *rt, Bench *bench, const Gathered *g, const float *d_action) {
        float *d_mean = bench->pass->d_output[rt->layer_action];
        float *d_share = bench->pass->d_output[rt->layer_log_sd];
        double reach = action_reach(rt->network), weight = 1.0 / rt->work.rows.n;
        double alpha = weight * rt->work.temperature;
        const double slope = 0.5 * (SQUASHED_LOG_SD_HIGH - SQUASHED_LOG_SD_LOW);

        for (uint32_t k = 0; k < rt->network->n_action; k++)
                for (uint32_t i = 0; i < g->stride; i++) {
                        size_t at = (size_t) k * g->stride + i;
                        double y = (double) bench->squashed[at], spread = (double) bench->spread[at];
                        double d = alpha * 2.0 * y + (double) d_action[at] * reach * (1.0 - y * y);

                        d_mean[at] = i < g->n ? (float) d : 0.0f;
                        d_share[at] = i < g->n ? (float) (slope * (d * spread - alpha)) : 0.0f;
                }
}

/* The mean of alpha log(pi(a|s)) - Q(s, a), (7) of "Soft Actor-Critic Algorithms and Applications"
 * (Haarnoja et al. 2018). */
static void squashed_shard(Runtime *rt, Bench *bench, const Gathered *g, bool accumulate, uint32_t lane) {
        double weight = 1.0 / rt->work.rows.n, *sums = rt->lane_sums[lane];
        size_t n = (size_t) rt->network->n_action * g->stride;
        double log_probability[SHARD_ROWS_MAX];
        uint32_t critic[SHARD_ROWS_MAX] = {};
        const float *from;

        bench_gather(bench, rt->batch, g);
        pass_forward(bench->pass, net_parameters(rt, NET_POLICY));
        for (uint32_t i = 0; i < g->n; i++) {
                ActordRandom random;

                stream_begin(rt, RANDOM_POLICY, gathered_row(g, i), &random);
                log_probability[i] = row_act_squashed(rt, bench, i, &random);
        }
        for (uint32_t k = 0; k < rt->n_critics; k++)
                critic_forward(rt, bench, k, critic_net(k, false));
        for (uint32_t i = 0; i < g->n; i++) {
                double value = (double) least_value(rt, bench, i, &critic[i]);

                sums[SUM_LOSS] += weight * (rt->work.temperature * log_probability[i] - value);
                sums[SUM_ENTROPY] -= weight * log_probability[i];
        }

        /* Actions have been read: their columns collect gradients. */
        memset(bench->actions, 0, n * sizeof(float));
        for (uint32_t k = 0; k < rt->n_critics; k++) {
                from = critics_backward(rt, bench, k, g, critic);
                for (size_t i = 0; i < n; i++)
                        bench->actions[i] += from[i];
        }
        squashed_backward(rt, bench, g, bench->actions);
        pass_backward(bench->pass, net_parameters(rt, NET_POLICY), accumulate, rt->gradients[lane]);
}

int runtime_policy_gradient(Runtime *rt, Rows rows, uint32_t draw, double temperature, double *ret_loss,
                double *ret_entropy) {
        bool squashed = rt->network->act == ACT_SQUASHED;
        double sums[N_SUMS];
        int r;

        assert(rt->n_critics > 0);

        rt->work.temperature = temperature;
        rt->work.draw = draw;
        r = runtime_gradient_by(
                        rt, NET_POLICY, rows, squashed ? squashed_shard : deterministic_shard, sums, N_SUMS);
        if (r < 0)
                return r;
        *ret_loss = sums[SUM_LOSS];
        *ret_entropy = sums[SUM_ENTROPY];
        return 0;
}
