/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shows where the time of rounds goes, for a job with Profile=yes. Workers report in their answers how they
 * used their time. The invoker divides the time for which it waited for workers in the same proportions, and
 * writes the sums into a file in the job's state directory. */
#pragma once

/* Tables and layouts are aligned by hand. */
/* clang-format off */

#include <stdint.h>

/* `actord-learner LIMIT_OPTION N`, where N is a KernelClass, measures the speed of one core in matrix
 * products. It writes a line with the operations per second to descriptor LIMIT_FD. */
#define LIMIT_OPTION "--limit"
enum { LIMIT_FD = 3 };

/* The profile of a job since its processes last started and completed a round: a key file with a section
 * [Profile] and the numbers of the lists below. */
#define PROFILE_NAME "profile"

/* X(name, sentence). The parts add up to the wall time from the beginning of the first round to the end of
 * the last; each moment belongs to exactly one part. */
#define PROFILE_PARTS(X)                                                                             \
        X(environment, "actors step, reset and restore their environments")                          \
        X(forward, "actors choose actions: the network's outputs, and draws from them")              \
        X(wait,                                                                                      \
                "for actions that the learner chooses, the next lease, a checkpoint, an evaluation") \
        X(wake, "orders and answers on their way between processes")                                 \
        X(validation, "rollouts are copied and checked, observations and rewards normalised")        \
        X(advantage, "values, advantages and minibatches: what precedes gradients")                  \
        X(gradient, "forward and backward passes of minibatches, and the sum of their parts")        \
        X(apply, "the gradient's norm, and Adam's step")                                             \
        X(publish, "the policy is hashed and handed to actors")                                      \
        X(curvature, "measurements for a scheduler or for Curvature=")                               \
        X(control, "the invoker decides, orders and records")                                        \
        X(metering, "the invoker reads counters of CPU time and memory")                             \
        X(rest, "time of workers that is in no other row")

typedef enum ProfilePart {
#define X(name, ...) PROFILE_##name,
        PROFILE_PARTS(X)
#undef X
        _PROFILE_PART_MAX,
} ProfilePart;

/* The parts that are mostly matrix products. Their operations are counted from shapes, and compared with the
 * time of the whole part. */
#define PROFILE_PRODUCTS(X) X(forward) X(advantage) X(gradient)

typedef enum ProfileProduct {
#define X(name) PRODUCT_##name,
        PROFILE_PRODUCTS(X)
#undef X
        _PRODUCT_MAX,
} ProfileProduct;

typedef struct ProfileRate {
        uint64_t operations;                    /* multiplications and additions */
        uint64_t core_nsec;                     /* of all cores that took part */
} ProfileRate;

/* A worker's report on one order; it is used for profiles only. */
typedef struct Spent {
        uint64_t busy_nsec;                     /* from the order to the answer */
        uint64_t nsec[_PROFILE_PART_MAX];       /* parts of busy_nsec */
        ProfileRate rates[_PRODUCT_MAX];
} Spent;
