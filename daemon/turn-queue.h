/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A queue of items from several users. The users take turns, and within each user the user's connections
 * take turns; the items of one connection keep their order. So if one user has thousands of items, an item
 * of another user waits only for one of them. The daemon has two such queues: one of messages with
 * descriptors (daemon/gate.h), and one of calls (daemon/turns.h).
 *
 * When the queue is full, the user with the most items loses the newest item of the user's connection that
 * has the most. So a user who floods the queue takes no place from another user. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* The most items of one user, or of one connection whose user is not known. A bus allows a user 256
 * connections, so clients that wait for each answer never reach this limit. */
#define TURN_ITEMS_USER_MAX 1024u

typedef struct TurnQueue TurnQueue;

TurnQueue *turn_queue_new(void);
/* Frees the queue. item_free: called for the items that still wait. */
TurnQueue *turn_queue_free(TurnQueue *queue, GDestroyNotify item_free);
unsigned turn_queue_length(const TurnQueue *queue);
/* Whether the queue has items of this connection that were pushed with a user. */
bool turn_queue_has(const TurnQueue *queue, const char *connection);

/* Adds an item. Returns NULL, or the item that has lost its place: another one, or this one if there was no
 * room. n_max: how many items of all users may wait. */
void *turn_queue_push(TurnQueue *queue, uint32_t uid, const char *connection, void *item, unsigned n_max);
/* Like turn_queue_push(), for a connection whose user is not known yet. */
void *turn_queue_push_stranger(TurnQueue *queue, const char *connection, void *item, unsigned n_max);
bool turn_queue_has_stranger(const TurnQueue *queue, const char *connection);
/* Call this when a connection's user has become known: takes the items that waited for this out of the
 * queue, and returns them in their order. The caller pushes them again. */
GQueue turn_queue_introduce(TurnQueue *queue, const char *connection);
/* Takes the next item; NULL: none waits. */
void *turn_queue_pop(TurnQueue *queue, uint32_t *ret_uid);
