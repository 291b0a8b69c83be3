/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The order in which users' jobs start, and which job gives its place back (MaxJobs= places). Pure. Each
 * user's jobs start in the order of their submission. Users below their share of the places come first, then
 * the user with the fewest running jobs, then the one whose job came first. No place stays empty while a job
 * waits. With preemption the youngest job beyond the share goes back to the queue. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The user's share is not known yet. Until it is known, no job of this user is sent back. */
#define QUEUE_SHARE_UNKNOWN UINT32_MAX

typedef struct QueueEntry {
        uint64_t id;
        uint32_t uid;
        /* the places that the user may have while other users wait, or QUEUE_SHARE_UNKNOWN; 0: the number of
         * places divided by the number of users with running or waiting jobs, rounded up */
        uint32_t share;
        bool queued, running;
        bool movable;        /* the job runs, and can go back to the queue without a loss */
        bool leaving;        /* the job runs, and has been told to go back */
        uint64_t since_usec; /* when it left the queue, was found running, or began to run */
} QueueEntry;

/* The index of the job that may start now; -1: none may. */
ssize_t queue_pick(const QueueEntry *entries, size_t n, uint32_t n_running_max);

/* The index of the job that must go back now, so that another user gets a share; -1: none. This is the
 * youngest job of a user beyond the share, if it has run for at least after_usec; of several such jobs, that
 * of the user who exceeds the share most. *ret_wait_usec: how long to wait before asking again if nothing
 * changes; UINT64_MAX: for ever. */
ssize_t queue_preempt(const QueueEntry *entries, size_t n, uint32_t n_running_max, uint64_t after_usec,
                uint64_t now_usec, uint64_t *ret_wait_usec);
