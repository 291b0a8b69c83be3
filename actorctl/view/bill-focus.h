/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A bill for FinOps tools: cost and usage data of FOCUS 1.2, as CSV. */
#pragma once

#include "actorctl/job-status.h"

/* Whether FOCUS can express the bill: its currency must be three capital letters. false: a message has been
 * printed. */
bool bill_focus_check(const JobBill *bill);
typedef struct FocusNames {
        const char *host;   /* where the job ran */
        const char *word;   /* the user's name for the job or run: 7, r7 */
        const char *called; /* job 7, run r7 */
        const char *tag;    /* [Job] Tag=; "": none */
} FocusNames;

void bill_focus_heading(GString *text);
/* Writes a row for each charge. now_usec: the end of the period, if the job has not ended. */
void bill_focus_write(GString *text, const JobStatus *job, const JobBill *bill, const FocusNames *names,
                uint64_t now_usec);
