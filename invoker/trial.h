/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A launch without a job, which tries an environment (include/trial.h), with a new actor for each thing to
 * try. Loading, sandbox, fork and end are those of a job. There are no rounds, no records and no daemon; an
 * actor sends its rows straight to actorctl. */
#pragma once

int trial_serve(void);
