/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/queue.h"

#include <assert.h>

static size_t count_running(const QueueEntry *entries, size_t n, uint32_t uid) {
        size_t n_running = 0;

        for (size_t i = 0; i < n; i++)
                n_running += entries[i].running && entries[i].uid == uid;
        return n_running;
}

ssize_t queue_pick(const QueueEntry *entries, size_t n, uint32_t n_running_max) {
        size_t n_running = 0, fewest = 0;
        ssize_t best = -1;

        assert(entries || n == 0);

        for (size_t i = 0; i < n; i++)
                n_running += entries[i].running;
        if (n_running >= n_running_max)
                return -1;

        for (size_t i = 0; i < n; i++) {
                size_t own;

                if (!entries[i].queued)
                        continue;
                own = count_running(entries, n, entries[i].uid);
                if (best < 0 || own < fewest || (own == fewest && entries[i].id < entries[best].id)) {
                        best = (ssize_t) i;
                        fewest = own;
                }
        }
        return best;
}
