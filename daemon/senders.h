/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The user of each name on the bus, as the bus has reported it. A unique name is never given to another
 * connection, so an entry stays valid, and the names of ended connections only take up room. A user may have
 * as many names in the table as a bus allows a user at once. If there are more, the user's oldest ones are
 * dropped. If all users together have more than SENDERS_MAX, the oldest of all are dropped. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SENDERS_MAX      4096u
#define SENDERS_USER_MAX 256u

typedef struct Senders Senders;

Senders *senders_new(void);
Senders *senders_free(Senders *senders);
/* Adds a name. If the table has it already, nothing changes. */
void senders_add(Senders *senders, const char *name, uint32_t uid);
bool senders_find(const Senders *senders, const char *name, uint32_t *ret_uid);
