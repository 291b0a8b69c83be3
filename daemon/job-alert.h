/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a job says to others beside its records: that it has cost an amount (CostAlert=), and that it has
 * ended, to a unit of its user's manager (OnEnd=). */
#pragma once

#include "daemon/job.h"

/* How many of the amounts this cost has reached. Pure. */
uint32_t alerts_reached(const setting_amounts *amounts, uint64_t full_nano);
/* To be called when all records that count are in the ledger. An amount is told before the ledger hears that
 * it was, so that a daemon that is killed in between tells it twice rather than never. */
void job_alert(Job *job);

/* Asks the user's manager for the unit; to be called when the job has ended. */
void job_start_unit(const Job *job);
