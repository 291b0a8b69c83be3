/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Compares the CPU time of a consistency policy of two passes with that of a diffusion policy of five, with
 * equal networks. Measures one action, one that critics choose from 50, and one gradient
 * step of policy and critics. The policies take turns, and the figure is the median of their ratios. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "lib/forward.h"
#include "lib/rng.h"
#include "tests/bench/figure.h"
#include "tests/unit/learner-fixture.h"

enum { TURNS = 15, OBSERVATIONS = 11, ACTIONS = 3, ACTS = 2000, STEPS = 250, BATCH = 256, GRADIENTS = 5 };
enum { CONSISTENCY, DIFFUSION, N_POLICIES };

typedef struct Side {
        Bed bed;
        Forward *forward;
        uint32_t round;
} Side;

typedef double (*Measured)(Side *side); /* microseconds for one call of the measured function */

static double now_usec(void) {
        struct timespec ts;

        (void) clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
        return (double) ts.tv_sec * 1e6 + (double) ts.tv_nsec * 1e-3;
}

static int compare(const void *a, const void *b) {
        double x = *(const double *) a, y = *(const double *) b;

        return (x > y) - (x < y);
}

static double act(Side *side) {
        float observation[OBSERVATIONS] = {}, parameters[CANDIDATES_MAX * (ACTIONS + 1) + 1],
              action[ACTIONS];
        double start;

        forward_load(side->forward,
                        policy_bank(side->bed.policy, &side->bed.page.policy,
                                        side->bed.learner->policy_bank),
                        &side->bed.page.policy);
        start = now_usec();
        for (uint32_t i = 0; i < ACTS; i++) {
                ActordRandom random;

                random_begin(&random, 1, RANDOM_ACTION, 0, 0, i);
                forward_draw(side->forward, 0, &random);
                forward_row(side->forward, observation, parameters);
                /* no random action, though nothing is learned yet */
                parameters[side->bed.page.network.candidates * ACTIONS] = 0;
                action_sample(&side->bed.page.network, parameters, false, &random, action, NULL);
        }
        return (now_usec() - start) / ACTS;
}

/* Measures one gradient step. Each round has GRADIENTS of them. */
static double learn(Side *side) {
        double start;

        bed_fill(&side->bed, 0, side->round & 1, side->round);
        bed_take(&side->bed, 0, side->round & 1);
        start = now_usec();
        bed_learn(&side->bed, side->round, 1);
        side->round++;
        return (now_usec() - start) / GRADIENTS;
}

static void open_side(Side *side, const char *algorithm, const char *sections) {
        g_autofree char *text = g_strdup_printf("Algorithm=%s\nStopSteps=100000\n[Actor]\nRolloutSteps=%u\n"
                                                "[Learner]\nMinibatchSize=%u\nReplayMin=%u\n"
                                                "TrainRatio=%g\nActivation=mish\nThreads=1\n%s",
                        algorithm, STEPS, BATCH, STEPS, (double) GRADIENTS / STEPS, sections);
        ActordEnvSpec spec = bed_spec_box(OBSERVATIONS, ACTIONS, 0);

        spec.horizon_steps = 1000;
        bed_start(&side->bed, text, &spec);
        g_assert_cmpint(forward_new_judged(&side->bed.page.network, &side->bed.page.judge, &spec,
                                        &side->forward),
                        ==, 0);
}

/* The first turn is warm-up, and is left out. */
static double measure(const char *what, const char *sections, Measured work) {
        static const char *const algorithms[N_POLICIES] = { "consistency", "diffusion-ql" };
        double spent[N_POLICIES][TURNS], ratio[TURNS];
        Side sides[N_POLICIES] = {};

        for (int k = 0; k < N_POLICIES; k++) {
                open_side(&sides[k], algorithms[k], sections);
                (void) work(&sides[k]);
        }
        for (int turn = 0; turn < TURNS; turn++) {
                for (int k = 0; k < N_POLICIES; k++)
                        spent[k][turn] = work(&sides[k]);
                ratio[turn] = spent[DIFFUSION][turn] / spent[CONSISTENCY][turn];
        }
        for (int k = 0; k < N_POLICIES; k++) {
                (void) forward_free(sides[k].forward);
                bed_close(&sides[k].bed);
                qsort(spent[k], TURNS, sizeof(double), compare);
        }
        qsort(ratio, TURNS, sizeof(double), compare);
        printf("%-40s consistency %9.2f us  diffusion %9.2f us  %.2f times (quartiles %.2f, %.2f)\n", what,
                        spent[CONSISTENCY][TURNS / 2], spent[DIFFUSION][TURNS / 2], ratio[TURNS / 2],
                        ratio[TURNS / 4], ratio[TURNS * 3 / 4]);
        return ratio[TURNS / 2];
}

static void compare_passes(const char *layers) {
        g_autofree char *recorded = g_strdup_printf("Dataset=a.hdf5\nHiddenLayers=%s\n", layers);
        g_autofree char *acted = g_strdup_printf("HiddenLayers=%s\n", layers);
        g_autofree char *chosen = g_strdup_printf("%sCandidates=50\n", acted);
        const struct {
                const char *what, *sections;
                Measured work;
        } kinds[] = { { "an action", acted, act }, { "an action of 50", chosen, act },
                { "a gradient step, from recorded episodes", recorded, learn },
                { "a gradient step, where actors act", acted, learn } };

        for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
                g_autofree char *what = g_strdup_printf("%s, %s", kinds[i].what, layers);
                double ratio = measure(what, kinds[i].sections, kinds[i].work);
                g_autofree char *name = g_strdup_printf("5 diffusion passes / 2 of consistency, %s", what);

                figure_note(&(Figure){ .name = name, .unit = "times", .value = ratio, .limit = 2.5 });
        }
}

int main(void) {
        compare_passes("64 64");
        compare_passes("256 256 256");
        return 0;
}
