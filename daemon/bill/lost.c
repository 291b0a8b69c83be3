/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes the record of a life's lost usage: the reading of the cgroup's counter minus the sum of the life's
 * records. */
#include "daemon/bill/lost.h"

#include <assert.h>

#include "lib/clock.h"

void lost_make(const LifeUsage *life, const JobSettings *settings, Record *ret) {
        uint64_t used = 0, lost;

        assert(life);
        assert(settings);
        assert(ret);

        /* If the counter went backwards, it is another counter: the cgroup was removed and made again. */
        if (life->metered && life->over_nsec > life->began_nsec)
                used = life->over_nsec - life->began_nsec;
        lost = used > life->claimed_nsec ? used - life->claimed_nsec : 0;
        /* 0 would mean that the usage is unknown. */
        if (used == 0 && life->metered && life->over_nsec == life->began_nsec)
                used = 1;

        *ret = (Record){
                .kind = RECORD_LOST,
                .life = life->life,
                .seq = life->seq + 1,
                .round = life->round,
                .actor = UINT32_MAX,
                .fault = life->error != 0 ? FAULT_INTERNAL : FAULT_NONE,
                .detail = life->error,
                .scope_cpu_nsec = used,
                .metered = {
                        .cpu_nsec = lost,
                        .memory_reserved_bytes = settings->memory_max_bytes,
                        .emulated_nsec = clock_lost_nsec(settings, lost),
                },
        };
}
