/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads the policy of a checkpoint as the array of numbers that a trial needs (include/trial.h). */
#pragma once

#include <glib.h>

#include "actorctl/checkpoint-open.h"
#include "actorctl/trial.h"

/* Reads a policy as an array of double: TrialPolicyNumber, means, inverse deviations, parameters, then those
 * of the critics that choose among candidates. A learner that continues from this file would publish the
 * same numbers for an environment with this spec. 0; or a negative errno with *ret_message, a sentence,
 * g_free(). */
int policy_read(const Checkpoint *checkpoint, const char *name, const JobSettings *settings,
                const ActordEnvSpec *spec, GArray *ret_numbers, char **ret_message);

/* Like policy_read(), for the checkpoint's own environment. The environment is asked for its spec, since the
 * network's shape follows from the spec. STATUS_OK; or another status, with a message. */
ExitStatus policy_load(const NamedCheckpoint *checkpoint, const JobFile *job_file, TrialSpec *ret_spec,
                GArray *ret_numbers);

/* Plays episodes of an evaluation with this policy, in an actor. asked: kind (one of TRIAL_PLAY...),
 * n_episodes and n_steps. states: doubles, the state at the start of each episode; or NULL. STATUS_OK; or
 * another status, with a message. */
ExitStatus policy_play(const NamedCheckpoint *checkpoint, const JobFile *job_file, const TrialRequest *asked,
                const GArray *states, TrialTake take, void *userdata);
