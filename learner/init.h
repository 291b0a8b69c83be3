/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The parameters that training begins with. */
#pragma once

#include "include/policy.h"
#include "include/settings.h"

/* Each layer from a random stream of its own, of those of network number `number` (0: the policy's); of
 * several learners, each every n_learners-th. 0 or -ENOMEM. */
int parameters_init(const JobSettings *settings, const Network *network, uint32_t number, uint32_t learner,
                uint32_t n_learners, float *ret);
