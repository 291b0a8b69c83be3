/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The random numbers for a gradient or a target. Each row draws from its own stream, so neither threads nor
 * shards change the numbers. */
#include <string.h>

#include "learner/runtime-internal.h"
#include "lib/sampler.h"

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
        Moment moment;

        diffusion_moment(rt->network->passes, 1 + random_below(random, rt->network->passes), &moment);
        moment_write(&moment, bench->moments + i, stride);
}

/* Draws for row i two neighbouring boundaries of the noise schedule (lib/sampler.h), the later one first. */
static void boundaries_draw(
                const Runtime *rt, Bench *bench, ActordRandom *random, uint32_t i, uint32_t stride) {
        uint32_t k = random_below(random, rt->n_boundaries - 1);
        double late = sampler_boundary(rt->n_boundaries, k + 1),
               early = sampler_boundary(rt->n_boundaries, k);
        Moment moment;

        moment_of(late, &moment);
        moment_write(&moment, bench->moments + i, stride);
        moment_of(early, &moment);
        moment_write(&moment, bench->moments + (size_t) MOMENT_NUMBERS * stride + i, stride);
        bench->moments[(size_t) 2 * MOMENT_NUMBERS * stride + i] = (float) (1.0 / (late - early));
}

void bench_draw(const Runtime *rt, Bench *bench, RandomPurpose purpose, const Gathered *g) {
        const uint32_t n_normal = rt->shape.n_inputs[INPUT_NORMAL];

        if (!rt->work.draws && !rt->work.times)
                return;
        for (uint32_t i = 0; i < g->stride; i++) {
                ActordRandom random;

                random_begin(&random, rt->settings->seed, purpose,
                                i < g->n ? (uint32_t) gathered_row(g, i) & RANDOM_SLOT_MAX : 0, rt->update,
                                rt->work.draw);
                for (uint32_t k = 0; k < n_normal; k++)
                        bench->normal[(size_t) k * g->stride + i] =
                                        i < g->n ? (float) actord_random_normal(&random) : 0.0f;
                if (rt->work.times && rt->network->act == ACT_DIFFUSION)
                        step_draw(rt, bench, &random, i, g->stride);
                else if (rt->work.times)
                        boundaries_draw(rt, bench, &random, i, g->stride);
        }
}
