/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes a named event source in one step. *source is replaced. If there is no memory it becomes NULL, and a
 * negative errno is returned. */
#pragma once

#include <sys/epoll.h>
#include <systemd/sd-event.h>

static inline int source_named(sd_event_source *const *source, const char *name, int r) {
        if (r >= 0)
                (void) sd_event_source_set_description(*source, name);
        return r;
}

static inline int once_start(sd_event *event, sd_event_source **source, const char *name, clockid_t clock,
                uint64_t usec, sd_event_time_handler_t handler, void *userdata) {
        *source = sd_event_source_disable_unref(*source);
        return source_named(source, name,
                        sd_event_add_time_relative(event, source, clock, usec, 0, handler, userdata));
}

/* Fires once, after that time or up to a quarter of a second later. Time during which the host sleeps
 * counts, too. */
static inline int timer_start(sd_event *event, sd_event_source **source, const char *name, uint64_t usec,
                sd_event_time_handler_t handler, void *userdata) {
        return once_start(event, source, name, CLOCK_BOOTTIME, usec, handler, userdata);
}

/* Like timer_start(), for the deadline of a process of this host. Time during which the host sleeps does not
 * count, since the process cannot work then. */
static inline int deadline_start(sd_event *event, sd_event_source **source, const char *name, uint64_t usec,
                sd_event_time_handler_t handler, void *userdata) {
        return once_start(event, source, name, CLOCK_MONOTONIC, usec, handler, userdata);
}

/* Fires each time that there is something to read. */
static inline int reading_start(sd_event *event, sd_event_source **source, const char *name, int fd,
                sd_event_io_handler_t handler, void *userdata) {
        *source = sd_event_source_disable_unref(*source);
        return source_named(source, name, sd_event_add_io(event, source, fd, EPOLLIN, handler, userdata));
}

/* Fires again and again, in turn with other sources of its priority, until it is released or disabled. */
static inline int repeat_start(sd_event *event, sd_event_source **source, const char *name, int64_t priority,
                sd_event_handler_t handler, void *userdata) {
        int r;

        *source = sd_event_source_disable_unref(*source);
        r = sd_event_add_defer(event, source, handler, userdata);
        if (r < 0)
                return r;
        (void) sd_event_source_set_priority(*source, priority);
        return source_named(source, name, sd_event_source_set_enabled(*source, SD_EVENT_ON));
}
