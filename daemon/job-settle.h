/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Counts the whole usage of an ended life, and removes the job's cgroup when the job has ended. */
#pragma once

#include "daemon/job.h"

/* Whether all usage of the life has been counted; one record may still wait for the ledger. If not,
 * job_look() is called when it has been counted. */
bool job_settle(Job *job);
/* Call this when these records are in the ledger: the next life begins from the figures that were
 * counted. */
void job_settle_note(Job *job);
/* For a run that is given up, or whose daemon was killed: no more records of the life will come, and its
 * figures say that its end is not known. */
void job_settle_blindly(Job *job);
/* Whether the cgroup of an ended job has been removed. Otherwise job_look() is called when it has. */
bool job_clear_away(Job *job);

/* Keeps the spawner's report on the newest life beside the job's socket. It lasts until the host restarts,
 * like the cgroup. */
void job_answer_keep(const Job *job);
void job_answer_find(Job *job);
/* Call this when the spawner need not remove anything more of this job. */
void job_answer_forget(Job *job);
