/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Facts about algorithms as data, for use outside of the learner: what an algorithm keeps between rounds,
 * and which keys it reads. */
#pragma once

#include <stdbool.h>

#include "include/settings.h"

typedef enum Store {
        STORE_ROLLOUT, /* the data of the current round only */
        STORE_BUFFER,  /* the data of the last BufferBatches= rounds */
        STORE_REPLAY,  /* the last ReplaySize= steps, each with its successor */
} Store;

/* The meaning of the network's outputs. */
typedef enum ActsBy {
        ACTING_DISTRIBUTION,  /* probabilities, or a density: ACT_CATEGORICAL, ACT_GAUSSIAN */
        ACTING_VALUES,        /* a value for each choice: ACT_EPSILON_GREEDY */
        ACTING_DETERMINISTIC, /* the action itself: ACT_DETERMINISTIC */
        ACTING_SQUASHED,      /* a density inside the bounds: ACT_SQUASHED */
        ACTING_CONSISTENCY,   /* the action itself, made out of noise: ACT_CONSISTENCY */
        ACTING_DIFFUSION,     /* the action itself, made out of noise: ACT_DIFFUSION */
} ActsBy;

/* The inputs of a network: a sum of these bits; the inputs are joined in this order. */
enum {
        READS_OBSERVATION = 1 << 0,
        READS_ACTION = 1 << 1,
};

/* How a target follows its network. A target is a second set of parameters of the network, and begins as a
 * copy. */
typedef enum Follows {
        FOLLOWS_NONE,    /* there is no target */
        FOLLOWS_COPY,    /* it becomes a copy from time to time */
        FOLLOWS_AVERAGE, /* each step it moves by the share Tau= towards the network (Polyak averaging) */
        FOLLOWS_NEVER,   /* it stays as it was at the start */
} Follows;

/* A network of an algorithm, or an ensemble: networks of one shape with separate parameters. The first row
 * of each algorithm is the policy. The policy's shape follows from how it acts. The other networks have the
 * hidden layers of HiddenLayers=, and then their outputs. */
typedef struct NetworkRow {
        const char *name;   /* its name in checkpoints; NULL: no further rows */
        const char *layers; /* the names of its layers, without the number */
        uint32_t reads;
        /* the meaning of its output. OUTPUT_VALUE: one number; OUTPUT_ACTION: as many as an action has */
        uint32_t tells;
        uint32_t n;      /* how many members the ensemble has */
        uint32_t passes; /* the most passes of each member and its target in one loss */
        uint32_t follows;
} NetworkRow;

#define NETWORKS_MAX 4u /* the most NetworkRows of an algorithm */

/* The data about other agents in an agent's observation (lib/company.h). */
typedef enum Company {
        COMPANY_NONE,
        COMPANY_MEANS, /* the means over the other agents */
        COMPANY_ALL,   /* the other agents' observations, which only the value network reads */
} Company;

typedef struct AlgorithmRow {
        uint32_t store;
        bool stale;   /* it may learn from rollouts of an older policy version */
        bool offline; /* it learns from Dataset=: actors read episodes, and act only in evaluations */
        bool online;  /* it also learns from rollouts, if there is no Dataset= */
        uint32_t acting_passes; /* the default of Passes=; 0: the policy acts in one pass */
        uint32_t acting, company;
        bool regulated; /* it learns together with a controller, inside an envelope: lib/regulation.h */
        bool pairs;     /* it learns from pairs of rollouts that begin in one state: lib/pair.h */
        bool no_value;  /* the policy has only probabilities, and no value is estimated */
        NetworkRow networks[NETWORKS_MAX];
} AlgorithmRow;

/* The number of a set of parameters. Sets are numbered in the order of the rows, and in a row by the members
 * of the ensemble. Each member has two numbers: the first for itself, and the next one for its target. */
typedef uint32_t Net;

#define NETS_MAX  16u
#define NET_OF(k) (2u * (k)) /* the Net of the k-th network; k counts the members of all rows */

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

/* The critic k, of JUDGES, that judges a policy's candidates: the target of member k of the second row. */
static inline Net net_judge(uint32_t k) {
        return net_target_of(NET_OF(1 + k));
}

/* The row of an algorithm. The number must be one of the Algorithm enum. */
const AlgorithmRow *algorithm_row(uint32_t algorithm);

/* The row to which this set of parameters belongs. *ret_member: which member of the row's ensemble has the
 * set. NULL: there is no such set. */
const NetworkRow *algorithm_net(uint32_t algorithm, Net net, uint32_t *ret_member);

/* The name of a set in checkpoints: "policy" and "target" of the first network; "critic", "critic-target",
 * "critic-2" and "critic-2-target" of an ensemble of two. */
#define NET_NAME_MAX 48
void algorithm_net_name(uint32_t algorithm, Net net, char ret[NET_NAME_MAX]);

/* The bytes of data that are kept from round to round. observation_bytes: the size of one observation;
 * frames: how many of its frames are stored separately; n_action: how many numbers an action has. */
uint64_t algorithm_store_bytes(
                const JobSettings *settings, uint64_t observation_bytes, uint32_t frames, uint64_t n_action);

/* How many steps of each slot a replay store of ReplaySize= holds. */
uint64_t algorithm_replay_steps(const JobSettings *settings);

/* How many windows of n_steps (NSteps=) begin in a slot of a replay store that keeps `capacity` steps, after
 * n_stored of them: none begins at its newest n_steps - 1 steps yet. */
uint64_t algorithm_slot_windows(uint64_t n_stored, uint64_t capacity, uint64_t n_steps);

/* The most steps that a rollout of a pair may have; 0: the algorithm has no pairs. */
uint32_t algorithm_pair_steps(const JobSettings *settings);

/* How often an update passes over its data, unless it ends early. */
uint32_t algorithm_epochs(const JobSettings *settings);

/* How many passes of the network (Passes=) make one action; 0: the policy does not act in passes. */
uint32_t algorithm_acting_passes(const JobSettings *settings);

/* The chance of a random action after n_env_steps, with n_windows in the replay store. 0: only the policy
 * itself is random, as it is with recorded episodes. A policy that does not choose by values is not used
 * before the store has ReplayMin= windows, from which its networks learn. An algorithm that reads
 * EpsilonStart= goes linearly from this to EpsilonEnd= (Mnih et al., Nature 2015, Methods). */
double algorithm_epsilon(const JobSettings *settings, uint64_t n_env_steps, uint64_t n_windows);

/* How often, on average, the learner computes a gradient from a row that an actor sent. It is less often if
 * epochs end early. */
double algorithm_passes(const JobSettings *settings);

/* Whether the learner of this algorithm reads the key. A key without a row of its own is read by all
 * algorithms. */
bool algorithm_uses(uint32_t algorithm, Setting setting);
