/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A job as an environment: a step is one round of an inner job, with as many actors as the action says, and
 * an episode is a whole inner run with its own seed. MinionsRL's scheduler is trained in it. State and
 * reward are those of the MinionsRL paper, with these differences:
 *
 *   - The state's numbers are scaled (include/minions.h). The budget that is left is a share of StopSteps=:
 *     only the daemon knows about money.
 *   - The reward's last term, the return that is missing at the end, is divided by |J|. Without that, the
 *     times would not count in tasks with large returns.
 *   - The run succeeds in the first round whose return reaches J. It fails after Rounds= rounds or
 *     StopSteps= steps.
 *
 * Times are those of Clock=model. A snapshot cannot contain a run, so the environment is sticky: an episode
 * begins and ends within one invocation (Carry=reset). The inner job's settings and its environment are
 * loaded before any actor is forked, like the model of a physics engine. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "actor/actor.h"
#include "actor/envs/option.h"
#include "learner/job/loop.h"
#include "lib/environments.h"
#include "lib/minions.h"
#include "lib/space.h"
#include "lib/string-tables.h"

typedef struct InnerOptions {
        double beta, target, rounds, episodes;
} InnerOptions;

typedef struct InnerRun { /* an instance of the environment */
        InnerOptions options;
        Fused *fused; /* NULL before the first episode */
        MinionsFacts facts;
        double best; /* a return; NaN: none yet */
} InnerRun;

static JobSettings inner;
static const ActordEnv *inner_env;

#define ENV_INSTANCE InnerOptions
static const EnvOption inner_options[] = { JOB_NUMBER_OPTIONS(ENV_OPTION) };

static int options_parse(const ActordOption *options, uint32_t n_options, InnerOptions *ret) {
        int r;

        *ret = (InnerOptions){
                .target = minions_target(&inner),
                .episodes = settings_present(&inner, SETTING_Evaluation_Episodes) ? inner.evaluation_episodes
                                                                                  : JOB_EPISODES_DEFAULT,
        };
        r = env_options_parse(ENV_OPTIONS(inner_options), options, n_options, ret);
        if (r < 0)
                return r;
        return isfinite(ret->target) ? 0 : -EINVAL;
}

static int job_spec(const ActordOption *options, uint32_t n_options, ActordEnvSpec *ret) {
        InnerOptions parsed;
        int r;

        r = options_parse(options, n_options, &parsed);
        if (r < 0)
                return r;

        *ret = (ActordEnvSpec){
                .observation = space_of_numbers(MINIONS_N_FEATURES, -1, 1),
                .action = space_of_choices(settings_actors_max(&inner)),
                .n_agents = 1,
                .reward_low = -INFINITY,
                .reward_high = 0,
                .solved_return = NAN,
                .instance_bytes = sizeof(InnerRun),
                .flags = ACTORD_ENV_STICKY,
        };
        (void) snprintf(ret->name, sizeof(ret->name), ENVIRONMENT_JOB_PREFIX "%.48s", inner.environment);
        return 0;
}

static int job_init(void *instance, const ActordOption *options, uint32_t n_options) {
        InnerRun *run = instance;

        *run = (InnerRun){};
        return options_parse(options, n_options, &run->options);
}

static void run_observe(const InnerRun *run, void *ret_observation) {
        float features[MINIONS_N_FEATURES];

        minions_features(&run->facts, run->options.target, features);
        memcpy(ret_observation, features, sizeof(features));
}

static int job_reset(void *instance, ActordRandom *random, void *ret_observation) {
        InnerRun *run = instance;
        JobSettings settings = inner;
        uint64_t high = actord_random_u32(random), low = actord_random_u32(random);
        int r;

        settings.seed = high << 32 | low;
        run->fused = fused_free(run->fused);
        r = fused_new(&settings, inner_env, &run->fused);
        if (r < 0)
                return r;

        run->facts = (MinionsFacts){ .return_mean = NAN };
        run->best = NAN;
        run_observe(run, ret_observation);
        return 0;
}

