/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* "The Surprising Effectiveness of PPO in Cooperative Multi-Agent Games" (Yu et al., NeurIPS 2022): PPO in
 * which the value reads the observations of all agents, and the policy only its own agent's. lib/company.h
 * joins the observations and lib/network.c lets each network read its part, so this file is plain PPO. */
#include "learner/algorithm/ppo.h"

const Algorithm algorithm_MAPPO = {
        .name = "mappo",
        .init = ppo_init,
        .learn = ppo_learn,
        .loss = ppo_plain,
};
