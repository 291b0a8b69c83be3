/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Credentials of munge: they prove, within the cluster, which user made them and for which user. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "cluster/hello.h"

/* Encrypts for this user only; the result must be freed. -EPROTO with a sentence of advice. */
int credential_make(const Sealed *sealed, char **ret, char words[256]);
/* Opens a credential that a process of this user made; it can be opened only once. -EPROTO with a
 * sentence. */
int credential_open(const char *credential, const Hello *hello, Sealed *ret, char words[256]);
/* Whether munge works on this host. */
int credential_try(char words[256]);
