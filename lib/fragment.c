/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The training loop as a graph of fragments, after MSRL (include/fragment.h). One table is the graph. Each
 * distribution is a row of a second table. All else follows from these two. */
#include "lib/fragment.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "include/actord/env.h"
#include "lib/environments.h"

/* clang-format off */
static const Distribution rows[_DISTRIBUTION_MAX] = {
        [DISTRIBUTION_COARSE] = {
                .host = {
                        [FRAGMENT_STEP] = HOST_ACTOR,       [FRAGMENT_INFERENCE] = HOST_ACTOR,
                        [FRAGMENT_STORE] = HOST_LEARNER,    [FRAGMENT_ADVANTAGE] = HOST_LEARNER,
                        [FRAGMENT_GRADIENT] = HOST_LEARNER, [FRAGMENT_UPDATE] = HOST_LEARNER,
                        [FRAGMENT_PUBLISH] = HOST_LEARNER,  [FRAGMENT_EVALUATE] = HOST_ACTOR,
                },
                .round_barrier = BARRIER_ALL, .inference_barrier = BARRIER_NONE,
                .help = "actors act by themselves, one learner takes whole rollouts",
        },
        /* "SEED RL: Scalable and Efficient Deep-RL with Accelerated Central Inference" (Espeholt et al.,
         * ICLR'20) */
        [DISTRIBUTION_FINE] = {
                .host = {
                        [FRAGMENT_STEP] = HOST_ACTOR,       [FRAGMENT_INFERENCE] = HOST_LEARNER,
                        [FRAGMENT_STORE] = HOST_LEARNER,    [FRAGMENT_ADVANTAGE] = HOST_LEARNER,
                        [FRAGMENT_GRADIENT] = HOST_LEARNER, [FRAGMENT_UPDATE] = HOST_LEARNER,
                        [FRAGMENT_PUBLISH] = HOST_LEARNER,  [FRAGMENT_EVALUATE] = HOST_ACTOR,
                },
                .round_barrier = BARRIER_ALL, .inference_barrier = BARRIER_READY,
                .help = "actors only step, the learner acts for those that ask",
        },
        [DISTRIBUTION_ENVIRONMENTS] = {
                .host = {
                        [FRAGMENT_STEP] = HOST_ACTOR,       [FRAGMENT_INFERENCE] = HOST_LEARNER,
                        [FRAGMENT_STORE] = HOST_LEARNER,    [FRAGMENT_ADVANTAGE] = HOST_LEARNER,
                        [FRAGMENT_GRADIENT] = HOST_LEARNER, [FRAGMENT_UPDATE] = HOST_LEARNER,
                        [FRAGMENT_PUBLISH] = HOST_LEARNER,  [FRAGMENT_EVALUATE] = HOST_ACTOR,
                },
                .round_barrier = BARRIER_ALL, .inference_barrier = BARRIER_ALL,
                .help = "actors only step, all together: the learner acts for all at once",
        },
        [DISTRIBUTION_MULTI] = {
                .host = {
                        [FRAGMENT_STEP] = HOST_ACTOR,        [FRAGMENT_INFERENCE] = HOST_ACTOR,
                        [FRAGMENT_STORE] = HOST_LEARNERS,    [FRAGMENT_ADVANTAGE] = HOST_LEARNERS,
                        [FRAGMENT_GRADIENT] = HOST_LEARNERS, [FRAGMENT_UPDATE] = HOST_LEARNERS,
                        [FRAGMENT_PUBLISH] = HOST_LEARNER,   [FRAGMENT_EVALUATE] = HOST_ACTOR,
                },
                .round_barrier = BARRIER_ALL, .inference_barrier = BARRIER_NONE,
                .help = "actors act by themselves, each learner computes a part of each gradient",
        },
        /* "Scaling Distributed Machine Learning with the Parameter Server" (Li et al., OSDI'14), with one
         * server */
        [DISTRIBUTION_CENTRAL] = {
                .host = {
                        [FRAGMENT_STEP] = HOST_ACTOR,        [FRAGMENT_INFERENCE] = HOST_LEARNER,
                        [FRAGMENT_STORE] = HOST_LEARNERS,    [FRAGMENT_ADVANTAGE] = HOST_LEARNERS,
                        [FRAGMENT_GRADIENT] = HOST_LEARNERS, [FRAGMENT_UPDATE] = HOST_LEARNER,
                        [FRAGMENT_PUBLISH] = HOST_LEARNER,   [FRAGMENT_EVALUATE] = HOST_ACTOR,
                },
                .round_barrier = BARRIER_ALL, .inference_barrier = BARRIER_READY,
                .help = "one centre acts and updates, learners push it their gradients",
        },
        [DISTRIBUTION_FUSED] = {
                .host = {
                        [FRAGMENT_STEP] = HOST_FUSED,     [FRAGMENT_INFERENCE] = HOST_FUSED,
                        [FRAGMENT_STORE] = HOST_FUSED,    [FRAGMENT_ADVANTAGE] = HOST_FUSED,
                        [FRAGMENT_GRADIENT] = HOST_FUSED, [FRAGMENT_UPDATE] = HOST_FUSED,
                        [FRAGMENT_PUBLISH] = HOST_FUSED,  [FRAGMENT_EVALUATE] = HOST_ACTOR,
                },
                .round_barrier = BARRIER_ALL, .inference_barrier = BARRIER_NONE,
                .help = "one process acts and learns, its threads share the actors",
        },
        /* "Asynchronous Methods for Deep Reinforcement Learning" (Mnih et al., ICML'16), with rollouts
         * instead of gradients sent to the learner, as in "IMPALA: Scalable Distributed Deep-RL" (Espeholt
         * et al., ICML'18) */
        [DISTRIBUTION_ASYNC] = {
                .host = {
                        [FRAGMENT_STEP] = HOST_ACTOR,       [FRAGMENT_INFERENCE] = HOST_ACTOR,
                        [FRAGMENT_STORE] = HOST_LEARNER,    [FRAGMENT_ADVANTAGE] = HOST_LEARNER,
                        [FRAGMENT_GRADIENT] = HOST_LEARNER, [FRAGMENT_UPDATE] = HOST_LEARNER,
                        [FRAGMENT_PUBLISH] = HOST_LEARNER,  [FRAGMENT_EVALUATE] = HOST_ACTOR,
                },
                .round_barrier = BARRIER_READY, .inference_barrier = BARRIER_NONE,
                .help = "actors never wait for each other, one learner takes the one that is ready",
        },
};

