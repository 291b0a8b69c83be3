/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Compares each layer of convolutions of the forward pass, bit for bit, with sums over the layer before it,
 * in the documented order of additions. The source is included, since only it shows what hidden layers
 * write. */
#include "lib/forward-layers.c" /* NOLINT(bugprone-suspicious-include) */

#include <glib.h>
#include <math.h>

#include "lib/rng.h"
#include "lib/settings/settings.h"

typedef struct Fixture {
        JobSettings settings;
        ActordEnvSpec spec;
        JobPage page;
        PolicyHead *bank;
} Fixture;

static float draw(ActordRandom *random) {
        return (float) actord_random_normal(random);
}

static void fixture_make(
                Fixture *f, const setting_convolutions *layers, const uint32_t shape[3], uint32_t element) {
        ActordRandom random;
        float *numbers;

        *f = (Fixture){
                .settings = { .envs_per_actor = 1,
                                .rollout_steps = 1,
                                .activation = ACTIVATION_RELU,
                                .shared_network = 1,
                                .convolutions = *layers,
                                .hidden_layers = { 1, { 7 } } },
                .spec = { .name = "toy",
                                .observation = { .kind = ACTORD_BOX,
                                                .element = element,
                                                .n_dims = shape[2] > 0 ? 3 : 2,
                                                .shape = { shape[0], shape[1], shape[2] },
                                                .high = 255 },
                                .action = { .kind = ACTORD_DISCRETE, .element = ACTORD_I32, .n_choices = 3 },
                                .n_agents = 1,
                                .reward_high = 1 },
        };
        g_assert_cmpint(job_page_make(&f->settings, &f->spec, &f->page), ==, 0);

        /* The memory is exactly as large as a bank, so that a sanitizer sees a read beyond it. The padding
         * between the parts is NaN, so that a read of it shows in the results. */
        f->bank = aligned_alloc(64, f->page.policy.bank_bytes);
        memset(f->bank, 0xff, f->page.policy.bank_bytes);
        *f->bank = (PolicyHead){ .policy_version = 1 };
        numbers = (float *) ((uint8_t *) f->bank + f->page.policy.parameters_at);
        random_begin(&random, 3, RANDOM_INIT, 0, 0, 0);
        for (uint64_t i = 0; i < f->page.network.n_parameters; i++)
                numbers[i] = 0.3f * draw(&random);
}

/* A dot product in the order that lib/kernel-wide.h documents: one fused multiply-add after the other. */
static float dot_in_order(const float *w, const float *x, size_t n) {
        float sum = 0;

        for (size_t k = 0; k < n; k++)
                sum = fmaf(w[k], x[k], sum);
        return sum;
}

/* Copies the square of an image for output (oy, ox), in the order of the weights. The image is
 * [channels][height][width] or, if `last`, [height][width][channels]. */
static void square_in_order(
                const Convolution *c, bool last, const float *image, uint32_t oy, uint32_t ox, float *ret) {
        for (uint32_t channel = 0; channel < c->channels; channel++)
                for (uint32_t ky = 0; ky < c->kernel; ky++)
                        for (uint32_t kx = 0; kx < c->kernel; kx++) {
                                int64_t y = (int64_t) oy * c->stride + ky - c->padding;
                                int64_t x = (int64_t) ox * c->stride + kx - c->padding;
                                bool in = y >= 0 && y < c->height && x >= 0 && x < c->width;
                                int64_t at = last ? (y * c->width + x) * c->channels + channel
                                                  : ((int64_t) channel * c->height + y) * c->width + x;

                                *ret++ = in ? image[at] : 0;
                        }
}

/* Checks each layer of convolutions, bit for bit, against plain sums over the layer before it, in the
 * documented order. */
