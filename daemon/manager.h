/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The daemon as an object: its jobs, its ledger, its bus. It has three modes with the same code: system (the
 * system bus, an unprivileged user, a spawner behind a socket), user (the session's bus), run (one caller on
 * a socket pair, for one job). Files about one job use only its context (daemon/job-context.h). */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <systemd/sd-event.h>
#include "daemon/access.h"
#include "daemon/background.h"
#include "daemon/job-context.h"

#define STOP_LONGEST_USEC (12000ull * 1000)

typedef struct JobReplay JobReplay; /* daemon/job.h */
typedef struct Lines Lines;
typedef struct Turns Turns;

typedef struct Manager {
        JobContext context;
        Access access;

        char *runtime_directory;
        GQueue ended; /* the ended jobs that were used last (daemon/ended.c) */
        uint32_t said_queued, said_running;

        GHashTable *copies; /* message → Copy */
        Lines *lines;
        Turns *turns;
        sd_event_source *places_timer, *idle_timer, *name_timer, *trade_timer;
        GQueue removals; /* Removals */
        Background removing, trimming_records, reading_older;
        sd_event_source *files_timer, *trim_timer;
        /* The ended job of an older program whose records are being summed up; NULL: none. */
        Job *older_job;
        JobReplay *older_replay;
        sd_event_source *fold_timer;
        uint64_t written_usec; /* when the ledger was last written */
        /* When a reader was first seen to hold the write-ahead file, and when that was logged; 0: no reader
         * holds it, or it was not logged. */
        uint64_t pinned_usec, pinned_said_usec;
        uint64_t trimming; /* the job whose records are being removed; 0: none */
        sd_event_source *sigchld_source, *sigterm_source, *sigint_source, *stop_timer;
        uint64_t traffic_usec;    /* when the bus was last used */
        uint64_t name_until_usec; /* until then the daemon asks for its name; 0: it does not */
        bool stopping, name_released;
        bool caller_gone; /* in run mode: the caller has left */
        bool inspects;    /* in run mode: serves ended jobs and begins none */
        /* in run mode: the caller removes the state directory, so rows that the ledger lacks are not kept */
        bool temporary;
        bool rest_kept; /* rows that the ledger lacks were saved elsewhere or dropped: the daemon may end */
} Manager;

/* state_directory NULL: the mode's default. run_fd: in run mode the caller's socket, which the manager
 * closes; otherwise ignored. */
int manager_new(DaemonMode mode, const char *state_directory, int run_fd, Manager **ret);
Manager *manager_free(Manager *manager);

/* Reads the ledger, connects to the jobs that run, and serves the bus. Logs a sentence on failure. */
int manager_start(Manager *manager);
/* A part of manager_start(): makes a Job of each row of the ledger that has not ended. On failure the daemon
 * must not start: without one of its jobs it would neither serve nor end it. */
int manager_load_jobs(Manager *manager);

/* manager-work.c. Makes the event sources for work that is to be done soon, and for commits. */
int manager_work_start(Manager *manager);
/* Ends the daemon in good order. In run mode it ends the job first. In other modes jobs go on without a
 * daemon. */
void manager_stop(Manager *manager);

/* manager-bus.c */
int manager_bus_new(Manager *manager, int run_fd);
int manager_bus_start(Manager *manager);
/* Announces the counts of jobs if they have changed since the last time. */
void manager_emit_counts(Manager *manager);

/* manager-name.c. Asks the bus for actord's name. The daemon is ready when it has the name. */
int manager_name_request(Manager *manager);
/* Call this when the bus was used: idle time is counted from here. */
void manager_idle_again(Manager *manager);
/* Lets the daemon end when it has been idle for long enough. */
void manager_idle_arm(Manager *manager);
