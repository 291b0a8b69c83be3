/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The part of the daemon that a job knows: a few facts, and the services that files about one job call. The
 * manager holds it, and jobs point to it. No file about one job knows the manager. */
#pragma once

#include <errno.h>
#include <stdint.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>
#include <unistd.h>
#include "daemon/config.h"
#include "daemon/jobs.h"
#include "daemon/ledger/ledger.h"
#include "daemon/long-call.h"
#include "lib/limits.h"

#define DAEMON_MODES(X) X(SYSTEM, "system") X(USER, "user") X(RUN, "run")

typedef enum DaemonMode {
#define X(name, word) DAEMON_##name,
        DAEMON_MODES(X)
#undef X
                        _DAEMON_MODE_MAX,
        _DAEMON_MODE_INVALID = -EINVAL,
} DaemonMode;

typedef struct Access Access;
typedef struct Users Users;
typedef struct Verifier Verifier;

typedef struct JobContext {
        DaemonMode mode;
        uint32_t launch_manager; /* LaunchManager */
        Config config;
        char *state_directory;
        int jobs_fd;    /* the directory state/jobs */
        int sockets_fd; /* the directory runtime/jobs */

        sd_event *event;
        sd_bus *bus; /* NULL: signals are sent to no bus (actorctl recover) */
        Jobs jobs;
        Access *access;
        Users *users;
        Verifier *verifier;
        LongCalls long_calls;

        /* files about jobs commit to the ledger through commit.c */
        Ledger *ledger;
        sd_event_source *commit_timer;
        int ledger_blocked; /* the errno of the last write that failed; 0: the ledger can be written */
        uint64_t commit_again_usec; /* CLOCK_BOOTTIME: no commit of a blocked ledger is tried earlier */
} JobContext;

static inline const char *daemon_mode_to_string(DaemonMode mode) {
        static const char *const words[_DAEMON_MODE_MAX] = {
#define X(name, word) word,
                DAEMON_MODES(X)
#undef X
        };

        return (int) mode >= 0 && mode < _DAEMON_MODE_MAX ? words[mode] : NULL;
}

/* Whether each job gets its own range of user ids. Only root, or a spawner that runs as root, can provide
 * one. */
static inline bool context_reserves_ids(const JobContext *context) {
        return context->mode == DAEMON_SYSTEM || geteuid() == 0;
}

/* Whether another try would fail with the same errno. In a private daemon it would, since the limits set by
 * its caller never change. Other daemons try again later. */
static inline bool context_lacks_for_ever(const JobContext *context, int error) {
        return context->mode == DAEMON_RUN && limit_is_lasting(error);
}
