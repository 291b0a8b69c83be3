/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One update of the learner, for the round of CartPole's example and of Hopper's, by number of threads. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/bench/figure.h"
#include "tests/unit/learner-fixture.h"

enum { ROUNDS = 30 };

static double now_msec(void) {
        struct timespec ts;

        (void) clock_gettime(CLOCK_MONOTONIC, &ts);
        return (double) ts.tv_sec * 1e3 + (double) ts.tv_nsec * 1e-6;
}

static int compare(const void *a, const void *b) {
        double x = *(const double *) a, y = *(const double *) b;

        return (x > y) - (x < y);
}

static void measure(const char *name, const char *sections, const ActordEnvSpec *spec, uint32_t n_threads) {
        g_autofree char *text = g_strdup_printf("%s\nThreads=%u\n", sections, n_threads);
        double take[ROUNDS], learn[ROUNDS];
        Answer learned = {};
        char figure[64];
        Bed bed = {};

        bed_start(&bed, text, spec);
        for (uint32_t round = 0; round < ROUNDS; round++) {
                double start, taken;

                bed_fill(&bed, 0, round & 1, round);
                start = now_msec();
                bed_take(&bed, 0, round & 1);
                taken = now_msec();
                learned = bed_learn(&bed, round, 1);
                learn[round] = now_msec() - taken;
                take[round] = taken - start;
        }
        qsort(take, ROUNDS, sizeof(double), compare);
        qsort(learn, ROUNDS, sizeof(double), compare);
        printf("%-9s %u threads: take %6.3f ms, learn %7.3f ms, least %7.3f ms (slowest thread %7.3f ms)\n",
                        name, n_threads, take[ROUNDS / 2], learn[ROUNDS / 2], learn[0],
                        (double) learned.slowest_thread_nsec * 1e-6);
        (void) snprintf(figure, sizeof(figure), "one update, %s, %u thread%s", name, n_threads,
                        n_threads == 1 ? "" : "s");
        figure_note(&(Figure){ .name = figure, .unit = "ms", .value = learn[ROUNDS / 2] });
        bed_close(&bed);
}

int main(void) {
        ActordEnvSpec cartpole = bed_spec_box(4, 1, 2), hopper = bed_spec_box(11, 3, 0);

        cartpole.horizon_steps = 500;
        hopper.horizon_steps = 1000;
        for (uint32_t n = 1; n <= 2; n++) {
                measure("CartPole",
                                "[Actor]\nEnvsPerActor=8\nRolloutSteps=32\n[Learner]\nEpochs=20\n"
                                "MinibatchSize=256\n",
                                &cartpole, n);
                measure("Hopper",
                                "[Actor]\nRolloutSteps=2048\n[Learner]\nEpochs=10\nMinibatchSize=64\n"
                                "ValueClip=0.2\n"
                                "NormalizeObservations=yes\nNormalizeRewards=yes\n",
                                &hopper, n);
        }
        return 0;
}
