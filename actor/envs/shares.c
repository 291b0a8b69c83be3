/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* shares: jobs that share a host trade CPU weight, each for its own deadline. It trains policies for
 * [Scaling] Shares=, so what an agent sees and does is that of include/shares.h.
 *
 * The host has Cores= CPUs and up to Jobs= jobs. A job has work w in core-steps, which it could do on up to
 * p CPUs in parallel, and perhaps a deadline. A job that comes draws
 *
 *     p from 1 ... min(Cores, 8),  w = p U(10, 40),  and, with a chance of 0.75, a deadline of
 *     w / p times U(1.2, 4) steps
 *
 * In a step each job moves its weight down or up by the factor 1.5, or leaves it. The first Agents= jobs are
 * agents. Each other job moves its weight up while its pace (include/shares.h) is above 0.45, otherwise
 * down. Then the CPUs are divided as the kernel does (lib/shares.c), and each job does as much work as it
 * got CPUs. The reward of an agent is its own:
 *
 *     + the share of its work that was done in the step, unless its deadline has passed
 *     + 1 in the step in which it ends in time
 *     - 0.02 for a step after its deadline, and 0.01 for a step of a job without one
 *     - WeightPrice / 20 times its weight, on the logarithmic scale from 0 to 1 of the observation
 *
 * Without a price for weight, all agents would always ask for the most, which divides the CPUs like equal
 * weights.
 *
 * A job that has ended leaves, and its agent is absent for Pause= steps on average until the next job comes.
 * If no other agent has a job, the next one comes at once, to another agent where there is one. */
#include <math.h>
#include <stdio.h>

#include "actor/envs/builtin.h"
#include "actor/envs/option.h"
#include "actor/envs/picture.h"
#include "include/environments.h"
#include "lib/shares.h"

#define HORIZON         200
#define PARALLEL_MAX    8.0
#define LENGTH_MIN      10.0 /* steps that a job takes alone */
#define LENGTH_MAX      40.0
#define SLACK_MIN       1.2
#define SLACK_MAX       4.0
#define DEADLINE_CHANCE 0.75
#define LATE_COST       0.02
#define WAIT_COST       0.01
#define PRICE_SCALE     20.0
#define WEIGHT_PRICE    10.0 /* the highest */
#define CORES_MAX       1024.0
#define AGE_MAX         1e9

enum { FINISHED, MISSED, N_METRICS };

typedef struct Tenant {
        double work;               /* 0: it is absent */
        double parallel, deadline; /* deadline, in steps: 0: it has none */
        double age, done;
        double speed; /* core-steps (CPUs times steps) done in a step, smoothed; -1: not measured */
        double weight;
} Tenant;

typedef struct Host {
        double n_finished, n_missed; /* of the episode: jobs that ended in time, deadlines that passed */
        Tenant tenants[SHARES_JOBS_MAX];
} Host;

typedef struct Shares {
        double agents, jobs, cores, weight_price, pause;
        Host host; /* tenants beyond `jobs` stay zero */
} Shares;

#define ENV_INSTANCE Shares
static const EnvOption shares_options[] = { SHARES_OPTIONS(ENV_OPTION) };

static int shares_init(void *instance, const ActordOption *options, uint32_t n_options) {
        Shares *s = instance;

        int r;

        *s = (Shares){};
        r = env_options_parse(ENV_OPTIONS(shares_options), options, n_options, s);
        if (r >= 0 && s->agents > s->jobs) {
                (void) fprintf(stderr,
                                "[Environment] Agents=%.0f: it must be at most Jobs=, which is %.0f\n",
                                s->agents, s->jobs);
                return -EINVAL;
        }
        return r;
}

static int n_agents(const Shares *s) {
        return (int) s->agents;
}

static int n_jobs(const Shares *s) {
        return (int) s->jobs;
}

static size_t host_numbers(const Shares *s) {
        return (offsetof(Host, tenants) + (size_t) n_jobs(s) * sizeof(Tenant)) / sizeof(double);
}

