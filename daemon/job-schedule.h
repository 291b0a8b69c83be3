/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The number of actors in the next rounds: the job's scheduler decides it, and each decision is written
 * down. */
#pragma once

#include "daemon/job.h"

/* Decides for the round after `closed`, unless that has been decided already. closed: the record of the
 * newest round that has ended; NULL: there is none yet. */
void job_decide(Job *job, const Record *closed);
/* Starts the scheduler from its initial state, and decides for the first round. */
void job_schedule_anew(Job *job);
/* Restores the scheduler's state from the newest checkpoint; without one, starts from the initial state.
 * *ret: the position after which records still need decisions. */
void job_schedule_restore(Job *job, LedgerPosition *ret);
/* Gives the newest decision to the ledger. No round may start under a decision that the ledger lacks.
 * Negative: the ledger is blocked. */
int job_decision_save(Job *job);
/* Reads up to `most` decisions for the rounds after `after` from the ledger. Decisions that wait for a
 * commit are committed first. */
int job_decisions(Job *job, uint64_t after, unsigned most, LedgerDecision **ret, size_t *ret_n);
