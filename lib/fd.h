/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Descriptors that programs pass to each other: sealed memory, whole reads and writes. Errors are
 * negative errnos. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Makes memory that another program may map. Its size is fixed from here on (SHRINK and GROW are sealed),
 * its content is zero, and the descriptor closes on exec. Returns it, or a negative errno. */
int memfd_make(const char *name, uint64_t bytes);

/* The same with this content, which is sealed and cannot change any more. */
int memfd_make_sealed(const char *name, const void *content, uint64_t bytes);

/* From now on no new mapping can write; existing ones still can. No seal can be added or lifted
 * afterwards. */
int memfd_seal_future_write(int fd);

/* Whether the content is final: 0; -EPERM: something may still write to it or cut it short (checked
 * before a stranger's text is parsed). */
int memfd_check_sealed(int fd);

/* Maps the first `bytes` bytes, shared. -ENODATA: the file is shorter, and reading on would be SIGBUS. */
int fd_map(int fd, uint64_t bytes, bool writable, void **ret);
void fd_unmap(void *map, uint64_t bytes);

/* -errno, or 0 with the file's size. */
int fd_size(int fd, uint64_t *ret);

/* Whole reads and writes. read_full(): -ENODATA: the file ends earlier. */
int read_full(int fd, void *ret, size_t n);
int pread_full(int fd, void *ret, size_t n, off_t at);
int write_full(int fd, const void *data, size_t n);

/* Reads from the descriptor's position to the end, NUL-terminated, to be freed. -EFBIG: more than `max`
 * bytes. */
int read_all(int fd, size_t max, char **ret, size_t *ret_n);

/* Reads the beginning of a small file below a directory, at most n - 1 bytes, as a string. A link is not
 * followed, and a pipe in its place not waited for. */
int file_read_at(int dir_fd, const char *name, char *ret, size_t n);

/* From now on the descriptor closes on exec, or does not. 0, or a negative errno. */
int fd_set_cloexec(int fd, bool cloexec);

/* A copy that closes on exec, numbered from floor up. -EMFILE also where the limit of open files is below
 * the floor, which the kernel calls an invalid argument. */
int fd_lift(int fd, int floor);

/* For a child that may hang: it must keep no socket and no ledger open when its parent has gone. Moves
 * these descriptors side by side, above all that were open, and closes all others but the first three.
 * Negative ones are left as they are. */
int fd_keep_only(int fds[], size_t n);