static int shares_spec(const ActordOption *options, uint32_t n_options, ActordEnvSpec *ret) {
        Shares s;
        int r;

        r = shares_init(&s, options, n_options);
        if (r < 0)
                return r;

        *ret = (ActordEnvSpec){
                .name = "shares",
                .horizon_steps = HORIZON,
                .n_agents = (uint32_t) n_agents(&s),
                .reward_low = -LATE_COST - s.weight_price / PRICE_SCALE,
                .reward_high = 2,
                .solved_return = NAN,
                .instance_bytes = sizeof(Shares),
                .snapshot_bytes = host_numbers(&s) * sizeof(double),
                .flags = n_agents(&s) > 1 ? ACTORD_ENV_COME_AND_GO : 0,
                .n_metrics = N_METRICS,
                .metrics = { "finished", "missed" },
        };
        shares_spaces(ret);
        return 0;
}

static bool is_there(const Tenant *t) {
        return t->work > 0;
}

static double parallel_max(const Shares *s) {
        return fmin(floor(s->cores), PARALLEL_MAX);
}

static void tenant_begin(const Shares *s, Tenant *t, ActordRandom *random) {
        double parallel = 1 + floor(actord_random_uniform(random, 0, parallel_max(s)));
        double length = actord_random_uniform(random, LENGTH_MIN, LENGTH_MAX);
        double slack = actord_random_uniform(random, SLACK_MIN, SLACK_MAX);
        bool has_deadline = actord_random_uniform(random, 0, 1) < DEADLINE_CHANCE;

        parallel = fmin(parallel, parallel_max(s));
        *t = (Tenant){
                .work = parallel * length,
                .parallel = parallel,
                .deadline = has_deadline ? length * slack : 0,
                .speed = -1,
                .weight = SHARES_WEIGHT_DEFAULT,
        };
}

static SharesJob tenant_job(const Tenant *t) {
        double left = t->work - t->done, time_left = t->deadline - t->age;
        SharesJob job = { .time_left = 1,
                .work_left = left / t->work,
                .got = fmax(t->speed, 0),
                .demand = t->parallel,
                .weight = (uint32_t) t->weight };

        if (t->deadline <= 0)
                return job;
        job.time_left = time_left / t->deadline;
        job.needed = time_left > 0 ? left / time_left : INFINITY;
        return job;
}

static double demand_of_all(const Shares *s) {
        double sum = 0;

        for (int i = 0; i < n_jobs(s); i++)
                sum += s->host.tenants[i].parallel;
        return sum;
}

static void tenant_observe(const Shares *s, const Tenant *t, float ret[SHARES_N_FEATURES]) {
        SharesJob job;

        memset(ret, 0, SHARES_N_FEATURES * sizeof(ret[0]));
        if (!is_there(t))
                return;
        job = tenant_job(t);
        shares_features(&job, s->cores, demand_of_all(s), ret);
}

static void shares_observe(const Shares *s, void *ret_observation) {
        for (int i = 0; i < n_agents(s); i++) {
                float observation[SHARES_N_FEATURES];

                tenant_observe(s, &s->host.tenants[i], observation);
                memcpy((float *) ret_observation + (size_t) i * SHARES_N_FEATURES, observation,
                                sizeof(observation));
        }
}

/* The action of a job that is not an agent. */
static SharesAction rule_of(const Shares *s, const Tenant *t) {
        float observation[SHARES_N_FEATURES];

        tenant_observe(s, t, observation);
        return observation[SHARES_PACE] > 0.45f ? SHARES_UP : SHARES_DOWN;
}

/* At first each tenant has a job. */
static int shares_reset(void *instance, ActordRandom *random, void *ret_observation) {
        Shares *s = instance;

        memset(&s->host, 0, sizeof(s->host));
        for (int i = 0; i < n_jobs(s); i++)
                tenant_begin(s, &s->host.tenants[i], random);
        shares_observe(s, ret_observation);
        return 0;
}

static double weight_scaled(double weight) {
        return log(weight / SHARES_WEIGHT_MIN) / log((double) SHARES_WEIGHT_MAX / SHARES_WEIGHT_MIN);
}

