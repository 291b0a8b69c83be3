/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The queue forgets a user or a connection as soon as none of its items waits. */
#include "daemon/turn-queue.h"

#include <assert.h>

typedef struct Connection {
        char *name;
        GQueue items;
} Connection;

typedef struct User {
        uint32_t uid;
        unsigned n;         /* of all connections */
        GQueue connections; /* the queue of Connections; the first one has the next turn */
} User;

struct TurnQueue {
        GQueue users;          /* the queue of Users; the first one has the next turn */
        GHashTable *strangers; /* name → Connection */
        unsigned n;
};

static Connection *connection_new(const char *name) {
        Connection *connection = g_new0(Connection, 1);

        connection->name = g_strdup(name);
        return connection;
}

static void connection_free(void *p) {
        Connection *connection = p;

        g_free(connection->name);
        g_free(connection);
}

static User *find_user(const TurnQueue *queue, uint32_t uid) {
        for (GList *l = queue->users.head; l; l = l->next)
                if (((User *) l->data)->uid == uid)
                        return l->data;
        return NULL;
}

static User *user_of(TurnQueue *queue, uint32_t uid) {
        User *user = find_user(queue, uid);

        if (user)
                return user;
        user = g_new0(User, 1);
        user->uid = uid;
        g_queue_push_tail(&queue->users, user);
        return user;
}

static Connection *find_connection(const User *user, const char *name) {
        for (GList *l = user->connections.head; l; l = l->next)
                if (g_str_equal(((Connection *) l->data)->name, name))
                        return l->data;
        return NULL;
}

static Connection *connection_of(User *user, const char *name) {
        Connection *connection = find_connection(user, name);

        if (connection)
                return connection;
        connection = connection_new(name);
        g_queue_push_tail(&user->connections, connection);
        return connection;
}

static Connection *stranger_of(TurnQueue *queue, const char *name) {
        Connection *connection = g_hash_table_lookup(queue->strangers, name);

        if (connection)
                return connection;
        connection = connection_new(name);
        (void) g_hash_table_insert(queue->strangers, connection->name, connection);
        return connection;
}

static void forget_empty(TurnQueue *queue, User *user, Connection *connection) {
        if (connection->items.length == 0) {
                (void) g_queue_remove(&user->connections, connection);
                connection_free(connection);
        }
        if (user->n == 0) {
                (void) g_queue_remove(&queue->users, user);
                g_free(user);
        }
}

/* Takes an item from the user, or the connection of an unknown user, that has the most items, and returns
 * it: the newest item of the user's connection with the most items. NULL: no user and no such connection has
 * more than `one` items. */
static void *give_way(TurnQueue *queue, unsigned one) {
        Connection *longest = NULL, *stranger;
        User *greatest = NULL;
        GHashTableIter iter;
        unsigned n = one;
        void *item;

        for (GList *l = queue->users.head; l; l = l->next)
                if (((const User *) l->data)->n > n) {
                        greatest = l->data;
                        n = greatest->n;
                }
        for (GList *l = greatest ? greatest->connections.head : NULL; l; l = l->next)
                if (!longest || ((const Connection *) l->data)->items.length > longest->items.length)
                        longest = l->data;
        g_hash_table_iter_init(&iter, queue->strangers);
        while (g_hash_table_iter_next(&iter, NULL, (void **) &stranger))
                if (stranger->items.length > n) {
                        greatest = NULL;
                        longest = stranger;
                        n = longest->items.length;
                }
        if (!longest)
                return NULL;
        item = g_queue_pop_tail(&longest->items);
        queue->n--;
        if (greatest) {
                greatest->n--;
                forget_empty(queue, greatest, longest);
        }
        return item;
}

/* Makes room for one more item of a user, or of a connection whose user is not known. n: how many items this
 * user or connection already has in the queue. Returns the item that loses its place; NULL: no item does. */
static void *make_room(TurnQueue *queue, unsigned n, void *item, unsigned n_max) {
        void *gone;

        if (n >= TURN_ITEMS_USER_MAX)
                return item;
        if (queue->n < n_max)
                return NULL;
        gone = give_way(queue, n + 1);
        return gone ?: item;
}

void *turn_queue_push(TurnQueue *queue, uint32_t uid, const char *name, void *item, unsigned n_max) {
        User *user = find_user(queue, uid);
        void *gone;

        assert(queue);
        assert(name);
        assert(item);

        gone = make_room(queue, user ? user->n : 0, item, n_max);
        if (gone == item)
                return item;
        user = user_of(queue, uid);
        g_queue_push_tail(&connection_of(user, name)->items, item);
        user->n++;
        queue->n++;
        return gone;
}

void *turn_queue_push_stranger(TurnQueue *queue, const char *name, void *item, unsigned n_max) {
        const Connection *known;
        void *gone;

        assert(queue);
        assert(name);
        assert(item);

        known = g_hash_table_lookup(queue->strangers, name);
        gone = make_room(queue, known ? known->items.length : 0, item, n_max);
        if (gone == item)
                return item;
        g_queue_push_tail(&stranger_of(queue, name)->items, item);
        queue->n++;
        return gone;
}

bool turn_queue_has_stranger(const TurnQueue *queue, const char *name) {
        assert(queue);
        assert(name);

        return g_hash_table_contains(queue->strangers, name);
}

GQueue turn_queue_introduce(TurnQueue *queue, const char *name) {
        const Connection *stranger = g_hash_table_lookup(queue->strangers, name);
        GQueue items = G_QUEUE_INIT;

        if (!stranger)
                return items;
        items = stranger->items;
        queue->n -= items.length;
        (void) g_hash_table_remove(queue->strangers, name);
        return items;
}

void *turn_queue_pop(TurnQueue *queue, uint32_t *ret_uid) {
        Connection *connection;
        User *user;
        void *item;

        assert(queue);
        assert(ret_uid);

        user = g_queue_pop_head(&queue->users);
        if (!user)
                return NULL;
        connection = g_queue_pop_head(&user->connections);
        item = g_queue_pop_head(&connection->items);
        *ret_uid = user->uid;
        user->n--;
        queue->n--;
        g_queue_push_tail(&user->connections, connection);
        g_queue_push_tail(&queue->users, user);
        forget_empty(queue, user, connection);
        return item;
}

unsigned turn_queue_length(const TurnQueue *queue) {
        assert(queue);

        return queue->n;
}

bool turn_queue_has(const TurnQueue *queue, const char *name) {
        assert(queue);
        assert(name);

        for (GList *l = queue->users.head; l; l = l->next)
                if (find_connection(l->data, name))
                        return true;
        return false;
}

TurnQueue *turn_queue_new(void) {
        TurnQueue *queue = g_new0(TurnQueue, 1);

        queue->strangers = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, connection_free);
        return queue;
}

TurnQueue *turn_queue_free(TurnQueue *queue, GDestroyNotify item_free) {
        Connection *stranger;
        GHashTableIter iter;
        uint32_t uid;
        void *item;

        if (!queue)
                return NULL;

        assert(item_free);

        while ((item = turn_queue_pop(queue, &uid)))
                item_free(item);
        g_hash_table_iter_init(&iter, queue->strangers);
        while (g_hash_table_iter_next(&iter, NULL, (void **) &stranger))
                g_queue_clear_full(&stranger->items, item_free);
        g_hash_table_unref(queue->strangers);
        g_free(queue);
        return NULL;
}
