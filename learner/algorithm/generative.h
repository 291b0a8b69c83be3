/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The parts shared by policies that make an action from noise (lib/sampler.h) and learn beside two critics:
 * consistency, diffusion-ql, pi-ft. Each minimises the mean of
 *
 *   distance - Eta= * Q_j(s, f(s)) / mean of |Q_i(s, f(s))|
 *
 * where f(s) is an action that the policy samples, and i and j are the two critics, by turns. The gradient
 * goes through f(s). Each algorithm has its own `distance`. */
#pragma once

#include "learner/algorithm/critics.h"
#include "lib/sampler.h"

enum {
        GENERATIVE_TAKEN = CRITICS_STATE, /* state: gradient steps so far */
};

/* An action that a policy samples. */
typedef struct Sample {
        Node share;      /* from -1 to 1 */
        Node divergence; /* how far its passes are from those of NET_TARGET, added up; only if the
                          * Generator `diverges` */
} Sample;

typedef struct Generator Generator;

/* Records the distance of a row, one number. `sampled` is the policy's action. */
typedef Node (*Distance)(Tape *tape, const Generator *generator, const Sample *sampled);

struct Generator {
        const Network *policy;
        Distance distance; /* NULL: there is none */
        bool diverges;     /* samples include their divergence from the passes of NET_TARGET */
        Net teacher;       /* the network whose actions the critics' targets use */
        SamplerPass passes[PASSES_MAX];
        Net judge, scale; /* Q_j, Q_i */
        double q_weight;
};

/* Takes one step of the critics and of the policy. The caller sets policy, distance, diverges and teacher of
 * the generator, and this function its other members. */
int generative_step(Runtime *runtime, uint32_t draw, Generator *generator, CriticSteps *steps);

/* For recorded actions */

/* A recorded action, scaled so that the bounds of the action space are -1 and 1. */
Node generative_recorded(Tape *tape, const Network *policy);
/* A Moment (lib/sampler.h) has the factors for one time of the noise process. Each row has two Moments; with
 * ACT_DIFFUSION only the first is set. This is one factor of one of them, repeated in `width` columns.
 * moment: 0 or 1; which: MOMENT_…. */
Node generative_number(Tape *tape, uint32_t moment, uint32_t which, uint32_t width);
/* The recorded action a mixed with the row's noise z: signal a + noise z. The row's Moment has signal and
 * noise (lib/sampler.h). */
Node generative_noised(Tape *tape, const Network *policy, Node recorded, uint32_t moment);
/* The output F (lib/sampler.h) of network `net` for the action `noised`. moment: the index of the row's
 * Moment. */
Node generative_network(Tape *tape, Net net, const Network *policy, Node noised, uint32_t moment);

bool generative_possible(const double state[ALGORITHM_STATE_MAX]);
