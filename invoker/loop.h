/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The invoker's event sources: one epoll over workers' eventfds (bells), processes, signals, the daemon's
 * sockets, those of actord-cluster and of carriers, a timer and an alarm. It only reports which event came;
 * invoker.c decides what follows. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include "invoker/worker.h"

enum { EVENTS_AT_ONCE = 64 };

typedef enum EventKind {
        EVENT_BELL = 1,
        EVENT_PROCESS,
        EVENT_SIGNAL,
        EVENT_TIMER,
        EVENT_ALARM,
        EVENT_LISTEN,
        EVENT_LINK,
        EVENT_CLUSTER,
        EVENT_CARRIER,
} EventKind;

typedef struct Event {
        uint32_t kind;  /* EventKind */
        uint32_t index; /* for a bell or a process: the worker's number; for a carrier: the node's index */
} Event;

typedef struct Loop {
        int epoll_fd, timer_fd, alarm_fd;
        uint64_t timer_nsec; /* when the timer fires; UINT64_MAX: never */
        struct epoll_event seen[EVENTS_AT_ONCE];
        /* edge-triggered events are reported once, and stay here until they are served */
        int n_seen, n_served;
} Loop;

#define LOOP_EMPTY \
        { .epoll_fd = -EBADF, .timer_fd = -EBADF, .alarm_fd = -EBADF }

int loop_init(Loop *ret);
void loop_done(Loop *loop);

int loop_watch(Loop *loop, int fd, EventKind kind);
int loop_watch_index(Loop *loop, int fd, EventKind kind, uint32_t index);
int loop_watch_bell(Loop *loop, const Worker *worker, uint32_t index);
int loop_watch_process(Loop *loop, const Worker *worker, uint32_t index);
int loop_mute_bell(Loop *loop, const Worker *worker);
int loop_hear_bell(Loop *loop, const Worker *worker, uint32_t index); /* after loop_mute_bell() */

/* nsec: by CLOCK_BOOTTIME. The timer fires at the earliest of the wanted times. After that, later times must
 * be requested again. */
void loop_want_timer(Loop *loop, uint64_t nsec);
/* Call this when the timer has fired; returns when it was due. */
uint64_t loop_timer_rang(Loop *loop);

/* Sets the only alarm to a time by CLOCK_BOOTTIME, which replaces an earlier one. It only wakes the loop, so
 * it need not be cancelled. */
void loop_alarm(Loop *loop, uint64_t nsec);

/* Takes the next event that was seen and not served. False: there is no event; loop_wait() sleeps until
 * there is one. */
bool loop_next(Loop *loop, Event *ret);
int loop_wait(Loop *loop);
/* Does not sleep: the next event is the bell of this worker, and then come those that are there already. No
 * seen event may be left. */
int loop_ring(Loop *loop, uint32_t index);
