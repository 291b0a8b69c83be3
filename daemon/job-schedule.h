/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How many actors the next rounds have: what the job's scheduler decides, and when that is written down. */
#pragma once

#include "daemon/job.h"

/* closed: the record of the newest closed round; NULL: there is none yet. Decides for the round after it,
 * unless that is done. */
void job_decide(Job *job, const Record *closed);
/* Starts the scheduler anew and decides for the first round. */
void job_schedule_anew(Job *job);
/* The scheduler's state as of the newest checkpoint, or anew; *ret: the records after it are still to be
 * decided on. */
void job_schedule_restore(Job *job, LedgerPosition *ret);
/* Gives the decision to the ledger: no round may start under one that the ledger lacks. Negative: it is
 * blocked. */
int job_decision_save(Job *job);
/* The decisions after a round, from the ledger, uncommitted ones included. */
int job_decisions(Job *job, uint64_t after, unsigned most, LedgerDecision **ret, size_t *ret_n);
