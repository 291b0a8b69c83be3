/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Measures what one row costs: the forward pass of usual networks, for one row alone and for
 * FORWARD_ROWS_MAX rows in one call, and the forward pass with the draw of an action. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/forward.h"
#include "lib/rng.h"
#include "lib/slot.h"

enum { ROWS = 256, RUNS = 5 };
#define RUN_SECONDS 0.1

typedef struct Bench {
        JobSettings settings;
        ActordEnvSpec spec;
        JobPage page;
        PolicyHead *bank;
        Forward *forward;
        float *observations, *parameters;
        void *action;
} Bench;

typedef void (*Row)(Bench *bench, const float *observation, uint32_t i);

static double now_seconds(void) {
        struct timespec ts;

        (void) clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
        return (double) ts.tv_sec + (double) ts.tv_nsec * 1e-9;
}

static void row_act(Bench *bench, const float *observation, uint32_t i) {
        forward_row(bench->forward, observation, bench->parameters);
}

/* Computes FORWARD_ROWS_MAX rows in one call if row i is the first of them; otherwise does nothing. */
static void row_together(Bench *bench, const float *observation, uint32_t i) {
        size_t stride = bench->page.network.n_observation * sizeof(float);

        if (i % FORWARD_ROWS_MAX == 0)
                forward_rows(bench->forward, observation, stride, FORWARD_ROWS_MAX, bench->parameters);
}

static void row_sample(Bench *bench, const float *observation, uint32_t i) {
        float log_probability;
        ActordRandom random;

        row_act(bench, observation, i);
        random_begin(&random, 1, RANDOM_ACTION, 0, 0, i);
        action_sample(&bench->page.network, bench->parameters, false, &random, bench->action,
                        &log_probability);
}

/* The least time of a row among a few runs, since disturbances can only add time. */
static double nsec_per_row(Bench *bench, Row row) {
        uint32_t n_observation = bench->page.network.n_observation;
        double best = 1e9;

        for (int run = 0; run < RUNS; run++) {
                double begin = now_seconds(), spent;
                uint64_t n = 0;

                do {
                        for (uint32_t i = 0; i < ROWS; i++)
                                row(bench, bench->observations + i * n_observation, i);
                        n += ROWS;
                        spent = now_seconds() - begin;
                } while (spent < RUN_SECONDS);
                if (spent / (double) n * 1e9 < best)
                        best = spent / (double) n * 1e9;
        }
        return best;
}

static void bench_run(uint32_t n_observation, uint32_t n_action, bool continuous, uint32_t width) {
        Bench b = { .settings = { .envs_per_actor = 1,
                                    .rollout_steps = 1,
                                    .hidden_layers = { 2, { width, width } } } };
        ActordRandom random;
        float *parameters;

        b.spec = (ActordEnvSpec){
                .name = "bench",
                .observation = { .kind = ACTORD_BOX,
                                .element = ACTORD_F32,
                                .n_dims = 1,
                                .shape = { n_observation } },
                .action = { .kind = ACTORD_DISCRETE, .element = ACTORD_I32, .n_choices = n_action },
                .n_agents = 1,
        };
        if (continuous)
                b.spec.action = (ActordSpace){
                        .kind = ACTORD_BOX, .element = ACTORD_F32, .n_dims = 1, .shape = { n_action }
                };
        if (job_page_make(&b.settings, &b.spec, &b.page) < 0 ||
                        forward_new(&b.page.network, &b.spec, &b.forward) < 0)
                exit(EXIT_FAILURE);

        b.bank = aligned_alloc(64, b.page.policy.bank_bytes);
        b.observations = calloc((size_t) ROWS * n_observation, sizeof(float));
        b.parameters = calloc(FORWARD_ROWS_MAX * 2 * n_action, sizeof(float));
        b.action = calloc(n_action, sizeof(float));
        if (!b.bank || !b.observations || !b.parameters || !b.action)
                exit(EXIT_FAILURE);
        memset(b.bank, 0, b.page.policy.bank_bytes);

        random_begin(&random, 1, RANDOM_INIT, 0, 0, 0);
        parameters = (float *) policy_numbers(b.bank, b.page.policy.parameters_at);
        for (uint64_t i = 0; i < b.page.network.n_parameters; i++)
                parameters[i] = (float) (0.1 * actord_random_normal(&random));
        forward_load(b.forward, b.bank, &b.page.policy);
        for (uint32_t i = 0; i < ROWS * n_observation; i++)
                b.observations[i] = (float) actord_random_normal(&random);

        printf("%3u > %3u x %3u > %2u %-11s  act %7.0f ns  together %7.0f ns  act and draw %7.0f ns\n",
                        n_observation, width, width, n_action, continuous ? "continuous" : "discrete",
                        nsec_per_row(&b, row_act), nsec_per_row(&b, row_together),
                        nsec_per_row(&b, row_sample));

        (void) forward_free(b.forward);
        free(b.bank);
        free(b.observations);
        free(b.parameters);
        free(b.action);
}

int main(void) {
        bench_run(4, 2, false, 64);
        bench_run(11, 3, true, 64);
        bench_run(376, 17, true, 64);
        bench_run(4, 2, false, 512);
        bench_run(4, 2, false, 1024);
        bench_run(4, 2, false, 256);
        bench_run(11, 3, true, 256);
        bench_run(376, 17, true, 256);
        return 0;
}
