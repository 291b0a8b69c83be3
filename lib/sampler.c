/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Computes the times of the passes. Only lib/doubles.h and sqrt() are used, which give the same bits on each
 * machine. */
#include "lib/sampler.h"

#include <assert.h>
#include <math.h>

#include "lib/doubles.h"

/* sigma_data of Karras et al. (2022): the spread of actions */
#define DATA_SD 0.5

static double part_of(double turns) {
        return turns - floor(turns);
}

/* Sines, then cosines, of x at frequencies from 1 to 1 / 10,000 (Vaswani et al. 2017). */
static void embedding_of(double x, float ret[TIME_EMBEDDING]) {
        const uint32_t half = TIME_EMBEDDING / 2;
        const double two_pi = 6.28318530717958647692, log_10000 = 9.21034037197618273607;

        for (uint32_t k = 0; k < half; k++) {
                double turns = x * double_exp(-log_10000 * k / (half - 1)) / two_pi;

                ret[k] = (float) double_cos_turn(part_of(turns + 0.75));
                ret[half + k] = (float) double_cos_turn(part_of(turns));
        }
}

void moment_of(double time, Moment *ret) {
        double past = time - SAMPLER_LEAST;

        assert(ret);

        ret->signal = 1.0f;
        ret->noise = (float) time;
        ret->skip = (float) (DATA_SD * DATA_SD / (past * past + DATA_SD * DATA_SD));
        ret->out = (float) (DATA_SD * past / sqrt(time * time + DATA_SD * DATA_SD));
        ret->in = (float) (1.0 / sqrt(time * time + DATA_SD * DATA_SD));
        embedding_of(250.0 * double_log(time), ret->embedding);
}

double sampler_time(uint32_t n, uint32_t k) {
        const double last = 2.0;

        assert(k < n);

        return k == 0 ? SAMPLER_MOST : SAMPLER_MOST - (SAMPLER_MOST - last) * k / (n - 1);
}

double sampler_spread(double time) {
        return sqrt(time * time - SAMPLER_LEAST * SAMPLER_LEAST);
}

double sampler_boundary(uint32_t n, uint32_t k) {
        double first = double_exp(double_log(SAMPLER_LEAST) / 7.0);
        double last = double_exp(double_log(SAMPLER_MOST) / 7.0);

        assert(n > 1 && k < n);

        if (k == 0)
                return SAMPLER_LEAST;
        return double_power(first + (last - first) * k / (n - 1), 7);
}

uint32_t sampler_boundaries(double share) {
        const double most = SAMPLER_BOUNDARIES_MAX;

        share = fmin(fmax(share, 0.0), 1.0);
        return (uint32_t) ceil(sqrt(share * (most * most - 4.0) + 4.0) - 1.0) + 1;
}

double diffusion_beta(uint32_t n, uint32_t i) {
        const double least = 0.1, most = 10.0;

        assert(i >= 1 && i <= n);

        return 1.0 - double_exp(-least / n - 0.5 * (most - least) * (2.0 * i - 1.0) / ((double) n * n));
}

double diffusion_left(uint32_t n, uint32_t i) {
        double left = 1.0;

        for (uint32_t k = 1; k <= i; k++)
                left *= 1.0 - diffusion_beta(n, k);
        return left;
}

void diffusion_moment(uint32_t n, uint32_t i, Moment *ret) {
        double left = diffusion_left(n, i);

        assert(ret);

        ret->signal = (float) sqrt(left);
        ret->noise = (float) sqrt(1.0 - left);
        ret->skip = (float) sqrt(1.0 / left);
        ret->out = (float) -sqrt(1.0 / left - 1.0);
        ret->in = 1.0f;
        embedding_of(i - 1.0, ret->embedding);
}

static void consistency_pass(uint32_t n, uint32_t k, SamplerPass *ret) {
        double time = sampler_time(n, k);

        moment_of(time, &ret->moment);
        ret->spread = (float) (k == 0 ? SAMPLER_MOST : sampler_spread(time));
        ret->keep = 0.0f;
        ret->take = 1.0f;
        ret->divergence = 0.0f;
}

/* `keep` and `take` are the weights of x and of the estimated action in the mean of the next x, (7) of Ho et
 * al. The next pass adds noise around this mean: its `spread`. Nothing is added after the last pass. */
static void diffusion_pass(uint32_t n, uint32_t k, SamplerPass *ret) {
        uint32_t i = n - k;
        double beta = diffusion_beta(n, i), left = diffusion_left(n, i), before = diffusion_left(n, i - 1);

        diffusion_moment(n, i, &ret->moment);
        ret->spread = 1.0f;
        if (k > 0)
                ret->spread = (float) sqrt(
                                diffusion_beta(n, i + 1) * (1.0 - left) / (1.0 - diffusion_left(n, i + 1)));
        ret->keep = (float) (i > 1 ? (1.0 - before) * sqrt(1.0 - beta) / (1.0 - left) : 0.0);
        ret->take = (float) (i > 1 ? beta * sqrt(before) / (1.0 - left) : 1.0);
        ret->divergence = (float) (beta / (2.0 * (1.0 - beta) * (1.0 - left)));
}

void sampler_pass(uint32_t act, uint32_t n, uint32_t k, SamplerPass *ret) {
        assert(act == ACT_CONSISTENCY || act == ACT_DIFFUSION);
        assert(k < n);
        assert(ret);

        if (act == ACT_CONSISTENCY)
                consistency_pass(n, k, ret);
        else
                diffusion_pass(n, k, ret);
}
