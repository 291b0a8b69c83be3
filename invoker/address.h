/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where an actor's shared memory lies. A child that is forked without exec has its parent's addresses;
 * what both map lies elsewhere in each of them, at least, so that an actor does not learn from its own
 * memory where the invoker keeps the same pages. */
#pragma once

#include <stdint.h>

/* Reserves SANDBOX_WORDS_BYTES (include/sandbox.h) at a random address. 0: there is no such place in this
 * process. */
uint64_t address_reserve(void);

/* Maps the first `bytes` of a file, shared, and touches what is writable: a page fault is a system's
 * work, and belongs to the start and not to the first steps. *at: the next free address of a reserved
 * stretch, moved on past it; NULL or 0: any random address. MAP_FAILED as mmap(). */
void *address_map(int fd, uint64_t bytes, int protection, uint64_t *at);
