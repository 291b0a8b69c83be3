/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Takes records from the spool (memory that the invoker shares) to the ledger and into the job's progress,
 * and sends the invoker its next plan. */
#pragma once

#include "daemon/job.h"

/* Reads the records that are in the spool. 0: done, or the ledger is blocked. Negative: the spool is
 * invalid. */
int job_read(Job *job);
/* Offers the record that the ledger refused (job->held) to the ledger again. Negative: the ledger is still
 * blocked. */
int job_offer_held(Job *job);
void job_send_plan(Job *job);
