/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Times of the passes. All by lib/doubles.h and sqrt(), which have the same bits on each machine. */
#include "lib/sampler.h"

#include <assert.h>
#include <math.h>

#include "lib/doubles.h"

/* sigma_data: of the actions, as Karras et al. (2022) call it. */
#define DATA_SD 0.5

static double part_of(double turns) {
        return turns - floor(turns);
}

void moment_of(double time, Moment *ret) {
        const uint32_t half = TIME_EMBEDDING / 2;
        const double two_pi = 6.28318530717958647692, log_10000 = 9.21034037197618273607;
        double past = time - SAMPLER_LEAST;

        assert(ret);

        ret->time = (float) time;
        ret->skip = (float) (DATA_SD * DATA_SD / (past * past + DATA_SD * DATA_SD));
        ret->out = (float) (DATA_SD * past / sqrt(time * time + DATA_SD * DATA_SD));
        ret->in = (float) (1.0 / sqrt(time * time + DATA_SD * DATA_SD));
        for (uint32_t k = 0; k < half; k++) {
                double turns = 250.0 * double_log(time) * double_exp(-log_10000 * k / (half - 1)) / two_pi;

                ret->embedding[k] = (float) double_cos_turn(part_of(turns + 0.75));
                ret->embedding[half + k] = (float) double_cos_turn(part_of(turns));
        }
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
        share = fmin(fmax(share, 0.0), 1.0);
        return (uint32_t) ceil(sqrt(share * (150.0 * 150.0 - 4.0) + 4.0) - 1.0) + 1;
}
