/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calls about a job whose answers take long to compute. When the daemon has nothing else to do, it works on
 * them by turns in short parts, so that other callers are served in between. */
#pragma once

#include <glib.h>
#include <stdint.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>
#include "daemon/background.h"

#define LONG_CALLS_MAX      64u
#define LONG_CALLS_USER_MAX 16u

typedef struct Job Job;
typedef struct JobContext JobContext;

typedef struct LongCalls {
        GQueue calls; /* LongCalls, the next one first */
        Background turns;
} LongCalls;

typedef struct LongCallOps {
        /* A small part of the work. 1: there is more; 0: it is done; negative: it cannot be done. */
        int (*part)(void *work);
        /* Replies with the result, or with an error if `result` is negative. Negative: no reply was sent. */
        int (*answer)(sd_bus_message *m, int result, void *work);
        void (*free)(void *work);
} LongCallOps;

/* Becomes the owner of `work`, even on failure. uid: the caller. 1: the call is answered later; negative:
 * error is set. The job stays in memory until the answer is sent. */
int long_call_start(Job *job, sd_bus_message *m, uint32_t uid, const LongCallOps *ops, void *work,
                sd_bus_error *error);

/* Drops all long calls, without an answer, when the daemon ends. */
void long_calls_done(JobContext *context);
