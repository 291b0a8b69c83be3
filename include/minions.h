/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The file of a trained scheduler: MinionsModel, then the network's parameters. Decisions need only the
 * policy's half of the parameters. The critic's half is needed to continue the training from this file
 * (actorctl scheduler train --from). Each layer's weights come before its biases. A daemon may get the file
 * from a hostile user, so lib/minions.c refuses a file whose size does not follow exactly from its head.
 * Numbers are little-endian. */
#pragma once

/* Tables and layouts are aligned by hand. */
/* clang-format off */

#include <assert.h>
#include <stdint.h>
#include "include/settings.h"

#define MINIONS_MAGIC 0x736e6f696e696d00ull
#define MINIONS_ABI 2u
#define MINIONS_UNITS 64u               /* units in each of the two hidden layers (Yu et al., AAAI 2024) */
#define MINIONS_SUFFIX ".minions"       /* of an installed scheduler's file name */

/* X(NAME): the state of MinionsRL's scheduler, in the order of its paper. A fixed function brings each
 * number between -1 and 1; job.conf(5) lists these functions. (The paper gives no scales.) A trained network
 * is useless with other functions. KL differs from the paper. The paper has D_KL of the newest two policies.
 * Here KL is d, the statistic kl (include/record.h): the divergence from the policy that acted is estimated
 * before each step of the round, and d is the mean of these estimates. For equal steps in one direction, d
 * is about a third of the paper's value; for a single step it is 0. */
#define MINIONS_FEATURES(X)                                                                             \
        X(ROUND)                /* k: k / (k + 20) */                                                   \
        X(LOSS)                 /* L of the round before: L / (1 + |L|) */                              \
        X(RETURN)               /* R of the round before: R / (|R| + |J|); -1 while there is none */    \
        X(KL)                   /* d of the round before: d / (d + 0.01); 0 if it was not measured */   \
        X(LEARNER_TIME)         /* t = P^l of the round before: lg(1 + t / ms) / 6 */                   \
        X(ACTOR_TIME)           /* mean P^a of the round before, scaled like LEARNER_TIME */            \
        X(ROUND_TIME)           /* P of the round before, scaled like LEARNER_TIME */                   \
        X(BUDGET)               /* b: the share of the budget that is left */

typedef enum MinionsFeature {
#define X(NAME) MINIONS_##NAME,
        MINIONS_FEATURES(X)
#undef X
        MINIONS_N_FEATURES,
} MinionsFeature;

typedef struct MinionsModel {
        uint64_t magic;
        uint32_t abi, struct_bytes;
        uint32_t n_choices;                     /* numbers of actors, 1 .. n_choices */
        uint32_t n_asked;                       /* if training was interrupted: the runs asked for; else 0 */
        double target;                          /* J: the return with which RETURN is compared */
        /* The scheduler's origin, in words for people, each NUL-terminated. */
        char job[128];                          /* the inner job's file and environment */
        char environment[64];
        char currency[16], price_sheet[64];
        uint64_t seed, n_episodes, n_rounds;    /* inner runs, and their rounds */
        uint64_t wall_nsec, emulated_nsec;      /* of the whole training */
        uint64_t trained_usec;                  /* when it was trained, since 1970 */
        double beta, cost_paper, cost_full;     /* cost: the training's own bill */
        /* The scheduler with which the training began, and the sums over all trainings that led to that
         * scheduler. An empty name: the training began with none. */
        char start[128], start_environment[64];
        uint64_t start_episodes, start_wall_nsec;
        double start_paper, start_full;         /* in the same currency */
} MinionsModel;
static_assert(sizeof(MinionsModel) == 32 + 272 + 48 + 24 + 192 + 32, "ABI");

#define MINIONS_HALF(n_out)                                                             \
        ((uint64_t) (MINIONS_N_FEATURES + 1) * MINIONS_UNITS +                          \
         (uint64_t) (MINIONS_UNITS + 1) * MINIONS_UNITS + (uint64_t) (MINIONS_UNITS + 1) * (n_out))
#define MINIONS_PARAMETERS(n_choices) (MINIONS_HALF(n_choices) + MINIONS_HALF(1))
#define MINIONS_BYTES_MAX (sizeof(MinionsModel) + MINIONS_PARAMETERS(ACTORS_MAX) * sizeof(float))
