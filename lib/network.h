/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes the network from settings and spec, as data. Pure. Layers have the names of CleanRL and
 * Stable-Baselines3: actor_mean.0.weight … */
#pragma once

#include "include/policy.h"
#include "include/settings.h"
#include "lib/algorithm-traits.h"

/* 0; -EINVAL: actord's policies cannot act on these spaces, or a layer has no units; -EOPNOTSUPP: the
 * algorithm needs discrete actions; -EPROTOTYPE: it needs continuous ones; -EDOTDOT: it cannot learn actions
 * of several choices; -ERANGE: continuous actions need bounds; -EBADR: PolicyLinkEditing= has another size
 * than the policy's inputs or keeps none of them, or there are too many inputs; -EDOM: the observation is
 * not an image, or is too small for the convolutions; -E2BIG: the network is too large. */
int network_derive(const JobSettings *settings, const ActordEnvSpec *spec, Network *ret);

/* Makes a network other than the policy, such as a critic. 0; -EINVAL: a layer has no units; -E2BIG: the
 * network is too large; -EILSEQ: LinkEditing= has another size than the inputs or keeps none of them, or
 * there are too many inputs. */
int network_derive_beside(
                const JobSettings *settings, const Network *policy, const NetworkRow *row, Network *ret);

/* Makes the network of the critics that judge candidates: the targets of the algorithm's critics
 * (net_judge()). It has no layers if the policy has one candidate. Errors are those of
 * network_derive_beside(). */
int network_derive_judge(const JobSettings *settings, const Network *policy, Network *ret);

/* Whether the monomials of an edited network use only numbers that the observation has. */
bool network_edit_possible(const Network *network);

/* How many frames of an observation a learner stores separately. It does this for images, so that each frame
 * is stored once. Other observations are stored whole. */
static inline uint32_t network_frames(const Network *network, const ActordEnvSpec *spec) {
        return network->pixels && spec->stack > 0 ? spec->stack : 1;
}

/* The bytes of an observation as learners store it: bytes stay bytes, other types become floats. */
static inline uint64_t network_observation_bytes(const Network *network) {
        return network->n_observation * (network->pixels ? sizeof(uint8_t) : sizeof(float));
}

/* Whether actions are values of a BOX, float [n_action]. Otherwise they are choices, int32_t [n_choices]. */
static inline bool act_is_continuous(uint32_t act) {
        return act == ACT_GAUSSIAN || act == ACT_DETERMINISTIC || act == ACT_SQUASHED || act_passes(act);
}

/* The first layer with this output; NULL: there is none. */
const Layer *network_output(const Network *network, LayerOutput output);

/* The layers that an action needs: bit i is layer i. Layers that only the value needs are left out. */
uint64_t network_acting_layers(const Network *network);

/* Whether a policy can scale its output to these bounds: both are finite, and as floats (the type of
 * actions) the lower bound is below the upper one. */
bool action_bounds_possible(double low, double high);
