/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The policy of a checkpoint, as the numbers that a trial reads. */
#pragma once

#include <glib.h>

#include "include/actord/env.h"
#include "include/settings.h"
#include "lib/checkpoint/checkpoint.h"

/* An array of double: TrialPolicyNumber, means, inverse deviations, parameters. They are the numbers that
 * a learner would publish that goes on from this file, for an environment of this spec. 0; or a negative
 * errno with *ret_message, a sentence, g_free(). */
int policy_read(const Checkpoint *checkpoint, const char *name, const JobSettings *settings,
                const ActordEnvSpec *spec, GArray *ret_numbers, char **ret_message);
