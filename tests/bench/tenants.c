/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Trains a policy of `faas` in one process, and then plays episodes with any number of tenants. An episode's
 * own metrics know only this episode; this program has the latencies of all requests of all episodes.
 *
 *     tenants FILE [Section.Key=VALUE]... [--play NAME EPISODES [Section.Key=VALUE]...]...
 *     tenants --decide N-AGENTS N-DECISIONS FILE [Section.Key=VALUE]...
 *
 * The settings after --play are added to the job's. For each --play it prints the percentiles of the latency
 * that requests saw, in seconds, of all agents and of the first eight; the mean return; and the steps that
 * broke the objective and the dropped requests, both per agent and step. If NAME begins with `rule`, the
 * agents do not use the policy, but the rule by which the other functions of faas scale themselves.
 * Job.Seed= of a play is the seed of its episodes, so two plays with one seed have the same requests.
 *
 * With --decide nothing is trained. An untrained policy makes N-DECISIONS decisions for N-AGENTS agents. The
 * process does little else, so its instructions can be counted.
 */
#include <math.h>

#include "lib/company.h"
#include "lib/forward.h"
#include "lib/slot.h"
#include "tests/bench/plays.h"

/* Positions of numbers in the state of `faas`, and numbers of its actions (actor/envs/faas.c). */
enum { N_CLUSTER = 2, N_FUNCTION = 11, CONTAINERS = 0, QUEUE = 2, SERVED = 7, UTILIZATION = 9 };
enum { NOTHING, CONTAINER_MORE, CONTAINER_LESS };
enum {
        AGENTS_MAX = 16,
        N_SUMS = 3 + AGENTS_MAX,
        N_FIRST = 8,
        N_STATE = N_CLUSTER + AGENTS_MAX * N_FUNCTION
};

typedef struct Wait {
        double latency, served;
        uint32_t agent;
} Wait;

/* The episodes that are measured. on: a measurement is in progress; false while a policy trains. */
static struct {
        const ActordEnv *env;
        uint32_t n_agents;
        bool on, by_rule;
        uint64_t n_seen; /* the episode's waits that have been copied from the snapshot */
        double *snapshot;
        GArray *waits;
        double violations, dropped;
} play;

static int reset_watched(void *instance, ActordRandom *random, void *ret_observation) {
        play.n_seen = 0;
        return play.env->reset(instance, random, ret_observation);
}

static void choose_by_rule(const double state[N_STATE], int32_t ret[AGENTS_MAX]) {
        for (uint32_t a = 0; a < play.n_agents; a++) {
                const double *own = state + N_CLUSTER + a * N_FUNCTION;

                ret[a] = NOTHING;
                if (own[UTILIZATION] > 0.8 || own[QUEUE] > 0)
                        ret[a] = own[CONTAINERS] < 10 ? CONTAINER_MORE : NOTHING;
                else if (own[UTILIZATION] < 0.4 && own[CONTAINERS] > 1)
                        ret[a] = CONTAINER_LESS;
        }
}

/* Copies the waits of this step: in the snapshot, each agent that served requests has added a wait, in the
 * order of agents. */
static void note_waits(const double state[N_STATE]) {
        for (uint32_t a = 0; a < play.n_agents; a++) {
                const double *own = state + N_CLUSTER + a * N_FUNCTION;
                const double *at = play.snapshot + N_SUMS + 2 * play.n_seen;
                Wait wait = { at[0], at[1], a };

                if (own[CONTAINERS] <= 0 || own[SERVED] <= 0)
                        continue;
                g_assert_cmpfloat(wait.served, ==, own[SERVED]);
                g_array_append_val(play.waits, wait);
                play.n_seen++;
        }
        g_assert_cmpfloat((double) play.n_seen, ==, play.snapshot[0]);
}

static int step_watched(void *instance, const void *action, ActordRandom *random, void *ret_observation,
                ActordStep *ret) {
        int32_t choices[AGENTS_MAX];
        double state[N_STATE] = {};
        int r;

        if (!play.on)
                return play.env->step(instance, action, random, ret_observation, ret);
        if (play.by_rule) {
                g_assert_cmpint(play.env->get_state(instance, state), ==, 0);
                choose_by_rule(state, choices);
                action = choices;
        }
        r = play.env->step(instance, action, random, ret_observation, ret);
        if (r < 0)
                return r;
        g_assert_cmpint(play.env->get_state(instance, state), ==, 0);
        g_assert_cmpint(play.env->snapshot(instance, play.snapshot), ==, 0);
        note_waits(state);
        return 0;
}

static int metrics_watched(const void *instance, double *ret) {
        if (play.on) {
                play.violations += play.snapshot[1];
                play.dropped += play.snapshot[2];
        }
        return play.env->metrics(instance, ret);
}

static const ActordEnv *env_watched(const ActordEnv *env) {
        static const ActordEnv watch = {
                .reset = reset_watched, .step = step_watched, .metrics = metrics_watched
        };

        play.env = env;
        play.waits = g_array_new(FALSE, FALSE, sizeof(Wait));
        return plays_watched(env, &watch);
}

