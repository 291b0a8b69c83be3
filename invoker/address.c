/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Chooses random addresses for the segments, below the addresses that the kernel itself chooses. */
#include "invoker/address.h"

#include <stddef.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "include/sandbox.h"

#define ADDRESS_FIRST (UINT64_C(1) << 44)
#define PAGE_BYTES    4096u
#define GAP_BYTES     (16u * PAGE_BYTES) /* so that an overrun of one segment does not reach the next */

enum { TRIES = 8 };

/* If the kernel gives no random number, addresses are predictable; nothing else becomes less safe. */
static uint64_t random_below(uint64_t n) {
        uint64_t x = 0;

        if (getrandom(&x, sizeof(x), GRND_NONBLOCK) < 0)
                x = 0;
        return x % n;
}

static uint64_t whole_pages(uint64_t bytes) {
        return (bytes + PAGE_BYTES - 1) & ~(uint64_t) (PAGE_BYTES - 1);
}

uint64_t address_reserve(void) {
        const uint64_t n_places = (SANDBOX_OWN_ADDRESSES - ADDRESS_FIRST) / SANDBOX_WORDS_BYTES;
        const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;

        for (int k = 0; k < TRIES; k++) {
                uint64_t at = ADDRESS_FIRST + random_below(n_places) * SANDBOX_WORDS_BYTES;

                if (mmap((void *) at, SANDBOX_WORDS_BYTES, PROT_NONE, flags, -1, 0) != MAP_FAILED)
                        return at;
        }
        return 0;
}

static int flags_of(int protection) {
        return MAP_SHARED | (protection & PROT_WRITE ? MAP_POPULATE : 0);
}

static void *map_anywhere(int fd, uint64_t bytes, int protection) {
        const uint64_t n_places = (SANDBOX_OWN_ADDRESSES - ADDRESS_FIRST) / PAGE_BYTES;
        const int flags = flags_of(protection);

        for (int k = 0; k < TRIES; k++) {
                uint64_t at = ADDRESS_FIRST + random_below(n_places) * PAGE_BYTES;
                void *map;

                if (at + bytes > SANDBOX_OWN_ADDRESSES)
                        continue;
                map = mmap((void *) at, bytes, protection, flags | MAP_FIXED_NOREPLACE, fd, 0);
                if (map != MAP_FAILED)
                        return map;
        }
        return mmap(NULL, bytes, protection, flags, fd, 0);
}

void *address_map(int fd, uint64_t bytes, int protection, uint64_t *at) {
        void *map;

        if (!at || *at == 0)
                return map_anywhere(fd, bytes, protection);
        /* The first mapping begins at a random place in the first half of the reserved addresses. */
        if (*at % SANDBOX_WORDS_BYTES == 0)
                *at += random_below(SANDBOX_WORDS_BYTES / 2 / PAGE_BYTES) * PAGE_BYTES;
        map = mmap((void *) *at, bytes, protection, flags_of(protection) | MAP_FIXED, fd, 0);
        if (map != MAP_FAILED)
                *at += whole_pages(bytes) + GAP_BYTES;
        return map;
}
