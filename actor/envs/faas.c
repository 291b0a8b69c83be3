/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* faas: scale one serverless function, by containers and by CPU shares, beside others that scale themselves.
 *
 * State, actions, limits and reward are from the single-agent problem of "SIMPPO: A Scalable and Incremental
 * Online Learning Framework for Serverless Resource Management" (Qiu et al., SoCC 2022) as published in
 * teaching material of its authors' university. The observation, all in [0, 1], is: mean CPU utilisation u;
 * SLO preservation p = min(1, SLO / latency); this function's CPU shares / 20480; the shares of the other
 * functions on the node / 92160; containers / 20; arrivals in a second / 10. The actions are: nothing; one
 * container more; one container less; 128 shares more in each container; 128 shares less. There are at most
 * 10 containers of 128 to 2048 shares. The reward is 0.3 u + 0.7 p. It is -1 if the action was illegal (then
 * it does nothing), if requests arrived and there was no container, or if the action undoes the previous one
 * (a container added or removed). An episode begins with more than enough: (arrivals in a second) + 2
 * containers of 1024 shares each.
 *
 * The cluster is actord's own model, a queue for each function in steps of dt = 10 s:
 *
 *     arrivals  A ~ Poisson(dt rate), rate = min(10, base (1 + 0.3 sin(2 pi t / 120 + phase)) b); base is
 *               drawn from [1, 3); b is 3 in a burst and else 1; a burst begins with chance 0.03 a step and
 *               ends with chance 0.15
 *     speed     s = shares / 1024, times Cores 1024 / (all shares on the node) where that is below 1: a
 *               container of 1024 shares is one core, and an oversold node slows all containers equally;
 *               Cores= is 6 for each function unless set
 *     served    D = min(Q + A, c s dt) of 1 core-second each, by c containers
 *     queue     Q' = min(Q + A - D, 500); what does not fit is dropped
 *     u         = D / (c s dt)
 *     latency   = 1/s + u^(sqrt(2 (c + 1)) - 1) / (s c (1 - min(u, 0.99))) + (Q + Q') / 2 / (c s)
 *
 * The middle term of the latency is the wait in a queue with c servers (Sakasegawa, 1977). Each of the
 * Neighbours= other functions adds a container if u > 0.8 or requests wait, and removes one, but not its
 * last, if u < 0.4. With Agents=N the first N functions are agents, each with the observation, the actions
 * and the reward above. The other functions follow the rule of neighbours. All functions act at the same
 * time, before requests come.
 *
 * With Stay=S, a present agent leaves after a step with a chance of 1 / S, unless it is the only one. Its
 * waiting requests leave with it. An absent agent returns with the same chance, and begins as at the start
 * of an episode. An absent function has no shares and gets no requests. */
#include <math.h>
#include <stdio.h>

#include "actor/envs/builtin.h"
#include "actor/envs/option.h"
#include "actor/envs/picture.h"
#include "actor/envs/waits.h"
#include "include/environments.h"
#include "lib/space.h"

#define STEP_SECONDS    10.0
#define SHARES_CORE     1024.0
#define SHARES_STEP     128.0
#define SHARES_MIN      128.0
#define SHARES_MAX      2048.0
#define SHARES_OWN      20480.0
#define SHARES_OTHERS   92160.0
#define CONTAINERS_MAX  10.0
#define CONTAINERS_UNIT 20.0
#define RATE_MAX        10.0
#define CORES_EACH      6.0 /* the node's cores are 6 for each function, unless Cores= is set */
#define QUEUE_MAX       500.0
#define BURST_FACTOR    3.0
#define BURST_BEGINS    0.03
#define BURST_ENDS      0.15
#define DAY_STEPS       120.0
#define HORIZON         200
#define ARRIVALS_MAX    1000.0

enum { NOTHING, CONTAINER_MORE, CONTAINER_LESS, SHARES_MORE, SHARES_LESS, N_ACTIONS };
enum { P50, P95, P99, VIOLATIONS, DROPPED, N_METRICS };
enum { N_OBSERVATION = 6, N_FUNCTIONS_MAX = 1 + FAAS_NEIGHBOURS_MAX };

typedef struct Function {
        double containers, shares; /* shares: CPU shares of each container; 0: the function is absent */
        double queue;
        double base, phase, burst;                          /* of the rate at which requests arrive */
        double arrivals, served, dropped, utilization, slo; /* in the last step */
} Function;

typedef struct Cluster {
        double n_steps, last; /* last: containers that the last action added: +1, -1 or 0 */
        Function functions[N_FUNCTIONS_MAX];
} Cluster;

/* The sums of an episode over all agents, and the waiting times of their requests. The episode's percentiles
 * are computed from these times. */
typedef struct Account {
        double n_waits; /* steps of agents in which requests were served */
        double violations, dropped;
        double last[N_FUNCTIONS_MAX]; /* like Cluster.last of agent 0, for the other agents */
        Wait waits[N_FUNCTIONS_MAX * HORIZON];
} Account;

typedef struct Faas {
        double agents, neighbours, slo_seconds, cores, stay;
        Account account;
        Cluster cluster; /* functions beyond 1 + neighbours stay zero */
} Faas;

#define ENV_INSTANCE Faas
static const EnvOption faas_options[] = { FAAS_OPTIONS(ENV_OPTION) };

static int faas_init(void *instance, const ActordOption *options, uint32_t n_options) {
        Faas *f = instance;
        int r;

        *f = (Faas){};
        r = env_options_parse(ENV_OPTIONS(faas_options), options, n_options, f);
        if (r >= 0 && f->agents > 1 + f->neighbours) {
                (void) fprintf(stderr,
                                "[Environment] Agents=%.0f: it must be at most 1 + Neighbours=, which is "
                                "%.0f\n",
                                f->agents, f->neighbours);
                return -EINVAL;
        }
        return r;
}

static int n_agents(const Faas *f) {
        return (int) f->agents;
}

static int n_functions(const Faas *f) {
        return 1 + (int) f->neighbours;
}

/* There are at most as many waiting times as steps of agents. */
static size_t account_bytes(const Faas *f) {
        return offsetof(Account, waits) + (size_t) n_agents(f) * HORIZON * sizeof(Wait);
}

static size_t cluster_numbers(const Faas *f) {
        return (offsetof(Cluster, functions) + (size_t) n_functions(f) * sizeof(Function)) / sizeof(double);
}

static int faas_spec(const ActordOption *options, uint32_t n_options, ActordEnvSpec *ret) {
        Faas f;
        int r;

        r = faas_init(&f, options, n_options);
        if (r < 0)
                return r;

        *ret = (ActordEnvSpec){
                .name = "faas",
                .observation = space_of_numbers(N_OBSERVATION, 0, 1),
                .action = space_of_choices(N_ACTIONS),
                .horizon_steps = HORIZON,
                .n_agents = (uint32_t) n_agents(&f),
                .reward_low = -1,
                .reward_high = 1,
                .solved_return = NAN,
                .instance_bytes = sizeof(Faas),
                .snapshot_bytes = account_bytes(&f) + cluster_numbers(&f) * sizeof(double),
                .flags = f.stay > 0 ? ACTORD_ENV_COME_AND_GO : 0,
                .n_metrics = N_METRICS,
                .metrics = { "latency_p50", "latency_p95", "latency_p99", "violations", "dropped" },
        };
        return 0;
}

static double total_shares(const Function *function) {
        return function->containers * function->shares;
}

/* The CPU shares of all functions except number `own`. */
static double other_shares(const Faas *f, int own) {
        double sum = 0;

        for (int i = 0; i < n_functions(f); i++)
                if (i != own)
                        sum += total_shares(&f->cluster.functions[i]);
        return sum;
}

static void faas_observe(const Faas *f, void *ret_observation) {
        for (int i = 0; i < n_agents(f); i++) {
                const Function *own = &f->cluster.functions[i];
                float observation[N_OBSERVATION] = { (float) own->utilization, (float) own->slo,
                        (float) (total_shares(own) / SHARES_OWN),
                        (float) fmin(other_shares(f, i) / SHARES_OTHERS, 1),
                        (float) (own->containers / CONTAINERS_UNIT),
                        (float) fmin(own->arrivals / STEP_SECONDS / RATE_MAX, 1) };

                memcpy((float *) ret_observation + (size_t) i * N_OBSERVATION, observation,
                                sizeof(observation));
        }
}

static double arrival_rate(const Function *function, double n_steps) {
        double wave = 1 + 0.3 * sin(2 * M_PI * n_steps / DAY_STEPS + function->phase);

        return fmin(function->base * wave * (function->burst > 0 ? BURST_FACTOR : 1), RATE_MAX);
}

/* A Poisson number by inversion. It takes one draw for any mean, so the mean does not change later draws of
 * the stream. */
static double draw_poisson(double mean, ActordRandom *random) {
        double left = actord_random_uniform(random, 0, 1), chance = exp(-mean), k = 0;

        while (left >= chance && k < ARRIVALS_MAX) {
                left -= chance;
                k++;
                chance *= mean / k;
        }
        return k;
}

/* The function begins over-provisioned, as if it had been running before. */
static void function_begin(Function *function, double n_steps) {
        double rate = arrival_rate(function, n_steps);

        function->containers = fmin(ceil(rate) + 2, CONTAINERS_MAX);
        function->shares = SHARES_CORE;
        function->arrivals = floor(rate * STEP_SECONDS);
        function->utilization = fmin(rate / function->containers, 1);
        function->slo = 1;
}

static void function_end(Function *f) {
        *f = (Function){ .base = f->base, .phase = f->phase, .burst = f->burst, .slo = 1 };
}

static bool is_there(const Faas *f, int i) {
        return f->cluster.functions[i].shares > 0;
}

static int faas_reset(void *instance, ActordRandom *random, void *ret_observation) {
        Faas *f = instance;

        memset(&f->cluster, 0, sizeof(f->cluster));
        memset(&f->account, 0, sizeof(f->account));
        for (int i = 0; i < n_functions(f); i++) {
                Function *function = &f->cluster.functions[i];

                function->base = actord_random_uniform(random, 1, 3);
                function->phase = actord_random_uniform(random, 0, 2 * M_PI);
                function_begin(function, 0);
        }
        faas_observe(f, ret_observation);
        return 0;
}

/* Returns whether the choice was legal. An illegal one does nothing. */
static bool scale(Function *own, int32_t choice) {
        switch (choice) {
        case CONTAINER_MORE:
                if (own->containers >= CONTAINERS_MAX)
                        return false;
                own->containers++;
                return true;
        case CONTAINER_LESS:
                if (own->containers <= 0)
                        return false;
                own->containers--;
                return true;
        case SHARES_MORE:
                if (own->shares + SHARES_STEP > SHARES_MAX)
                        return false;
                own->shares += SHARES_STEP;
                return true;
        case SHARES_LESS:
                if (own->shares - SHARES_STEP < SHARES_MIN)
                        return false;
                own->shares -= SHARES_STEP;
                return true;
        default: return true;
        }
}

/* Scales a function that is no agent, by the rule at the top of this file, between two steps. */
static void scale_by_rule(Function *function) {
        if (function->utilization > 0.8 || function->queue > 0)
                (void) scale(function, CONTAINER_MORE);
        else if (function->utilization < 0.4 && function->containers > 1)
                (void) scale(function, CONTAINER_LESS);
}

/* Makes one step of a function's queue. share: the part of its cores that a container gets on an oversold
 * node. Returns the latency of the served requests in seconds; NaN: no request was served. */
static double serve(
                Function *function, double n_steps, double share, double slo_seconds, ActordRandom *random) {
        double c = function->containers, speed = function->shares / SHARES_CORE * share, u, before, latency;
        double begins = actord_random_uniform(random, 0, 1);

        function->burst = function->burst > 0 ? begins >= BURST_ENDS : begins < BURST_BEGINS;
        function->arrivals = draw_poisson(STEP_SECONDS * arrival_rate(function, n_steps), random);
        if (function->shares <= 0) {
                function->arrivals = 0;
                return NAN;
        }

        before = function->queue;
        function->served = fmin(before + function->arrivals, c * speed * STEP_SECONDS);
        function->queue = before + function->arrivals - function->served;
        function->dropped = fmax(function->queue - QUEUE_MAX, 0);
        function->queue = fmin(function->queue, QUEUE_MAX);

        if (c <= 0) {
                function->utilization = 0;
                function->slo = function->arrivals > 0 || function->queue > 0 ? 0 : 1;
                return NAN;
        }
        u = fmin(function->served / (c * speed * STEP_SECONDS), 1);
        latency = 1 / speed + pow(u, sqrt(2 * (c + 1)) - 1) / (speed * c * (1 - fmin(u, 0.99))) +
                  (before + function->queue) / 2 / (c * speed);
        function->utilization = u;
        function->slo = fmin(1, slo_seconds / latency);
        return function->served > 0 ? latency : NAN;
}

static void account_add(Faas *f, const Function *own, double latency) {
        Account *k = &f->account;
        size_t n = (size_t) k->n_waits;

        k->violations = fmin(k->violations + (own->slo < 1), n_agents(f) * HORIZON);
        k->dropped += own->dropped;
        if (isnan(latency) || n >= (size_t) n_agents(f) * HORIZON)
                return;
        k->waits[n] = (Wait){ latency, own->served };
        k->n_waits++;
}

/* The metrics cover the requests of all agents. */
static int faas_metrics(const void *instance, double *ret) {
        const Account *k = &((const Faas *) instance)->account;
        Wait waits[N_FUNCTIONS_MAX * HORIZON];
        size_t n = (size_t) k->n_waits;

        memcpy(waits, k->waits, n * sizeof(Wait));
        waits_sort(waits, n);
        ret[P50] = waits_percentile(waits, n, 0.5);
        ret[P95] = waits_percentile(waits, n, 0.95);
        ret[P99] = waits_percentile(waits, n, 0.99);
        ret[VIOLATIONS] = k->violations;
        ret[DROPPED] = k->dropped;
        return 0;
}

static double reward_of(const Function *own, bool good) {
        if (!good || (own->containers <= 0 && own->arrivals > 0))
                return -1;
        return 0.3 * own->utilization + 0.7 * own->slo;
}

static double *last_of(Faas *f, int agent) {
        return agent == 0 ? &f->cluster.last : &f->account.last[agent];
}

/* Carries out an agent's action. Returns whether it was legal and did not undo the action before it. */
static bool act(Faas *f, int agent, int32_t choice) {
        bool there = is_there(f, agent);
        bool legal = there && scale(&f->cluster.functions[agent], choice), undone;
        double moved = legal * ((choice == CONTAINER_MORE) - (choice == CONTAINER_LESS));

        undone = moved * *last_of(f, agent) < 0;
        *last_of(f, agent) = moved;
        return legal && !undone;
}

static double cores_of_node(const Faas *f) {
        return f->cores > 0 ? f->cores : CORES_EACH * n_functions(f);
}

/* Lets each function serve requests for one step. If the containers want more than the node's cores, each
 * gets the same share of what it wants. */
static void serve_all(Faas *f, ActordRandom *random) {
        Cluster *k = &f->cluster;
        double share = total_shares(&k->functions[0]) + other_shares(f, 0);

        share = share > 0 ? fmin(cores_of_node(f) * SHARES_CORE / share, 1) : 1;
        k->n_steps++;
        for (int i = 0; i < n_functions(f); i++) {
                double latency = serve(&k->functions[i], k->n_steps, share, f->slo_seconds, random);

                if (i < n_agents(f))
                        account_add(f, &k->functions[i], latency);
        }
}

/* Decides which agents leave and which return after a step. */
static void come_and_go(Faas *f, ActordRandom *random) {
        int n_there = 0;

        for (int i = 0; i < n_agents(f); i++)
                n_there += is_there(f, i);
        for (int i = 0; i < n_agents(f); i++) {
                Function *function = &f->cluster.functions[i];
                bool moves = actord_random_uniform(random, 0, 1) * f->stay < 1;

                if (moves && !is_there(f, i)) {
                        function_begin(function, f->cluster.n_steps);
                        n_there++;
                } else if (moves && n_there > 1) {
                        function_end(function);
                        *last_of(f, i) = 0;
                        n_there--;
                }
        }
}

static int faas_active(const void *instance, uint8_t *ret) {
        const Faas *f = instance;

        for (int i = 0; i < n_agents(f); i++)
                ret[i] = is_there(f, i);
        return 0;
}

static int faas_step(void *instance, const void *action, ActordRandom *random, void *ret_observation,
                ActordStep *ret) {
        int32_t choices[N_FUNCTIONS_MAX];
        bool good[N_FUNCTIONS_MAX];
        Faas *f = instance;

        memcpy(choices, action, (size_t) n_agents(f) * sizeof(choices[0]));
        for (int i = 0; i < n_agents(f); i++)
                if (choices[i] < 0 || choices[i] >= N_ACTIONS)
                        return -EINVAL;

        for (int i = 0; i < n_agents(f); i++)
                good[i] = act(f, i, choices[i]);
        for (int i = n_agents(f); i < n_functions(f); i++)
                scale_by_rule(&f->cluster.functions[i]);
        serve_all(f, random);
        for (int i = 0; i < n_agents(f); i++) {
                double reward = is_there(f, i) ? reward_of(&f->cluster.functions[i], good[i]) : 0;

                ret[i] = (ActordStep){ .reward = reward };
        }
        if (f->stay > 0)
                come_and_go(f, random);
        faas_observe(f, ret_observation);
        return 0;
}

static int faas_snapshot(const void *instance, void *ret_snapshot) {
        const Faas *f = instance;

        memcpy(ret_snapshot, &f->account, account_bytes(f));
        memcpy((uint8_t *) ret_snapshot + account_bytes(f), &f->cluster,
                        cluster_numbers(f) * sizeof(double));
        return 0;
}

static bool whole_between(double x, double low, double high) {
        return x >= low && x <= high && x == floor(x);
}

/* Zero shares: the function is absent, or no episode has begun. */
static bool function_valid(const Function *s) {
        return whole_between(s->containers, 0, CONTAINERS_MAX) &&
               (s->shares == 0 ? s->containers == 0 : s->shares >= SHARES_MIN && s->shares <= SHARES_MAX) &&
               s->queue >= 0 && s->queue <= QUEUE_MAX && s->base >= 0 && s->base <= RATE_MAX &&
               s->phase >= 0 && s->phase <= 2 * M_PI && whole_between(s->burst, 0, 1) &&
               whole_between(s->arrivals, 0, ARRIVALS_MAX) && s->served >= 0 && isfinite(s->served) &&
               s->dropped >= 0 && isfinite(s->dropped) && s->utilization >= 0 && s->utilization <= 1 &&
               s->slo >= 0 && s->slo <= 1;
}

static bool account_valid(const Faas *f, const Account *k) {
        double most = n_agents(f) * HORIZON;

        if (!whole_between(k->n_waits, 0, most) || !whole_between(k->violations, 0, most) ||
                        !(k->dropped >= 0 && isfinite(k->dropped)))
                return false;
        for (int i = 0; i < N_FUNCTIONS_MAX; i++)
                if (!whole_between(k->last[i], -1, 1))
                        return false;
        for (size_t i = 0; i < (size_t) most; i++)
                if (!(k->waits[i].latency >= 0 && isfinite(k->waits[i].latency) && k->waits[i].served >= 0 &&
                                    isfinite(k->waits[i].served)))
                        return false;
        return true;
}

static int cluster_restore(Faas *f, const void *snapshot) {
        Cluster k = {};

        memcpy(&k, snapshot, cluster_numbers(f) * sizeof(double));
        if (!whole_between(k.n_steps, 0, 1e9) || !whole_between(k.last, -1, 1))
                return -EINVAL;
        for (int i = 0; i < n_functions(f); i++)
                if (!function_valid(&k.functions[i]))
                        return -EINVAL;

        f->cluster = k;
        return 0;
}

static int faas_restore(void *instance, const void *snapshot) {
        Faas *f = instance;
        Account account = {};
        int r;

        memcpy(&account, snapshot, account_bytes(f));
        if (!account_valid(f, &account))
                return -EINVAL;
        r = cluster_restore(f, (const uint8_t *) snapshot + account_bytes(f));
        if (r < 0)
                return r;
        f->account = account;
        return 0;
}

static void faas_close(void *instance) {
}

static int faas_state_parts(const void *instance, ActordStatePart *ret) {
        const Faas *f = instance;
        uint32_t n_common = offsetof(Cluster, functions) / sizeof(double);

        ret[0] = (ActordStatePart){ .name = "cluster", .n_numbers = n_common };
        ret[1] = (ActordStatePart){ .name = "functions",
                .n_numbers = (uint32_t) cluster_numbers(f) - n_common };
        return 2;
}

static int faas_get_state(const void *instance, double *ret) {
        const Faas *f = instance;

        memcpy(ret, &f->cluster, cluster_numbers(f) * sizeof(double));
        return 0;
}

/* Begins a new episode, without the waiting times of the last one. */
static int faas_set_state(void *instance, const double *state, void *ret_observation) {
        Faas *f = instance;
        int r;

        r = cluster_restore(f, state);
        if (r < 0)
                return r;
        memset(&f->account, 0, sizeof(f->account));

        faas_observe(instance, ret_observation);
        return 0;
}

/* Draws each function as a bar. The bar's height shows the containers, its width their shares, and its
 * filled part their use. A red bar above it is the queue. The agents' own functions come first. A green
 * strip below shows how well the latency meets its objective. A step of 10 s is shown for a tenth of a
 * second. */
static int faas_draw(const void *instance, ActordView *ret_view, ActordShape *ret_shapes) {
        const Faas *f = instance;
        double wide = fmax(2.5 * n_functions(f), 10);
        Picture p = picture_begin(ret_view, ret_shapes, -0.5, -1.5, wide + 0.5, CONTAINERS_MAX + 1.5, 0.1,
                        COLOUR_PAPER);

        for (int i = 0; i < n_functions(f); i++) {
                const Function *one = &f->cluster.functions[i];
                double left = 2.5 * i, right = left + 2 * one->shares / SHARES_MAX, top = one->containers;

                picture_box(&p, left, 0, left + 2, CONTAINERS_MAX,
                                i < n_agents(f) ? COLOUR_PALE : 0xeeeeeeu);
                picture_box(&p, left, 0, right, top, COLOUR_GREY);
                picture_box(&p, left, 0, right, top * one->utilization,
                                i < n_agents(f) ? COLOUR_BLUE : COLOUR_INK);
                if (one->queue > 0)
                        picture_box(&p, left, CONTAINERS_MAX + 0.2, left + 2 * fmin(one->queue / 50, 1),
                                        CONTAINERS_MAX + 0.8, COLOUR_RED);
                picture_box(&p, left, -0.7, left + 2 * one->slo, -0.3, COLOUR_GREEN);
        }
        return 0;
}

const ActordEnv faas_env = {
        .abi = ACTORD_ENV_ABI,
        .struct_bytes = sizeof(ActordEnv),
        .spec = faas_spec,
        .init = faas_init,
        .reset = faas_reset,
        .step = faas_step,
        .snapshot = faas_snapshot,
        .restore = faas_restore,
        .close = faas_close,
        .state_parts = faas_state_parts,
        .get_state = faas_get_state,
        .set_state = faas_set_state,
        .draw = faas_draw,
        .metrics = faas_metrics,
        .active = faas_active,
};
