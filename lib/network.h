/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes the network, as data, from settings and spec. Pure. Layers are named as CleanRL and
 * Stable-Baselines3 name them: actor_mean.0.weight … */
#pragma once

#include "include/policy.h"
#include "include/settings.h"
#include "lib/algorithm-traits.h"

/* 0; -EINVAL: our policies cannot act on these spaces; -EOPNOTSUPP: the algorithm needs discrete actions;
 * -EPROTOTYPE: it needs continuous ones; -EDOTDOT: it learns no action of several choices;
 * -ERANGE: they need bounds; -EBADR: PolicyLinkEditing= has another size than the policy's inputs, or there
 * are too many of them;
 * -EDOM: the observation is not an image, or too small for the convolutions; -E2BIG. */
int network_derive(const JobSettings *settings, const ActordEnvSpec *spec, Network *ret);

/* A network beside the policy: 0, -EINVAL, -E2BIG; -EILSEQ: LinkEditing= has another size than its
 * inputs, or there are too many of them. */
int network_derive_beside(
                const JobSettings *settings, const Network *policy, const NetworkRow *row, Network *ret);

/* Whether each monomial of an edited network is of the observation's numbers. */
bool network_edit_possible(const Network *network);

/* How many frames of an observation a learner keeps apart, each once: those of images. Other observations
 * are kept whole. */
static inline uint32_t network_frames(const Network *network, const ActordEnvSpec *spec) {
        return network->pixels && spec->stack > 0 ? spec->stack : 1;
}

/* The bytes of an observation as learners keep it: bytes as they are, other types as floats. */
static inline uint64_t network_observation_bytes(const Network *network) {
        return network->n_observation * (network->pixels ? sizeof(uint8_t) : sizeof(float));
}

/* Whether actions are numbers of a BOX, float [n_action]; else choices, int32_t [n_choices]. */
static inline bool act_is_continuous(uint32_t act) {
        return act == ACT_GAUSSIAN || act == ACT_DETERMINISTIC || act == ACT_SQUASHED || act_passes(act);
}

/* The layer with this output (the first), or NULL. */
const Layer *network_output(const Network *network, LayerOutput output);

/* The layers that an action needs, which leaves out those for the value alone: bit i is layer i. */
uint64_t network_acting_layers(const Network *network);

/* Whether a policy can scale its output to these bounds: finite numbers, one below the other, as floats
 * too, which actions are. */
bool action_bounds_possible(double low, double high);
