/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Credentials of munge. Within the cluster, a credential proves which user made it, and for which user. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "cluster/hello.h"

/* Encrypts `sealed` so that only this user can open it. The caller frees *ret. -EPROTO: words has a sentence
 * with advice. */
int credential_make(const Sealed *sealed, char **ret, char words[256]);
/* Opens a credential that a process of this user made. munge opens each credential only once. -EPROTO: words
 * has a sentence. */
int credential_open(const char *credential, const Hello *hello, Sealed *ret, char words[256]);
/* Makes a credential only to try munge. 0: munge works on this host; else as credential_make(). */
int credential_try(char words[256]);
