/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests which job starts, and which job goes back to the queue so that another one may start. */
#include <glib.h>

#include "daemon/queue.h"

static void test_queue(void) {
        QueueEntry entries[] = {
                { .id = 1, .uid = 1000, .running = true },
                { .id = 2, .uid = 1000, .queued = true },
                { .id = 3, .uid = 1000, .queued = true },
                { .id = 4, .uid = 1001, .queued = true },
        };

        g_assert_cmpint(queue_pick(entries, 0, 4), ==, -1);
        g_assert_cmpint(queue_pick(entries, 4, 1), ==, -1); /* no place */
        g_assert_cmpint(queue_pick(entries, 4, 2), ==, 3);  /* a user with no running job goes first */
        entries[3].queued = false;
        entries[3].running = true;
        g_assert_cmpint(queue_pick(entries, 4, 3), ==, 1); /* of a user's jobs, the oldest is next */
        entries[0].running = false;
        entries[1].queued = false;
        entries[1].running = true;
        g_assert_cmpint(queue_pick(entries, 4, 3), ==, 2);
        entries[2].queued = false;
        g_assert_cmpint(queue_pick(entries, 4, 9), ==, -1); /* nothing waits */
}

/* User A's two jobs have had both places for long, and user B's job waits. A's share is one place, so the
 * younger of A's jobs goes back. */
static void test_preemption(void) {
        QueueEntry entries[] = {
                { .id = 1, .uid = 1000, .running = true, .movable = true, .since_usec = 10 },
                { .id = 2, .uid = 1000, .running = true, .movable = true, .since_usec = 20 },
                { .id = 3, .uid = 1001, .queued = true },
        };
        uint64_t wait;

        g_assert_cmpint(queue_pick(entries, 3, 2), ==, -1);
        g_assert_cmpint(queue_preempt(entries, 2, 2, 5, 100, &wait), ==, -1); /* no job waits */
        g_assert_cmpuint(wait, ==, UINT64_MAX);
        g_assert_cmpint(queue_preempt(entries, 3, 3, 5, 100, &wait), ==, -1); /* a place is free */
        g_assert_cmpint(queue_preempt(entries, 3, 2, 5, 100, &wait), ==, 1);
        /* A job may go back only after 85 us in its place. The younger job has had its place for 80 us.
         * Until it may go back, 5 us later, the older job stays, too. */
        g_assert_cmpint(queue_preempt(entries, 3, 2, 85, 100, &wait), ==, -1);
        g_assert_cmpuint(wait, ==, 5);
        g_assert_cmpint(queue_preempt(entries, 3, 2, UINT64_MAX, 100, &wait), ==, -1); /* as good as never */
        entries[1].movable = false;
        g_assert_cmpint(queue_preempt(entries, 3, 2, 5, 100, &wait), ==, 0);
        /* If one job is leaving already, no other job has to go. */
        entries[1].leaving = true;
        g_assert_cmpint(queue_preempt(entries, 3, 2, 5, 100, &wait), ==, -1);
        /* If an administrator gave A a share of two places, A keeps both. */
        entries[1] = (QueueEntry){
                .id = 2, .uid = 1000, .running = true, .movable = true, .since_usec = 20
        };
        for (size_t i = 0; i < 2; i++)
                entries[i].share = 2;
        g_assert_cmpint(queue_preempt(entries, 3, 2, 5, 100, &wait), ==, -1);
        /* A share that is not known yet: it may be large. */
        for (size_t i = 0; i < 2; i++)
                entries[i].share = QUEUE_SHARE_UNKNOWN;
        g_assert_cmpint(queue_preempt(entries, 3, 2, 5, 100, &wait), ==, -1);
        g_assert_cmpuint(wait, ==, UINT64_MAX);
        /* If the waiting job is of the same user, no job goes back. */
        entries[0].share = entries[1].share = 0;
        entries[2].uid = 1000;
        g_assert_cmpint(queue_preempt(entries, 3, 2, 5, 100, &wait), ==, -1);
}

/* From any state, preemption comes to rest after at most one move for each place. So two jobs never displace
 * each other by turns. */
static void test_preemption_settles(void) {
        for (uint32_t seed = 0; seed < 2000; seed++) {
                g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
                QueueEntry entries[12] = {};
                uint32_t n_places = (uint32_t) g_rand_int_range(rand, 1, 7), n_running = 0, n_moves = 0;
                uint64_t wait;
                ssize_t i;

                for (uint32_t k = 0; k < G_N_ELEMENTS(entries); k++) {
                        bool running = n_running < n_places && g_rand_boolean(rand);

                        entries[k] = (QueueEntry){ .id = k,
                                .uid = (uint32_t) g_rand_int_range(rand, 0, 4),
                                .running = running,
                                .queued = !running,
                                .movable = running,
                                .since_usec = k };
                        n_running += running;
                }
                for (;;) {
                        while ((i = queue_pick(entries, G_N_ELEMENTS(entries), n_places)) >= 0)
                                entries[i] = (QueueEntry){ .id = entries[i].id,
                                        .uid = entries[i].uid,
                                        .running = true,
                                        .movable = true };
                        i = queue_preempt(entries, G_N_ELEMENTS(entries), n_places, 0, 100, &wait);
                        if (i < 0)
                                break;
                        entries[i] = (QueueEntry){
                                .id = entries[i].id, .uid = entries[i].uid, .queued = true
                        };
                        g_assert_cmpuint(++n_moves, <=, n_places);
                }
        }
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/queue/pick", test_queue);
        g_test_add_func("/queue/preemption", test_preemption);
        g_test_add_func("/queue/preemption-settles", test_preemption_settles);
        return g_test_run();
}
