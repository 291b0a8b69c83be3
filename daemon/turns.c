/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A message waits by being kept, and its turn is to be read from the bus a second time. */
#include "daemon/turns.h"

#include <assert.h>
#include <errno.h>
#include "daemon/access.h"
#include "include/bus.h"
#include "lib/cleanup.h"

typedef struct Connection {
        char *name;
        GQueue items;
} Connection;

typedef struct User {
        uint32_t uid;
        unsigned n;         /* items of all connections */
        GQueue connections; /* of Connection: the next one first */
} User;

struct Turns {
        Manager *manager;
        GQueue users; /* of User: the next one first */
        unsigned n, n_read;
        const sd_bus_message *served; /* on its way to its handler */
        sd_event_source *source;
};

static Connection *connection_free(Connection *connection) {
        g_free(connection->name);
        g_free(connection);
        return NULL;
}

static User *user_of(Turns *turns, uint32_t uid) {
        User *user;

        for (GList *l = turns->users.head; l; l = l->next)
                if (((User *) l->data)->uid == uid)
                        return l->data;
        user = g_new0(User, 1);
        user->uid = uid;
        g_queue_push_tail(&turns->users, user);
        return user;
}

static Connection *connection_of(User *user, const char *name) {
        Connection *connection;

        for (GList *l = user->connections.head; l; l = l->next)
                if (g_str_equal(((Connection *) l->data)->name, name))
                        return l->data;
        connection = g_new0(Connection, 1);
        connection->name = g_strdup(name);
        g_queue_push_tail(&user->connections, connection);
        return connection;
}

int turns_push(Turns *turns, uint32_t uid, const char *name, void *item) {
        User *user;

        assert(turns);
        assert(name);
        assert(item);

        if (turns->n >= CALLS_MAX)
                return -EBUSY;
        user = user_of(turns, uid);
        if (user->n >= CALLS_USER_MAX)
                return -EBUSY;
        g_queue_push_tail(&connection_of(user, name)->items, item);
        user->n++;
        turns->n++;
        return 0;
}

/* Users and connections that have no more are forgotten: what waits bounds what is remembered. */
void *turns_pop(Turns *turns) {
        User *user;
        Connection *connection;
        void *item;

        assert(turns);

        user = g_queue_pop_head(&turns->users);
        if (!user)
                return NULL;
        connection = g_queue_pop_head(&user->connections);
        item = g_queue_pop_head(&connection->items);
        turns->n--;
        if (connection->items.length > 0)
                g_queue_push_tail(&user->connections, connection);
        else
                (void) connection_free(connection);
        if (--user->n > 0)
                g_queue_push_tail(&turns->users, user);
        else
                g_free(user);
        return item;
}

Turns *turns_new(Manager *manager) {
        Turns *turns = g_new0(Turns, 1);

        turns->manager = manager;
        return turns;
}

Turns *turns_free(Turns *turns) {
        sd_bus_message *message;

        if (!turns)
                return NULL;

        turns->source = sd_event_source_disable_unref(turns->source);
        while ((message = turns_pop(turns)))
                (void) sd_bus_message_unref(message);
        g_free(turns);
        return NULL;
}

bool turns_are_empty(const Turns *turns) {
        return !turns || (turns->n == 0 && !turns->served);
}

static int on_turn(sd_event_source *source, void *userdata) {
        Turns *turns = userdata;
        sd_bus_message *message;

        turns->n_read = 0;
        (void) sd_event_source_set_priority(source, SD_EVENT_PRIORITY_NORMAL + 1);
        if (turns->served)
                return 0;
        message = turns_pop(turns);
        if (!message) {
                turns->source = sd_event_source_disable_unref(turns->source);
                return 0;
        }
        if (sd_bus_enqueue_for_read(turns->manager->bus, message) >= 0)
                turns->served = message;
        (void) sd_bus_message_unref(message);
        return 0;
}

/* After the bus in each turn of the loop, so that those who have just called take part; but before it
 * once enough was read. */
static int arm(Turns *turns) {
        int r;

        if (++turns->n_read >= CALLS_READ_MAX && turns->source)
                return sd_event_source_set_priority(turns->source, SD_EVENT_PRIORITY_NORMAL - 1);
        if (turns->source)
                return 0;
        r = sd_event_add_defer(turns->manager->event, &turns->source, on_turn, turns);
        if (r < 0)
                return r;
        (void) sd_event_source_set_description(turns->source, "turns");
        (void) sd_event_source_set_priority(turns->source, SD_EVENT_PRIORITY_NORMAL + 1);
        return sd_event_source_set_enabled(turns->source, SD_EVENT_ON);
}

static int busy(sd_bus_message *message, uint32_t uid) {
        sd_bus_error error = SD_BUS_ERROR_NULL;

        (void) sd_bus_error_setf(&error, BUS_ERROR(Busy),
                        "actord is busy: %u calls of user %u wait for their turn, or %u of all users. Try again in a moment.",
                        CALLS_USER_MAX, uid, CALLS_MAX);
        (void) sd_bus_reply_method_error(message, &error);
        sd_bus_error_free(&error);
        return 1;
}

int turns_take(Turns *turns, sd_bus_message *message) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        const char *sender = sd_bus_message_get_sender(message);
        uint32_t uid;
        int r;

        assert(turns);
        assert(message);

        if (turns->served == message) {
                turns->served = NULL;
                return 0;
        }
        /* A private daemon has one caller. */
        if (turns->manager->mode == DAEMON_RUN || !sender)
                return 0;
        r = access_uid(turns->manager, message, &uid, &error);
        if (r < 0) {
                (void) sd_bus_reply_method_errno(message, r, &error);
                return 1;
        }
        if (turns_push(turns, uid, sender, message) < 0)
                return busy(message, uid);
        (void) sd_bus_message_ref(message);
        r = arm(turns);
        return r < 0 ? r : 1;
}
