/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What an agent sees of the other agents, if the algorithm asks for it. Its own observation is followed by
 * the mean of the others' observations and the mean of their newest actions. The length is the same for any
 * number of agents, so a policy that was trained with some agents can act among more ("SIMPPO: A Scalable
 * and Incremental Online Learning Framework for Serverless Resource Management", Qiu et al., SoCC 2022).
 * Where actions are choices, the mean has a number for each choice: the share of the others that took it. An
 * agent without others sees zeros there, as each agent does for actions in the first step of an episode.
 *
 * Or an agent's own observation is followed by those of the others, in the order of their numbers, from the
 * next agent to the last and then from the first. The algorithm's value network reads them and its policy
 * does not: a centralised critic ("The Surprising Effectiveness of PPO in Cooperative Multi-Agent Games", Yu
 * et al., NeurIPS 2022). The shape of such a value network depends on the number of agents. If the
 * environment has a state that all agents share, this state takes the place of the others' observations.
 *
 * Means are taken over the agents that are present.
 *
 * All other code works on the joined observation, as if the environment had written it. */
#pragma once

#include "include/settings.h"
#include "include/slot.h"

/* The spec of the joined observation, whose bounds include the means; or the same spec, if the algorithm
 * reads nothing of other agents. 0; -ECHRNG: the observation has no floats, or is a stack of frames;
 * -E2BIG. */
int company_spec(const JobSettings *settings, const ActordEnvSpec *spec, ActordEnvSpec *ret);

typedef struct CompanyIn {
        const float *own;      /* [n_agents][page->n_own] */
        const float *shared;   /* [n_shared]; not read if it is not part of the observation */
        const void *actions;   /* [n_agents], as the environment got them; NULL: before the first step */
        const uint8_t *active; /* [n_agents]: which agents are present */
        const uint8_t *acted;  /* [n_agents]: which agents were present when they acted */
} CompanyIn;

/* ret: float [n_agents][joined]. */
void company_join(const JobSettings *settings, const JobPage *page, const CompanyIn *in, float *ret);
