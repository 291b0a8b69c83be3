/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Counts the whole usage of an ended life of a job (one start of its processes), and removes the job's
 * cgroup when the job has ended. */
#pragma once

#include "daemon/job.h"

/* Whether all usage of the life has been counted; one record may still wait for the ledger. If not,
 * job_look() is called when it has been counted. */
bool job_settle(Job *job);
/* Call this when all records of the life are in the ledger: the next life counts from the cgroup's
 * reading. */
void job_settle_note(Job *job);
/* Settles a life without the reading of its cgroup, when its job is given up or its daemon was killed. No
 * more records of the life will come. */
void job_settle_blindly(Job *job);
/* Whether the cgroup of an ended job has been removed. Otherwise job_look() is called when it has. */
bool job_clear_away(Job *job);

/* Keeps the spawner's report on the newest life in a file beside the job's socket, and reads it from there.
 * Like the cgroup, the file lasts until the host restarts; in run mode it lasts longer. */
void job_answer_keep(const Job *job);
void job_answer_find(Job *job);
/* Call this when the spawner need not remove anything more of this job. */
void job_answer_forget(Job *job);
