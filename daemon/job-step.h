/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Decides what follows from news of a job (job_news()): the only place where a life or a job is found to
 * be over. */
#pragma once

#include "daemon/job.h"

void job_step(Job *job);
/* Waits for nothing more: what there is of the job by now is all of it. */
void job_leave(Job *job);
