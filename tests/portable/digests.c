/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs each part of the arithmetic that policies depend on, with random numbers as its input, and prints a
 * digest of the result. Every build prints the same lines on every CPU (tests/check-portable.sh). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learner/kernel/kernels.h"
#include "lib/doubles.h"
#include "lib/forward.h"
#include "lib/rng.h"
#include "lib/slot.h"

enum { N = 20000, ROWS = 64, IN = 37, OUT = 70, STEPS = 16 };

/* FNV-1a */
static void tell(const char *what, const void *data, size_t n) {
        uint64_t digest = UINT64_C(0xcbf29ce484222325);

        for (size_t i = 0; i < n; i++)
                digest = (digest ^ ((const uint8_t *) data)[i]) * UINT64_C(0x100000001b3);
        printf("%-12s %016" PRIx64 "\n", what, digest);
}

static void draw(uint32_t slot, float *ret, size_t n) {
        ActordRandom random;

        random_begin(&random, 1, RANDOM_INIT, slot, 0, 0);
        for (size_t i = 0; i < n; i++)
                ret[i] = (float) actord_random_normal(&random);
}

static void tell_doubles(void) {
        static double y[5][N];
        ActordRandom random;

        random_begin(&random, 1, RANDOM_ACTION, 0, 0, 0);
        for (size_t i = 0; i < N; i++) {
                double x = actord_random_uniform(&random, 0, 1);

                y[0][i] = double_exp(1400.0 * x - 700.0);
                y[1][i] = double_expm1(8.0 * x - 4.0);
                y[2][i] = double_log(1e9 * x);
                y[3][i] = double_tanh(8.0 * x - 4.0);
                y[4][i] = double_power(x, i);
        }
        tell("doubles", y, sizeof(y));
}

static void tell_kernels(void) {
        static float w[OUT * IN], bias[OUT], x[IN * ROWS], y[OUT * ROWS], dx[IN * ROWS], m[OUT * IN],
                        v[OUT * IN];
        static float xt[ROWS * 48], dw[OUT * IN], probability[ROWS], entropy[ROWS];
        static const int32_t choice[ROWS] = {};
        AdamScalars adam = { .step_size = 1e-3,
                .beta1 = 0.9,
                .beta2 = 0.999,
                .epsilon = 1e-8,
                .root_correction = 0.03,
                .gradient_scale = 0.5 };

        draw(1, w, OUT * IN);
        draw(2, bias, OUT);
        draw(3, x, IN * ROWS);
        kernel_forward(w, bias, x, OUT, IN, ROWS, y);
        kernel_activate(y, OUT * ROWS, LAYER_TANH);
        tell("forward", y, sizeof(y));
        kernel_backward_input(w, y, OUT, IN, ROWS, false, dx);
        kernel_transpose(x, IN, ROWS, xt);
        kernel_backward_weight(y, xt, OUT, IN, ROWS, false, dw);
        tell("backward", dx, sizeof(dx));
        kernel_adam(w, m, v, dw, OUT * IN, &adam);
        tell("adam", w, sizeof(w));
        kernel_categorical(x, choice, IN, ROWS, probability, entropy);
        tell("categorical", x, sizeof(x));
        tell("entropy", entropy, sizeof(entropy));
}

static void tell_actor(void) {
        JobSettings settings = {
                .envs_per_actor = 1, .rollout_steps = 1, .hidden_layers = { 2, { 64, 33 } }
        };
        ActordEnvSpec spec = {
                .name = "toy",
                .observation = { .kind = ACTORD_BOX, .element = ACTORD_F32, .n_dims = 1, .shape = { 11 } },
                .action = { .kind = ACTORD_BOX,
                                .element = ACTORD_F32,
                                .n_dims = 1,
                                .shape = { 3 },
                                .low = -1,
                                .high = 1 },
                .n_agents = 1,
        };
        float observations[STEPS][11], parameters[STEPS][6], actions[STEPS][4];
        ActordRandom random;
        Forward *forward;
        PolicyHead *bank;
        JobPage page;

        if (job_page_make(&settings, &spec, &page) < 0 || forward_new(&page.network, &spec, &forward) < 0)
                exit(EXIT_FAILURE);
        bank = aligned_alloc(64, page.policy.bank_bytes);
        if (!bank)
                exit(EXIT_FAILURE);
        memset(bank, 0, page.policy.bank_bytes);
        draw(4, (float *) ((uint8_t *) bank + page.policy.parameters_at), page.network.n_parameters);
        draw(5, observations[0], STEPS * 11);

        forward_load(forward, bank, &page.policy);
        forward_rows(forward, observations, sizeof(observations[0]), STEPS, parameters[0]);
        random_begin(&random, 1, RANDOM_ACTION, 0, 0, 0);
        for (uint32_t t = 0; t < STEPS; t++)
                action_sample(&page.network, parameters[t], false, &random, actions[t], &actions[t][3]);
        tell("parameters", parameters, sizeof(parameters));
        tell("actions", actions, sizeof(actions));
        (void) forward_free(forward);
        free(bank);
}

int main(void) {
        tell_doubles();
        tell_kernels();
        tell_actor();
        return 0;
}
