/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Work in small steps that are done when the daemon has nothing else to do: removing files and old records,
 * reading older rows of the ledger, and long calls. Without a limit, a steady flood of other calls would
 * delay this work for ever. So a step is done in any case if the last one was wait_usec ago. wait_usec is
 * BACKGROUND_USEC if no caller waits for the work. */
#pragma once

#include <systemd/sd-event.h>

#define BACKGROUND_USEC (250u * 1000)

/* A Background whose members are all zero has no work and no timer. */
typedef struct Background {
        sd_event_source *idle, *timer;
        uint64_t wait_usec; /* the longest time between two steps */
        /* does a step of a few milliseconds; it may stop the work */
        void (*step)(void *userdata);
        void *userdata;
} Background;

/* Starts the work: its steps run from the next turn of the event loop on, until the work is stopped. If the
 * work has started already, nothing changes. Negative: there is no memory, and no step will run. */
int background_start(Background *background, sd_event *event, const char *name, uint64_t wait_usec,
                void (*step)(void *userdata), void *userdata);
void background_stop(Background *background);
