/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The order in which calls are served. The daemon is one thread, and the bus hands it all callers' messages
 * in one sequence: thousands of one user's would all be answered before one of another's. So calls are taken
 * off the bus as they come, which is cheap, and served one in each turn of the event loop, in the order of
 * daemon/turn-queue.h.
 *
 * The bus is asked whose connection it is, and the daemon does not wait for the answer, which comes
 * behind all that the bus has for the daemon by then: the flood that others are to be spared. Until it is
 * there a connection's calls wait by themselves. A call that has to give way to another one is refused. */
#pragma once

#include "daemon/manager.h"

#define CALLS_MAX 4096u
/* So many have room whatever waits elsewhere: the daemon can always be asked. */
#define CALLS_LEAST    16u
#define CALLS_READ_MAX 256u /* off the bus before one is served */

Turns *turns_new(Manager *manager);
Turns *turns_free(Turns *turns);
bool turns_are_empty(const Turns *turns);

/* For a filter that sees each method call. 0: the call's turn is now; 1: it waits, or was answered. */
int turns_take(Turns *turns, sd_bus_message *message);
