/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whose call is served next: users take turns, and within a user connections do. */
#include "daemon/turns.h"

#include <errno.h>

static Turns *fixture(void) {
        return turns_new(NULL);
}

static void push(Turns *turns, uint32_t uid, const char *connection, const char *item) {
        g_assert_cmpint(turns_push(turns, uid, connection, (void *) item), ==, 0);
}

static char *order(Turns *turns) {
        GString *order = g_string_new(NULL);
        const char *item;

        while ((item = turns_pop(turns)))
                g_string_append(order, item);
        g_assert_true(turns_are_empty(turns));
        return g_string_free(order, FALSE);
}

/* The second user's one call is answered after one of the first user's many. */
static void test_users(void) {
        Turns *turns = fixture();
        g_autofree char *found = NULL;

        push(turns, 1, ":1", "a");
        push(turns, 1, ":1", "b");
        push(turns, 1, ":2", "c");
        push(turns, 1, ":3", "d");
        push(turns, 2, ":9", "X");
        push(turns, 2, ":9", "Y");
        found = order(turns);
        g_assert_cmpstr(found, ==, "aXcYdb");
        turns_free(turns);
}

/* Who asks again gets the next turn after those who wait. */
static void test_again(void) {
        Turns *turns = fixture();
        g_autofree char *found = NULL;

        for (int i = 0; i < 3; i++)
                push(turns, 1, ":1", "a");
        push(turns, 2, ":2", "X");
        g_assert_cmpstr(turns_pop(turns), ==, "a");
        g_assert_cmpstr(turns_pop(turns), ==, "X");
        push(turns, 2, ":2", "Y");
        found = order(turns);
        g_assert_cmpstr(found, ==, "aYa");
        turns_free(turns);
}

/* A user's limit is no other user's. */
static void test_limits(void) {
        Turns *turns = fixture();
        unsigned n = 0;

        for (unsigned i = 0; i < CALLS_USER_MAX; i++)
                push(turns, 1, i % 2 ? ":1" : ":2", "a");
        g_assert_cmpint(turns_push(turns, 1, ":3", (void *) "b"), ==, -EBUSY);
        push(turns, 2, ":4", "X");
        while (turns_pop(turns))
                n++;
        g_assert_cmpuint(n, ==, CALLS_USER_MAX + 1);
        turns_free(turns);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/turns/users", test_users);
        g_test_add_func("/turns/again", test_again);
        g_test_add_func("/turns/limits", test_limits);
        return g_test_run();
}
