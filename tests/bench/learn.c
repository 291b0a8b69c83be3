/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Measures one update of the learner with different numbers of threads, for the rounds of CartPole's example
 * and of Hopper's. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/bench/figure.h"
#include "tests/unit/learner-fixture.h"

enum { ROUNDS = 30, THREADS_MOST = 2 };

static double now_msec(void) {
        struct timespec ts;

        (void) clock_gettime(CLOCK_MONOTONIC, &ts);
        return (double) ts.tv_sec * 1e3 + (double) ts.tv_nsec * 1e-6;
}

static int compare(const void *a, const void *b) {
        double x = *(const double *) a, y = *(const double *) b;

        return (x > y) - (x < y);
}

/* Plays and learns one round. Returns how long the update took, in milliseconds. */
static double learn_once(Bed *bed, uint32_t round, Answer *ret) {
        double start;

        bed_fill(bed, 0, round & 1, round);
        bed_take(bed, 0, round & 1);
        start = now_msec();
        *ret = bed_learn(bed, round, 1);
        return now_msec() - start;
}

/* Measures one thread and two threads by turns, so that a busy host slows both down. */
static void measure(const char *name, const char *sections, const ActordEnvSpec *spec) {
        double learn[THREADS_MOST][ROUNDS], gain[ROUNDS];
        Answer learned[THREADS_MOST] = {};
        Bed beds[THREADS_MOST] = {};

        for (uint32_t k = 0; k < THREADS_MOST; k++) {
                g_autofree char *text = g_strdup_printf("%s\nThreads=%u\n", sections, k + 1);

                bed_start(&beds[k], text, spec);
        }
        for (uint32_t round = 0; round < ROUNDS; round++) {
                for (uint32_t k = 0; k < THREADS_MOST; k++)
                        learn[k][round] = learn_once(&beds[k], round, &learned[k]);
                gain[round] = learn[0][round] / learn[THREADS_MOST - 1][round];
        }
        for (uint32_t k = 0; k < THREADS_MOST; k++) {
                char figure[64];

                qsort(learn[k], ROUNDS, sizeof(double), compare);
                printf("%-9s %u threads: learn %7.3f ms, least %7.3f ms (slowest thread %7.3f ms)\n", name,
                                k + 1, learn[k][ROUNDS / 2], learn[k][0],
                                (double) learned[k].slowest_thread_nsec * 1e-6);
                (void) snprintf(figure, sizeof(figure), "one update, %s, %u thread%s", name, k + 1,
                                k == 0 ? "" : "s");
                figure_note(&(Figure){ .name = figure, .unit = "ms", .value = learn[k][ROUNDS / 2] });
                bed_close(&beds[k]);
        }
        qsort(gain, ROUNDS, sizeof(double), compare);
        printf("%-9s two threads are %.2f times as fast as one (median of %d pairs; quartiles %.2f, %.2f)\n",
                        name, gain[ROUNDS / 2], ROUNDS, gain[ROUNDS / 4], gain[ROUNDS * 3 / 4]);
}

int main(void) {
        ActordEnvSpec cartpole = bed_spec_box(4, 1, 2), hopper = bed_spec_box(11, 3, 0);

        cartpole.horizon_steps = 500;
        hopper.horizon_steps = 1000;
        measure("CartPole",
                        "[Actor]\nEnvsPerActor=8\nRolloutSteps=32\n"
                        "[Learner]\nEpochs=20\nMinibatchSize=256\n",
                        &cartpole);
        measure("Hopper",
                        "[Actor]\nRolloutSteps=2048\n[Learner]\nEpochs=10\nMinibatchSize=64\n"
                        "ValueClip=0.2\nNormalizeObservations=yes\nNormalizeRewards=yes\n",
                        &hopper);
        return 0;
}
