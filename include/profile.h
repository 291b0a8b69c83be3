/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the time of rounds goes, for a job with Profile=yes. Workers say in their answers what they spent
 * their time on, the invoker lays that out over the time that it waited for them, and leaves the sums as a
 * file in the job's state directory. */
#pragma once

/* Tables and layouts are aligned by hand. */
/* clang-format off */

#include <stdint.h>

/* `actord-learner LIMIT_OPTION N`, with N of KernelClass=: what one core reaches in matrix products, as
 * operations in a second, a line written to descriptor LIMIT_FD. */
#define LIMIT_OPTION "--limit"
enum { LIMIT_FD = 3 };

/* The profile of the life that closed a round last: a key file, [Profile] with the numbers of the lists
 * below. */
#define PROFILE_NAME "profile"

/* X(name, sentence). Together they are the wall time from the first round's begin to the last one's end,
 * each moment in one of them. */
#define PROFILE_PARTS(X)                                                                                \
        X(environment, "actors step, reset and restore their environments")                             \
        X(forward, "actors choose actions: the network's outputs, and draws from them")                 \
        X(wait,                                                                                         \
                "for actions that the learner chooses, the next lease, a checkpoint, an evaluation")    \
        X(wake, "orders and answers on their way between processes")                                    \
        X(validation, "rollouts are copied and checked, observations and rewards normalised")               \
        X(advantage, "values, advantages and minibatches: what precedes gradients")                     \
        X(gradient, "forward and backward passes of minibatches, and the sum of their parts")           \
        X(apply, "the gradient's norm, and Adam's step")                                                \
        X(publish, "the policy is hashed and handed to actors")                                         \
        X(curvature, "what a scheduler, or Curvature=, has measured")                                   \
        X(control, "the invoker decides, orders and records")                                           \
        X(metering, "the invoker reads counters of CPU time and memory")                                \
        X(rest, "what workers did that is in no other row")

typedef enum ProfilePart {
#define X(name, ...) PROFILE_##name,
        PROFILE_PARTS(X)
#undef X
        _PROFILE_PART_MAX,
} ProfilePart;

/* The parts that are mostly matrix products. Operations counted from shapes are compared with the time of
 * the whole part. */
#define PROFILE_PRODUCTS(X) X(forward) X(advantage) X(gradient)

typedef enum ProfileProduct {
#define X(name) PRODUCT_##name,
        PROFILE_PRODUCTS(X)
#undef X
        _PRODUCT_MAX,
} ProfileProduct;

typedef struct ProfileRate {
        uint64_t operations;                    /* multiplications and additions */
        uint64_t core_nsec;                     /* of all cores that shared them */
} ProfileRate;

/* A worker's report on one order; it is used for profiles only. */
typedef struct Spent {
        uint64_t busy_nsec;                     /* from the order to the answer */
        uint64_t nsec[_PROFILE_PART_MAX];       /* of that */
        ProfileRate rates[_PRODUCT_MAX];
} Spent;
