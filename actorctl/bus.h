/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A connection to a daemon: the system's, here or on another host, the user's own, or a private one that
 * lives as long as the connection. */
#pragma once

#include <systemd/sd-bus.h>

#include "actorctl/actorctl.h"
#include "actorctl/view/relay.h"

typedef struct Connection {
        sd_bus *bus;
        const char *destination; /* NULL on a private connection */
        bool remote;             /* over ssh, which cannot pass descriptors */
        /* for a private daemon: */
        pid_t pid;
        int lock_fd;
        Relay *relay; /* passes on the standard error of the daemon and its children */
        char *state_directory;
        bool temporary; /* the state directory is removed with the connection */
        bool numbered;  /* the state is kept as a numbered run; closing the connection removes old runs */
} Connection;

/* Connects to a running daemon, or one that the bus can start. 0; or a negative errno, with a message. */
int connection_open(const Options *options, Connection **ret);
/* Starts a daemon for this connection only. keep: the daemon's state is kept as one of the newest runs, if
 * the home directory can be written; otherwise it is removed. */
int connection_open_private(bool keep, Connection **ret);
/* Starts a daemon for this connection only, with its state in `directory`, which is created anew, and
 * removed with the connection. The state of a daemon that was killed is removed first; -EEXIST: something
 * else is there. */
int connection_open_private_at(const char *directory, Connection **ret);
/* Starts a daemon that shows the records of an `actorctl run`, and changes nothing. */
int connection_open_run(const char *directory, Connection **ret);
/* Connects to the daemon that the options name, or else to a private one without lasting state. */
int connection_open_any(const Options *options, Connection **ret);
/* On return a private daemon has ended, and all its children, unless it did not end in time and was
 * killed. */
Connection *connection_close(Connection *connection);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Connection, connection_close)

/* Calls a method, and repeats the call while the daemon is busy, for ten minutes at most. 0; or a negative
 * errno (include/bus.h maps names of errors to them), with a message. ret_reply may be NULL. */
int connection_call(Connection *connection, const char *path, const char *interface, const char *member,
                sd_bus_message **ret_reply, const char *types, ...);
/* Sends a complete message like connection_call(). The call may take minutes, and keeps no reference to the
 * message. */
int connection_send(Connection *connection, sd_bus_message *message, sd_bus_message **ret_reply);

/* The index of the column of this name in an answer; -EBADMSG: it has no such column. */
int bus_column(char *const *names, const char *name);

/* Whether a call failed because the connection is lost: the daemon, or the bus, is gone. */
bool connection_lost(int r);

/* Turns "7" into the path of job 7. -EINVAL, with a message. */
int job_path(const char *number, uint64_t *ret_id, char **ret_path);
/* Carries out a verb: calls a method of the manager for each job. STATUS_OK; or another status, with a
 * message. */
ExitStatus jobs_call(const Options *options, char **numbers, size_t n, const char *method);
/* STATUS_USAGE if the user can correct the error in the job file or on the command line (for example, a job
 * with this number does not exist); otherwise STATUS_FAILED. */
ExitStatus status_of_error(int r);
