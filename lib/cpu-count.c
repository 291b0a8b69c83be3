/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/cpu-count.h"

#include <sched.h>

/* The kernel refuses a set that has no room for each CPU that the host could have. One cpu_set_t has room
 * for 1,024. */
uint32_t cpu_count(uint32_t unknown) {
        cpu_set_t sets[CPU_COUNT_MAX / CPU_SETSIZE];

        if (sched_getaffinity(0, sizeof(sets), sets) < 0)
                return unknown;
        return (uint32_t) CPU_COUNT_S(sizeof(sets), sets);
}
