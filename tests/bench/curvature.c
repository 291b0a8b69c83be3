/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The cost of measuring curvature and noise in a round of 64 actors with 512 steps each, with Hopper's
 * dimensions. It is printed as a share of the update. Its share of the whole round, in which the actors also
 * act, is smaller. Times are the metered CPU times of the slowest thread. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/learner-fixture.h"

enum {
        ACTORS = 64,
        ROUNDS = 9,
        STEPS_MANY = 100, /* as many as the published code of Nitro makes */
};

static int compare(const void *a, const void *b) {
        double x = *(const double *) a, y = *(const double *) b;

        return (x > y) - (x < y);
}

static double median(double *msec) {
        qsort(msec, ROUNDS, sizeof(double), compare);
        return msec[ROUNDS / 2];
}

/* noise_actors: the noise scale is measured on the rows of this many actors; 0: it is not measured. */
static double learn_msec(Bed *bed, uint32_t round, uint32_t noise_actors) {
        bed->settings.noise_scale = noise_actors > 0;
        bed->settings.n_noise_actors = noise_actors;
        bed_take_all(bed, ACTORS, round & 1, round);
        return (double) bed_learn(bed, round, ACTORS).slowest_thread_nsec * 1e-6;
}

/* The time to measure the curvature after the newest round. */
static double curvature_msec(Bed *bed, uint32_t what) {
        Threads *threads = bed->learner->runtime->threads;

        bed->settings.curvature = what;
        threads_meter(threads);
        curvature_measure(bed->learner->curvature, bed->learner->algorithm->loss);
        bed->settings.curvature = CURVATURE_NONE;
        return (double) threads_metered_nsec(threads) * 1e-6;
}

/* Measures with these numbers of rows and steps (0: the default), and prints a line. */
static void measure(uint32_t n_threads, uint32_t n_rows, uint32_t n_steps) {
        ActordEnvSpec hopper = bed_spec_box(11, 3, 0);
        double plain[ROUNDS], noise[ROUNDS], all[ROUNDS], objective[ROUNDS], loss[ROUNDS], update, ratio;
        uint32_t n_noise_actors;
        g_autofree char *text = g_strdup_printf(
                        "[Scaling]\nActors=%d\n[Actor]\nRolloutSteps=512\n"
                        "[Learner]\nEpochs=10\nMinibatchSize=4096\nNormalizeObservations=yes\n"
                        "Curvature=both\nNoiseScale=yes\nThreads=%u\n",
                        ACTORS, n_threads);
        Bed bed = {};

        hopper.horizon_steps = 1000;
        bed_settings("CartPole-v1", text, &bed.settings);
        n_steps = n_steps > 0 ? n_steps : bed.settings.curvature_steps;
        bed.settings.curvature_rows = n_rows > 0 ? n_rows : bed.settings.curvature_rows;
        bed.settings.curvature_steps = STEPS_MANY;
        bed_open(&bed, &hopper, -1, -1);
        bed.learner->curvature->lanczos->steps_max = n_steps;
        bed.settings.curvature = CURVATURE_NONE;
        n_noise_actors = bed.settings.n_noise_actors;
        bed_restore(&bed);
        for (uint32_t round = 0; round < ROUNDS; round++) {
                plain[round] = learn_msec(&bed, 3 * round, 0);
                noise[round] = learn_msec(&bed, 3 * round + 1, n_noise_actors);
                all[round] = learn_msec(&bed, 3 * round + 2, ACTORS);
                loss[round] = curvature_msec(&bed, CURVATURE_LOSS);
                objective[round] = curvature_msec(&bed, CURVATURE_OBJECTIVE);
        }
        update = median(plain);
        ratio = bed.learner->statistics.curvature_ratio;
        bed.learner->curvature->lanczos->steps_max = STEPS_MANY;
        (void) curvature_msec(&bed, CURVATURE_OBJECTIVE);
        printf("%u threads, %u rows, %3u steps: update %.0f ms; objective %.1f ms (%.1f %%), loss %.1f ms "
               "(%.1f %%), noise scale %.1f ms (%.1f %%), of all actors %.1f ms (%.1f %%); R off by %.2f "
               "%%\n",
                        n_threads, bed.settings.curvature_rows, n_steps, update, median(objective),
                        100 * median(objective) / update, median(loss), 100 * median(loss) / update,
                        median(noise) - update, 100 * (median(noise) / update - 1), median(all) - update,
                        100 * (median(all) / update - 1),
                        100 * fabs(ratio / bed.learner->statistics.curvature_ratio - 1));
        bed_close(&bed);
}

int main(void) {
        printf("64 actors x 512 steps, 11 observations, 3 actions, 64-64\n");
        measure(1, 0, 0);
        measure(1, 256, 0);
        measure(1, 256, 12);
        measure(1, 128, 0);
        measure(2, 0, 0);
        measure(1, 0, STEPS_MANY);
        return 0;
}
