/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the fragments of a job run, in this life and in the next. */
#pragma once

#include "daemon/job.h"

/* Of the newest life; *ret_why: a clause to follow "since", NULL: the settings say it. */
uint32_t job_distribution(const Job *job, uint32_t *ret_n_learners, const char **ret_why);
/* Whether the rounds that are being measured are too few to choose by. */
bool job_measures(const Job *job);
/* Chooses when there are enough of them: for the ledger, and for the life that starts next. */
void job_distribute(Job *job);
/* Whether the life that runs is to end because the next one runs elsewhere. */
bool job_moves(const Job *job);
