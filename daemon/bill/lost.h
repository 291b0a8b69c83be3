/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The CPU time that a killed life used and that stands in none of its records. Pure. */
#pragma once

#include "include/record.h"
#include "include/settings.h"

/* The usage of one life: as its cgroup counted it from its start to its end, and as its records claim it. */
typedef struct LifeUsage {
        uint64_t life, seq, round; /* seq: of its newest record; round: the newest closed one */
        bool metered;              /* both readings are there */
        uint64_t began_nsec, over_nsec, claimed_nsec;
        int error; /* that kept its invoker from beginning, positive; 0: it is not known */
} LifeUsage;

/* The life's last record. If the life could not be metered, scope_cpu_nsec and the lost usage are 0. */
void lost_make(const LifeUsage *life, const JobSettings *settings, Record *ret);