static int run_failed(const InnerRun *run) {
        const FusedFault *fault = fused_fault(run->fused);
        char sentence[256];

        (void) fprintf(stderr, "env-job: round %llu of an inner run %s\n",
                        (unsigned long long) run->facts.round + 1,
                        fault_describe(fault->fault, fault->detail, sentence));
        return -EIO;
}

static int run_round(InnerRun *run, uint32_t n_actors, Statistics *ret) {
        FusedTimes times;
        double mean;
        int r;

        r = fused_round(run->fused, n_actors, ret, &times);
        if (r < 0)
                return run_failed(run);
        /* Evaluates with the same episodes after each round, so that two means differ only because of the
         * policy. */
        if (run->options.episodes >= 1) {
                r = fused_evaluate(run->fused, 0, (uint32_t) run->options.episodes, &mean);
                if (r < 0)
                        return run_failed(run);
                ret->evaluation_mean = mean;
        }

        run->facts = (MinionsFacts){
                .round = run->facts.round + 1,
                .loss = minions_loss(&inner, ret),
                .return_mean = minions_return(ret, run->options.episodes >= 1, run->facts.return_mean),
                .kl = ret->kl,
                .learner_nsec = times.learner_nsec,
                .actor_mean_nsec = times.actors_nsec / n_actors,
                .round_nsec = times.round_nsec,
                .budget_left = minions_steps_left(&inner, ret),
        };
        return 0;
}

static int job_step(void *instance, const void *action, ActordRandom *random, void *ret_observation,
                ActordStep *ret) {
        InnerRun *run = instance;
        double scale = run->options.target != 0 ? fabs(run->options.target) : 1.0, reward;
        Statistics statistics;
        bool reached, over;
        int32_t choice;
        int r;

        memcpy(&choice, action, sizeof(choice));
        if (choice < 0 || (uint32_t) choice >= settings_actors_max(&inner) || !run->fused)
                return -EINVAL;

        r = run_round(run, (uint32_t) choice + 1, &statistics);
        if (r < 0)
                return r;
        if (!(run->best >= run->facts.return_mean)) /* also true if there was no best yet */
                run->best = run->facts.return_mean;

        reached = run->facts.return_mean >= run->options.target;
        over = (double) run->facts.round >= run->options.rounds ||
               statistics.n_env_steps >= inner.stop_steps;
        reward = -run->options.beta * (double) run->facts.round_nsec / 1e9;
        if (over && !reached)
                reward += isfinite(run->best) ? (run->best - run->options.target) / scale : -1.0;

        run_observe(run, ret_observation);
        *ret = (ActordStep){ .reward = reward, .terminated = reached || over };
        return 0;
}

static int job_snapshot(const void *instance, void *ret_snapshot) {
        return -ENOTSUP;
}

static int job_restore(void *instance, const void *snapshot) {
        return -ENOTSUP;
}

static void job_close(void *instance) {
        InnerRun *run = instance;

        run->fused = fused_free(run->fused);
}

static const ActordEnv job_env = {
        .abi = ACTORD_ENV_ABI,
        .struct_bytes = sizeof(ActordEnv),
        .spec = job_spec,
        .init = job_init,
        .reset = job_reset,
        .step = job_step,
        .snapshot = job_snapshot,
        .restore = job_restore,
        .close = job_close,
};

__attribute__((visibility("default"))) const ActordEnv *actord_job_env(
                const JobSettings *settings, const char *directory);

/* The module's only entry point. NULL: the inner job's environment does not load, or rejects these
 * options. */
const ActordEnv *actord_job_env(const JobSettings *settings, const char *directory) {
        ActordEnvSpec spec;

        if (environment_load_for(settings, directory, &inner_env) < 0)
                return NULL;
        /* This call comes before the fork, since a physics engine reads its model in spec(). */
        if (inner_env->spec(settings->options, settings->n_options, &spec) < 0)
                return NULL;

        inner = *settings;
        inner.clock = CLOCK_MODEL;
        /* An actor has one thread; the policy does not depend on the number of threads. */
        inner.n_threads = 1;
        return &job_env;
}
