/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The user of each name on the bus, as far as the bus has said. A unique name is never given to another
 * connection, so what was said once stays true, and a name that is gone is only in the way: each user has
 * room for as many as a bus allows a user at once, and the oldest make room. */
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
