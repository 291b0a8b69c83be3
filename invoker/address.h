/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Chooses the addresses of an actor's shared memory. A child that is forked without exec has its parent's
 * addresses. So each page that parent and child map gets a new address in the child, except a data set's: an
 * actor's memory must not reveal the invoker's addresses. */
#pragma once

#include <stdint.h>

/* Reserves SANDBOX_WORDS_BYTES (include/sandbox.h) at a random address. 0: this process has no room for so
 * many bytes. */
uint64_t address_reserve(void);

/* Maps the first `bytes` of a file, shared. Writable pages are touched at once, so that their page faults
 * count as start-up, and not for the first steps. *at: the next free address of a reserved range; it moves
 * past the mapping. at NULL or *at 0: any random address. Returns MAP_FAILED like mmap(). */
void *address_map(int fd, uint64_t bytes, int protection, uint64_t *at);
