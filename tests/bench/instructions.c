/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Fixed work for the hot functions, to be counted and not timed: tests/check-instructions.py runs this under
 * callgrind, which counts what each hot_…() executes. Every number comes from a generator with a seed, and
 * vectors are eight wide whatever the CPU has. */
#include <gnu/libc-version.h>
#include <stdio.h>

#include "learner/kernel/kernels.h"
#include "lib/width.h"
#include "tests/unit/actor-fixture.h"
#include "tests/unit/learner-fixture.h"

/* The sizes in a minibatch of CartPole's example: layers of 64 units, shards of 64 rows. */
enum { UNITS = 64, ROWS = SHARD_ROWS_MAX, TIMES = 50 };

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

/* These functions are not inlined, since callgrind finds them by their names. */
#define HOT(name) static __attribute__((noinline, used)) void hot_##name

typedef struct Matrices {
        float weight[UNITS * UNITS] __attribute__((aligned(64)));
        float bias[UNITS] __attribute__((aligned(64)));
        float x[UNITS * ROWS] __attribute__((aligned(64)));
        float xt[UNITS * ROWS] __attribute__((aligned(64)));
        float y[UNITS * ROWS] __attribute__((aligned(64)));
        float dy[UNITS * ROWS] __attribute__((aligned(64)));
        float m[UNITS * UNITS] __attribute__((aligned(64)));
        float v[UNITS * UNITS] __attribute__((aligned(64)));
} Matrices;

HOT(kernel_forward)(Matrices *x) {
        for (unsigned i = 0; i < TIMES; i++)
                kernel_forward(x->weight, x->bias, x->x, UNITS, UNITS, ROWS, x->y);
}

HOT(kernel_backward_input)(Matrices *x) {
        for (unsigned i = 0; i < TIMES; i++)
                kernel_backward_input(x->weight, x->dy, UNITS, UNITS, ROWS, false, x->y);
}

HOT(kernel_backward_weight)(Matrices *x) {
        for (unsigned i = 0; i < TIMES; i++)
                kernel_backward_weight(x->dy, x->xt, UNITS, UNITS, ROWS, true, x->m);
}

HOT(kernel_activate)(Matrices *x) {
        for (unsigned i = 0; i < TIMES; i++)
                kernel_activate(x->x, (size_t) UNITS * ROWS, LAYER_TANH);
}

HOT(kernel_activation_backward)(Matrices *x) {
        for (unsigned i = 0; i < TIMES; i++)
                kernel_activation_backward(x->dy, x->x, x->bias, UNITS, ROWS, LAYER_TANH, true);
}

HOT(kernel_adam)(Matrices *x) {
        const AdamScalars scalars = { 1e-3, 0.9, 0.999, 1e-5, 1.0, 1.0 };

        for (unsigned i = 0; i < TIMES; i++)
                kernel_adam(x->weight, x->m, x->v, x->dy, (size_t) UNITS * UNITS, &scalars);
}

HOT(invocation)(Job *job) {
        actor_job_rollout(job, 0);
}

HOT(take)(Bed *bed) {
        for (unsigned i = 0; i < TIMES; i++)
                bed_take(bed, 0, 0);
}

HOT(recompute)(Runtime *runtime) {
        runtime_recompute(runtime, NET_POLICY);
}

/* A loss that costs almost nothing, since the cost of a loss depends on the algorithm. */
static void loss(Tape *t, const void *arg) {
        tape_loss(t, tape_term(t, TERM_LOG_PROBABILITY), 1.0);
        tape_loss(t, tape_term(t, TERM_VALUE), 1.0);
}

HOT(minibatch)(Runtime *runtime) {
        Rows rows = runtime_sample(runtime, 0, 0);
        double sum, norm;

        g_assert_cmpint(runtime_gradient(runtime, NET_POLICY, rows, loss, NULL, &sum, 1), ==, 0);
        g_assert_cmpint(runtime_apply(runtime, NET_POLICY, 1e-3, 0.5, &norm), ==, 0);
}

static void fill(float *x, size_t n, GRand *rand, double lowest) {
        for (size_t i = 0; i < n; i++)
                x[i] = (float) g_rand_double_range(rand, lowest, 1.0);
}

static void count_kernels(void) {
        g_autoptr(GRand) rand = g_rand_new_with_seed(1);
        Matrices *x = aligned_alloc(64, sizeof(*x));

        g_assert_nonnull(x);
        fill((float *) x, offsetof(Matrices, v) / sizeof(float), rand, -1.0);
        fill(x->v, sizeof(x->v) / sizeof(float), rand, 0.1); /* squares */

        hot_kernel_forward(x);
        hot_kernel_backward_input(x);
        hot_kernel_backward_weight(x);
        hot_kernel_activate(x);
        hot_kernel_activation_backward(x);
        hot_kernel_adam(x);
        free(x);
}

static void count_actor(void) {
        const ActordEnv *env;
        Job job;

        g_assert_cmpint(environment_load("CartPole-v1", "/nonexistent", &env), >=, 0);
        actor_job_new(&job, env, 8, 32, 1);
        actor_job_rollout(&job, 0); /* takes its memory */
        hot_invocation(&job);
        actor_job_done(&job);
}

static void count_learner(void) {
        ActordEnvSpec cartpole = bed_spec_box(4, 1, 2);
        Statistics statistics = {};
        Bed bed = {};

        cartpole.horizon_steps = 500;
        bed_settings("CartPole-v1",
                        "[Actor]\nEnvsPerActor=8\nRolloutSteps=32\n"
                        "[Learner]\nEpochs=1\nMinibatchSize=256\nKernelClass=avx2\n",
                        &bed.settings);
        bed_open(&bed, &cartpole, -1, -1);
        bed_restore(&bed);
        bed_fill(&bed, 0, 0, 1);
        hot_take(&bed);
        runtime_begin(bed.learner->runtime, 1, 0, 0, &statistics);
        hot_recompute(bed.learner->runtime);
        runtime_advantage(bed.learner->runtime, 0.99, 0.95);
        hot_minibatch(bed.learner->runtime);
        bed_close(&bed);
}

/* Without an argument, prints the compiler, the C library, the flags and the width of vectors. The numbers
 * of two builds can be compared only if these agree. */
int main(int argc, char *argv[]) {
        if (argc < 2) {
                printf("compiler %s\nlibc %s\nflags %s\nwidth %s\n", COMPILER, gnu_get_libc_version(),
                                BENCH_FLAGS, width_present(WIDTH_AVX2) ? "avx2" : "none");
                return 0;
        }
        width_choose(WIDTH_AVX2);
        count_kernels();
        count_actor();
        count_learner();
        return 0;
}
