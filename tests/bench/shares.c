/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Trains a policy of `shares` in one process, and plays its episodes with any number of jobs
 * (tests/bench/plays.h has the command line). An episode's own metrics have only two sums, so this program
 * computes each job's part of the host from the states before and after each step.
 *
 * A play named rule-... follows a rule instead of the policy: a job moves up while its pace is above 0.45,
 * and else down, as the environment's own neighbours do. In a play named equal-... all weights stay 100.
 * Job.Seed= of a play is the seed of its episodes: two plays with one seed begin with the same jobs.
 *
 * Episodes are summed up in blocks of BLOCK, a line for each. `work`: core-steps done in a step. `met` and
 * `missed`: deadlines. x is a job's work done / (the steps it was there, times the CPUs it could use).
 * `jain`: Jain's index of x over all jobs of an episode, as the mean over episodes. `hurried` and `patient`:
 * the mean of x over the block's jobs with a deadline, and without one. */
#include <math.h>

#include "include/environments.h"
#include "lib/shares.h"
#include "tests/bench/plays.h"

/* The parts of an episode's state, in the order of actor/envs/shares.c. */
enum { N_HOST = 2, WORK = 0, PARALLEL, DEADLINE, AGE, DONE, SPEED, WEIGHT, N_JOB };
enum { N_STATE = N_HOST + SHARES_JOBS_MAX * N_JOB, BLOCK = 50 };

typedef enum Chooser { CHOOSER_POLICY, CHOOSER_RULE, CHOOSER_EQUAL } Chooser;

/* The episodes that are measured. on: false while a policy trains, since that is not measured. */
static struct {
        const ActordEnv *env;
        uint32_t n_agents, n_jobs;
        bool on;
        Chooser chooser;
        double before[N_STATE];
        float observation[SHARES_JOBS_MAX * SHARES_N_FEATURES];
        /* x is the work that a job did, divided by the work that it can do alone in that time. */
        double work, met, missed, jain; /* sums over the block */
        /* over the block, for jobs without a deadline and with one: their number and the sum of x */
        double n_of[2], sum_of[2];
        double n, sum, squares;      /* over the episode: the number of jobs, the sums of x and x^2 */
        double n_finished, n_missed; /* the episode's own metrics */
} play;

/* Keeps the observation and the state before a step, to compare them with the state after it. */
static int look(const void *instance, const void *observation) {
        memcpy(play.observation, observation,
                        play.n_agents * SHARES_N_FEATURES * sizeof(play.observation[0]));
        return play.env->get_state(instance, play.before);
}

static int reset_watched(void *instance, ActordRandom *random, void *ret_observation) {
        int r;

        r = play.env->reset(instance, random, ret_observation);
        if (r < 0 || !play.on)
                return r;
        play.n = play.sum = play.squares = 0;
        play.n_finished = play.n_missed = 0;
        return look(instance, ret_observation);
}

static void choose(int32_t ret[SHARES_JOBS_MAX]) {
        for (uint32_t a = 0; a < play.n_agents; a++) {
                float pace = play.observation[a * SHARES_N_FEATURES + SHARES_PACE];

                ret[a] = SHARES_SAME;
                if (play.chooser == CHOOSER_RULE)
                        ret[a] = pace > 0.45f ? SHARES_UP : SHARES_DOWN;
        }
}

static void note_share(const double job[N_JOB], double done, double age) {
        double x = done / (age * job[PARALLEL]);
        bool hurried = job[DEADLINE] > 0;

        play.n_of[hurried]++;
        play.sum_of[hurried] += x;
        play.n++;
        play.sum += x;
        play.squares += x * x;
}

/* Notes what a job did in one step. If it has ended, it has no work left, or the next job with age 0 is in
 * its place. */
static void note_job(const double before[N_JOB], const double after[N_JOB]) {
        double age = before[AGE] + 1, deadline = before[DEADLINE];
        bool ended = after[WORK] <= 0 || after[AGE] <= 0, in_time = deadline <= 0 || age <= deadline;

        if (before[WORK] <= 0)
                return;
        play.work += (ended ? before[WORK] : after[DONE]) - before[DONE];
        if (ended)
                note_share(before, before[WORK], age);
        if (ended && in_time) {
                play.n_finished++;
                play.met += deadline > 0;
        }
        if (!in_time && before[AGE] <= deadline) {
                play.n_missed++;
                play.missed++;
        }
}

