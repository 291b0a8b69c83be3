/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Decides what follows when there is news of a job (job_news()). Only this file decides that a life of a job
 * (a start of its processes) is over, and what comes then. Other files end a job itself in three cases: its
 * last record says so, it ends in the queue or between two lives, or its life cannot begin. */
#pragma once

#include "daemon/job.h"

void job_step(Job *job);
/* Ends the job with the facts that are known now, and waits for no further records or processes. */
void job_leave(Job *job);
