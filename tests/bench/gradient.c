/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Measures gradient steps of two networks of 64 x 64 by one thread: the operations of the matrix products,
 * counted from shapes, divided by the time of forward pass, loss, backward pass and Adam. It also measures
 * the speed of the same kernel with large matrices, and of OpenBLAS's sgemm if that is installed. The three
 * run by turns, and the best turn of each counts, since disturbances can only add time.
 *
 *     gradient [CLASS]        of KernelClass=; OPENBLAS_CORETYPE= has to say the same to OpenBLAS */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "learner/limit.h"
#include "lib/boottime.h"
#include "lib/width.h"
#include "tests/bench/figure.h"
#include "tests/unit/learner-fixture.h"

/* a turn takes about 1 ms, so some turns are not interrupted, even on a busy host */
enum { TURNS = 60, SIDE = 384 };

typedef struct Peaks {
        /* floating-point operations in a second: of our kernel, of sgemm, and of gradient steps */
        double own, sgemm, steps;
} Peaks;

/* cblas_sgemm(); NULL: there is no such library here */
typedef void (*Sgemm)(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                const float *a, int a_m, const float *b, int b_k, float beta, float *c, int c_m);
enum { ROW_MAJOR = 101, NOT_TRANSPOSED = 111 };

static Sgemm sgemm_find(void) {
        void *library = dlopen("libopenblas.so.0", RTLD_NOW);

        return library ? (Sgemm) dlsym(library, "cblas_sgemm") : NULL;
}

static double sgemm_rate(Sgemm sgemm) {
        static float a[SIDE * SIDE], b[SIDE * SIDE], c[SIDE * SIDE];
        uint64_t begun_nsec;

        if (!sgemm)
                return NAN;
        for (size_t i = 0; i < (size_t) SIDE * SIDE; i++)
                a[i] = b[i] = (float) (i % 7) - 3.0f;
        begun_nsec = clock_boottime();
        sgemm(ROW_MAJOR, NOT_TRANSPOSED, NOT_TRANSPOSED, SIDE, SIDE, SIDE, 1.0f, a, SIDE, b, SIDE, 0.0f, c,
                        SIDE);
        return 2.0 * SIDE * SIDE * SIDE / ((double) (clock_boottime() - begun_nsec) * 1e-9);
}

/* Operations in a second during the gradient steps of one update. */
static double steps_rate(Bed *bed, uint32_t round) {
        Answer learned;

        bed_fill(bed, 0, round & 1, round);
        bed_take(bed, 0, round & 1);
        learned = bed_learn(bed, round, 1);
        return (double) learned.spent.rates[PRODUCT_gradient].operations * 1e9 /
               (double) (learned.spent.nsec[PROFILE_gradient] + learned.spent.nsec[PROFILE_apply]);
}

static void measure(const char *network, const ActordEnvSpec *spec, const char *class, uint32_t rows,
                Sgemm sgemm) {
        g_autofree char *text = g_strdup_printf("Profile=yes\n[Actor]\nRolloutSteps=512\n"
                                                "[Learner]\nEpochs=2\nMinibatchSize=%u\nKernelClass=%s\n",
                        rows, class);
        g_autofree char *name =
                        g_strdup_printf("gradient steps, %s, minibatch %u, %s", network, rows, class);
        /* fmax() ignores a NaN. So the first rate replaces the NaN; without sgemm, the NaN stays. */
        Peaks best = { .sgemm = NAN };
        Bed bed = {};

        bed_start(&bed, text, spec);
        for (uint32_t turn = 0; turn < TURNS; turn++) {
                best.sgemm = fmax(best.sgemm, sgemm_rate(sgemm));
                best.own = fmax(best.own, limit_measure());
                best.steps = fmax(best.steps, steps_rate(&bed, turn));
        }
        bed_close(&bed);

        printf("%-52s %6.1f GFLOP/s: %3.0f %% of our kernel's %5.1f", name, best.steps / 1e9,
                        100 * best.steps / best.own, best.own / 1e9);
        if (sgemm)
                printf(", %3.0f %% of sgemm's %5.1f", 100 * best.steps / best.sgemm, best.sgemm / 1e9);
        putchar('\n');
        figure_note(&(Figure){ .name = name,
                        .unit = "GFLOP/s",
                        .value = best.steps / 1e9,
                        .limit = best.own / 1e9,
                        .peer = sgemm ? "OpenBLAS sgemm, large" : NULL,
                        .peer_value = best.sgemm / 1e9 });
}

int main(int argc, char *argv[]) {
        ActordEnvSpec cartpole = bed_spec_box(4, 1, 2), hopper = bed_spec_box(11, 3, 0);
        const char *class = argc > 1 ? argv[1] : "auto";
        Sgemm sgemm = sgemm_find();

        cartpole.horizon_steps = 500;
        hopper.horizon_steps = 1000;
        for (uint32_t rows = 64; rows <= 256; rows *= 4) {
                measure("CartPole", &cartpole, class, rows, sgemm);
                measure("Hopper", &hopper, class, rows, sgemm);
        }
        return 0;
}
