/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A plan tells the invoker up to which round it may go on. It is a lease of rounds: the number of actors in
 * them is decided, and the budget was not spent when the plan was made. Pure: the known facts of a job go
 * in, the next plan comes out. */
#pragma once

#include "daemon/bill/price.h"
#include "daemon/scheduler/scheduler.h"
#include "include/plan.h"

typedef struct LeaseInput {
        const JobSettings *settings;
        const Usage *usage;              /* the sum of the records read so far */
        const SchedulerState *scheduler; /* with the decision in force */
        bool step;                       /* leases are single rounds, under any scheduler */
        uint64_t round;        /* this life's newest ended round; before that, the checkpoint's round */
        uint64_t acknowledged; /* the number of the newest committed record */
        uint32_t end;          /* PlanEnd that was asked for; PLAN_END_NOT: none */
        uint64_t stop_deadline_nsec; /* when to give up the round in progress; set together with end */
} LeaseInput;

/* Makes the plan from earlier decisions; it does not choose the number of actors. It sets the last round of
 * the lease, and ends the job if the budget is spent. */
void lease_make(const LeaseInput *input, Plan *ret);
