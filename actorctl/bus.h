/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A daemon to talk to: the system's, the user's own, or a private one that lives as long as this connection. */
#pragma once

#include <systemd/sd-bus.h>

#include "actorctl/actorctl.h"
#include "actorctl/relay.h"

typedef struct Connection {
        sd_bus *bus;
        const char *destination; /* NULL on a private connection */
        /* private: */
        pid_t pid;
        int lock_fd;
        Relay *relay; /* of what it and all that it starts write to standard error */
        char *state_directory;
        bool temporary; /* the state directory goes with the connection */
} Connection;

/* To a running daemon, or one that the bus can start. 0; or a negative errno after having said why. */
int connection_open(const Options *options, Connection **ret);
/* Starts a daemon for this connection alone. keep: its state stays, among the newest runs; else it is removed. */
int connection_open_private(bool keep, Connection **ret);
/* The same in a directory that this call makes, and that goes with the connection; what is there from before goes first. */
int connection_open_private_at(const char *directory, Connection **ret);
/* What the options ask for, else a private one without lasting state. */
int connection_open_any(const Options *options, Connection **ret);
/* A private daemon has ended, and all that it started, when this returns. */
Connection *connection_close(Connection *connection);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Connection, connection_close)

/* Calls a method; waits while the daemon says that it is busy. 0; or a negative errno (of include/bus.h's
 * names too) after having said why. ret_reply may be NULL. */
int connection_call(Connection *connection, const char *path, const char *interface, const char *member,
                sd_bus_message **ret_reply, const char *types, ...);
/* The same for a submission that is already filled, which may take minutes; takes no reference. */
int connection_send(Connection *connection, sd_bus_message *message, sd_bus_message **ret_reply);

/* "7" -> path of job 7. -EINVAL after having said why. */
int job_path(const char *number, uint64_t *ret_id, char **ret_path);
/* STATUS_USAGE for what the user can mend in the job file, else STATUS_FAILED. */
ExitStatus status_of_error(int r);
