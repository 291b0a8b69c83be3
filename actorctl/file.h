/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files that a user names, for reading: whatever stands there, nothing waits for it and nothing grows without
 * end. */
#pragma once

#include <stddef.h>

/* A regular file, or what another program pipes into this one (/dev/stdin, a shell's <(…)). The descriptor; or
 * a negative errno: -EISDIR; -ENOTSUP: it is something else. */
int file_open(const char *path);

/* All of it, NUL-terminated; g_free(). 0; or a negative errno, -EFBIG: it has more than `max` bytes. */
int file_read(const char *path, size_t max, char **ret, size_t *ret_n);

/* Why one of these failed. */
const char *file_reason(int r);
