/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A policy is trained in one process and then plays episodes in other settings, for programs of build/bench
 * whose command line is
 *
 *     PROGRAM FILE [Section.Key=VALUE]... [--play NAME EPISODES [Section.Key=VALUE]...]...
 *
 * The words of a play come after the job's. */
#pragma once

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/job.h"

/* Makes the settings of a play: of the job's words and then the play's own. Words are Section.Key=VALUE. */
static inline void plays_settings(
                char *const *job, int n_job, char *const *own, int n_own, JobSettings *ret) {
        g_auto(GStrv) argv = g_new0(char *, (size_t) n_job + (size_t) n_own + 3);
        int n = 0;

        argv[n++] = g_strdup("plays");
        for (int i = 0; i < n_job; i++)
                argv[n++] = g_strdup(job[i]);
        for (int i = 0; i < n_own; i++)
                argv[n++] = g_strdup(own[i]);
        bench_settings(n, argv, 2, ret);
}

/* How many words there are up to the next --play. */
static inline int plays_words(int argc, char *const *argv, int first) {
        int n = 0;

        while (first + n < argc && !g_str_equal(argv[first + n], "--play"))
                n++;
        return n;
}

/* Returns a copy of `env` with reset(), step() and metrics() of `watch`. These functions must call those of
 * `env`. */
static inline const ActordEnv *plays_watched(const ActordEnv *env, const ActordEnv *watch) {
        static ActordEnv watched;

        memcpy(&watched, env, env->struct_bytes);
        watched.reset = watch->reset;
        watched.step = watch->step;
        watched.metrics = watch->metrics;
        return &watched;
}

static inline Fused *plays_train(const JobSettings *settings, const ActordEnv *env) {
        Fused *fused = bench_job_new(settings, env);
        Statistics statistics;
        FusedTimes times;
        uint8_t sha256[32];

        do
                g_assert_cmpint(fused_round(fused, settings->n_actors, &statistics, &times), ==, 0);
        while (statistics.n_env_steps < settings->stop_steps);
        fused_hash_policy(fused, sha256);
        printf("trained %" PRIu64 " steps return %.4f policy ", statistics.n_env_steps,
                        statistics.return_mean);
        for (unsigned i = 0; i < 8; i++)
                printf("%02x", sha256[i]);
        printf("\n");
        return fused;
}

typedef void (*PlaysPlay)(const char *name, uint32_t n_episodes, const JobSettings *settings,
                const ActordEnv *env, const Fused *trained);

/* Trains with the words before the first --play, then calls `play` for each --play. `watch` wraps the
 * environment of the training and of the plays. */
static inline int plays_main(
                int argc, char *argv[], const ActordEnv *(*watch)(const ActordEnv *env), PlaysPlay play) {
        JobSettings settings, other;
        const ActordEnv *env;
        Fused *trained;
        int n_job;

        if (argc < 2) {
                (void) fprintf(stderr,
                                "usage: %s FILE [Section.Key=VALUE]... [--play NAME EPISODES "
                                "[Section.Key=VALUE]...]...\n",
                                argv[0]);
                return 2;
        }
        n_job = plays_words(argc, argv, 1);
        plays_settings(argv + 1, n_job, NULL, 0, &settings);
        env = watch(bench_environment(&settings));
        trained = plays_train(&settings, env);
        for (int at = 1 + n_job; at + 2 < argc;) {
                int n_own = plays_words(argc, argv, at + 3);

                plays_settings(argv + 1, n_job, argv + at + 3, n_own, &other);
                play(argv[at + 1], (uint32_t) atoi(argv[at + 2]), &other, env, trained);
                at += 3 + n_own;
        }
        (void) fused_free(trained);
        return 0;
}
