/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The CPU time that a killed life used and that stands in none of its records. Pure. */
#pragma once

#include "include/record.h"
#include "include/settings.h"

/* A life's own account: what its cgroup counted from its start to its end, and what its records claim of
 * that. */
typedef struct LifeBooks {
        uint64_t life, seq, round; /* seq: of its newest record; round: the newest closed one */
        bool metered;              /* both readings are there */
        uint64_t began_nsec, over_nsec, claimed_nsec;
        int error; /* that kept its invoker from beginning, positive; 0: it is not known */
} LifeBooks;

/* The life's last record. Of one that could not be metered it says so: scope_cpu_nsec is 0, and so is
 * what was lost. */
void lost_make(const LifeBooks *books, const JobSettings *settings, Record *ret);
