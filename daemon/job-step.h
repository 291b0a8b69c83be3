/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Decides what follows from news of a job (job_news()): the only place where a life or a job is found to
 * be over. */
#pragma once

#include "daemon/job.h"

void job_step(Job *job);
/* Ends the job by what is known of it now, without waiting for further records or for its processes. */
void job_leave(Job *job);
