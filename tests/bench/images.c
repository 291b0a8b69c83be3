/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Measures how fast published networks process images. An actor's forward pass gets one frame at a time, or
 * one of each of its environments. A learner's forward and backward passes get rows. One large product of
 * matrices on this core is measured for comparison. */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "learner/gradient.h"
#include "learner/kernel/kernels.h"
#include "lib/forward.h"
#include "tests/unit/learner-fixture.h"

enum { ENVS = 8, STEPS = 32, ROUNDS = 5, FRAMES = 48, SIDE = 768 };

static double now_msec(void) {
        struct timespec ts;

        (void) clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
        return (double) ts.tv_sec * 1e3 + (double) ts.tv_nsec * 1e-6;
}

static double least(double a, double b) {
        return a < b ? a : b;
}

/* Returns the speed of a large product, in billions of operations a second. */
static double peak_measure(void) {
        float *a = g_new0(float, SIDE *SIDE), *b = g_new0(float, SIDE *SIDE), *c = g_new0(float, SIDE *SIDE);
        double best = 1e9, start;

        for (uint32_t round = 0; round < ROUNDS; round++) {
                start = now_msec();
                kernel_forward(a, NULL, b, SIDE, SIDE, SIDE, c);
                best = least(best, now_msec() - start);
        }
        g_free(a);
        g_free(b);
        g_free(c);
        return 2e-6 * SIDE * SIDE * SIDE / best;
}

/* Counts the multiplications and additions of one row. The backward pass has as many as the forward pass for
 * the gradient of the weights, and again as many for that of a layer's input. */
static void operations_count(const Network *network, double *ret_forward, double *ret_backward) {
        *ret_forward = *ret_backward = 0;
        for (uint32_t i = 0; i < network->n_layers; i++) {
                const Layer *l = &network->layers[i];
                double n = l->kind == LAYER_PARAMETER ? 0 : 2.0 * l->n_reads * l->n_out;

                *ret_forward += n;
                *ret_backward += l->input == i ? n : 2 * n;
        }
}

/* Measures the learner's forward and backward pass over a full shard of rows. */
static void passes_measure(const Bed *bed, double peak) {
        const Network *network = &bed->page.network;
        float *gradient = g_new0(float, network->n_parameters + 64);
        const float *parameters = policy_numbers(
                        policy_bank(bed->policy, &bed->page.policy, 0), bed->page.policy.parameters_at);
        double forward = 1e9, backward = 1e9, forward_n, backward_n, start;
        Pass *pass;

        g_assert_cmpint(pass_new(network, &pass), ==, 0);
        for (size_t i = 0; i < (size_t) network->n_observation * SHARD_ROWS_MAX; i++)
                pass->input[i] = (float) (i * 37 % 256) * FORWARD_PIXEL;
        for (uint32_t round = 0; round < ROUNDS; round++) {
                start = now_msec();
                pass_forward(pass, parameters);
                forward = least(forward, now_msec() - start);
                start = now_msec();
                pass_backward(pass, parameters, false, gradient, NULL);
                backward = least(backward, now_msec() - start);
        }
        operations_count(network, &forward_n, &backward_n);
        printf("%-22s forward %6.0f rows/s (%2.0f %% of sgemm's operations), gradient %6.0f rows/s (%2.0f "
               "%%)\n",
                        "", SHARD_ROWS_MAX / forward * 1e3,
                        100 * SHARD_ROWS_MAX * forward_n / forward * 1e-6 / peak,
                        SHARD_ROWS_MAX / backward * 1e3,
                        100 * SHARD_ROWS_MAX * backward_n / backward * 1e-6 / peak);
        pass_free(pass);
        g_free(gradient);
}

/* The microseconds that a frame takes, if n frames are computed together. */
static double act_measure(const Bed *bed, Forward *forward, uint32_t n) {
        float parameters[2 * 6 * ENVS];
        double best = 1e9, start;

        for (uint32_t round = 0; round < ROUNDS; round++) {
                start = now_msec();
                forward_load(forward, policy_bank(bed->policy, &bed->page.policy, 0), &bed->page.policy);
                for (uint32_t i = 0; i < FRAMES; i += n)
                        forward_rows(forward, segment_observation(bed->segments[0], &bed->page.segment, i),
                                        bed->page.segment.observation_bytes, n, parameters);
                best = least(best, (now_msec() - start) / FRAMES);
        }
        return best * 1e3;
}

/* Measures one network. The learner passes over the data once: it computes each row forwards, and later once
 * more to learn from it. */
static void measure(const char *name, const char *network, const uint32_t shape[3], double peak) {
        g_autofree char *sections = g_strdup_printf(
                        "[Actor]\nEnvsPerActor=%d\nRolloutSteps=%d\n[Learner]\nEpochs=1\nMinibatchSize=256\n"
                        "SharedNetwork=yes\nActivation=relu\n%s\n",
                        ENVS, STEPS, network);
        ActordEnvSpec spec = bed_spec_box(1, 1, 6);
        double learn = 1e9, start;
        Forward *forward;
        Bed bed = {};

        spec.observation = (ActordSpace){ .kind = ACTORD_BOX,
                .element = ACTORD_U8,
                .n_dims = 3,
                .shape = { shape[0], shape[1], shape[2] },
                .high = 255 };
        bed_start(&bed, sections, &spec);
        for (uint32_t round = 0; round < ROUNDS; round++) {
                bed_fill(&bed, 0, round & 1, round);
                bed_take(&bed, 0, round & 1);
                start = now_msec();
                bed_learn(&bed, round, 1);
                learn = least(learn, (now_msec() - start) / (ENVS * STEPS));
        }

        g_assert_cmpint(forward_new(&bed.page.network, &bed.page.spec, &forward), ==, 0);
        printf("%-22s %8" PRIu64
               " parameters: act %5.1f us a frame, %5.1f us of %d at once; learn %6.0f rows/s of CPU\n",
                        name, bed.page.network.n_parameters, act_measure(&bed, forward, 1),
                        act_measure(&bed, forward, ENVS), ENVS, 1e3 / learn);
        passes_measure(&bed, peak);
        forward_free(forward);
        bed_close(&bed);
}

int main(void) {
        double peak = peak_measure();

        printf("a product of %d x %d reaches %.0f GFLOPS\n", SIDE, SIDE, peak);
        measure("Catch", "Convolutions=16x3/1+1 16x3/2\nHiddenLayers=64", (uint32_t[3]){ 1, 10, 5 }, peak);
        measure("Nature, 4 x 84 x 84", "Convolutions=32x8/4 64x4/2 64x3/1\nHiddenLayers=512",
                        (uint32_t[3]){ 4, 84, 84 }, peak);
        measure("MinionsRL, 3 x 84 x 84", "Convolutions=16x8/4+2 32x4/2+2 256x11/1\nHiddenLayers=0",
                        (uint32_t[3]){ 3, 84, 84 }, peak);
        measure("Mnih 2013, 4 x 84 x 84", "Convolutions=16x8/4 32x4/2\nHiddenLayers=256",
                        (uint32_t[3]){ 4, 84, 84 }, peak);
        return 0;
}