/* Sizes in the table below: an actor's rollout has T steps of E environments, and a round learns from A
 * rollouts. */
enum {
        DIM_NONE, DIM_T, DIM_T1, DIM_E, DIM_A, DIM_ROWS, DIM_MINIBATCH, DIM_OBSERVATION, DIM_ACTION,
        DIM_PARAMETERS
};

static const struct {
        Fragment from, to;
        const char *tensor;
        Rate rate;
        uint32_t element, dims[EDGE_DIMS_MAX];
        /* the value stays in memory between rounds: an observation in a slot, a version in its bank, the
         * parameters in the learner */
        bool held;
        uint32_t n_parts;
} table[] = {
        { FRAGMENT_STEP, FRAGMENT_INFERENCE, "observation",
                        RATE_STEP, 0, { DIM_E, DIM_OBSERVATION }, true, 0 },
        { FRAGMENT_INFERENCE, FRAGMENT_STEP, "action", RATE_STEP, 0, { DIM_E, DIM_ACTION }, false, 0 },
        { FRAGMENT_STEP, FRAGMENT_STORE, "observations",
                        RATE_INVOCATION, 0, { DIM_T1, DIM_E, DIM_OBSERVATION }, false, 0 },
        { FRAGMENT_STEP, FRAGMENT_STORE, "rewards",
                        RATE_INVOCATION, ACTORD_F64, { DIM_T, DIM_E }, false, 0 },
        { FRAGMENT_STEP, FRAGMENT_STORE, "ends", RATE_INVOCATION, ACTORD_U8, { DIM_T, DIM_E }, false, 0 },
        { FRAGMENT_INFERENCE, FRAGMENT_STORE, "actions",
                        RATE_INVOCATION, 0, { DIM_T, DIM_E, DIM_ACTION }, false, 0 },
        { FRAGMENT_INFERENCE, FRAGMENT_STORE, "log-probabilities",
                        RATE_INVOCATION, ACTORD_F32, { DIM_T, DIM_E }, false, 0 },
        { FRAGMENT_STORE, FRAGMENT_ADVANTAGE, "batch",
                        RATE_ROUND, ACTORD_F32, { DIM_A, DIM_ROWS }, false, 0 },
        { FRAGMENT_STORE, FRAGMENT_GRADIENT, "minibatch",
                        RATE_GRADIENT, ACTORD_F32, { DIM_MINIBATCH }, false, 0 },
        { FRAGMENT_ADVANTAGE, FRAGMENT_GRADIENT, "advantages",
                        RATE_GRADIENT, ACTORD_F32, { DIM_MINIBATCH }, false, 0 },
        { FRAGMENT_GRADIENT, FRAGMENT_UPDATE, "gradient",
                        RATE_GRADIENT, ACTORD_F32, { DIM_PARAMETERS }, false, GRADIENT_PARTS },
        { FRAGMENT_UPDATE, FRAGMENT_GRADIENT, "parameters",
                        RATE_GRADIENT, ACTORD_F32, { DIM_PARAMETERS }, true, GRADIENT_PARTS },
        { FRAGMENT_UPDATE, FRAGMENT_ADVANTAGE, "parameters",
                        RATE_ROUND, ACTORD_F32, { DIM_PARAMETERS }, true, GRADIENT_PARTS },
        { FRAGMENT_UPDATE, FRAGMENT_PUBLISH, "parameters",
                        RATE_ROUND, ACTORD_F32, { DIM_PARAMETERS }, false, GRADIENT_PARTS },
        { FRAGMENT_PUBLISH, FRAGMENT_INFERENCE, "policy",
                        RATE_ROUND, ACTORD_F32, { DIM_PARAMETERS }, true, 0 },
        { FRAGMENT_PUBLISH, FRAGMENT_EVALUATE, "policy",
                        RATE_ROUND, ACTORD_F32, { DIM_PARAMETERS }, false, 0 },
};
/* clang-format on */

