/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Facts about an algorithm for use outside of the learner, as data: what it keeps between rounds, and which
 * keys it reads. */
#pragma once

#include <stdbool.h>

#include "include/settings.h"

typedef enum Store {
        STORE_ROLLOUT, /* a round's data, and nothing after it */
        STORE_BUFFER,  /* the data of the last BufferBatches= rounds */
        STORE_REPLAY,  /* the last ReplaySize= steps, with what followed each */
} Store;

/* What the network's outputs say of an action. */
typedef enum ActsBy {
        ACTING_DISTRIBUTION,  /* probabilities, or a density: ACT_CATEGORICAL, ACT_GAUSSIAN */
        ACTING_VALUES,        /* a value for each: ACT_EPSILON_GREEDY */
        ACTING_DETERMINISTIC, /* the action itself: ACT_DETERMINISTIC */
        ACTING_SQUASHED,      /* a density within the bounds: ACT_SQUASHED */
        ACTING_CONSISTENCY,   /* the action itself, out of noise: ACT_CONSISTENCY */
        ACTING_DIFFUSION,     /* the same: ACT_DIFFUSION */
} ActsBy;

/* What a network reads: the sum of some, joined in this order. */
enum {
        READS_OBSERVATION = 1 << 0,
        READS_ACTION = 1 << 1,
};

/* How a target, a second set of a network's parameters, follows the first. It begins as a copy. */
typedef enum Follows {
        FOLLOWS_NONE,    /* there is no target */
        FOLLOWS_COPY,    /* it becomes a copy now and then */
        FOLLOWS_AVERAGE, /* it goes Tau= of the way (Polyak averaging) */
        FOLLOWS_NEVER,   /* it stays as it began */
} Follows;

/* A network of an algorithm, or an ensemble: networks of one shape, each with parameters of its own. The
 * policy is the first of each algorithm, and has its shape from what it acts by; the others have the hidden
 * layers of HiddenLayers=, and behind them what they tell. */
typedef struct NetworkRow {
        const char *name;   /* in checkpoints; NULL: there are no more */
        const char *layers; /* in front of its layers' numbers */
        uint32_t reads;
        /* what its output tells. OUTPUT_VALUE: one number; OUTPUT_ACTION: as many as an action has */
        uint32_t tells;
        uint32_t n;      /* members of the ensemble */
        uint32_t passes; /* of each member and its target, at most, in one loss */
        uint32_t follows;
} NetworkRow;

#define NETWORKS_MAX 4u /* rows of an algorithm */

/* What an agent sees of the other agents: lib/company.h. */
typedef enum Company {
        COMPANY_NONE,
        COMPANY_MEANS, /* means over them */
        COMPANY_ALL,   /* their observations, which the value alone reads */
} Company;

typedef struct AlgorithmRow {
        uint32_t store;
        bool stale;   /* may learn from what an older version of the policy did */
        bool offline; /* learns from Dataset=: actors read episodes, and act in evaluations alone */
        bool online;  /* and, where no Dataset= is given, from what actors do */
        uint32_t acting_passes; /* where Passes= is unset; 0: the policy acts in one */
        uint32_t acting, company;
        bool regulated; /* learns beside a controller, inside an envelope: lib/regulation.h */
        bool pairs;     /* learns from pairs of rollouts that begin in one state: lib/pair.h */
        bool no_value;  /* the policy has probabilities alone, and estimates no value beside them */
        NetworkRow networks[NETWORKS_MAX];
} AlgorithmRow;

/* A set of parameters. Each member of each row has two numbers, in the order of the rows: its own, and the
 * one after it for its target. */
typedef uint32_t Net;

#define NETS_MAX  16u
#define NET_OF(k) (2u * (k)) /* the network with k members before it */

enum {
        NET_POLICY = NET_OF(0),
        NET_TARGET,
};

static inline bool net_is_target(Net net) {
        return net & 1;
}

static inline Net net_target_of(Net net) {
        return net | 1;
}

/* algorithm: a valid Algorithm_. */
const AlgorithmRow *algorithm_row(uint32_t algorithm);

/* The row that has this set of parameters, and which of its members' it is; or NULL. */
const NetworkRow *algorithm_net(uint32_t algorithm, Net net, uint32_t *ret_member);

/* The name of a set that there is, in checkpoints: "policy" and "target" of the first network; "critic",
 * "critic-target", "critic-2" and "critic-2-target" of an ensemble of two. */
#define NET_NAME_MAX 48
void algorithm_net_name(uint32_t algorithm, Net net, char ret[NET_NAME_MAX]);

/* The bytes that are kept from round to round. observation_bytes: of one observation; frames: how many of
 * its frames are kept apart; n_action: numbers in an action. */
uint64_t algorithm_store_bytes(
                const JobSettings *settings, uint64_t observation_bytes, uint32_t frames, uint64_t n_action);

/* Steps of each slot in a replay store of ReplaySize=. */
uint64_t algorithm_replay_steps(const JobSettings *settings);

/* The most steps of a pair's rollouts; 0: the algorithm has no pairs. */
uint32_t algorithm_pair_steps(const JobSettings *settings);

/* How often an update passes over its data, unless it ends early. */
uint32_t algorithm_epochs(const JobSettings *settings);

/* Passes= of the network for one action; 0: a policy that does not act by passes. */
uint32_t algorithm_acting_passes(const JobSettings *settings);

/* The chance of a random action of an algorithm that acts by values, after so many environment steps: it
 * goes from EpsilonStart= to EpsilonEnd= in a straight line (Mnih et al., Nature 2015, Methods). */
double algorithm_epsilon(const JobSettings *settings, uint64_t n_env_steps);

/* Rows of gradients that are computed for each row that actors bring, unless epochs end early. */
double algorithm_passes(const JobSettings *settings);

/* Whether the learner of this algorithm reads the key; all algorithms read a key that belongs to none. */
bool algorithm_uses(uint32_t algorithm, Setting setting);
