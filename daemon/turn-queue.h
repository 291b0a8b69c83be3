/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Items that wait for their turn, by whose they are. Turns go round the users, and for each user round the
 * connections; a connection's items keep their order. So one user's thousands hold up one of another's for
 * a single turn. Two rows wait so: messages with descriptors (daemon/gate.h), then calls (daemon/turns.h).
 *
 * Where there is no room for one more item, the user with the most of them loses the newest one: so a flood
 * fills nobody's place but its own user's. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* A bus allows a user 256 connections: who waits for each answer never meets it. */
#define TURN_ITEMS_USER_MAX 1024u

typedef struct TurnQueue TurnQueue;

TurnQueue *turn_queue_new(void);
/* item_free: of the items that still wait. */
TurnQueue *turn_queue_free(TurnQueue *queue, GDestroyNotify item_free);
unsigned turn_queue_length(const TurnQueue *queue);
/* Whether items of a known user's connection wait. */
bool turn_queue_has(const TurnQueue *queue, const char *connection);

/* The item is kept, and the answer is NULL or another one that has to give way to it; or there is no room
 * for it and it is what is returned. n_max: how many may wait. */
void *turn_queue_push(TurnQueue *queue, uint32_t uid, const char *connection, void *item, unsigned n_max);
/* The same, of a connection whose user is not known yet. */
void *turn_queue_push_stranger(TurnQueue *queue, const char *connection, void *item, unsigned n_max);
bool turn_queue_has_stranger(const TurnQueue *queue, const char *connection);
/* Its user is known now: the items that waited for that, in their order; of a connection that has none,
 * an empty queue. */
GQueue turn_queue_introduce(TurnQueue *queue, const char *connection);
/* NULL: none waits. */
void *turn_queue_pop(TurnQueue *queue, uint32_t *ret_uid);
