/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* "SIMPPO: A Scalable and Incremental Online Learning Framework for Serverless Resource Management" (Qiu et
 * al., SoCC 2022): PPO in which each agent's policy and value read the agent's own observation and the means
 * of the other agents' observations and actions (mean field). So their input has the same length for any
 * number of agents. lib/company.h makes that input, so this file is plain PPO. */
#include "learner/algorithm/ppo.h"

const Algorithm algorithm_SIMPPO = {
        .name = "simppo",
        .init = ppo_init,
        .learn = ppo_learn,
        .loss = ppo_plain,
};