static int by_latency(const void *a, const void *b) {
        const Wait *x = a, *y = b;

        return (x->latency > y->latency) - (x->latency < y->latency);
}

/* The latency that the given share of the requests of agents 0 to n_agents - 1 did not exceed. */
static double percentile(double share, uint32_t n_agents) {
        const Wait *waits = (const Wait *) (void *) play.waits->data;
        double all = 0, within = 0;

        for (guint i = 0; i < play.waits->len; i++)
                all += waits[i].agent < n_agents ? waits[i].served : 0;
        for (guint i = 0; i < play.waits->len; i++) {
                within += waits[i].agent < n_agents ? waits[i].served : 0;
                if (within >= share * all)
                        return waits[i].latency;
        }
        return NAN;
}

static uint32_t agents_of(const JobSettings *settings, const ActordEnv *env, uint64_t *ret_snapshot_bytes) {
        ActordEnvSpec spec = {};

        g_assert_cmpint(env->spec(settings->options, settings->n_options, &spec), ==, 0);
        *ret_snapshot_bytes = spec.snapshot_bytes;
        return spec.n_agents;
}

static void episodes_play(const char *name, uint32_t n_episodes, const JobSettings *settings,
                const ActordEnv *env, const Fused *trained) {
        uint64_t n_bytes;
        Fused *fused = bench_job_new(settings, env);
        double mean, n_steps;

        play.n_agents = agents_of(settings, env, &n_bytes);
        play.by_rule = g_str_has_prefix(name, "rule");
        play.snapshot = g_malloc(n_bytes);
        play.violations = play.dropped = 0;
        g_array_set_size(play.waits, 0);
        if (!play.by_rule && fused_take_policy(fused, trained) < 0)
                g_error("%s: the policy has another shape", name);
        play.on = true;
        g_assert_cmpint(fused_evaluate(fused, 0, n_episodes, &mean), ==, 0);
        play.on = false;

        qsort(play.waits->data, play.waits->len, sizeof(Wait), by_latency);
        n_steps = 200.0 * n_episodes * play.n_agents;
        printf("play %s agents %u episodes %u return %.4f p50 %.6f p95 %.6f p99 %.6f first %.6f "
               "violations %.6f dropped %.6f\n",
                        name, play.n_agents, n_episodes, mean, percentile(0.5, AGENTS_MAX),
                        percentile(0.95, AGENTS_MAX), percentile(0.99, AGENTS_MAX),
                        percentile(0.99, N_FIRST), play.violations / n_steps, play.dropped / n_steps);
        g_free(play.snapshot);
        (void) fused_free(fused);
}

static void decide(int argc, char *argv[]) {
        uint32_t n_agents = (uint32_t) atoi(argv[0]), n_decisions = (uint32_t) atoi(argv[1]);
        static JobSettings settings;
        static JobPage page;
        ActordEnvSpec spec = {};
        const ActordEnv *env;
        g_autofree float *own = NULL, *joined = NULL, *parameters = NULL;
        uint8_t there[ACTORD_AGENTS_MAX];
        g_autofree int32_t *actions = NULL;
        g_autofree void *bank = NULL;
        Forward *forward;
        CompanyIn in;

        plays_settings(argv + 2, argc - 2, NULL, 0, &settings);
        env = bench_environment(&settings);
        g_assert_cmpint(env->spec(settings.options, settings.n_options, &spec), ==, 0);
        spec.n_agents = n_agents;
        settings.envs_per_actor = n_agents;
        g_assert_cmpint(job_page_make(&settings, &spec, &page), ==, 0);
        g_assert_cmpint(forward_new(&page.network, &page.spec, &forward), ==, 0);
        bank = g_malloc0(page.policy.bank_bytes);
        forward_load(forward, bank, &page.policy);
        own = g_new0(float, n_agents *page.n_own);
        joined = g_new0(float, n_agents *space_numbers(&page.spec.observation));
        parameters = g_new0(float, forward_parameters(&page.network));
        actions = g_new0(int32_t, n_agents);
        memset(there, 1, sizeof(there));
        in = (CompanyIn){ .own = own, .actions = actions, .active = there, .acted = there };
        for (uint32_t i = 0; i < n_decisions; i += n_agents) {
                company_join(&settings, &page, &in, joined);
                for (uint32_t a = 0; a < n_agents; a++) {
                        forward_row(forward, joined + a * space_numbers(&page.spec.observation), parameters);
                        action_sample(&page.network, parameters, true, NULL, &actions[a], NULL);
                }
        }
        (void) forward_free(forward);
}

int main(int argc, char *argv[]) {
        if (argc > 4 && g_str_equal(argv[1], "--decide")) {
                decide(argc - 2, argv + 2);
                return 0;
        }
        return plays_main(argc, argv, env_watched, episodes_play);
}
