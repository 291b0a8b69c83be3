/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A policy that acts by several passes of one network. Each pass removes noise from an action. A pass is one
 * row of numbers:
 *
 *   x = x + spread z,  a = clamp(skip x + out F(s, in x, time)),  x = keep x + take a
 *
 * where F is the network, z is new noise, and a is an estimate of the action without noise. After the last
 * pass, x is the action. Two kinds of policy differ only in these numbers:
 *
 * ACT_CONSISTENCY: "Consistency Models" (Song et al., ICML 2023), used as in "Consistency Models as a Rich
 * and Efficient Policy Class for Reinforcement Learning" (Ding & Jin, ICLR 2024). x is an action with noise
 * of standard deviation t. f(s, x, t) = skip x + out F estimates the action, and f(s, x, SAMPLER_LEAST) = x.
 *
 * ACT_DIFFUSION: "Denoising Diffusion Probabilistic Models" (Ho et al., NeurIPS 2020), used as in "Diffusion
 * Policies as an Expressive Policy Class for Offline Reinforcement Learning" (Wang, Hunt & Zhou, ICLR 2023).
 * x is sqrt(abar) times an action, plus noise of variance 1 - abar. F estimates this noise.
 *
 * Actions are scaled: -1 and 1 are the bounds of the action space. Pure. */
#pragma once

#include <stdint.h>

#include "include/policy.h"

#define SAMPLER_LEAST 0.002 /* epsilon */
#define SAMPLER_MOST  80.0  /* T */

/* The factors that a network and a loss need at one time of the noise process. An action with noise is
 * signal * action + noise * z, where z is a standard normal number. */
typedef struct Moment {
        float signal, noise;
        float skip, out, in;             /* c_skip(t), c_out(t) and c_in(t) of the papers */
        float embedding[TIME_EMBEDDING]; /* sines, then cosines, at falling frequencies */
} Moment;

/* A Moment as columns of a tape (learner/tape/tape.h): column 0 is its signal, and so on; the embedding has
 * the last columns. */
enum {
        MOMENT_SIGNAL,
        MOMENT_NOISE,
        MOMENT_SKIP,
        MOMENT_OUT,
        MOMENT_IN,
        MOMENT_EMBEDDING,
        MOMENT_NUMBERS = MOMENT_EMBEDDING + TIME_EMBEDDING,
};

/* One pass of the sampler. */
typedef struct SamplerPass {
        Moment moment;
        float spread;     /* standard deviation of the noise that is added first */
        float keep, take; /* 0 and 1: the estimate is the action */
        /* ACT_DIFFUSION: the divergence between the passes of two networks is this factor times the squared
         * distance of their outputs, if the noise of the step has the whole variance beta. The factor is
         * beta / (2 alpha (1 - abar)), as in equation (12) of Ho et al. */
        float divergence;
} SamplerPass;

/* Computes the numbers of pass k of n for ACT_CONSISTENCY or ACT_DIFFUSION. */
void sampler_pass(uint32_t act, uint32_t n, uint32_t k, SamplerPass *ret);

/* Computes the factors of ACT_CONSISTENCY for an action whose noise has the standard deviation `time`. */
void moment_of(double time, Moment *ret);

/* ACT_CONSISTENCY: the time of pass k of n: SAMPLER_MOST for the first, then equal steps down to 2, as in
 * the authors' code. */
double sampler_time(uint32_t n, uint32_t k);

/* The standard deviation of the noise that is added to an action before a pass at time t: sqrt(t^2 -
 * SAMPLER_LEAST^2). Before the first pass it is SAMPLER_MOST instead. */
double sampler_spread(double time);

/* Boundary k of n, 0 to n - 1: (epsilon^(1/7) + k / (n - 1) (T^(1/7) - epsilon^(1/7)))^7, after Karras et
 * al. (2022). */
double sampler_boundary(uint32_t n, uint32_t k);

#define SAMPLER_BOUNDARIES_MAX 150u

/* The number of boundaries (noise levels) when this share of the training is done: 2 at first,
 * SAMPLER_BOUNDARIES_MAX at the end; with max for that: ceil(sqrt(share (max^2 - 4) + 4) - 1) + 1. */
uint32_t sampler_boundaries(double share);

/* ACT_DIFFUSION: the variance that step i of n adds to actions, i from 1 to n; beta_i = 1 - exp(-0.1 / n -
 * 0.5 (10 - 0.1) (2 i - 1) / n^2), as Wang et al. (2023) take it from "Tackling the Generative Learning
 * Trilemma with Denoising Diffusion GANs" (Xiao et al., ICLR 2022). diffusion_left(): abar, the product of 1
 * - beta_j for j from 1 to i. */
double diffusion_beta(uint32_t n, uint32_t i);
double diffusion_left(uint32_t n, uint32_t i);

/* Computes the moment of an action to which steps 1 to i of n have added noise. */
void diffusion_moment(uint32_t n, uint32_t i, Moment *ret);