/* Makes one step of a job that got this number of CPUs. Returns the job's reward. */
static double tenant_step(Shares *s, Tenant *t, double cpus) {
        double before = t->done, reward = -s->weight_price / PRICE_SCALE * weight_scaled(t->weight);
        bool was_in_time = t->deadline <= 0 || t->age <= t->deadline;
        bool in_time;

        t->age = fmin(t->age + 1, AGE_MAX);
        t->done = fmin(t->done + cpus, t->work);
        t->speed = shares_smooth(t->speed, cpus);
        in_time = t->deadline <= 0 || t->age <= t->deadline;
        if (in_time)
                reward += (t->done - before) / t->work;
        if (t->deadline <= 0)
                reward -= WAIT_COST;
        else if (!in_time)
                reward -= LATE_COST;
        if (in_time && t->done >= t->work) {
                reward += 1;
                s->host.n_finished++;
        }
        s->host.n_missed += was_in_time && !in_time;
        return reward;
}

static void work_all(Shares *s, ActordStep *ret) {
        double weights[SHARES_JOBS_MAX], demands[SHARES_JOBS_MAX], cpus[SHARES_JOBS_MAX];

        for (int i = 0; i < n_jobs(s); i++) {
                weights[i] = s->host.tenants[i].weight;
                demands[i] = s->host.tenants[i].parallel;
        }
        shares_divide(s->cores, (size_t) n_jobs(s), weights, demands, cpus);
        for (int i = 0; i < n_jobs(s); i++) {
                Tenant *t = &s->host.tenants[i];

                double reward = is_there(t) ? tenant_step(s, t, cpus[i]) : 0;

                if (i < n_agents(s))
                        ret[i] = (ActordStep){ .reward = reward };
        }
}

/* Jobs that are done leave, and others come. Each tenant (a place for a job) draws one number in every step,
 * with or without a job. A job that comes draws more. */
static void come_and_go(Shares *s, ActordRandom *random) {
        bool comes[SHARES_JOBS_MAX];
        int n_there = 0, next = -1;

        for (int i = 0; i < n_jobs(s); i++) {
                Tenant *t = &s->host.tenants[i];
                bool ends = is_there(t) && t->done >= t->work;

                comes[i] = actord_random_uniform(random, 0, 1) * s->pause < 1 && !is_there(t);
                if (ends)
                        *t = (Tenant){};
                else if (!is_there(t) && next < 0)
                        next = i;
        }
        for (int i = 0; i < n_jobs(s); i++) {
                if (comes[i])
                        tenant_begin(s, &s->host.tenants[i], random);
                n_there += i < n_agents(s) && is_there(&s->host.tenants[i]);
        }
        if (n_there == 0)
                tenant_begin(s, &s->host.tenants[next >= 0 && next < n_agents(s) ? next : 0], random);
}

static int shares_active(const void *instance, uint8_t *ret) {
        const Shares *s = instance;

        for (int i = 0; i < n_agents(s); i++)
                ret[i] = is_there(&s->host.tenants[i]);
        return 0;
}

static int shares_step(void *instance, const void *action, ActordRandom *random, void *ret_observation,
                ActordStep *ret) {
        int32_t choices[SHARES_JOBS_MAX];
        Shares *s = instance;

        memcpy(choices, action, (size_t) n_agents(s) * sizeof(choices[0]));
        for (int i = 0; i < n_agents(s); i++)
                if (choices[i] < 0 || choices[i] >= SHARES_N_ACTIONS)
                        return -EINVAL;

        for (int i = n_agents(s); i < n_jobs(s); i++)
                choices[i] = (int32_t) rule_of(s, &s->host.tenants[i]);
        for (int i = 0; i < n_jobs(s); i++) {
                Tenant *t = &s->host.tenants[i];

                if (is_there(t))
                        t->weight = shares_move((uint32_t) t->weight, (SharesAction) choices[i]);
        }
        work_all(s, ret);
        come_and_go(s, random);
        shares_observe(s, ret_observation);
        return 0;
}

static int shares_metrics(const void *instance, double *ret) {
        const Shares *s = instance;

        ret[FINISHED] = s->host.n_finished;
        ret[MISSED] = s->host.n_missed;
        return 0;
}

static int shares_snapshot(const void *instance, void *ret_snapshot) {
        const Shares *s = instance;

        memcpy(ret_snapshot, &s->host, host_numbers(s) * sizeof(double));
        return 0;
}