#define WORDS(function, list, max)                                    \
        const char *function(uint32_t i) {                            \
                static const char *const words[max] = { list(WORD) }; \
                                                                      \
                return i < max ? words[i] : NULL;                     \
        }
#define WORD(name, word, ...) word,
WORDS(fragment_to_string, FRAGMENTS, _FRAGMENT_MAX)
WORDS(host_to_string, HOSTS, _HOST_MAX)
WORDS(channel_to_string, CHANNELS, _CHANNEL_MAX)
WORDS(rate_to_string, RATES, _RATE_MAX)
WORDS(barrier_to_string, BARRIERS, _BARRIER_MAX)
#undef WORD
#undef WORDS

const char *element_to_string(uint32_t element) {
        switch (element) {
        case ACTORD_F32: return "f32";
        case ACTORD_F64: return "f64";
        case ACTORD_I32: return "i32";
        case ACTORD_U8: return "u8";
        }
        return "env's";
}

const Distribution *distribution_find(uint32_t distribution) {
        return distribution < _DISTRIBUTION_MAX && rows[distribution].help ? &rows[distribution] : NULL;
}

/* Why a job's actors must not run in the learner's process; NULL: they may. In this process an environment's
 * code could write the learner's memory, and no limit on an actor's process applies. The HDF5 library, which
 * parses a data set, must not run there either (learner/fused.c has no code for it). */
const char *distribution_refuses_fused(const JobSettings *settings) {
        assert(settings);

        if (settings->dataset[0])
                return "with Dataset= actors take actions from the file and ask no learner for any";
        if (environment_is_file(settings->environment))
                return "a plugin would share the learner's memory, and only code that an administrator "
                       "installed may";
        if (environment_is_python(settings->environment))
                return "an environment in Python would share the learner's memory, and only code that an "
                       "administrator installed may";
        if (environment_is_mjcf(settings->environment))
                return "a user's model would be read in the learner's process, and only files that an "
                       "administrator installed may";
        if (environment_loads_packages(settings->environment))
                return "EPA SWMM from a user's package would share the learner's memory, and only code "
                       "that an administrator installed may";
        if (environment_is_job(settings->environment))
                return "a job as an environment brings a learner of its own into the process";
        if (settings_present(settings, SETTING_Actor_CPUQuota) ||
                        settings_present(settings, SETTING_Actor_AllowedCPUs))
                return "actors have no processes of their own for CPUQuota= or AllowedCPUs= to limit";
        if (settings->actor_scope == ACTOR_SCOPE_EACH)
                return "actors have no processes of their own to put into scopes";
        return NULL;
}

