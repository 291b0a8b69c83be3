/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A launch without a job: an environment is tried (include/trial.h) in an actor of its own for each thing
 * that is to be tried. Loading, sandbox, fork and end are those of a job. There are no rounds, no records
 * and no daemon; what an actor says goes straight to who asked. */
#pragma once

#include <stdbool.h>

bool trial_is_wanted(void); /* by the launch that this process was started for */
int trial_serve(void);
