/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Chooses the addresses of an actor's shared memory. A child that is forked without exec has its parent's
 * addresses. So pages that both map have a different address in each, and an actor's memory does not reveal
 * where the invoker keeps them. */
#pragma once

#include <stdint.h>

/* Reserves SANDBOX_WORDS_BYTES (include/sandbox.h) at a random address. 0: this process has no room for
 * it. */
uint64_t address_reserve(void);

/* Maps the first `bytes` of a file, shared. Writable pages are touched at once, so that their page faults
 * count as start-up and not as first steps. *at: the next free address of a reserved range, which is moved
 * past the mapping; NULL or 0: any random address. MAP_FAILED as mmap(). */
void *address_map(int fd, uint64_t bytes, int protection, uint64_t *at);