/* The distributions that Policy=auto may choose all learn the same policy. In none of them do actors ask the
 * learner for actions: that never pays on one host, where all processors are alike. */
uint32_t distribution_choose(const JobSettings *settings, const char **ret_why) {
        const char *why = NULL, *refusal;
        uint32_t choice;

        assert(settings);

        choice = settings->distribution;
        if (choice == DISTRIBUTION_AUTO) {
                refusal = distribution_refuses_fused(settings);
                if (settings->n_learners > 1) {
                        choice = DISTRIBUTION_MULTI;
                        why = "Learners= asks for several";
                } else if (refusal) {
                        choice = DISTRIBUTION_COARSE;
                        why = refusal;
                } else if (settings_actors_max(settings) > settings->n_threads) {
                        choice = DISTRIBUTION_COARSE;
                        why = "a round may have more actors than the learner has Threads=, and all of "
                              "them can act at once only in processes of their own";
                } else {
                        choice = DISTRIBUTION_FUSED;
                        why = "the learner's Threads= can act for all actors at once, and no data has to "
                              "cross processes";
                }
        }
        if (ret_why)
                *ret_why = why;
        return choice;
}

bool distribution_measures(const JobSettings *settings, const char **ret_why) {
        const char *why = NULL;

        assert(settings);
        assert(ret_why);

        *ret_why = NULL;
        if (settings->distribution != DISTRIBUTION_AUTO || settings->n_learners > 1)
                return false;
        if (scheduler_has(settings->scheduler.kind, TRAIT_DECIDES) && settings->clock == CLOCK_MODEL)
                why = "its scheduler reads the times of rounds, which under Clock=model must not depend "
                      "on where fragments run";
        *ret_why = why;
        return !why;
}

const Distribution *distribution_of(const JobSettings *settings) {
        return distribution_find(distribution_choose(settings, NULL));
}

bool distribution_serves(const Distribution *row) {
        assert(row);

        return row->host[FRAGMENT_INFERENCE] != row->host[FRAGMENT_STEP];
}

bool distribution_fuses(const Distribution *row) {
        assert(row);

        return row->host[FRAGMENT_STEP] == row->host[FRAGMENT_GRADIENT];
}

uint32_t distribution_learners(const Distribution *row, const JobSettings *settings) {
        assert(row);
        assert(settings);

        return row->host[FRAGMENT_GRADIENT] == HOST_LEARNERS ? settings->n_learners : 1;
}

uint32_t distribution_updaters(const Distribution *row, const JobSettings *settings) {
        assert(row);

        return row->host[FRAGMENT_UPDATE] == HOST_LEARNERS ? distribution_learners(row, settings) : 1;
}

/* The most CPUs that the job can use at once. If actors and learners take turns, this is the number of the
 * larger group; if neither waits for the other, the sum. */
uint32_t distribution_cpus(const Distribution *row, const JobSettings *settings) {
        uint32_t n_learn = distribution_learners(row, settings) * settings->n_threads, n_act;

        if (distribution_fuses(row))
                return n_learn;
        n_act = settings_processes(settings);
        if (distribution_overlaps(row))
                return n_act + n_learn;
        return n_act > n_learn ? n_act : n_learn;
}

/* Whether a process of the kind `side` is one of the processes of `host`: the first learner is also one of
 * HOST_LEARNERS. */
static bool host_includes(uint32_t host, uint32_t side) {
        return host == side || (host == HOST_LEARNERS && side == HOST_LEARNER);
}

bool distribution_overlaps(const Distribution *row) {
        assert(row);

        return row->round_barrier == BARRIER_READY;
}

uint32_t distribution_rollouts(const Distribution *row, uint32_t n_actors) {
        return distribution_overlaps(row) ? 1 : n_actors;
}

/* Each actor may still act with a version of its own, which needs a bank. One more bank is for the newest
 * version, and one for the next. */
uint32_t distribution_banks(const Distribution *row, const JobSettings *settings) {
        return distribution_overlaps(row) ? settings_actors_max(settings) + 2 : POLICY_BANKS;
}

