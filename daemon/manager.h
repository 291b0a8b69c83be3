/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The daemon as an object: its jobs, its ledger, its bus. Three modes, one code: system (the system bus,
 * an unprivileged user, a spawner behind a socket), user (the session's bus), run (one caller on a socket
 * pair, for one job). */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>
#include <unistd.h>
#include "daemon/config.h"
#include "daemon/ledger/ledger.h"

#define COMMIT_INTERVAL_USEC (100ull * 1000)
#define COMMIT_RETRY_USEC    (1000ull * 1000)
#define STOP_LONGEST_USEC    (12000ull * 1000)

#define DAEMON_MODES(X) X(SYSTEM, "system") X(USER, "user") X(RUN, "run")

typedef enum DaemonMode {
#define X(name, word) DAEMON_##name,
        DAEMON_MODES(X)
#undef X
                        _DAEMON_MODE_MAX,
        _DAEMON_MODE_INVALID = -EINVAL,
} DaemonMode;

typedef struct Job Job;
typedef struct JobReplay JobReplay;
typedef struct Lines Lines;
typedef struct Senders Senders;
typedef struct Turns Turns;
typedef struct Users Users;
typedef struct Verifier Verifier;

typedef struct Manager {
        DaemonMode mode;
        uint32_t launch_manager; /* LaunchManager */
        sd_event *event;
        sd_bus *bus;
        Ledger *ledger;
        Config config;

        char *state_directory, *runtime_directory;
        int jobs_fd;    /* state/jobs */
        int sockets_fd; /* runtime/jobs */

        /* that have not ended, or whose end the ledger does not know yet; by rising number */
        GPtrArray *jobs;
        GQueue ended; /* of Job: a few that have, see ended.c */
        uint32_t n_queued, n_running, said_queued, said_running;
        GQueue long_calls; /* of LongCall: the next one first */
        sd_event_source *long_call_source, *long_call_timer;
        /* What is to be done soon, see jobs.c: jobs of which there is something new, and the queue. */
        GQueue work; /* of Job */
        bool schedule_wanted;
        sd_event_source *work_source;

        GHashTable *queries; /* message → AccessQuery */
        GHashTable *copies;  /* message → Copy */
        Senders *senders;    /* name on the bus → user */
        Lines *lines;
        Turns *turns;
        Users *users;
        Verifier *verifier;
        sd_event_source *commit_timer, *places_timer, *idle_timer;
        GQueue removals; /* of Removal */
        sd_event_source *removal_source, *files_timer, *older_source;
        sd_event_source *trim_source, *trim_timer;
        /* The ended job of an older program whose records are being added up; NULL: none. */
        Job *older_job;
        JobReplay *older_replay;
        sd_event_source *fold_timer;
        uint64_t written_usec; /* when the ledger was written last */
        /* Since when a reader is known to keep the write-ahead file, and when that was said; 0: none does,
         * it was not. */
        uint64_t pinned_usec, pinned_said_usec;
        uint64_t trimming; /* the job whose records go; 0: none of them */
        sd_event_source *sigchld_source, *sigterm_source, *sigint_source, *stop_timer;
        uint64_t traffic_usec; /* when the bus was last used */
        /* The errno of what keeps it from being written; 0: nothing does. */
        int ledger_blocked;
        uint64_t commit_again_usec; /* on CLOCK_BOOTTIME; not before, while it is blocked */
        bool stopping, name_released;
        bool caller_gone; /* of run mode */
        bool rest_kept;   /* what the ledger lacks is elsewhere: nothing is waited for */
} Manager;

static inline const char *daemon_mode_to_string(DaemonMode mode) {
        static const char *const words[_DAEMON_MODE_MAX] = {
#define X(name, word) word,
                DAEMON_MODES(X)
#undef X
        };

        return (int) mode >= 0 && mode < _DAEMON_MODE_MAX ? words[mode] : NULL;
}

/* state_directory NULL: the mode's own place. run_fd: the caller's socket in run mode, taken; else
 * ignored. */
int manager_new(DaemonMode mode, const char *state_directory, int run_fd, Manager **ret);
Manager *manager_free(Manager *manager);

/* Reads the ledger, takes up what runs, serves the bus. Says in words what is wrong. */
int manager_start(Manager *manager);

/* Jobs get a range of user ids of their own: root's or its spawner's to give. */
static inline bool manager_reserves_ids(const Manager *manager) {
        return manager->mode == DAEMON_SYSTEM || geteuid() == 0;
}

/* jobs.c. One that has not ended; see ended_find() for the others. */
Job *manager_job(const Manager *manager, uint64_t id);
int manager_add(Manager *manager, Job *job);

/* A job came to its end or left the queue: starts what may start now, soon. */
void manager_schedule(Manager *manager);
/* The next job that there is something new of (job_changed()); NULL: there is none. */
Job *manager_next_work(Manager *manager);

/* manager-work.c. Its event sources: what is to be done soon, and commits. */
int manager_work_start(Manager *manager);
/* Orderly: run mode ends its job first; else running jobs go on without us. */
void manager_stop(Manager *manager);

/* manager-commit.c. Makes all records durable and tells the invokers; negative: the ledger is blocked,
 * said once, tried again by itself. */
int manager_commit(Manager *manager);
void manager_commit_soon(Manager *manager);
/* A write to the ledger failed outside of manager_commit(). */
void manager_ledger_blocked(Manager *manager, int error);

/* manager-bus.c */
int manager_bus_new(Manager *manager, int run_fd);
int manager_bus_start(Manager *manager);
/* If there are others than were said last. */
void manager_emit_counts(Manager *manager);
void manager_idle_arm(Manager *manager);
