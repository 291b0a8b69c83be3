/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Between a bus and the daemon: descriptors that callers send stay outside of the daemon.
 *
 * Any user can make a file system that answers when it likes (FUSE, under an overlay, in a user namespace
 * of their own). A process that asks it something may wait for ever, and not even SIGKILL ends that wait.
 * fstat() asks, and so does close(), since the kernel tells the file system that a descriptor is closed
 * (FLUSH). sd-bus closes the descriptors of a message by itself. So they must not be in the daemon's table
 * at all.
 *
 * The gate is a process that reads from the bus for the daemon, message by message. For each descriptor
 * of a message it passes on a *token*, one end of a socket pair, and leaves the descriptor with a process
 * of its own, a *keeper* (daemon/keeper.h). A process that may hang (daemon/copies.c) asks the keeper for
 * the descriptor; when the daemon has closed its tokens, the keeper closes the descriptors. A keeper that
 * hangs holds these descriptors and nothing else. Sealed memory passes as it is: no process serves it.
 *
 * Messages with descriptors are passed on user by user (daemon/turn-queue.h), so that a user's flood of
 * them does not stand before another's.
 *
 * What the daemon writes goes to the bus directly. */
#pragma once

#include "daemon/keeper.h"

/* Connects to the bus at this address (unix:path=… or unix:abstract=…) and starts the gate. *ret_in is to
 * be read from, *ret_out to be written to. -EAFNOSUPPORT: an address of another kind. */
int gate_start(const char *address, int *ret_in, int *ret_out);

/* For a process that may hang: a descriptor of its own for a token. One that is no token is duplicated.
 * -ENOLINK: it has no keeper. */
int gate_fetch(int token);
