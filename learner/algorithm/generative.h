/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What policies have in common that make an action of noise (lib/sampler.h) and learn beside two critics:
 * consistency, diffusion-ql, pi-ft. Each descends the mean of
 *
 *   distance - Eta= * Q_j(s, f(s)) / mean of |Q_i(s, f(s))|
 *
 * where f(s) is an action that the policy samples, through which the gradient goes, and i and j are the two
 * critics, by turns. They differ in what the policy keeps a distance to. */
#pragma once

#include "learner/algorithm/critics.h"
#include "lib/sampler.h"

enum {
        GENERATIVE_TAKEN = CRITICS_STATE, /* state: gradient steps so far */
};

/* An action that a policy samples. */
typedef struct Sample {
        Node share;      /* -1 to 1 */
        Node divergence; /* from NET_TARGET's, along the passes; if it was asked for */
} Sample;

typedef struct Generator Generator;

/* Records the distance of a row: one number. `sampled` is what the policy makes. */
typedef Node (*Distance)(Tape *tape, const Generator *generator, const Sample *sampled);

struct Generator {
        const Network *policy;
        Distance distance; /* NULL: there is none */
        bool diverges;     /* samples say how far they are from the target's */
        Net teacher;       /* whose actions the critics' targets are made of */
        SamplerPass passes[PASSES_MAX];
        Net judge, scale; /* Q_j, Q_i */
        double q_weight;
};

/* One step of the critics and of the policy. Sets all but the first four members. */
int generative_step(Runtime *runtime, uint32_t draw, Generator *generator, CriticSteps *steps);

/* For recorded actions */

/* A recorded action as a share of half the space. */
Node generative_recorded(Tape *tape, const Network *policy);
/* A number of the row's first or second Moment, in each of `width` columns. */
Node generative_number(Tape *tape, uint32_t moment, uint32_t which, uint32_t width);
/* That action with the row's noise, as much as its moment has. */
Node generative_noised(Tape *tape, const Network *policy, Node recorded, uint32_t moment);
/* F of it. */
Node generative_network(Tape *tape, Net net, const Network *policy, Node noised, uint32_t moment);

bool generative_possible(const double state[ALGORITHM_STATE_MAX]);
double generative_epsilon(const JobSettings *settings, uint64_t n_env_steps, uint64_t n_windows);