static bool whole_between(double x, double low, double high) {
        return x >= low && x <= high && x == floor(x);
}

static bool tenant_valid(const Shares *s, const Tenant *t) {
        if (t->work == 0)
                return t->parallel == 0 && t->deadline == 0 && t->age == 0 && t->done == 0 &&
                       t->speed == 0 && t->weight == 0;
        return t->work > 0 && t->work <= PARALLEL_MAX * LENGTH_MAX &&
               whole_between(t->parallel, 1, parallel_max(s)) && t->deadline >= 0 &&
               t->deadline <= LENGTH_MAX * SLACK_MAX && whole_between(t->age, 0, AGE_MAX) && t->done >= 0 &&
               t->done < t->work && (t->speed == -1 || (t->speed >= 0 && t->speed <= PARALLEL_MAX)) &&
               whole_between(t->weight, SHARES_WEIGHT_MIN, SHARES_WEIGHT_MAX);
}

/* Accepts the snapshot of an instance that never began an episode, which has no job at all. */
static int shares_restore(void *instance, const void *snapshot) {
        Shares *s = instance;
        Host host = {};

        memcpy(&host, snapshot, host_numbers(s) * sizeof(double));
        if (!whole_between(host.n_finished, 0, AGE_MAX) || !whole_between(host.n_missed, 0, AGE_MAX))
                return -EINVAL;
        for (int i = 0; i < n_jobs(s); i++)
                if (!tenant_valid(s, &host.tenants[i]))
                        return -EINVAL;

        s->host = host;
        return 0;
}

static void shares_close(void *instance) {
}

static int shares_state_parts(const void *instance, ActordStatePart *ret) {
        const Shares *s = instance;
        uint32_t n_common = offsetof(Host, tenants) / sizeof(double);

        ret[0] = (ActordStatePart){ .name = "host", .n_numbers = n_common };
        ret[1] = (ActordStatePart){ .name = "jobs", .n_numbers = (uint32_t) host_numbers(s) - n_common };
        return 2;
}

static int shares_get_state(const void *instance, double *ret) {
        return shares_snapshot(instance, ret);
}

static int shares_set_state(void *instance, const double *state, void *ret_observation) {
        int r;

        r = shares_restore(instance, state);
        if (r < 0)
                return r;
        shares_observe(instance, ret_observation);
        return 0;
}

/* Each job is a column, filled up to the share of its work that is done. The red line is where the filling
 * must be for the job to end in time. The yellow bar below is the job's weight. */
static int shares_draw(const void *instance, ActordView *ret_view, ActordShape *ret_shapes) {
        const Shares *s = instance;
        double wide = fmax(2.5 * n_jobs(s), 10);
        Picture p = picture_begin(ret_view, ret_shapes, -0.5, -1.5, wide + 0.5, 10.5, 0.1, COLOUR_PAPER);

        for (int i = 0; i < n_jobs(s); i++) {
                const Tenant *t = &s->host.tenants[i];
                double left = 2.5 * i, right = left + 2, pace;

                picture_box(&p, left, 0, right, 10, is_there(t) ? COLOUR_PALE : 0xeeeeeeu);
                if (!is_there(t))
                        continue;
                picture_box(&p, left, 0, right, 10 * t->done / t->work, COLOUR_BLUE);
                picture_box(&p, left, -0.8, left + 2 * weight_scaled(t->weight), -0.2, COLOUR_YELLOW);
                pace = t->deadline > 0 ? fmin(t->age / t->deadline, 1) : 0;
                if (pace > 0)
                        picture_line(&p, left, 10 * pace, right, 10 * pace, 0.06, COLOUR_RED);
        }
        return 0;
}

const ActordEnv shares_env = {
        .abi = ACTORD_ENV_ABI,
        .struct_bytes = sizeof(ActordEnv),
        .spec = shares_spec,
        .init = shares_init,
        .reset = shares_reset,
        .step = shares_step,
        .snapshot = shares_snapshot,
        .restore = shares_restore,
        .close = shares_close,
        .state_parts = shares_state_parts,
        .get_state = shares_get_state,
        .set_state = shares_set_state,
        .draw = shares_draw,
        .metrics = shares_metrics,
        .active = shares_active,
};
