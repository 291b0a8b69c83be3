/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Announces that a job's cost has reached an amount (CostAlert=), and starts a unit of the user's service
 * manager when a job has ended (OnEnd=). */
#pragma once

#include "daemon/job.h"

/* How many of the amounts this cost has reached. Pure. */
uint32_t alerts_reached(const setting_amounts *amounts, uint64_t full_nano);
/* Announces the amounts of CostAlert= that the cost has newly reached. Call this when all records that count
 * are in the ledger. An amount is announced before the ledger notes it. So if the daemon is killed in
 * between, it is announced twice rather than never. */
void job_alert(Job *job);

/* Asks the user's service manager to start the unit of OnEnd=, in user mode and for a job that trains. Call
 * it when the job has ended. */
void job_start_unit(const Job *job);