static int step_watched(void *instance, const void *action, ActordRandom *random, void *ret_observation,
                ActordStep *ret) {
        double before[N_STATE];
        int32_t choices[SHARES_JOBS_MAX];
        int r;

        if (!play.on)
                return play.env->step(instance, action, random, ret_observation, ret);
        if (play.chooser != CHOOSER_POLICY) {
                choose(choices);
                action = choices;
        }
        r = play.env->step(instance, action, random, ret_observation, ret);
        if (r < 0)
                return r;
        memcpy(before, play.before, sizeof(before));
        r = look(instance, ret_observation);
        for (uint32_t i = 0; i < play.n_jobs; i++)
                note_job(before + N_HOST + i * N_JOB, play.before + N_HOST + i * N_JOB);
        return r;
}

/* Closes an episode: a job that has not ended counts with the work that it has done so far. */
static void end_episode(const double metrics[]) {
        for (uint32_t i = 0; i < play.n_jobs; i++) {
                const double *job = play.before + N_HOST + i * N_JOB;

                if (job[WORK] > 0 && job[AGE] > 0)
                        note_share(job, job[DONE], job[AGE]);
        }
        play.jain += play.sum * play.sum / (play.n * play.squares);
        g_assert_cmpfloat(metrics[0], ==, play.n_finished);
        g_assert_cmpfloat(metrics[1], ==, play.n_missed);
}

static int metrics_watched(const void *instance, double *ret) {
        int r;

        r = play.env->metrics(instance, ret);
        if (r >= 0 && play.on)
                end_episode(ret);
        return r;
}

static const ActordEnv *env_watched(const ActordEnv *env) {
        static const ActordEnv watch = {
                .reset = reset_watched, .step = step_watched, .metrics = metrics_watched
        };

        play.env = env;
        return plays_watched(env, &watch);
}

static void numbers_of(const JobSettings *settings, const ActordEnv *env) {
        ActordStatePart parts[2];
        ActordEnvSpec spec = {};
        g_autofree void *instance = NULL;

        g_assert_cmpint(env->spec(settings->options, settings->n_options, &spec), ==, 0);
        play.n_agents = spec.n_agents;
        instance = g_malloc0(spec.instance_bytes);
        g_assert_cmpint(env->init(instance, settings->options, settings->n_options), ==, 0);
        g_assert_cmpint(env->state_parts(instance, parts), ==, 2);
        g_assert_cmpuint(parts[0].n_numbers, ==, N_HOST);
        play.n_jobs = parts[1].n_numbers / N_JOB;
        g_assert_cmpuint(play.n_jobs * N_JOB, ==, parts[1].n_numbers);
        env->close(instance);
}

static Chooser chooser_of(const char *name) {
        if (g_str_has_prefix(name, "rule"))
                return CHOOSER_RULE;
        return g_str_has_prefix(name, "equal") ? CHOOSER_EQUAL : CHOOSER_POLICY;
}

static void episodes_play(const char *name, uint32_t n_episodes, const JobSettings *settings,
                const ActordEnv *env, const Fused *trained) {
        Fused *fused = bench_job_new(settings, env);

        numbers_of(settings, env);
        play.chooser = chooser_of(name);
        if (play.chooser == CHOOSER_POLICY && fused_take_policy(fused, trained) < 0)
                g_error("%s: the policy has another shape", name);
        play.on = true;
        for (uint32_t first = 0; first < n_episodes; first += BLOCK) {
                uint32_t n = MIN(n_episodes - first, BLOCK);
                double mean;

                play.work = play.met = play.missed = play.jain = 0;
                memset(play.n_of, 0, sizeof(play.n_of));
                memset(play.sum_of, 0, sizeof(play.sum_of));
                g_assert_cmpint(fused_evaluate(fused, first, n, &mean), ==, 0);
                printf("play %s jobs %u episodes %u return %.4f work %.6f met %.0f missed %.0f "
                       "jain %.6f hurried %.6f patient %.6f\n",
                                name, play.n_jobs, n, mean, play.work / (200.0 * n), play.met, play.missed,
                                play.jain / n, play.sum_of[1] / play.n_of[1], play.sum_of[0] / play.n_of[0]);
        }
        play.on = false;
        (void) fused_free(fused);
}

int main(int argc, char *argv[]) {
        return plays_main(argc, argv, env_watched, episodes_play);
}
