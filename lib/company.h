/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What an agent sees of the other agents, where an algorithm asks for it: behind its own observation lie the
 * mean of the others' observations, and the mean of their newest actions. Its length is the same for any
 * number of agents, so that a policy trained with some acts among more ("SIMPPO: A Scalable and Incremental
 * Online Learning Framework for Serverless Resource Management", Qiu et al., SoCC 2022). Where actions are
 * choices, the mean has a number for each choice: the share of the others that took it. An agent without
 * others sees zeros there, as each agent does for actions in the first step of an episode.
 *
 * Or behind its own lie the observations of the others, of the agent with the next number first and after
 * the last agent the first, which an algorithm's value reads and its policy does not: a centralised critic
 * ("The Surprising Effectiveness of PPO in Cooperative Multi-Agent Games", Yu et al., NeurIPS 2022). Such a
 * value has one shape for one number of agents. If the environment has a state that all agents share, that
 * takes the place of the others' observations.
 *
 * Means are over the agents that are there.
 *
 * Everything but the environment itself works on the joined observation, as if the environment had written
 * it. */
#pragma once

#include "include/settings.h"
#include "include/slot.h"

/* The spec of the joined observation, whose bounds hold the means too; or the same spec, where the algorithm
 * asks for nothing. 0; -ECHRNG: the observation is not of floats, or a stack of frames; -E2BIG. */
int company_spec(const JobSettings *settings, const ActordEnvSpec *spec, ActordEnvSpec *ret);

typedef struct CompanyIn {
        const float *own;      /* [n_agents][page->n_own] */
        const float *shared;   /* [n_shared]; not read where there is none, or it is not joined */
        const void *actions;   /* [n_agents] as the environment got them; NULL: before the first step */
        const uint8_t *active; /* [n_agents]: which are there */
        const uint8_t *acted;  /* [n_agents]: which were there when they acted */
} CompanyIn;

/* ret: float [n_agents][joined]. */
void company_join(const JobSettings *settings, const JobPage *page, const CompanyIn *in, float *ret);
