/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Closes the books of a life that is over, and removes its cgroup when the job is. */
#pragma once

#include "daemon/job.h"

/* Whether the books are closed, but for a record that the ledger may not take yet; if not, job_look()
 * follows when they are. */
bool job_settle(Job *job);
/* They are in the ledger: the next life begins from what was counted. */
void job_settle_note(Job *job);
/* Of a run that is left, or whose daemon was killed: nothing more is heard of the life, and its books say
 * that they do not know its end. */
void job_settle_blindly(Job *job);
/* Whether the cgroup of a job that is over has gone; if not, job_look() follows when it has. */
bool job_clear_away(Job *job);

/* What the spawner said of the newest life, beside the job's socket: it lasts until the host restarts, as
 * the cgroup does. */
void job_answer_keep(const Job *job);
void job_answer_find(Job *job);
/* Nothing of this job is left for the spawner to remove. */
void job_answer_forget(Job *job);
