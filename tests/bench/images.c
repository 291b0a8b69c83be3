/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What seeing costs: one frame through the forward pass of an actor, and one row of a learner's update, for the networks of papers. */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "learner/blas.h"
#include "lib/forward.h"
#include "tests/unit/learner-fixture.h"

enum { ENVS = 8, STEPS = 32, ROUNDS = 3, FRAMES = 50 };

static double now_msec(void) {
        struct timespec ts;

        (void) clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
        return (double) ts.tv_sec * 1e3 + (double) ts.tv_nsec * 1e-6;
}

static double least(double a, double b) {
        return a < b ? a : b;
}

/* One pass over the data: each row is computed once to learn from it, and once forwards before. */
static void measure(const char *name, const char *network, const uint32_t shape[3]) {
        g_autofree char *sections = g_strdup_printf(
                        "[Actor]\nEnvsPerActor=%d\nRolloutSteps=%d\n[Learner]\nEpochs=1\nMinibatchSize=256\n"
                        "SharedNetwork=yes\nActivation=relu\n%s\n",
                        ENVS, STEPS, network);
        ActordEnvSpec spec = bed_spec_box(1, 1, 6);
        double act = 1e9, learn = 1e9, start;
        Forward *forward;
        Bed bed = {};

        spec.observation = (ActordSpace){ .kind = ACTORD_BOX,
                .element = ACTORD_U8,
                .n_dims = 3,
                .shape = { shape[0], shape[1], shape[2] },
                .high = 255 };
        bed_settings("CartPole-v1", sections, &bed.settings);
        bed_open(&bed, &spec, -1, -1);
        bed_restore(&bed);
        for (uint32_t round = 0; round < ROUNDS; round++) {
                bed_fill(&bed, 0, round & 1, round);
                bed_take(&bed, 0, round & 1);
                start = now_msec();
                bed_learn(&bed, round, 1);
                learn = least(learn, (now_msec() - start) / (ENVS * STEPS));
        }

        g_assert_cmpint(forward_new(&bed.page.network, &bed.page.spec, &forward), ==, 0);
        for (uint32_t round = 0; round < ROUNDS; round++) {
                float parameters[6];

                start = now_msec();
                for (uint32_t i = 0; i < FRAMES; i++)
                        forward_row(forward, policy_bank(bed.policy, &bed.page.policy, 0), &bed.page.policy,
                                        segment_observation(bed.segments[0], &bed.page.segment, i),
                                        parameters, NULL);
                act = least(act, (now_msec() - start) / FRAMES);
        }
        printf("%-22s %8" PRIu64 " parameters: act %7.1f us a frame, learn %6.0f rows/s of CPU\n", name,
                        bed.page.network.n_parameters, act * 1e3, 1e3 / learn);
        forward_free(forward);
        bed_close(&bed);
}

int main(void) {
        printf("OpenBLAS has %s kernels\n", blas_kernel_name());
        measure("Catch", "Convolutions=16x3/1+1 16x3/2\nHiddenLayers=64", (uint32_t[3]){ 1, 10, 5 });
        measure("Nature, 4 x 84 x 84", "Convolutions=32x8/4 64x4/2 64x3/1\nHiddenLayers=512",
                        (uint32_t[3]){ 4, 84, 84 });
        measure("MinionsRL, 3 x 84 x 84", "Convolutions=16x8/4+2 32x4/2+2 256x11/1\nHiddenLayers=0",
                        (uint32_t[3]){ 3, 84, 84 });
        return 0;
}
