/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The gate stands between a bus and the daemon, and keeps callers' descriptors out of the daemon.
 *
 * Any user can make a file system that never answers (FUSE, under an overlay, in a user namespace of their
 * own). A process that makes a request to it may wait for ever, and not even SIGKILL ends that wait. fstat()
 * is such a request, and so is close(), since the kernel tells the file system that a descriptor is closed
 * (FLUSH). sd-bus closes the descriptors of a message by itself. So these descriptors must never be open in
 * the daemon.
 *
 * The gate is a process that reads from the bus for the daemon, message by message. For each descriptor of a
 * message it passes on a *token*, one end of a socket pair, and leaves the descriptor with a process of its
 * own, a *keeper* (daemon/keeper.h). A process that may hang (daemon/copies.c) asks the keeper for the
 * descriptor; when the daemon has closed its tokens, the keeper closes the descriptors. A keeper that hangs
 * holds only these descriptors. Sealed memory is passed on directly, since no process serves it as a file
 * system.
 *
 * Messages with descriptors are passed on user by user (daemon/turn-queue.h), so that one user's flood does
 * not delay another user's.
 *
 * The daemon writes to the bus directly. */
#pragma once

#include "daemon/keeper.h"

/* Connects to the bus at this address (unix:path=… or unix:abstract=…) and starts the gate. *ret_in is to
 * be read from, *ret_out to be written to. -EAFNOSUPPORT: an address of another kind. */
int gate_start(const char *address, int *ret_in, int *ret_out);

/* Call this in a process that may hang. Returns a new descriptor: for a token, the descriptor that its
 * keeper holds; for any other descriptor, a duplicate. -ENOLINK: the token's keeper has ended, or does not
 * answer within 10 s. */
int gate_fetch(int token);
