/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Work in small steps that are done when the daemon has nothing else to do: removing files and old records,
 * and long calls. A steady flood of other calls would put it off for ever, so a step is done in any case if
 * the last one was wait_usec ago. That is BACKGROUND_USEC where no caller waits for the work. */
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

/* Starts the work: its steps begin in the next turn of the event loop, until the work is stopped. Nothing
 * changes if it has started already. Negative: there is no memory, and no step will run. */
int background_start(Background *background, sd_event *event, const char *name, uint64_t wait_usec,
                void (*step)(void *userdata), void *userdata);
void background_stop(Background *background);
