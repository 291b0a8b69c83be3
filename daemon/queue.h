/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whose turn it is. Pure: first come, first served for each user; of the users, who has the fewest jobs running; of equals, who came first. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct QueueEntry {
        uint64_t id;
        uint32_t uid;
        bool queued, running;
} QueueEntry;

/* The index of the job that may start now; -1: none. */
ssize_t queue_pick(const QueueEntry *entries, size_t n, uint32_t n_running_max);
