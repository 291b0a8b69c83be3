/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests the order of the queue: users take turns, and so do the connections of one user. */
#include "daemon/turn-queue.h"

#define ROOM 4096u

static void none(void *item) {
}

static void push(TurnQueue *queue, uint32_t uid, const char *connection, const char *item) {
        g_assert_null(turn_queue_push(queue, uid, connection, (void *) item, ROOM));
}

static const char *pop(TurnQueue *queue) {
        uint32_t uid;

        return turn_queue_pop(queue, &uid);
}

static char *order(TurnQueue *queue) {
        GString *order = g_string_new(NULL);
        const char *item;

        while ((item = pop(queue)))
                g_string_append(order, item);
        g_assert_cmpuint(turn_queue_length(queue), ==, 0);
        return g_string_free(order, FALSE);
}

/* Two users' calls are answered by turns, although the first user has more calls. */
static void test_users(void) {
        TurnQueue *queue = turn_queue_new();
        g_autofree char *found = NULL;

        push(queue, 1, ":1", "a");
        push(queue, 1, ":1", "b");
        push(queue, 1, ":2", "c");
        push(queue, 1, ":3", "d");
        push(queue, 2, ":9", "X");
        push(queue, 2, ":9", "Y");
        found = order(queue);
        g_assert_cmpstr(found, ==, "aXcYdb");
        turn_queue_free(queue, none);
}

/* A user who calls again gets the next turn after those who wait. */
static void test_again(void) {
        TurnQueue *queue = turn_queue_new();
        g_autofree char *found = NULL;

        for (int i = 0; i < 3; i++)
                push(queue, 1, ":1", "a");
        push(queue, 2, ":2", "X");
        g_assert_cmpstr(pop(queue), ==, "a");
        g_assert_cmpstr(pop(queue), ==, "X");
        push(queue, 2, ":2", "Y");
        found = order(queue);
        g_assert_cmpstr(found, ==, "aYa");
        turn_queue_free(queue, none);
}

/* A user who has reached the limit of items takes no place from other users. */
static void test_limits(void) {
        TurnQueue *queue = turn_queue_new();
        unsigned n = 0;

        for (unsigned i = 0; i < TURN_ITEMS_USER_MAX; i++)
                push(queue, 1, i % 2 ? ":1" : ":2", "a");
        g_assert_cmpstr(turn_queue_push(queue, 1, ":3", (void *) "b", ROOM), ==, "b");
        push(queue, 2, ":4", "X");
        while (pop(queue))
                n++;
        g_assert_cmpuint(n, ==, TURN_ITEMS_USER_MAX + 1);
        turn_queue_free(queue, none);
}

/* If all places are taken, the user with the most calls loses the newest of them to a new call. But a user
 * who would then have at least as many calls gets no place. */
static void test_room(void) {
        TurnQueue *queue = turn_queue_new();

        for (const char *const *item = (const char *const[]){ "a", "b", "c", NULL }; *item; item++)
                push(queue, 1, ":1", *item);
        push(queue, 2, ":2", "X");
        g_assert_cmpstr(turn_queue_push(queue, 1, ":5", (void *) "d", 4), ==, "d");
        g_assert_cmpstr(turn_queue_push(queue, 3, ":3", (void *) "I", 4), ==, "c");
        g_assert_cmpstr(turn_queue_push(queue, 2, ":2", (void *) "Y", 4), ==, "Y");
        g_assert_cmpstr(turn_queue_push_stranger(queue, ":4", (void *) "S", 4), ==, "b");
        g_assert_cmpstr(turn_queue_push_stranger(queue, ":4", (void *) "T", 4), ==, "T");
        g_assert_cmpstr(turn_queue_push_stranger(queue, ":6", (void *) "U", 4), ==, "U");
        while (pop(queue))
                ;
        (void) turn_queue_introduce(queue, ":4");
        turn_queue_free(queue, none);
}

/* Calls of a connection whose user is not known yet have no turns. If such a connection has the most calls
 * when the queue is full, its newest call is dropped. */
static void test_strangers(void) {
        TurnQueue *queue = turn_queue_new();
        g_autofree char *found = NULL;
        GQueue items;

        for (const char *const *item = (const char *const[]){ "a", "b", "c", NULL }; *item; item++)
                g_assert_null(turn_queue_push_stranger(queue, ":1", (void *) *item, 4));
        push(queue, 2, ":2", "X");
        g_assert_cmpstr(turn_queue_push(queue, 2, ":2", (void *) "Y", 4), ==, "c");
        g_assert_cmpuint(turn_queue_length(queue), >, 0);
        g_assert_cmpstr(pop(queue), ==, "X");

        items = turn_queue_introduce(queue, ":1");
        g_assert_cmpuint(items.length, ==, 2);
        push(queue, 1, ":1", g_queue_pop_head(&items));
        push(queue, 1, ":1", g_queue_pop_head(&items));
        g_assert_cmpuint(turn_queue_introduce(queue, ":1").length, ==, 0);
        found = order(queue);
        g_assert_cmpstr(found, ==, "Yab");
        turn_queue_free(queue, none);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/turn-queue/users", test_users);
        g_test_add_func("/turn-queue/again", test_again);
        g_test_add_func("/turn-queue/limits", test_limits);
        g_test_add_func("/turn-queue/room", test_room);
        g_test_add_func("/turn-queue/strangers", test_strangers);
        return g_test_run();
}
