/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A linear controller beside the policy, and an envelope in which both should keep the state:
 * "Physics-Regulated Deep Reinforcement Learning: Invariant Embeddings" (Cao, Mao, Sha and Caccamo, ICLR
 * 2024). s is the state, which is the observation. s+ is the state after a step. A prime transposes.
 *
 *     model      s+ = A s + B a, for the action a
 *     controller a = F s, so s+ = S s, with S = A + B F
 *     envelope   s' P s <= 1, with P positive definite
 *     action     policy(s) + ControllerGain F s, within the bounds of the space
 *     reward     s' H s - s+' P s+, with H = S' P S
 *     monitor    reward >= Alpha - 1
 *
 * The matrices must have H <= Alpha P. So if s is inside the envelope, and the reward of the step meets the
 * monitor's bound, s+ is inside, too:
 *
 *     s+' P s+ = s' H s - reward <= Alpha s' P s + 1 - Alpha <= 1 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "include/settings.h"
#include "include/slot.h"

typedef struct Regulation {
        const JobSettings *settings;
        const ActordEnvSpec *spec;
        uint32_t n_state, n_action;
        double h[MATRIX_MAX]; /* [n_state][n_state] */
} Regulation;

/* Whether the job has any of the matrices. The functions below are for jobs with matrices, in the shapes
 * that regulation_shaped() requires. */
bool regulation_asked(const JobSettings *settings);

/* Checks, before a job begins */

/* Whether A is [n][n], B [n][m], F [m][n], P [n][n], and SafetySet [n] or not set. Sets n and m. */
bool regulation_shaped(const JobSettings *settings, uint32_t *ret_n_state, uint32_t *ret_n_action);
bool regulation_symmetric(const JobSettings *settings); /* P */
bool regulation_positive(const JobSettings *settings);  /* P has a Cholesky factor */
/* Whether the linear matrix inequality [[alpha P, S' P], [P S, P]] > 0 holds, which means alpha P > S' P S.
 * The whole matrix has a Cholesky factor if it holds. */
bool regulation_contracts(const JobSettings *settings, double alpha);
/* The smallest alpha for which regulation_contracts() is true, to 1e-6, or infinity. P must be positive
 * definite. */
double regulation_least_alpha(const JobSettings *settings);
/* The largest value of element i of a state s inside the envelope s' P s <= 1: the root of (P^-1)_ii. P must
 * be positive definite. */
double regulation_reach(const JobSettings *settings, uint32_t i);

/* The spec with two more metrics of episodes, "violations" and "outside", and rewards of any size. 0;
 * -EXDEV: the matrices do not fit the shapes, a space is not a box, there are several agents or a stack of
 * frames, or the environment's metrics leave no room or already have such a name. */
enum { REGULATION_METRICS = 2 };
int regulation_spec(const JobSettings *settings, ActordEnvSpec *spec);

/* For actors. The settings and the spec must stay valid as long as the regulation. */
void regulation_init(Regulation *regulation, const JobSettings *settings, const ActordEnvSpec *spec);
/* policy: the output of the policy. ret_action: that output plus the controller's action for the
 * observation, not clipped yet. Both are float [n_action]. */
void regulation_act(
                const Regulation *regulation, const void *observation, const void *policy, void *ret_action);
double regulation_value(const Regulation *regulation, const void *observation); /* s' P s */
double regulation_reward(const Regulation *regulation, const void *before, const void *after);
/* Computes the reward of a step (see above), and counts the step if it breaks the monitor's bound or ends
 * outside of the envelope. */
double regulation_step(const Regulation *regulation, const void *before, const void *after,
                RegulationCounts *counts);
/* The metrics of an episode that has ended: double [REGULATION_METRICS]. */
void regulation_metrics(const RegulationCounts *counts, double *ret);
