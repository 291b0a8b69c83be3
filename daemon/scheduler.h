/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How many actors the next round is worth. A scheduler is pure: what the closed rounds showed goes in, a count comes out. What it remembers is plain data
 * of a fixed size, so that writing it into a checkpoint's row is copying it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "include/record.h"
#include "include/settings.h"

#define SCHEDULER_ABI 1u

typedef struct SchedulerState {
        uint32_t abi, policy;   /* Scheduler_ */
        uint64_t n_decisions;   /* also the id of the newest one */
        uint64_t decided_round; /* the first round that it was made for */
        uint8_t own[104];       /* the policy's */
} SchedulerState;

typedef struct SchedulerView { /* what it may see */
        const JobSettings *settings;
        const Statistics *statistics; /* of the newest closed round; NULL before the first */
        uint64_t round;               /* the newest closed round; 0: none */
} SchedulerView;

typedef struct Scheduler {
        bool decides; /* each round from the one before it: a lease is one round */
        uint32_t (*count)(const SchedulerView *view, SchedulerState *state);
} Scheduler;

extern const Scheduler scheduler_fixed;

void scheduler_init(SchedulerState *state, uint32_t policy);

/* From a checkpoint's row. -EBADMSG: it is no state of this policy. */
int scheduler_restore(SchedulerState *state, uint32_t policy, const void *data, size_t n);

/* Whether its leases are one round long. */
bool scheduler_decides(const SchedulerState *state);

/* The decision for the round after view->round, between MinActors= and MaxActors=. */
Decision scheduler_decide(const SchedulerView *view, SchedulerState *state);
