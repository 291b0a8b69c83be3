/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A policy that acts by several passes of one network, each of which takes noise out of an action:
 * "Consistency Models" (Song et al., ICML 2023), as "Consistency Models as a Rich and Efficient Policy Class
 * for Reinforcement Learning" (Ding & Jin, ICLR 2024) acts by them.
 *
 *   f(s, x, t) = c_skip(t) x + c_out(t) F(s, c_in(t) x, t)
 *
 * is the action of which noise of standard deviation t made x; f(s, x, SAMPLER_LEAST) = x. Actions are
 * shares of half the space, -1 to 1. Pure. */
#pragma once

#include <stdint.h>

#include "include/policy.h"

#define SAMPLER_LEAST 0.002 /* epsilon */
#define SAMPLER_MOST  80.0  /* T */

/* What a network and a loss need of a time t. */
typedef struct Moment {
        float time;
        float skip, out, in;             /* c_skip(t), c_out(t), c_in(t) */
        float embedding[TIME_EMBEDDING]; /* sines, then cosines, of 250 log(t) at falling frequencies */
} Moment;

/* As columns for a tape: time, skip, out, in, then the embedding. */
enum {
        MOMENT_TIME,
        MOMENT_SKIP,
        MOMENT_OUT,
        MOMENT_IN,
        MOMENT_EMBEDDING,
        MOMENT_NUMBERS = MOMENT_EMBEDDING + TIME_EMBEDDING,
};

void moment_of(double time, Moment *ret);

/* The time of pass k, of n: T first, then equal steps down to 2, as the authors' code has it. */
double sampler_time(uint32_t n, uint32_t k);

/* The standard deviation of the noise that is added before a pass at this time but the first:
 * sqrt(t^2 - epsilon^2). */
double sampler_spread(double time);

/* Boundary k of n, 0 to n - 1: (epsilon^(1/7) + k / (n - 1) (T^(1/7) - epsilon^(1/7)))^7, after Karras et
 * al. (2022). */
double sampler_boundary(uint32_t n, uint32_t k);

/* How many boundaries there are at this share of the training: ceil(sqrt(share (150^2 - 4) + 4) - 1) + 1. */
uint32_t sampler_boundaries(double share);
