/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The difference between a counter and the records that telescope over it. */
#include "daemon/bill/lost.h"

#include <assert.h>

#include "lib/clock.h"

void lost_make(const LifeBooks *books, const JobSettings *settings, Record *ret) {
        uint64_t used = 0, lost;

        assert(books);
        assert(settings);
        assert(ret);

        /* A counter that went backwards is not the same counter: the cgroup was removed and made anew. */
        if (books->metered && books->over_nsec > books->began_nsec)
                used = books->over_nsec - books->began_nsec;
        lost = used > books->claimed_nsec ? used - books->claimed_nsec : 0;
        /* 0 would say that it is not known. */
        if (used == 0 && books->metered && books->over_nsec == books->began_nsec)
                used = 1;

        *ret = (Record){
                .kind = RECORD_LOST,
                .life = books->life,
                .seq = books->seq + 1,
                .round = books->round,
                .actor = UINT32_MAX,
                .fault = books->error != 0 ? FAULT_INTERNAL : FAULT_NONE,
                .detail = books->error,
                .scope_cpu_nsec = used,
                .metered = {
                        .cpu_nsec = lost,
                        .memory_reserved_bytes = settings->memory_max_bytes,
                        .emulated_nsec = clock_lost_nsec(settings, lost),
                },
        };
}
