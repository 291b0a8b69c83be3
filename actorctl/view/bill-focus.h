/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A bill as a FinOps tool reads it: the cost and usage data of FOCUS 1.2, as CSV. */
#pragma once

#include "actorctl/job-status.h"

/* false: this bill cannot be written so, with a message. */
bool bill_focus_check(const JobBill *bill);
typedef struct FocusNames {
        const char *word;   /* what the job or run was named by: 7, r7 */
        const char *called; /* job 7, run r7 */
        const char *tag;    /* [Job] Tag=, "" for none */
} FocusNames;

void bill_focus_heading(GString *text);
/* A row for each charge. now_usec: the end of the period, if the job has not ended. */
void bill_focus_write(GString *text, const JobStatus *job, const JobBill *bill, const FocusNames *names,
                uint64_t now_usec);
