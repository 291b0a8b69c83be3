/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The order in which calls are served. The daemon has one thread, and the bus hands it the messages of all
 * callers in one sequence. In this order, thousands of calls of one user would be answered before the next
 * call of another user. So the daemon takes calls from the bus as they come, which is cheap, and puts them
 * into a queue. When no more calls come, or after CALLS_READ_MAX of them, it serves one, in the order of
 * daemon/turn-queue.h.
 *
 * The daemon asks the bus for the user of a connection. The answer comes after all messages that the bus
 * already has for the daemon, which may be many, so the daemon does not wait for it. Until the answer
 * arrives, the connection's calls wait in a queue of their own. If too many calls wait, a call of the user
 * with the most calls is refused. */
#pragma once

#include "daemon/manager.h"

#define CALLS_MAX 4096u
/* This many calls may always wait here, no matter how many wait in lines (daemon/line.h). So the daemon can
 * always be called. */
#define CALLS_LEAST    16u
#define CALLS_READ_MAX 256u /* calls to read off the bus before one is served */

Turns *turns_new(Manager *manager);
Turns *turns_free(Turns *turns);
bool turns_are_empty(const Turns *turns);

/* Call this in a filter that sees each method call. 0: it is the call's turn; 1: it waits, or was answered;
 * negative: it waits, or was answered, but the source that serves calls could not be started. */
int turns_take(Turns *turns, sd_bus_message *message);
