/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Processes that hold descriptors of callers for the gate (daemon/gate.h), which never has one in its own
 * table: even to close it may take for ever. A keeper receives a message's first byte from the bus, and
 * with it the descriptors, which so are in no other process. It gives the gate a *token* for each, one end
 * of a socket pair, and serves the others: who holds a token may ask for the descriptor. When all tokens
 * are closed it closes the descriptors and is ready for another message. One that hangs is never used
 * again; it holds the descriptors of one message and nothing else. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Keepers that hold descriptors: for all, and for each user. Descriptors of a user beyond that get tokens
 * that no keeper answers. */
#define KEEPERS_MAX       2048u
#define KEEPERS_USER_MAX  512u
#define KEEPER_START_USEC (10ull * 1000 * 1000)
/* Of one message: those behind them get no token, so that it is known what a call that waits can hold. */
#define GATE_DESCRIPTORS_MAX 8u

typedef struct Keepers Keepers;

typedef struct Received {
        uint8_t byte;
        int tokens[GATE_DESCRIPTORS_MAX]; /* the receiver's; sealed memory comes as it is */
        size_t n_tokens;
} Received;

/* For a process that has no other children. start_usec: a keeper that takes longer to come up is not waited
 * for, but another one is started. -errno. */
int keepers_new(uint64_t start_usec, Keepers **ret);
/* Its processes end when the one that made them does, and those that are ready at once. */
Keepers *keepers_free(Keepers *keepers);

/* The next byte of this socket, which brings descriptors of this user: 1. 0: it was not received, for lack
 * of a process, and it can be tried again. -ECHILD: the keeper was killed meanwhile; whether it had the byte
 * shows in the socket, and its descriptors are gone with it. Another -errno: no keeper says anything. */
int keepers_receive(Keepers *keepers, int fd, uint32_t uid, Received *ret);

/* How many processes there are, as far as their ends were noticed: while a message comes, and at rest. */
unsigned keepers_count(const Keepers *keepers);
/* Those that hold nothing end. */
void keepers_rest(Keepers *keepers);
