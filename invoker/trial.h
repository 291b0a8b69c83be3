/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A launch without a job, which tries an environment (include/trial.h), with a new actor for each thing to
 * try. Loading, sandbox, fork and end are those of a job. There are no rounds, no records and no daemon; an
 * actor sends its rows straight to actorctl. */
#pragma once

#include <stdbool.h>

bool trial_is_wanted(void); /* whether this process was launched for a trial */
int trial_serve(void);
