/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Credentials of munge: who made this, within the cluster, and for whom. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "cluster/hello.h"

/* Seals for this user alone, encrypted; to be freed. -EPROTO with a sentence of what to do. */
int credential_make(const Sealed *sealed, char **ret, char words[256]);
/* Opens one that a process of this user made: a credential opens once. -EPROTO with a sentence. */
int credential_open(const char *credential, const Hello *hello, Sealed *ret, char words[256]);
/* Whether munge works here at all. */
int credential_try(char words[256]);
