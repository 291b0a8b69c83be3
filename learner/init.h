/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The initial parameters of networks. */
#pragma once

#include "include/policy.h"
#include "include/settings.h"

/* Initialises parameters. Each layer has its own random stream, which depends on the network's `number` (0:
 * the policy's). If there are several learners, each initialises every n_learners-th layer. 0 or -ENOMEM. */
int parameters_init(const JobSettings *settings, const Network *network, uint32_t number, uint32_t learner,
                uint32_t n_learners, float *ret);
