/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs a whole job in one process, without sandbox, meters or wake-ups. So it shows how long acting and
 * learning take alone, and whether the job learns. The last policy plays Evaluation.Episodes= episodes. With
 * EveryRounds= earlier policies play as many, too; then each mean and the best mean are printed.
 * --observations: FILE gets the observation of each step of training, as floats one after the other.
 * --starts: FILE has states of the environment, as doubles one after the other. After training, an episode
 * of START_STEPS begins in each state. The program counts the episodes that never leave the job's envelope.
 *
 *     train-inprocess [--observations=FILE | --starts=FILE] FILE [Section.Key=VALUE]...
 */
#include <glib.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "lib/regulation.h"
#include "tests/bench/job.h"

/* file: where the observation of each step goes; NULL while episodes are evaluated. */
static struct {
        const ActordEnv *env;
        size_t n_bytes;
        FILE *file;
} noted;

static int step_noted(void *instance, const void *action, ActordRandom *random, void *ret_observation,
                ActordStep *ret) {
        int r = noted.env->step(instance, action, random, ret_observation, ret);

        if (r >= 0 && noted.file)
                g_assert_cmpuint(fwrite(ret_observation, noted.n_bytes, 1, noted.file), ==, 1);
        return r;
}

/* Returns a copy of `env` whose steps also write their observations into the file. */
static const ActordEnv *env_noted(const ActordEnv *env, const JobSettings *settings, const char *path) {
        static ActordEnv watched;
        ActordEnvSpec spec = {};

        g_assert_cmpint(env->spec(settings->options, settings->n_options, &spec), ==, 0);
        g_assert_cmpuint(spec.observation.element, ==, ACTORD_F32);
        noted.n_bytes = sizeof(float);
        for (uint32_t i = 0; i < spec.observation.n_dims; i++)
                noted.n_bytes *= spec.observation.shape[i];
        noted.file = fopen(path, "we");
        if (!noted.file)
                g_error("%s: cannot be written", path);
        noted.env = env;
        memcpy(&watched, env, env->struct_bytes);
        watched.step = step_noted;
        return &watched;
}

enum { START_STEPS = 150 };

/* The states in which episodes begin, one after the other, while `on` is true. Otherwise the environment
 * begins its episodes itself. */
static struct {
        const ActordEnv *env;
        Regulation regulation;
        ActordEnvSpec spec;
        double *states;
        size_t n, next;
        uint32_t n_steps, n_kept;
        bool on, left;
} started;

static int reset_started(void *instance, ActordRandom *random, void *ret_observation) {
        const double *state = started.states + started.next * started.regulation.n_state;
        int r = started.env->reset(instance, random, ret_observation);

        if (r < 0 || !started.on)
                return r;
        g_assert_cmpuint(started.next, <, started.n);
        started.next++;
        started.n_steps = 0;
        started.left = false;
        return started.env->set_state(instance, state, ret_observation);
}

static int step_started(void *instance, const void *action, ActordRandom *random, void *ret_observation,
                ActordStep *ret) {
        int r = started.env->step(instance, action, random, ret_observation, ret);

        if (r < 0 || !started.on)
                return r;
        if (!(regulation_value(&started.regulation, ret_observation) <= 1))
                started.left = true;
        if (++started.n_steps == START_STEPS)
                ret->terminated = true;
        if (ret->terminated && started.n_steps == START_STEPS && !started.left)
                started.n_kept++;
        return 0;
}

static const ActordEnv *env_started(const ActordEnv *env, const JobSettings *settings, const char *path) {
        static ActordEnv watched;
        char *states;
        size_t n_bytes;

        g_assert_cmpint(env->spec(settings->options, settings->n_options, &started.spec), ==, 0);
        if (!regulation_asked(settings) || !g_file_get_contents(path, &states, &n_bytes, NULL))
                g_error("%s: cannot be read, or the job has no envelope", path);
        regulation_init(&started.regulation, settings, &started.spec);
        started.states = (double *) (void *) states;
        started.n = n_bytes / sizeof(double) / started.regulation.n_state;
        started.env = env;
        memcpy(&watched, env, env->struct_bytes);
        watched.reset = reset_started;
        watched.step = step_started;
        return &watched;
}

