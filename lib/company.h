/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The part of an agent's observation that is about the other agents, if the algorithm asks for it. The first
 * kind are means: after the agent's own observation come the mean of the others' observations and the mean
 * of their newest actions. The length does not depend on the number of agents, so a policy can be trained
 * with some agents and act among more ("SIMPPO: A Scalable and Incremental Online Learning Framework for
 * Serverless Resource Management", Qiu et al., SoCC 2022). If actions are choices, the mean has a number for
 * each choice: the share of the other agents that took it. All means are 0 for an agent without other
 * agents, and the means of actions are 0 in the first step of an episode.
 *
 * The second kind is for a centralised critic: after the agent's own observation come those of the others,
 * in the order of their numbers, from the next agent to the last and then from the first. The algorithm's
 * value network reads them, and its policy does not ("The Surprising Effectiveness of PPO in Cooperative
 * Multi-Agent Games", Yu et al., NeurIPS 2022). The shape of such a value network depends on the number of
 * agents. If all agents of the environment share a state, this state takes the place of the others'
 * observations.
 *
 * Means are taken over the agents that are present.
 *
 * All other code works on the joined observation, as if the environment had written it. */
#pragma once

#include "include/settings.h"
#include "include/slot.h"

/* Makes the spec of the joined observation, with bounds for the means. If the algorithm reads no data of
 * other agents, *ret equals *spec. 0; -ECHRNG: the observation has no floats, or is a stack of frames;
 * -E2BIG: it has too many numbers. */
int company_spec(const JobSettings *settings, const ActordEnvSpec *spec, ActordEnvSpec *ret);

typedef struct CompanyIn {
        const float *own;      /* [n_agents][page->n_own] */
        const float *shared;   /* [n_shared]; not read if it is not part of the observation */
        const void *actions;   /* [n_agents], as the environment got them; NULL: before the first step */
        const uint8_t *active; /* [n_agents]: which agents are present */
        const uint8_t *acted;  /* [n_agents]: which agents were present when `actions` were chosen */
} CompanyIn;

/* The mean of a number over an agent's n_others others, clamped to [low, high]; 0: it has no others.
 * sum: the number's sum over all agents; own: the agent's part of the sum. */
float company_mean(double sum, double own, uint32_t n_others, double low, double high);

/* Writes each agent's joined observation. ret: float [n_agents][joined]. */
void company_join(const JobSettings *settings, const JobPage *page, const CompanyIn *in, float *ret);
