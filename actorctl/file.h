/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads files that a user names, with a limit on their size, and without waiting for a device or a named
 * pipe. Writes files that appear whole or not at all. */
#pragma once

#include <errno.h>
#include <stddef.h>

/* Opens a regular file, or a pipe from another program (/dev/stdin, a shell's <(…)). Returns the descriptor
 * or a negative errno: -EISDIR; -ENOTSUP: it is neither. */
int file_open(const char *path);

/* Reads a whole file, NUL-terminated; g_free(). 0; or a negative errno; -EFBIG: it has more than `max`
 * bytes. */
int file_read(const char *path, size_t max, char **ret, size_t *ret_n);

/* A reason in words for an error of file_open() or file_read(). */
const char *file_reason(int r);

/* A new file that takes the place of another one when it is complete. Declare it with
 * _cleanup_(aside_done). */
typedef struct Aside {
        int fd;
        char *path; /* the temporary name; NULL: there is no file, or it was committed */
} Aside;

#define ASIDE_EMPTY \
        { .fd = -EBADF }

/* Makes the new file, under a temporary name. 0, or a negative errno. mode: as for open(). */
int aside_open(const char *path, int mode, Aside *ret);
/* Makes the new file durable, and renames it to `path`. 0, or a negative errno. */
int aside_commit(Aside *aside, const char *path);
/* Removes the new file unless it was committed. */
void aside_done(Aside *aside);

/* Writes a whole file by an Aside. 0; or a negative errno, and the old file stays. */
int file_write(const char *path, const void *bytes, size_t n);
