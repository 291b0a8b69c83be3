/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The ring. Its head says how far the ring is written, and moves when a record is complete. The daemon
 * reports by messages how far it has read, so it need not write into the ring. */
#include "invoker/spool.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/cleanup.h"
#include "lib/fd.h"

#define SPOOL_BYTES (sizeof(SpoolHead) + (uint64_t) SPOOL_RECORDS * sizeof(Record))

int spool_init(uint64_t life, Spool *ret) {
        _cleanup_close_ int fd = -EBADF;
        void *map;
        int r;

        assert(ret);

        fd = memfd_make("actord-spool", SPOOL_BYTES);
        if (fd < 0)
                return fd;
        r = fd_map(fd, SPOOL_BYTES, true, &map);
        if (r < 0)
                return r;

        /* Actors do not inherit the mapping, and the daemon cannot make a writable one. */
        (void) madvise(map, SPOOL_BYTES, MADV_DONTFORK);
        r = memfd_seal_future_write(fd);
        if (r < 0) {
                fd_unmap(map, SPOOL_BYTES);
                return r;
        }

        *ret = (Spool){ .head = map, .records = (Record *) ((SpoolHead *) map + 1), .life = life };
        ret->fd = TAKE_FD(fd);
        ret->head->abi = RECORD_ABI;
        ret->head->record_bytes = sizeof(Record);
        ret->head->n_records = SPOOL_RECORDS;
        ret->head->magic = SPOOL_MAGIC;
        return 0;
}

void spool_done(Spool *spool) {
        fd_unmap(spool->held, spool->n_held_max * sizeof(Record));
        spool->held = NULL;
        fd_unmap(spool->head, SPOOL_BYTES);
        spool->head = NULL;
        spool->records = NULL;
        spool->fd = close_fd(spool->fd);
}

bool spool_is_full(const Spool *spool) {
        return spool->written - spool->acknowledged >= SPOOL_RECORDS;
}

/* Reserves room for n records that do not fit into a full ring. The kernel allocates a page only when the
 * invoker writes into it, which is rare. Actors do not inherit the memory. */
int spool_reserve(Spool *spool, uint32_t n) {
        const size_t bytes = n * sizeof(Record);
        void *map;

        assert(!spool->held);

        map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (map == MAP_FAILED)
                return -errno;
        (void) madvise(map, bytes, MADV_DONTFORK);
        spool->held = map;
        spool->n_held_max = n;
        return 0;
}

bool spool_is_behind(const Spool *spool) {
        return spool->n_held > 0;
}

uint64_t spool_last(const Spool *spool) {
        return spool->written + spool->n_held;
}

static void publish(Spool *spool, const Record *record) {
        Record *place = spool->records + spool->written % SPOOL_RECORDS;

        *place = *record;
        place->life = spool->life;
        place->seq = ++spool->written;
        atomic_store_explicit(&spool->head->written, spool->written, memory_order_release);
}

int spool_append(Spool *spool, const Record *record) {
        assert(spool && spool->head);
        assert(record);

        if (!spool_is_full(spool)) {
                publish(spool, record);
                return 0;
        }
        if (spool->n_held == spool->n_held_max)
                return -ENOBUFS;
        spool->held[spool->n_held++] = *record;
        return 0;
}

static void publish_held(Spool *spool) {
        uint32_t n = 0;

        while (n < spool->n_held && !spool_is_full(spool))
                publish(spool, &spool->held[n++]);
        spool->n_held -= n;
        memmove(spool->held, spool->held + n, spool->n_held * sizeof(Record));
}

int spool_acknowledge(Spool *spool, uint64_t seq) {
        assert(spool);

        if (seq > spool->written)
                return -EINVAL;
        /* A new daemon may begin with a lower number than the daemon before it, since it knows of fewer
         * records. */
        if (seq > spool->acknowledged)
                spool->acknowledged = seq;
        if (spool_is_behind(spool))
                publish_held(spool);
        return 0;
}
