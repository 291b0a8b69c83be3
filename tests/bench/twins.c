/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Measures the gain of a boosted round. At chosen rounds of a job the process forks into twins. One twin
 * gets more actors for one round; then both go on with the usual number. A job is a function of its
 * settings, so the twins differ in nothing else. Prints a line of CSV for each pair: the figures that could
 * have foretold the gain, and the mean returns of the same evaluation episodes 1, 5 and 10 rounds later.
 *
 *     twins FILE BOOST FIRST LAST EVERY EPISODES [Section.Key=VALUE]...
 */
#include <glib.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/job.h"

enum { SLOPE_ROUNDS = 5, ROUNDS_MAX = 10000 };

static const unsigned looks[] = { 1, 5, 10 };
enum { N_LOOKS = G_N_ELEMENTS(looks) };

static void job_round(Fused *fused, uint32_t n_actors, Statistics *ret) {
        FusedTimes times;

        g_assert_cmpint(fused_round(fused, n_actors, ret, &times), ==, 0);
}

static double job_evaluate(Fused *fused, uint32_t n_episodes) {
        double mean;

        g_assert_cmpint(fused_evaluate(fused, 0, n_episodes, &mean), ==, 0);
        return mean;
}

/* Trains one twin in a child process, so that the training in this process stays where it was. */
static void twin(
                Fused *fused, uint32_t n_first, uint32_t n_usual, uint32_t n_episodes, double ret[N_LOOKS]) {
        int ends[2], status;
        pid_t child;

        g_assert_cmpint(pipe(ends), ==, 0);
        (void) fflush(stdout);
        child = fork();
        g_assert_cmpint(child, >=, 0);
        if (child == 0) {
                double means[N_LOOKS];
                Statistics statistics;

                for (unsigned i = 0, n = 0; i < N_LOOKS; i++) {
                        for (; n < looks[i]; n++)
                                job_round(fused, n == 0 ? n_first : n_usual, &statistics);
                        means[i] = job_evaluate(fused, n_episodes);
                }
                _exit(write(ends[1], means, sizeof(means)) == sizeof(means) ? 0 : 1);
        }
        (void) close(ends[1]);
        g_assert_cmpint(read(ends[0], ret, N_LOOKS * sizeof(double)), ==, N_LOOKS * sizeof(double));
        (void) close(ends[0]);
        g_assert_cmpint(waitpid(child, &status, 0), ==, child);
}

/* The slope of the last SLOPE_ROUNDS returns, by least squares. */
static double slope(const double *returns, unsigned n) {
        double above = 0, below = 0;

        if (n < SLOPE_ROUNDS)
                return NAN;
        for (int i = 0; i < SLOPE_ROUNDS; i++) {
                double x = i - (SLOPE_ROUNDS - 1) / 2.0;

                above += x * returns[n - SLOPE_ROUNDS + (unsigned) i];
                below += x * x;
        }
        return above / below;
}

int main(int argc, char *argv[]) {
        uint32_t n_boost, first, last, every, n_episodes;
        static double returns[ROUNDS_MAX];
        JobSettings settings, plain;
        Fused *measured, *fused;

        if (argc < 7) {
                (void) fprintf(stderr, "usage: twins FILE BOOST FIRST LAST EVERY EPISODES "
                                       "[Section.Key=VALUE]...\n");
                return 2;
        }
        n_boost = (uint32_t) atoi(argv[2]);
        first = (uint32_t) atoi(argv[3]);
        last = (uint32_t) atoi(argv[4]);
        every = (uint32_t) atoi(argv[5]);
        n_episodes = (uint32_t) atoi(argv[6]);
        bench_settings(argc, argv, 7, &settings);
        g_assert_cmpuint(n_boost, <=, settings_actors_max(&settings));
        g_assert_true(every > 0 && n_episodes > 0 && last <= ROUNDS_MAX);
        measured = bench_job_new(&settings, bench_environment(&settings));
        /* Measuring changes no policy, so the twins go without it and are faster. */
        plain = settings;
        plain.curvature = CURVATURE_NONE;
        plain.noise_scale = false;
        fused = bench_job_new(&plain, bench_environment(&plain));

        for (uint32_t round = 1; round <= last; round++) {
                double usual[N_LOOKS], boosted[N_LOOKS], now;
                uint8_t plain_sha256[32], measured_sha256[32];
                Statistics s;

                job_round(fused, settings.n_actors, &s);
                job_round(measured, settings.n_actors, &s);
                fused_hash_policy(fused, plain_sha256);
                fused_hash_policy(measured, measured_sha256);
                g_assert_cmpmem(plain_sha256, 32, measured_sha256, 32);
                returns[round - 1] = s.return_round;
                if (round < first || (round - first) % every != 0)
                        continue;

                now = job_evaluate(fused, n_episodes);
                twin(fused, settings.n_actors, settings.n_actors, n_episodes, usual);
                twin(fused, n_boost, settings.n_actors, n_episodes, boosted);
                printf("%" PRIu64 ",%u,%.9g,%.9g,%.9g,%.9g,%.9g", settings.seed, round, s.curvature_ratio,
                                s.curvature_loss, s.noise_scale, slope(returns, round), now);
                for (unsigned i = 0; i < N_LOOKS; i++)
                        printf(",%.9g,%.9g", usual[i], boosted[i]);
                printf("\n");
                (void) fflush(stdout);
        }
        (void) fused_free(fused);
        (void) fused_free(measured);
        return 0;
}
