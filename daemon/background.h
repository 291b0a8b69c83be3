/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Work that no caller waits for: removing files and old records. It is done in small steps when the daemon
 * has nothing else to do. A steady flood of calls would put it off for ever while the disk fills up, so one
 * step in BACKGROUND_USEC is done in any case. */
#pragma once

#include <systemd/sd-event.h>

#define BACKGROUND_USEC (250u * 1000)

/* A Background whose members are all zero has no work and no timer. */
typedef struct Background {
        sd_event_source *idle, *timer;
        /* does a step of a few milliseconds; it may stop the work */
        void (*step)(void *userdata);
        void *userdata;
} Background;

/* Starts the work: its steps begin in the next turn of the event loop, until the work is stopped. Nothing
 * changes if it has started already. Negative: there is no memory, and no step will run. */
int background_start(Background *background, sd_event *event, const char *name, void (*step)(void *userdata),
                void *userdata);
void background_stop(Background *background);