uint32_t distribution_orders(const Distribution *row, FragmentHost side) {
        uint32_t orders = 0;

        assert(row);

        if (row->host[FRAGMENT_STEP] == side)
                orders |= 1u << ORDER_ROLLOUT;
        if (row->host[FRAGMENT_INFERENCE] == side && row->host[FRAGMENT_STEP] != side)
                orders |= 1u << ORDER_SERVE;
        if (host_includes(row->host[FRAGMENT_STORE], side) && row->host[FRAGMENT_STEP] != side)
                orders |= 1u << ORDER_TAKE;
        if (host_includes(row->host[FRAGMENT_GRADIENT], side))
                orders |= 1u << ORDER_LEARN;
        return orders;
}

static Dim dim_make(const JobSettings *s, uint32_t n_rollouts, uint32_t dim) {
        uint64_t steps = s->rollout_steps, envs = s->envs_per_actor;

        switch (dim) {
        case DIM_T: return (Dim){ "steps", steps };
        case DIM_T1: return (Dim){ "steps + 1", steps + 1 };
        case DIM_E: return (Dim){ "environments", envs };
        case DIM_A: return (Dim){ "actors", n_rollouts };
        case DIM_ROWS: return (Dim){ "rows", steps * envs };
        case DIM_MINIBATCH: return (Dim){ "rows", 0 };
        case DIM_OBSERVATION: return (Dim){ "observation", 0 };
        case DIM_ACTION: return (Dim){ "action", 0 };
        case DIM_PARAMETERS: return (Dim){ "parameters", 0 };
        }
        return (Dim){};
}

static uint64_t rate_a_round(const JobSettings *s, uint32_t n_rollouts, uint32_t rate) {
        switch ((Rate) rate) {
        case RATE_STEP: return (uint64_t) n_rollouts * s->rollout_steps;
        case RATE_INVOCATION: return n_rollouts;
        case RATE_ROUND: return 1;
        case RATE_GRADIENT: return 0; /* unknown: epochs may end early */
        case _RATE_MAX: break;
        }
        return 0;
}

bool graph_crosses(const Graph *graph, const Edge *edge) {
        uint32_t from = graph->host[edge->from], to = graph->host[edge->to];
        bool alone = graph->n_replicas[from] <= 1 && graph->n_replicas[to] <= 1;

        /* HOST_LEARNER is one of HOST_LEARNERS. So it has the results of its own process, and receives only
         * the parts that all learners compute. Its own results go to the other learners, if there are
         * any. */
        if (host_includes(from, to))
                return edge->n_parts > 0 && !alone;
        return !host_includes(to, from) || !alone;
}

static ChannelKind channel_of(const Graph *graph, const Edge *edge) {
        if (edge->n_parts > 0)
                return edge->from == FRAGMENT_GRADIENT ? CHANNEL_REDUCE : CHANNEL_PARAMETERS;
        if (edge->from == FRAGMENT_PUBLISH)
                return CHANNEL_POLICY;
        return edge->rate == RATE_STEP ? CHANNEL_EXCHANGE : CHANNEL_SEGMENT;
}

void graph_make(const Distribution *row, const JobSettings *settings, Graph *ret) {
        uint32_t n_actors, n_rollouts;

        assert(row);
        assert(settings);
        assert(ret);

        n_actors = settings->n_actors;
        n_rollouts = distribution_rollouts(row, n_actors);
        *ret = (Graph){
                .n_replicas = { [HOST_ACTOR] = n_actors,
                                [HOST_LEARNER] = 1,
                                [HOST_LEARNERS] = distribution_learners(row, settings),
                                [HOST_FUSED] = 1 },
                .round_barrier = row->round_barrier,
                .inference_barrier = row->inference_barrier,
        };
        for (uint32_t f = 0; f < _FRAGMENT_MAX; f++)
                ret->host[f] = row->host[f];

        for (size_t k = 0; k < sizeof(table) / sizeof(table[0]); k++) {
                Edge *edge = &ret->edges[ret->n_edges];

                *edge = (Edge){
                        .tensor = table[k].tensor,
                        .from = table[k].from,
                        .to = table[k].to,
                        .rate = table[k].rate,
                        .element = table[k].element,
                        .held = table[k].held,
                        .n_parts = table[k].n_parts,
                        .n_a_round = rate_a_round(settings, n_rollouts, table[k].rate),
                };
                while (edge->n_dims < EDGE_DIMS_MAX && table[k].dims[edge->n_dims] != DIM_NONE) {
                        edge->dims[edge->n_dims] =
                                        dim_make(settings, n_rollouts, table[k].dims[edge->n_dims]);
                        edge->n_dims++;
                }
                /* Every learner takes every rollout. */
                if (edge->rate == RATE_INVOCATION)
                        edge->n_a_round *= ret->n_replicas[ret->host[edge->to]];
                if (graph_crosses(ret, edge))
                        ret->channels[ret->n_channels++] =
                                        (Channel){ .kind = channel_of(ret, edge), .edge = ret->n_edges };
                ret->n_edges++;
        }
}