static void starts_play(Fused *fused) {
        double mean;

        if (started.n == 0)
                return;
        started.on = true;
        g_assert_cmpint(fused_evaluate(fused, 0, (uint32_t) started.n, &mean), ==, 0);
        printf("kept %u of %zu starts\n", started.n_kept, started.n);
}

/* Removes the first argument if it is an option. Returns the job's environment, wrapped so that it records
 * the observations or the starts that the option asks for. */
static const ActordEnv *env_asked(int *argc, char ***argv, JobSettings *ret_settings) {
        const char *option = *argc > 1 && g_str_has_prefix((*argv)[1], "--") ? (*argv)[1] : "";
        const ActordEnv *env;

        if (*option) {
                --*argc;
                ++*argv;
        }
        if (*argc < 2) {
                (void) fprintf(stderr, "usage: train-inprocess [--observations=FILE | --starts=FILE] "
                                       "FILE [Section.Key=VALUE]...\n");
                exit(2);
        }
        bench_settings(*argc, *argv, 2, ret_settings);
        env = bench_environment(ret_settings);
        if (g_str_has_prefix(option, "--observations="))
                return env_noted(env, ret_settings, strchr(option, '=') + 1);
        if (g_str_has_prefix(option, "--starts="))
                return env_started(env, ret_settings, strchr(option, '=') + 1);
        return env;
}

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
        FILE *file = noted.file;
        double mean;

        noted.file = NULL;
        g_assert_cmpint(fused_evaluate(fused, 0, settings->evaluation_episodes, &mean), ==, 0);
        noted.file = file;
        return mean;
}

int main(int argc, char *argv[]) {
        double start = now_sec(CLOCK_MONOTONIC);
        FusedTimes total = {}, times;
        JobSettings settings;
        const ActordEnv *env;
        Statistics statistics;
        uint8_t sha256[32];
        uint64_t n_rounds = 0;
        double evaluation, best = -INFINITY;
        Fused *fused;
        bool often;

        env = env_asked(&argc, &argv, &settings);
        settings.cold_usec = settings.warm_usec = 0; /* this program starts no containers */
        often = settings.evaluation_episodes > 0 &&
                settings_present(&settings, SETTING_Evaluation_EveryRounds);
        fused = bench_job_new(&settings, env);
        do {
                g_assert_cmpint(fused_round(fused, settings.n_actors, &statistics, &times), ==, 0);
                total.actors_nsec += times.actors_nsec;
                total.learner_nsec += times.learner_nsec;
                n_rounds++;
                if (often && n_rounds % settings.evaluation_every == 0) {
                        evaluation = evaluation_mean(fused, &settings);
                        best = MAX(best, evaluation);
                        printf("steps %" PRIu64 ": evaluation %.4f\n", statistics.n_env_steps, evaluation);
                }
        } while (training_goes_on(&settings, &statistics));

        if (settings.evaluation_episodes > 0) {
                evaluation = evaluation_mean(fused, &settings);
                printf("evaluation %.4f of %u episodes\n", evaluation, settings.evaluation_episodes);
                if (often)
                        printf("best %.4f\n", MAX(best, evaluation));
        }
        starts_play(fused);
        printf("seed %" PRIu64 ": return %.4f after %" PRIu64 " steps in %.3f s: ", settings.seed,
                        statistics.return_mean, statistics.n_env_steps, now_sec(CLOCK_MONOTONIC) - start);
        fused_hash_policy(fused, sha256);
        printf("act %.3f, learn %.3f (%.3f ms a round), CPU %.3f; policy ", (double) total.actors_nsec / 1e9,
                        (double) total.learner_nsec / 1e9,
                        (double) total.learner_nsec / (double) n_rounds / 1e6,
                        now_sec(CLOCK_PROCESS_CPUTIME_ID));
        for (unsigned i = 0; i < 8; i++)
                printf("%02x", sha256[i]);
        printf("\n");
        (void) fflush(stdout);
        (void) fused_free(fused);
        return noted.file && fclose(noted.file) != 0;
}
