/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Functions for descriptors: sealed memory that programs pass to each other, mappings, and reads and writes
 * that are not cut short. Errors are negative errnos. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Makes memory that another program may map. Its size is fixed by seals (F_SEAL_SHRINK, F_SEAL_GROW), its
 * content is zero, and the descriptor closes on exec. Returns it, or a negative errno. */
int memfd_make(const char *name, uint64_t bytes);

/* Like memfd_make(), with this content, which is sealed and cannot change any more. */
int memfd_make_sealed(const char *name, const void *content, uint64_t bytes);

/* Forbids new writable mappings; existing ones stay writable. Afterwards no seal can be added or lifted. */
int memfd_seal_future_write(int fd);

/* Checks the seals of memory from another program; call this before parsing it. 0: the content cannot change
 * any more. -EPERM: a process may still write to it or change its size. */
int memfd_check_sealed(int fd);

/* Maps the first `bytes` bytes, shared. -ENODATA: the file is shorter, and reading beyond its end would
 * raise SIGBUS. */
int fd_map(int fd, uint64_t bytes, bool writable, void **ret);
void fd_unmap(void *map, uint64_t bytes);

/* Finds the size of a file. 0, or a negative errno. */
int fd_size(int fd, uint64_t *ret);

/* Read or write everything. read_full(), pread_full(): -ENODATA: the file ends too early. */
int read_full(int fd, void *ret, size_t n);
int pread_full(int fd, void *ret, size_t n, off_t at);
int write_full(int fd, const void *data, size_t n);

/* Reads from the descriptor's position to the end; the result is NUL-terminated and must be freed. -EFBIG:
 * there are more than `max` bytes. */
int read_all(int fd, size_t max, char **ret, size_t *ret_n);

/* Reads the beginning of a small file in a directory, at most n - 1 bytes, as a string. It does not follow a
 * link, and does not wait if the file is a pipe. */
int file_read_at(int dir_fd, const char *name, char *ret, size_t n);

/* Sets whether the descriptor closes on exec. 0, or a negative errno. */
int fd_set_cloexec(int fd, bool cloexec);

/* Duplicates a descriptor, closed on exec, to a number of at least `floor`. -EMFILE: the limit of open files
 * is reached, or is below `floor` (for which the kernel returns EINVAL). */
int fd_lift(int fd, int floor);

/* For a child process that may hang: it must not keep sockets or a ledger open when its parent has ended.
 * Moves these descriptors, in their order, above the highest of them, writes their new numbers into fds, and
 * closes all others except the first three. Negative numbers are left as they are. */
int fd_keep_only(int fds[], size_t n);
