/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A whole job in one process, without sandbox, meters or wake-ups: what acting and learning alone take,
 * and whether they learn. Evaluation.Episodes= are played under the last policy; with EveryRounds= also
 * after every so many rounds, and the best mean is said.
 *
 *     train-inprocess FILE [Section.Key=VALUE]...
 */
#include <glib.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "tests/bench/job.h"

static double now_sec(clockid_t clock) {
        struct timespec ts;

        (void) clock_gettime(clock, &ts);
        return (double) ts.tv_sec + (double) ts.tv_nsec * 1e-9;
}

static bool training_goes_on(const JobSettings *settings, const Statistics *statistics) {
        return statistics->n_env_steps < settings->stop_steps &&
               !(settings_present(settings, SETTING_Job_StopReturn) &&
                               statistics->return_mean >= settings->stop_return);
}

static double evaluation_mean(Fused *fused, const JobSettings *settings) {
        double mean;

        g_assert_cmpint(fused_evaluate(fused, 0, settings->evaluation_episodes, &mean), ==, 0);
        return mean;
}

int main(int argc, char *argv[]) {
        double start = now_sec(CLOCK_MONOTONIC);
        FusedTimes total = {}, times;
        JobSettings settings;
        Statistics statistics;
        uint64_t n_rounds = 0;
        double evaluation, best = -INFINITY;
        Fused *fused;
        bool often;

        if (argc < 2) {
                (void) fprintf(stderr, "usage: train-inprocess FILE [Section.Key=VALUE]...\n");
                return 2;
        }
        bench_settings(argc, argv, 2, &settings);
        settings.cold_usec = settings.warm_usec = 0; /* this program starts no containers */
        often = settings.evaluation_episodes > 0 &&
                settings_present(&settings, SETTING_Evaluation_EveryRounds);
        fused = bench_job_new(&settings);
        do {
                g_assert_cmpint(fused_round(fused, settings.n_actors, &statistics, &times), ==, 0);
                total.actors_nsec += times.actors_nsec;
                total.learner_nsec += times.learner_nsec;
                n_rounds++;
                if (often && n_rounds % settings.evaluation_every == 0)
                        best = MAX(best, evaluation_mean(fused, &settings));
        } while (training_goes_on(&settings, &statistics));

        if (settings.evaluation_episodes > 0) {
                evaluation = evaluation_mean(fused, &settings);
                printf("evaluation %.4f of %u episodes\n", evaluation, settings.evaluation_episodes);
                if (often)
                        printf("best %.4f\n", MAX(best, evaluation));
        }
        printf("seed %" PRIu64 ": return %.4f after %" PRIu64 " steps in %.3f s: ", settings.seed,
                        statistics.return_mean, statistics.n_env_steps, now_sec(CLOCK_MONOTONIC) - start);
        printf("act %.3f, learn %.3f (%.3f ms a round), CPU %.3f; policy ", (double) total.actors_nsec / 1e9,
                        (double) total.learner_nsec / 1e9,
                        (double) total.learner_nsec / (double) n_rounds / 1e6,
                        now_sec(CLOCK_PROCESS_CPUTIME_ID));
        for (unsigned i = 0; i < 8; i++)
                printf("%02x", fused_policy_sha256(fused)[i]);
        printf("\n");
        (void) fflush(stdout);
        (void) fused_free(fused);
        return 0;
}
