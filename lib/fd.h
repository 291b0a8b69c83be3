/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Descriptors that programs hand each other: sealed memory, whole reads and writes. Errors are negative errnos. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Memory that another program may map. The size is fixed from here on (SHRINK and GROW are sealed), the content is zero, the
 * descriptor closes on exec. Returns it, or a negative errno. */
int memfd_make(const char *name, uint64_t bytes);

/* The same with this content, which nobody can change any more. */
int memfd_make_sealed(const char *name, const void *content, uint64_t bytes);

/* No mapping made from now on can write; those that exist still can. Nobody can add or lift a seal afterwards. */
int memfd_seal_future_write(int fd);

/* Whether the content is final: 0, or -EPERM when something may still write or cut it (checked before text of a stranger is parsed). */
int memfd_check_sealed(int fd);

/* Maps the first `bytes` bytes, shared. -ENODATA: the file is shorter, and reading on would be SIGBUS. */
int fd_map(int fd, uint64_t bytes, bool writable, void **ret);
void fd_unmap(void *map, uint64_t bytes);

/* -errno, or 0 with the file's size. */
int fd_size(int fd, uint64_t *ret);

/* All of it. read_full(): -ENODATA when the file ends earlier. */
int read_full(int fd, void *ret, size_t n);
int pread_full(int fd, void *ret, size_t n, off_t at);
int write_full(int fd, const void *data, size_t n);

/* Everything from the descriptor's position to its end, NUL-terminated, to be freed. -EFBIG: more than `max` bytes. */
int read_all(int fd, size_t max, char **ret, size_t *ret_n);

/* From now on the descriptor closes on exec, or does not. 0, or a negative errno. */
int fd_set_cloexec(int fd, bool cloexec);
