/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A daemon to talk to: the system's, the user's own, or a private one that lives as long as this
 * connection. */
#pragma once

#include <systemd/sd-bus.h>

#include "actorctl/actorctl.h"
#include "actorctl/view/relay.h"

typedef struct Connection {
        sd_bus *bus;
        const char *destination; /* NULL on a private connection */
        bool remote;             /* over ssh, which passes no descriptors */
        /* private: */
        pid_t pid;
        int lock_fd;
        Relay *relay; /* passes on what the daemon and its children write to standard error */
        char *state_directory;
        bool temporary; /* the state directory is removed with the connection */
        bool numbered;  /* it is a new one among the user's runs, which are pruned with the connection */
} Connection;

/* Connects to a daemon that runs, or that the bus can start. 0; or a negative errno, with a message. */
int connection_open(const Options *options, Connection **ret);
/* Starts a daemon for this connection alone. keep: its state stays, among the newest runs; else it is
 * removed. */
int connection_open_private(bool keep, Connection **ret);
/* The same with its state in `directory`, which is made anew (an old one is removed) and removed with the
 * connection. */
int connection_open_private_at(const char *directory, Connection **ret);
/* Starts a daemon that shows the records of a run of `actorctl run` and changes nothing. */
int connection_open_run(const char *directory, Connection **ret);
/* The daemon that the options name, else a private one without lasting state. */
int connection_open_any(const Options *options, Connection **ret);
/* When this returns, a private daemon and all of its children have ended. */
Connection *connection_close(Connection *connection);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Connection, connection_close)

/* Calls a method, and repeats the call while the daemon says that it is busy. 0; or a negative errno
 * (include/bus.h maps names of errors to them), with a message. ret_reply may be NULL. */
int connection_call(Connection *connection, const char *path, const char *interface, const char *member,
                sd_bus_message **ret_reply, const char *types, ...);
/* The same for a message that is already filled, whose call may take minutes; takes no reference. */
int connection_send(Connection *connection, sd_bus_message *message, sd_bus_message **ret_reply);

/* Whether a call failed since the other end is gone. */
bool connection_lost(int r);

/* "7" -> path of job 7. -EINVAL, with a message. */
int job_path(const char *number, uint64_t *ret_id, char **ret_path);
/* The work of a verb: calls a method of the manager for each job. STATUS_OK; or another status, with a
 * message. */
ExitStatus jobs_call(const Options *options, char **numbers, size_t n, const char *method);
/* STATUS_USAGE for errors that the user can correct in the job file or on the command line, such as the
 * number of no job, else STATUS_FAILED. */
ExitStatus status_of_error(int r);
