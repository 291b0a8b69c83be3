/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Processes that hold callers' descriptors for the gate (daemon/gate.h). The gate itself never has such a
 * descriptor open, since even closing it may take for ever; only sealed memory, which is harmless, is passed
 * on to it. A keeper receives a message's first byte from the bus together with the message's descriptors,
 * so no other process has them. For each other descriptor it gives the gate a *token*, one end of a socket
 * pair, and serves the other end: a process with the token may ask for the descriptor. When all tokens are
 * closed, the keeper closes the descriptors and is ready for another message. A keeper that hangs is never
 * used again, and holds only the descriptors of one message. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The most keepers that hold descriptors, for all users and for one user. If there are this many, the
 * descriptors of further messages get tokens that no keeper answers. */
#define KEEPERS_MAX       2048u
#define KEEPERS_USER_MAX  512u
#define KEEPER_START_USEC (10ull * 1000 * 1000)
/* The most descriptors of a message that get a token. This limits the descriptors of a waiting call. */
#define GATE_DESCRIPTORS_MAX 8u

typedef struct Keepers Keepers;

typedef struct Received {
        uint8_t byte;
        int tokens[GATE_DESCRIPTORS_MAX]; /* owned by the receiver; sealed memory is passed as it is */
        size_t n_tokens;
} Received;

/* Call this only in a process that has no other children. start_usec: if a keeper takes longer to start,
 * another one is started. Returns 0 or -errno. */
int keepers_new(uint64_t start_usec, Keepers **ret);
/* Ends the keepers that hold no descriptors. A keeper with descriptors ends when the process that made it
 * ends. */
Keepers *keepers_free(Keepers *keepers);

/* Lets a keeper receive the next byte of this socket, with this user's descriptors. 1: done. 0: there was no
 * keeper; try again. -ECHILD: the keeper was killed meanwhile. The socket shows whether it had taken the
 * byte; if so, the descriptors are gone with it. Another -errno: no keeper answers, or it could not receive
 * the byte. */
int keepers_receive(Keepers *keepers, int fd, uint32_t uid, Received *ret);

/* How many keepers there are. A keeper that has ended is noticed only when the next message comes or the
 * gate is idle. */
unsigned keepers_count(const Keepers *keepers);
/* Ends the keepers that hold no descriptors. */
void keepers_rest(Keepers *keepers);
