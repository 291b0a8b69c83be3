/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whose call is served next. The daemon is one thread, and the bus hands it all callers' messages in one
 * row: thousands of one user's would all be answered before one of another's. So calls are taken off the
 * bus as they come, which is cheap, and served one in each turn of the event loop, going round the users,
 * and for each user round the connections. A connection's calls keep their order. */
#pragma once

#include "daemon/manager.h"

#define CALLS_MAX 4096u
/* A bus allows a user 256 connections: who waits for each answer never meets it. */
#define CALLS_USER_MAX 1024u
#define CALLS_READ_MAX 64u /* off the bus before one is served */

Turns *turns_new(Manager *manager);
Turns *turns_free(Turns *turns);
bool turns_are_empty(const Turns *turns);

/* Of a filter that sees each method call: 0: its turn is now; 1: it waits, or was answered. */
int turns_take(Turns *turns, sd_bus_message *message);

/* The queue itself, without a bus. -EBUSY: a limit is reached; else the item is kept. NULL: none waits. */
int turns_push(Turns *turns, uint32_t uid, const char *connection, void *item);
void *turns_pop(Turns *turns);
