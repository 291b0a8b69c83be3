/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The daemon as an object: its jobs, its ledger, its bus. Three modes, one code: system (the system bus, an unprivileged user, a spawner behind a socket), user (the session's
 * bus), run (one caller on a socket pair, for one job). */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>
#include "daemon/config.h"
#include "daemon/ledger.h"

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
typedef struct Lines Lines;
typedef struct Turns Turns;

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

        GPtrArray *jobs; /* that have not ended, or whose end the ledger does not know yet; by rising number */
        GQueue ended;    /* of Job: a few that have, see ended.c */
        uint32_t n_queued, n_running;
        uint32_t n_checks; /* of decisions, under way */

        GHashTable *queries; /* message → AccessQuery */
        GHashTable *copies;  /* message → Copy */
        GHashTable *senders; /* name on the bus → user */
        Lines *lines;
        Turns *turns;
        GHashTable *configs; /* user → Config, where rules are for some users only */
        sd_event_source *commit_timer, *schedule_source, *places_timer, *idle_timer;
        GQueue removals; /* of Removal */
        sd_event_source *removal_source, *files_timer, *older_source;
        sd_event_source *trim_source, *trim_timer;
        uint64_t trimming; /* the job whose records go; 0: none of them */
        sd_event_source *sigchld_source, *sigterm_source, *sigint_source, *stop_timer;
        uint64_t traffic_usec; /* when the bus was last used */
        /* The errno of what keeps it from being written; 0: nothing does. */
        int ledger_blocked;
        bool stopping, name_released;
        bool rest_kept; /* what the ledger lacks is elsewhere: nothing is waited for */
} Manager;

const char *daemon_mode_to_string(DaemonMode mode);

/* state_directory NULL: the mode's own place. run_fd: the caller's socket in run mode, taken; else ignored. */
int manager_new(DaemonMode mode, const char *state_directory, int run_fd, Manager **ret);
Manager *manager_free(Manager *manager);

/* Reads the ledger, takes up what runs, serves the bus. Says in words what is wrong. */
int manager_start(Manager *manager);

/* Orderly: run mode ends its job first; else running jobs go on without us. */
void manager_stop(Manager *manager);

/* Jobs get a range of user ids of their own: root's or its spawner's to give. */
bool manager_reserves_ids(const Manager *manager);

/* One that has not ended; see ended_find() for the others. */
Job *manager_job(const Manager *manager, uint64_t id);
int manager_add(Manager *manager, Job *job);
/* A row of the ledger that no job can be made of: it has failed, and is not tried again. */
void manager_end_row(Manager *manager, LedgerJob *row);

/* A job came to its end or left the queue: starts what may start now, soon. */
void manager_schedule(Manager *manager);

/* Makes all records durable and tells the invokers; negative: the ledger is blocked, said once, tried again by itself. */
int manager_commit(Manager *manager);
void manager_commit_soon(Manager *manager);
/* A write to the ledger failed outside of manager_commit(). */
void manager_ledger_blocked(Manager *manager, int error);

/* manager-bus.c */
int manager_bus_new(Manager *manager, int run_fd);
int manager_bus_start(Manager *manager);
void manager_emit_job_removed(Manager *manager, const Job *job, const char *result);
void manager_emit_counts(Manager *manager);
void manager_idle_arm(Manager *manager);

/* totals-bus.c */
int method_get_totals(sd_bus_message *m, void *userdata, sd_bus_error *error);
