/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests which of the waiting calls line_pick() chooses. tests/integration/test-crowd.py tests whole lines of
 * calls. */
#include "daemon/line.h"

#define N 40u

static void test_room(void) {
        LineEntry entries[] = {
                { .key = 1, .uid = 1000, .active = true },
                { .key = 1, .uid = 1000 },
                { .key = 2, .uid = 1000 },
        };

        g_assert_cmpint(line_pick(NULL, 0, 4, 1), ==, -1);
        g_assert_cmpint(line_pick(entries, 3, 1, 1), ==, -1); /* no room at all */
        g_assert_cmpint(line_pick(entries, 3, 2, 1), ==, 2);  /* no room for another call with key 1 */
        g_assert_cmpint(line_pick(entries, 3, 2, 2), ==, 1);
        entries[2].active = true;
        g_assert_cmpint(line_pick(entries, 3, 8, 1), ==, -1);
        entries[0].active = false;
        g_assert_cmpint(line_pick(entries, 3, 8, 1), ==, 0); /* of calls with one key, the oldest */
}

/* A user's single call, which came after thirty-nine calls of another user, is next. */
static void test_flood(void) {
        LineEntry entries[N];
        uint64_t n_turns = 0;

        for (unsigned i = 0; i < N; i++)
                entries[i] = (LineEntry){ .key = i, .uid = i == N - 1 ? 1001 : 1000 };
        entries[0].active = entries[1].active = true;
        for (unsigned i = 0; i < N - 1; i++)
                entries[i].served = 2;
        g_assert_cmpint(line_pick(entries, N, 64, 1), ==, N - 1);

        /* Calls that end at once: two users take turns, although neither has an active call. */
        entries[0].active = entries[1].active = false;
        for (unsigned turn = 0; turn < 6; turn++) {
                ssize_t i = line_pick(entries, N - 1, 64, 1);

                g_assert_cmpint(i, ==, (ssize_t) turn);
                entries[i].active = true; /* call i stays active, so the next turn takes another call */
                for (unsigned k = 0; k < N - 1; k++)
                        entries[k].served = 3 + n_turns;
                n_turns++;
                g_assert_cmpint(line_pick(entries, N, 64, 1), ==, N - 1);
        }
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/line/room", test_room);
        g_test_add_func("/line/flood", test_flood);
        return g_test_run();
}
