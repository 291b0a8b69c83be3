/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Decides what follows when there is news of a job (job_news()). No other file decides that a job, or a life
 * of it (a start of its processes), is over. */
#pragma once

#include "daemon/job.h"

void job_step(Job *job);
/* Ends the job with the facts that are known now, and waits for no further records or processes. */
void job_leave(Job *job);
