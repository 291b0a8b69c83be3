/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests the ring of records: the numbers of records, a full ring, acknowledgements, and that other processes
 * cannot write to the ring. */
#include <errno.h>
#include <glib.h>
#include <sys/mman.h>

#include "invoker/spool.h"
#include "lib/fd.h"

static void append(Spool *spool, uint64_t round) {
        const Record record = { .kind = RECORD_ROUND, .round = round, .seq = 99, .life = 99 };

        g_assert_cmpint(spool_append(spool, &record), ==, 0);
}

static void test_names(void) {
        Spool spool = SPOOL_EMPTY;

        g_assert_cmpint(spool_init(5, &spool), ==, 0);
        g_assert_cmpuint(spool.head->magic, ==, SPOOL_MAGIC);
        g_assert_cmpuint(spool.head->n_records, ==, SPOOL_RECORDS);
        g_assert_cmpuint(atomic_load(&spool.head->written), ==, 0);

        append(&spool, 1);
        append(&spool, 2);
        g_assert_cmpuint(atomic_load(&spool.head->written), ==, 2);
        for (uint64_t i = 0; i < 2; i++) {
                g_assert_cmpuint(spool.records[i].seq, ==, i + 1);
                g_assert_cmpuint(spool.records[i].life, ==, 5);
                g_assert_cmpuint(spool.records[i].round, ==, i + 1);
        }
        spool_done(&spool);
}

static void test_full(void) {
        const Record record = { .kind = RECORD_ROUND };
        Spool spool = SPOOL_EMPTY;

        g_assert_cmpint(spool_init(1, &spool), ==, 0);
        for (uint64_t i = 0; i < SPOOL_RECORDS; i++) {
                g_assert_false(spool_is_full(&spool));
                append(&spool, i + 1);
        }
        g_assert_true(spool_is_full(&spool));
        g_assert_cmpint(spool_append(&spool, &record), ==, -ENOBUFS);
        g_assert_cmpuint(atomic_load(&spool.head->written), ==, SPOOL_RECORDS);
        g_assert_cmpuint(spool.records[0].round, ==, 1);

        /* Frees the place of the oldest record, and no other place. */
        g_assert_cmpint(spool_acknowledge(&spool, 1), ==, 0);
        g_assert_false(spool_is_full(&spool));
        append(&spool, 12345);
        g_assert_true(spool_is_full(&spool));
        g_assert_cmpuint(spool.records[0].round, ==, 12345);
        g_assert_cmpuint(spool.records[0].seq, ==, SPOOL_RECORDS + 1);
        spool_done(&spool);
}

/* If the ring is full, the remaining records of an event are kept outside of it. They enter the ring in
 * their order when there is room. */
static void test_held(void) {
        const Record record = { .kind = RECORD_ROUND };
        Spool spool = SPOOL_EMPTY;

        g_assert_cmpint(spool_init(1, &spool), ==, 0);
        g_assert_cmpint(spool_reserve(&spool, 3), ==, 0);
        for (uint64_t i = 0; i < SPOOL_RECORDS; i++)
                append(&spool, i + 1);
        g_assert_false(spool_is_behind(&spool));
        for (uint64_t i = 0; i < 3; i++)
                append(&spool, SPOOL_RECORDS + i + 1);
        g_assert_true(spool_is_behind(&spool));
        g_assert_cmpint(spool_append(&spool, &record), ==, -ENOBUFS);
        g_assert_cmpuint(atomic_load(&spool.head->written), ==, SPOOL_RECORDS);
        g_assert_cmpuint(spool_last(&spool), ==, SPOOL_RECORDS + 3);

        g_assert_cmpint(spool_acknowledge(&spool, 2), ==, 0);
        g_assert_true(spool_is_behind(&spool));
        g_assert_cmpuint(atomic_load(&spool.head->written), ==, SPOOL_RECORDS + 2);
        g_assert_cmpint(spool_acknowledge(&spool, 4), ==, 0);
        g_assert_false(spool_is_behind(&spool));
        append(&spool, SPOOL_RECORDS + 4);
        for (uint64_t i = 0; i < 4; i++) {
                g_assert_cmpuint(spool.records[i].round, ==, SPOOL_RECORDS + i + 1);
                g_assert_cmpuint(spool.records[i].seq, ==, SPOOL_RECORDS + i + 1);
                g_assert_cmpuint(spool.records[i].life, ==, 1);
        }
        spool_done(&spool);
}

static void test_acknowledge(void) {
        Spool spool = SPOOL_EMPTY;

        g_assert_cmpint(spool_init(1, &spool), ==, 0);
        append(&spool, 1);
        append(&spool, 2);
        g_assert_cmpint(spool_acknowledge(&spool, 3), ==, -EINVAL);
        g_assert_cmpuint(spool.acknowledged, ==, 0);
        g_assert_cmpint(spool_acknowledge(&spool, 2), ==, 0);
        /* The next daemon may have committed fewer records. The acknowledgements of the last daemon still
         * hold. */
        g_assert_cmpint(spool_acknowledge(&spool, 1), ==, 0);
        g_assert_cmpuint(spool.acknowledged, ==, 2);
        spool_done(&spool);
}

static void test_read_only(void) {
        Spool spool = SPOOL_EMPTY;
        void *map;

        g_assert_cmpint(spool_init(1, &spool), ==, 0);
        g_assert_cmpint(fd_map(spool.fd, sizeof(SpoolHead), true, &map), ==, -EPERM);
        g_assert_cmpint(fd_map(spool.fd, sizeof(SpoolHead), false, &map), ==, 0);
        g_assert_cmpint(mprotect(map, sizeof(SpoolHead), PROT_READ | PROT_WRITE), ==, -1);
        append(&spool, 1);
        g_assert_cmpuint(atomic_load(&((SpoolHead *) map)->written), ==, 1);
        fd_unmap(map, sizeof(SpoolHead));
        spool_done(&spool);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/spool/names", test_names);
        g_test_add_func("/spool/full", test_full);
        g_test_add_func("/spool/held", test_held);
        g_test_add_func("/spool/acknowledge", test_acknowledge);
        g_test_add_func("/spool/read-only", test_read_only);
        return g_test_run();
}
