/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The random numbers for a gradient or a target. Each row draws from its own stream, so neither threads nor
 * shards change the numbers. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "learner/runtime-internal.h"
#include "lib/normals.h"

static void moment_write(const Moment *moment, float *to, uint32_t stride) {
        to[(size_t) MOMENT_SIGNAL * stride] = moment->signal;
        to[(size_t) MOMENT_NOISE * stride] = moment->noise;
        to[(size_t) MOMENT_SKIP * stride] = moment->skip;
        to[(size_t) MOMENT_OUT * stride] = moment->out;
        to[(size_t) MOMENT_IN * stride] = moment->in;
        for (uint32_t k = 0; k < TIME_EMBEDDING; k++)
                to[(size_t) (MOMENT_EMBEDDING + k) * stride] = moment->embedding[k];
}

/* Draws for row i one of the steps that turn noise into an action. */
static void step_draw(const Runtime *rt, Bench *bench, ActordRandom *random, uint32_t i, uint32_t stride) {
        const Level *level = &rt->levels[random_below(random, rt->n_levels)];

        moment_write(&level->moment, bench->moments + i, stride);
}

/* Draws for row i two neighbouring boundaries of the noise schedule (lib/sampler.h), the later one first. */
static void boundaries_draw(
                const Runtime *rt, Bench *bench, ActordRandom *random, uint32_t i, uint32_t stride) {
        const Level *early = &rt->levels[random_below(random, rt->n_levels - 1)], *late = early + 1;

        moment_write(&late->moment, bench->moments + i, stride);
        moment_write(&early->moment, bench->moments + (size_t) MOMENT_NUMBERS * stride + i, stride);
        bench->moments[(size_t) 2 * MOMENT_NUMBERS * stride + i] =
                        (float) (1.0 / (late->time - early->time));
}

/* The moment of each level is computed once, and not for each row that draws it. */
int runtime_levels(Runtime *rt) {
        if (rt->network->act != ACT_DIFFUSION && rt->network->act != ACT_CONSISTENCY)
                return 0;

        rt->levels = calloc(rt->network->act == ACT_DIFFUSION ? rt->network->passes : SAMPLER_BOUNDARIES_MAX,
                        sizeof(Level));
        if (!rt->levels)
                return -ENOMEM;
        if (rt->network->act == ACT_CONSISTENCY)
                return 0;

        rt->n_levels = rt->network->passes;
        for (uint32_t i = 0; i < rt->n_levels; i++)
                diffusion_moment(rt->n_levels, i + 1, &rt->levels[i].moment);
        return 0;
}

void runtime_boundaries(Runtime *rt, uint32_t n) {
        assert(rt->levels);
        assert(n > 1 && n <= SAMPLER_BOUNDARIES_MAX);

        if (rt->n_levels == n)
                return;
        rt->n_levels = n;
        for (uint32_t k = 0; k < n; k++) {
                rt->levels[k].time = sampler_boundary(n, k);
                moment_of(rt->levels[k].time, &rt->levels[k].moment);
        }
}

void bench_draw(const Runtime *rt, Bench *bench, RandomPurpose purpose, const Gathered *g) {
        const uint32_t n_normal = rt->shape.n_inputs[INPUT_NORMAL];
        uint32_t slots[SHARD_ROWS_MAX];

        if (!rt->work.draws && !rt->work.times)
                return;

        assert(g->stride <= SHARD_ROWS_MAX);

        /* Rows beyond the last one count for nothing, but are computed. */
        for (uint32_t i = 0; i < g->stride; i++)
                slots[i] = i < g->n ? (uint32_t) gathered_row(g, i) & RANDOM_SLOT_MAX : 0;
        random_normals(rt->settings->seed, purpose, slots, g->n, rt->update, rt->work.draw, n_normal,
                        bench->normal, g->stride);
        for (uint32_t k = 0; k < n_normal; k++)
                for (uint32_t i = g->n; i < g->stride; i++)
                        bench->normal[(size_t) k * g->stride + i] = 0.0f;
        for (uint32_t i = 0; i < g->stride && rt->work.times; i++) {
                ActordRandom random;

                random_begin(&random, rt->settings->seed, purpose, slots[i], rt->update, rt->work.draw);
                random_skip_normals(&random, n_normal);
                if (rt->network->act == ACT_DIFFUSION)
                        step_draw(rt, bench, &random, i, g->stride);
                else
                        boundaries_draw(rt, bench, &random, i, g->stride);
        }
}
