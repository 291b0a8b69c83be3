/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The order in which users' jobs start, and which job gives its place back. Pure. Each user's jobs start in
 * the order of their submission; the next job is one of the user with the fewest running, and of equal
 * users the one whose job came first. While others wait, a user runs at most his share of the places; with
 * preemption the youngest job beyond it goes back to the queue. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* It is not known yet: until then nothing of this user's makes room. */
#define QUEUE_SHARE_UNKNOWN UINT32_MAX

typedef struct QueueEntry {
        uint64_t id;
        uint32_t uid;
        /* of its user while others wait; 0: as many as there are places for each who runs or waits,
         * rounded up; QUEUE_SHARE_UNKNOWN */
        uint32_t share;
        bool queued, running;
        bool movable;        /* it runs, and can go back to the queue without losing anything */
        bool leaving;        /* it runs, and has been told to go back */
        uint64_t since_usec; /* when it began to run, this time */
} QueueEntry;

/* The index of the job that may start now; -1: none. */
ssize_t queue_pick(const QueueEntry *entries, size_t n, uint32_t n_running_max);

/* The index of the job that is to go back now, so that another user gets a share; -1: none. Of the user who
 * is most beyond the share it is the youngest, and it goes back only after it has run for after_usec.
 * *ret_wait_usec: when to ask again if nothing changes; UINT64_MAX: not at all. */
ssize_t queue_preempt(const QueueEntry *entries, size_t n, uint32_t n_running_max, uint64_t after_usec,
                uint64_t now_usec, uint64_t *ret_wait_usec);
