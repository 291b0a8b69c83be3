/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calls about a job whose answers take long to find. They are worked on in short parts, one after another
 * and in turn, when the daemon has nothing else to do: other callers are served in between. */
#pragma once

#include <glib.h>
#include <stdint.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#define LONG_CALLS_MAX      64u
#define LONG_CALLS_USER_MAX 16u

typedef struct Job Job;
typedef struct JobContext JobContext;

typedef struct LongCalls {
        GQueue calls; /* of LongCall: the next one first */
        sd_event_source *source, *timer;
} LongCalls;

typedef struct LongCallOps {
        /* A small part of the work. 1: there is more; 0: it is done; negative: it cannot be done. */
        int (*part)(void *work);
        /* Replies with the result, or with an error if `result` is negative. Negative: no reply was sent. */
        int (*answer)(sd_bus_message *m, int result, void *work);
        void (*free)(void *work);
} LongCallOps;

/* work is taken, also on failure; uid: whose call it is. 1; negative: error is set. The job stays in memory
 * until the answer is sent. */
int long_call_start(Job *job, sd_bus_message *m, uint32_t uid, const LongCallOps *ops, void *work,
                sd_bus_error *error);

/* The daemon ends: what has no answer yet gets none. */
void long_calls_done(JobContext *context);
