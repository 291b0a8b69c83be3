/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The CPU time that a killed life of a job used, but that no record has. Pure. */
#pragma once

#include "include/record.h"
#include "include/settings.h"

/* The usage of one life: the count of its cgroup from start to end, and the sum of its records. */
typedef struct LifeUsage {
        uint64_t life, seq,
                        round; /* seq: of the life's newest record; round: the newest one that has ended */
        bool metered;          /* both readings of the cgroup are known */
        uint64_t began_nsec, over_nsec, claimed_nsec;
        int error; /* the positive errno with which the invoker failed to start; 0: not known */
} LifeUsage;

/* Makes the life's last record. If the life could not be metered, scope_cpu_nsec and the lost usage are
 * zero. */
void lost_make(const LifeUsage *life, const JobSettings *settings, Record *ret);
