/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Counts all that an ended life used, and removes the job's cgroup when the job has ended. */
#pragma once

#include "daemon/job.h"

/* Whether all that the life used has been counted; one record may still be waiting for the ledger. If it has
 * not, job_look() is called as soon as it has. */
bool job_settle(Job *job);
/* To be called when these records are in the ledger: the next life begins from the figures that were
 * counted. */
void job_settle_note(Job *job);
/* For a run that is left, or whose daemon was killed: no more records of the life will come, and its
 * figures say that its end is not known. */
void job_settle_blindly(Job *job);
/* Whether the cgroup of an ended job has been removed; if not, job_look() is called when it has. */
bool job_clear_away(Job *job);

/* The spawner's report on the newest life, beside the job's socket: it lasts until the host restarts, as
 * the cgroup does. */
void job_answer_keep(const Job *job);
void job_answer_find(Job *job);
/* The spawner has nothing of this job left to remove. */
void job_answer_forget(Job *job);
