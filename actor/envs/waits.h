/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How long requests waited: percentiles over an episode. */
#pragma once

#include <math.h>
#include <stddef.h>

typedef struct Wait {
        /* how long the requests of a step waited, in seconds, and how many they were */
        double latency, served;
} Wait;

/* Shell sort: qsort() may ask the kernel how much memory the host has, which a sandbox forbids. */
static inline void waits_sort(Wait *waits, size_t n) {
        for (size_t gap = n / 2; gap > 0; gap /= 2)
                for (size_t i = gap; i < n; i++) {
                        Wait moved = waits[i];
                        size_t k = i;

                        for (; k >= gap && waits[k - gap].latency > moved.latency; k -= gap)
                                waits[k] = waits[k - gap];
                        waits[k] = moved;
                }
}

/* The lowest latency that this share of the requests did not exceed. The waits must be sorted. NaN: there
 * are no waits. */
static inline double waits_percentile(const Wait *waits, size_t n, double share) {
        double all = 0, within = 0;

        for (size_t i = 0; i < n; i++)
                all += waits[i].served;
        for (size_t i = 0; i < n; i++) {
                within += waits[i].served;
                if (within >= share * all)
                        return waits[i].latency;
        }
        return n > 0 ? waits[n - 1].latency : NAN;
}