static void check_convolutions(
                const setting_convolutions *layers, const uint32_t shape[3], uint32_t element) {
        ActordRandom random;
        Forward *forward;
        uint8_t *observation;
        float parameters[3], *image;
        const float *w;
        Fixture f;

        fixture_make(&f, layers, shape, element);
        w = policy_numbers(f.bank, f.page.policy.parameters_at);
        random_begin(&random, 4, RANDOM_INIT, 0, 0, 0);

        image = g_new(float, f.page.network.n_observation);
        observation = g_malloc(f.page.segment.observation_bytes);
        for (uint32_t i = 0; i < f.page.network.n_observation; i++) {
                uint8_t byte = (uint8_t) random_below(&random, 256);

                image[i] = element == ACTORD_U8 ? (float) byte * (1.0f / 255.0f) : draw(&random);
                if (element == ACTORD_U8)
                        observation[i] = byte;
                else
                        memcpy(observation + i * sizeof(float), &image[i], sizeof(float));
        }

        g_assert_cmpint(forward_new(&f.page.network, &f.spec, &forward), ==, 0);
        forward_load(forward, f.bank, &f.page.policy);
        forward_row(forward, observation, parameters);
        for (uint32_t i = 0; i < layers->n; i++) {
                const Layer *l = &f.page.network.layers[i];
                const Convolution *c = &l->convolution;
                const float *x = i > 0 ? forward->outputs[i - 1] : image;
                g_autofree float *square = g_new(float, l->n_reads);
                uint32_t n_squares = c->out_height * c->out_width, n_positive = 0;

                g_assert_cmpuint(l->kind, ==, LAYER_CONVOLUTION);
                for (uint32_t o = 0; o < l->n_out; o++) {
                        uint32_t unit = o / n_squares, at = o % n_squares;
                        float y;

                        square_in_order(c, i == 0 && shape[2] > 0 && shape[2] < shape[0], x,
                                        at / c->out_width, at % c->out_width, square);
                        y = dot_in_order(w + l->weight_at + (size_t) unit * l->n_reads, square, l->n_reads) +
                            w[l->bias_at + unit];
                        y = y < 0 ? 0 : y;
                        n_positive += y > 0;
                        g_assert_cmpmem(&forward->outputs[i][o], sizeof(float), &y, sizeof(float));
                }
                g_assert_cmpuint(n_positive, >, 0);
        }
        g_free(image);
        g_free(observation);
        (void) forward_free(forward);
        free(f.bank);
}

static void test_convolutions(void) {
        static const setting_convolutions plain = { 1, 0, { { 5, 3, 1, 0 } } },
                                          padded_ones = { 2, 0, { { 7, 5, 2, 3 }, { 18, 2, 1, 1 } } },
                                          deep = { 3, 0,
                                                  { { 16, 8, 4, 0 }, { 32, 4, 2, 0 }, { 33, 3, 1, 0 } } },
                                          wide = { 2, 0, { { 16, 8, 4, 2 }, { 20, 11, 1, 0 } } };

        check_convolutions(&plain, (uint32_t[3]){ 6, 5, 0 }, ACTORD_F32);
        check_convolutions(&padded_ones, (uint32_t[3]){ 2, 9, 8 }, ACTORD_F32);
        check_convolutions(&padded_ones, (uint32_t[3]){ 9, 8, 3 }, ACTORD_U8);
        check_convolutions(&deep, (uint32_t[3]){ 4, 44, 44 }, ACTORD_U8);
        check_convolutions(&wide, (uint32_t[3]){ 3, 44, 48 }, ACTORD_U8);
}

/* Rows that are computed together have the same bits as rows that are computed alone. */
static void test_rows(void) {
        static const setting_convolutions layers = { 2, 0, { { 5, 3, 2, 1 }, { 9, 4, 1, 0 } } };
        enum { ROWS = 7, BYTES = 2 * 8 * 9 };
        float together[ROWS][2 * 3];
        uint8_t observations[ROWS][BYTES];
        ActordRandom random;
        Forward *forward;
        Fixture f;

        fixture_make(&f, &layers, (uint32_t[3]){ 2, 8, 9 }, ACTORD_U8);
        random_begin(&random, 5, RANDOM_INIT, 0, 0, 0);
        for (uint32_t r = 0; r < ROWS; r++)
                for (uint32_t i = 0; i < BYTES; i++)
                        observations[r][i] = (uint8_t) random_below(&random, 256);

        g_assert_cmpint(forward_new(&f.page.network, &f.spec, &forward), ==, 0);
        forward_load(forward, f.bank, &f.page.policy);
        forward_rows(forward, observations, BYTES, ROWS, together[0]);
        for (uint32_t r = 0; r < ROWS; r++) {
                float alone[2 * 3];

                forward_row(forward, observations[r], alone);
                g_assert_cmpmem(together[r], 3 * sizeof(float), alone, 3 * sizeof(float));
        }
        (void) forward_free(forward);
        free(f.bank);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);

        g_test_add_func("/forward-images/convolutions", test_convolutions);
        g_test_add_func("/forward-images/rows", test_rows);

        return g_test_run();
}
