/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Steps per second of the whole invocation loop, without a sandbox: acting, stepping, writing the
 * segment; and the cost of taking up and parking the slots, in nanoseconds per slot and invocation.
 *
 * invocation [MODULE-DIRECTORY]: where env-mujoco.so lies; without it physics is left out */
#include <stdio.h>
#include <time.h>

#include "tests/bench/figure.h"
#include "tests/unit/actor-fixture.h"

#define RUN_SECONDS 0.3
enum { RUNS = 5 };

static double cpu_seconds(void) {
        struct timespec ts;

        (void) clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
        return (double) ts.tv_sec + (double) ts.tv_nsec * 1e-9;
}

/* The best of a few runs: disturbances can only add time. */
static double seconds_per_invocation(Job *job) {
        double best = 1e9;

        for (int run = 0; run < RUNS; run++) {
                double begin = cpu_seconds(), spent;
                unsigned n = 0;

                do {
                        actor_job_rollout(job, 0);
                        n++;
                        spent = cpu_seconds() - begin;
                } while (spent < RUN_SECONDS / RUNS);
                best = MIN(best, spent / n);
        }
        return best;
}

static void bench(const char *name, const char *directory, uint32_t envs, uint32_t steps) {
        double rest, one, many;
        char figure[128];
        const ActordEnv *env;
        Job job;

        if (environment_load(name, directory, &env) < 0) {
                printf("%-16s not here\n", name);
                return;
        }

        actor_job_new(&job, env, envs, steps, 1);
        many = seconds_per_invocation(&job);
        actor_job_done(&job);

        /* The time of an invocation of one step, less the time of a step in a long invocation, is the cost
         * of taking up and parking the slots. */
        actor_job_new(&job, env, envs, 1, 1);
        one = seconds_per_invocation(&job);
        actor_job_done(&job);
        rest = (one - many / steps) / envs;

        printf("%-16s %2u x %4u  %9.0f steps/s  %7.0f ns a step  %7.0f ns to take up and park a slot\n",
                        name, envs, steps, envs * steps / many, many / (envs * steps) * 1e9, rest * 1e9);
        (void) snprintf(figure, sizeof(figure), "%s, invocations of %u x %u", name, envs, steps);
        figure_note(&(Figure){ .name = figure, .unit = "steps/s", .value = envs * steps / many });
}

int main(int argc, char *argv[]) {
        const char *directory = argc > 1 ? argv[1] : "/nonexistent";

        bench("CartPole-v1", directory, 8, 32);
        bench("Pendulum-v1", directory, 4, 1024);
        bench("Hopper-v4", directory, 1, 2048);
        bench("Hopper-v4", directory, 8, 256);
        return 0;
}
