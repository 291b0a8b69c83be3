/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* [Scaling] Shares=: what a job that trades CPU weight observes, and which actions it has. The environment
 * `shares` trains a policy on these observations, and the daemon decides by that policy. Both compute the
 * observations with lib/shares.c, so a policy sees the same numbers in the daemon as in training. */
#pragma once

/* Tables and layouts are aligned by hand. */
/* clang-format off */

#include <stdint.h>

#define SHARES_SUFFIX ".safetensors"    /* the end of the name of a policy's file */
#define SHARES_NAME_MAX 64u
#define SHARES_FILE_MAX (4u << 20)      /* bytes of a policy's file */
#define SHARES_LAYERS_MAX 4u            /* hidden layers of a policy */
#define SHARES_UNITS_MAX 512u           /* units of a hidden layer */

/* A job bids for the CPU with a weight. A move up multiplies the weight by SHARES_FACTOR; a move down
 * divides it. */
#define SHARES_WEIGHT_MIN 10u
#define SHARES_WEIGHT_DEFAULT 100u      /* the kernel's, for a cgroup whose weight is not set */
#define SHARES_WEIGHT_MAX 1000u
#define SHARES_FACTOR 1.5
#define SHARES_KERNEL_MAX 10000u        /* the kernel's largest cpu.weight; the smallest is 1 */

/* X(NAME): the observation of a job, in this order, each between 0 and 1. "It" is the job. A trained policy
 * is useless with other features. */
#define SHARES_FEATURES(X)                                                                              \
        X(TIME_LEFT)            /* the share of the time until its deadline that is left; 1: it has none */ \
        X(WORK_LEFT)            /* the share of its work that is left */                                \
        X(PACE)                 /* n / (n + g), n the speed that it needs, g the speed that it has; */  \
                                /* above 0.5 the job will be late; 0: it has no deadline */             \
        X(WEIGHT)               /* its bid for CPU weight (daemon/trade.h), on a logarithmic scale */   \
        X(DEMAND)               /* the share of the host's CPUs that it could use */                    \
        X(CROWD)                /* the share of the traders' demand for CPUs that the host cannot meet */

typedef enum SharesFeature {
#define X(NAME) SHARES_##NAME,
        SHARES_FEATURES(X)
#undef X
        SHARES_N_FEATURES,
} SharesFeature;

typedef enum SharesAction { SHARES_DOWN, SHARES_SAME, SHARES_UP, SHARES_N_ACTIONS } SharesAction;

/* A policy of Algorithm=simppo also reads the means of the others' observations, and the share of the others
 * that took each action (lib/company.h). */
#define SHARES_N_INPUTS (2u * SHARES_N_FEATURES + SHARES_N_ACTIONS)

/* The figures of one job from which its features are computed. */
typedef struct SharesJob {
        double time_left, work_left;
        double needed, got;                     /* speeds in the same unit; needed 0: it has no deadline */
        double demand;                          /* CPUs that it could use */
        uint32_t weight, reserved;              /* weight: the job's bid */
} SharesJob;