size_t shape_print(const Edge *edge, char *ret, size_t n) {
        size_t length = 0;

        assert(edge);
        assert(ret && n > 0);

        ret[0] = '\0';
        for (uint32_t k = 0; k < edge->n_dims && length < n; k++) {
                const Dim *dim = &edge->dims[k];
                const char *blank = k > 0 ? " " : "";

                if (dim->value > 0)
                        length += (size_t) snprintf(
                                        ret + length, n - length, "%s%" PRIu64, blank, dim->value);
                else
                        length += (size_t) snprintf(ret + length, n - length, "%s%s", blank, dim->name);
        }
        return length;
}

static const char *edge_name(const Edge *edge, char ret[96]) {
        (void) snprintf(ret, 96, "%s from %s to %s", edge->tensor, fragment_to_string(edge->from),
                        fragment_to_string(edge->to));
        return ret;
}

static int validate_channels(const Graph *graph, char *ret_reason, size_t n) {
        char name[96];

        for (uint32_t e = 0; e < graph->n_edges; e++) {
                const Edge *edge = &graph->edges[e];
                uint32_t n_channels = 0, n_wanted = graph_crosses(graph, edge) ? 1 : 0;

                for (uint32_t c = 0; c < graph->n_channels; c++)
                        n_channels += graph->channels[c].edge == e;
                if (n_channels == n_wanted)
                        continue;
                (void) snprintf(ret_reason, n, "%s: %s, so that it needs %s channel, and it has %u",
                                edge_name(edge, name),
                                n_wanted ? "it crosses processes" : "it stays in one process",
                                n_wanted ? "exactly one" : "no", n_channels);
                return -EINVAL;
        }
        return 0;
}

/* Removes fragments that wait for no other fragment, until none can be removed. The remaining fragments wait
 * in a circle, or for one. No fragment waits for an edge that has a value from the start. */
static int validate_cycles(const Graph *graph, char *ret_reason, size_t n) {
        uint32_t left = (1u << _FRAGMENT_MAX) - 1, blocked;
        size_t length;

        do {
                blocked = 0;
                for (uint32_t e = 0; e < graph->n_edges; e++)
                        if (!graph->edges[e].held && left >> graph->edges[e].from & 1)
                                blocked |= 1u << graph->edges[e].to;
                blocked &= left;
                if (blocked == left)
                        break;
                left = blocked;
        } while (left);
        if (!left)
                return 0;

        length = (size_t) snprintf(ret_reason, n,
                        "these fragments wait for each other in a cycle, "
                        "and none of them has a first value:");
        for (uint32_t f = 0; f < _FRAGMENT_MAX && length < n; f++)
                if (left >> f & 1)
                        length += (size_t) snprintf(
                                        ret_reason + length, n - length, " %s", fragment_to_string(f));
        return -EINVAL;
}

static int validate_replicas(const Graph *graph, char *ret_reason, size_t n) {
        for (uint32_t e = 0; e < graph->n_edges; e++) {
                const Edge *edge = &graph->edges[e];
                uint32_t n_replicas = graph->n_replicas[graph->host[edge->from]];

                if (n_replicas > 0 && (edge->n_parts == 0 || edge->n_parts % n_replicas == 0))
                        continue;
                (void) snprintf(ret_reason, n,
                                "the %s has %u parts, which %u processes cannot share evenly: use a "
                                "number that divides it",
                                edge->tensor, edge->n_parts, n_replicas);
                return -EINVAL;
        }
        return 0;
}

int graph_validate(const Graph *graph, char *ret_reason, size_t n) {
        int r;

        assert(graph && graph->n_edges <= EDGES_MAX && graph->n_channels <= EDGES_MAX);
        assert(ret_reason && n > 0);

        r = validate_replicas(graph, ret_reason, n);
        if (r < 0)
                return r;
        r = validate_channels(graph, ret_reason, n);
        if (r < 0)
                return r;
        return validate_cycles(graph, ret_reason, n);
}
