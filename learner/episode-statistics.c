/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Adds up episodes in (round, step, slot) order, so timing changes no result. */
#include "learner/episode-statistics.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/cleanup.h"
#include "lib/statistics.h"

DEFINE_CLEANUP(EpisodeStatistics *, episode_statistics_free)

EpisodeStatistics *episode_statistics_free(EpisodeStatistics *episodes) {
        if (!episodes)
                return NULL;

        free(episodes->running_return);
        free(episodes->discounted_return);
        free(episodes->elapsed_steps);
        free(episodes);
        return NULL;
}

int episode_statistics_new(uint32_t n_slots, bool pairs, EpisodeStatistics **ret) {
        _cleanup_(episode_statistics_freep) EpisodeStatistics *episodes = NULL;

        assert(ret);

        episodes = calloc(1, sizeof(*episodes));
        if (!episodes)
                return -ENOMEM;
        episodes->n_slots = n_slots;
        episodes->stride = pairs ? 2 : 1;
        episodes->running_return = calloc(n_slots, sizeof(double));
        episodes->discounted_return = calloc(n_slots, sizeof(double));
        episodes->elapsed_steps = calloc(n_slots, sizeof(uint64_t));
        if (!episodes->running_return || !episodes->discounted_return || !episodes->elapsed_steps)
                return -ENOMEM;

        *ret = TAKE_PTR(episodes);
        return 0;
}

/* Drops episodes that have not ended: a slot that begins a new one has earned nothing yet. */
static void episode_statistics_begin(
                EpisodeStatistics *episodes, const Batch *batch, uint32_t n_actors, bool reset) {
        for (uint32_t s = 0; s < n_actors * batch->envs; s++) {
                uint32_t slot = batch_slot(batch, s);

                if (reset || batch->lost[slot]) {
                        episodes->running_return[slot] = 0.0;
                        episodes->elapsed_steps[slot] = 0;
                }
        }
}

static double episode_statistics_mean(const EpisodeStatistics *episodes) {
        double sum = 0.0;

        if (episodes->n_episodes < EPISODES_KEPT)
                return NAN;
        for (unsigned i = 0; i < EPISODES_KEPT; i++)
                sum += episodes->returns[(episodes->n_episodes + i) % EPISODES_KEPT];
        return sum / EPISODES_KEPT;
}

/* The mean of each metric over the episodes that ended in this round and have it. */
static void metrics_mean(const EpisodeStatistics *episodes, const Batch *batch, uint32_t n_actors,
                Statistics *statistics) {
        double *means = statistics_metrics(statistics, false);

        for (uint32_t i = 0; i < batch->n_metrics; i++) {
                uint64_t n = 0;
                double sum = 0.0;

                for (uint32_t t = 0; t < batch->steps; t++)
                        for (uint32_t s = 0; s < n_actors * batch->envs; s += episodes->stride) {
                                size_t row = batch_step_row(batch, t, s);
                                double x = batch->metrics[row * batch->n_metrics + i];

                                if (batch->ends[row] == END_NOT || isnan(x))
                                        continue;
                                sum += x;
                                n++;
                        }
                means[i] = n > 0 ? sum / (double) n : NAN;
        }
}

void episode_statistics_enter(EpisodeStatistics *episodes, const Batch *batch, uint32_t n_actors, bool reset,
                Statistics *statistics) {
        uint64_t n_ended = 0, n_steps = 0;
        double sum = 0.0;

        assert(episodes);
        assert(n_actors * batch->envs <= episodes->n_slots);

        episode_statistics_begin(episodes, batch, n_actors, reset);

        for (uint32_t t = 0; t < batch->steps; t++)
                for (uint32_t s = 0; s < n_actors * batch->envs; s += episodes->stride) {
                        size_t row = batch_step_row(batch, t, s);
                        uint32_t slot = batch_slot(batch, s);

                        episodes->running_return[slot] += batch->rewards[row];
                        episodes->elapsed_steps[slot]++;
                        if (batch->ends[row] == END_NOT)
                                continue;

                        episodes->returns[episodes->n_episodes++ % EPISODES_KEPT] =
                                        episodes->running_return[slot];
                        sum += episodes->running_return[slot];
                        n_steps += episodes->elapsed_steps[slot];
                        n_ended++;
                        episodes->running_return[slot] = 0.0;
                        episodes->elapsed_steps[slot] = 0;
                }

        episodes->n_env_steps += (uint64_t) n_actors * batch->step_rows;
        statistics->return_mean = episode_statistics_mean(episodes);
        statistics->return_round = n_ended > 0 ? sum / (double) n_ended : NAN;
        statistics->episode_steps = n_ended > 0 ? (double) n_steps / (double) n_ended : NAN;
        metrics_mean(episodes, batch, n_actors, statistics);
        statistics->n_env_steps = episodes->n_env_steps;
        statistics->n_episodes = episodes->n_episodes;
}

void episode_statistics_discount(EpisodeStatistics *episodes, const Batch *batch, uint32_t n_actors,
                bool reset, double gamma, Normaliser *returns) {
        for (uint32_t s = 0; s < n_actors * batch->envs; s++) {
                size_t first = batch_block(batch, s / batch->envs) + s % batch->envs;
                uint32_t slot = batch_slot(batch, s);
                double value = reset || batch->lost[slot] ? 0.0 : episodes->discounted_return[slot];
                double mean = 0.0, m2 = 0.0;
                uint32_t n = 0;

                /* Welford's recurrence, so that the values need not be kept. */
                for (uint32_t t = 0; t < batch->steps; t++) {
                        size_t row = first + (size_t) t * batch->envs;
                        double delta;

                        if (!batch_active(batch, row)) {
                                value = 0.0; /* the agent has left, and gets nothing more */
                                continue;
                        }
                        value = value * gamma + batch->rewards[row];
                        delta = value - mean;
                        mean += delta / (double) ++n;
                        m2 += delta * (value - mean);
                        if (batch->ends[row] != END_NOT)
                                value = 0.0;
                }
                episodes->discounted_return[slot] = value;
                if (n > 0)
                        normaliser_merge(returns, n, &mean, &m2);
        }
}
