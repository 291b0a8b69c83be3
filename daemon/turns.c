/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Keeps the messages of calls that wait. When a call's turn comes, it is handled as if it came from the bus
 * again. */
#include "daemon/turns.h"

#include <assert.h>
#include <errno.h>
#include "daemon/line.h"
#include "daemon/senders.h"
#include "daemon/sources.h"
#include "daemon/turn-queue.h"
#include "include/bus.h"
#include "lib/cleanup.h"

/* A question to the bus: whose connection is this? */
typedef struct Question {
        Turns *turns;
        char *name;
        sd_bus_slot *slot;
} Question;

struct Turns {
        Manager *manager;
        TurnQueue *queue;      /* messages */
        GHashTable *questions; /* name → Question */
        unsigned n_read;
        const sd_bus_message *served; /* the call that is being passed to its handler */
        sd_event_source *source;
};

static void question_free(void *p) {
        Question *question = p;

        question->slot = sd_bus_slot_unref(question->slot);
        g_free(question->name);
        g_free(question);
}

Turns *turns_new(Manager *manager) {
        Turns *turns = g_new0(Turns, 1);

        turns->manager = manager;
        turns->queue = turn_queue_new();
        turns->questions = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, question_free);
        return turns;
}

static void message_free(void *message) {
        (void) sd_bus_message_unref(message);
}

Turns *turns_free(Turns *turns) {
        if (!turns)
                return NULL;

        turns->source = sd_event_source_disable_unref(turns->source);
        turns->queue = turn_queue_free(turns->queue, message_free);
        g_hash_table_unref(turns->questions);
        g_free(turns);
        return NULL;
}

bool turns_are_empty(const Turns *turns) {
        return !turns || (turn_queue_length(turns->queue) == 0 && !turns->served);
}

static unsigned room(const Turns *turns) {
        unsigned most = calls_max(CALLS_MAX), waiting = lines_waiting(turns->manager->lines);

        return MAX(most > waiting ? most - waiting : 0, CALLS_LEAST);
}

/* Answers a call with an error if it cannot wait for its turn: each call that was taken off the bus must be
 * answered. */
static void refuse(sd_bus_message *message, int error) {
        (void) sd_bus_reply_method_errnof(message, error,
                        "actord could not take up this call: %s. Try again in a moment.",
                        g_strerror(-error));
        (void) sd_bus_message_unref(message);
}

static void refuse_busy(const Turns *turns, sd_bus_message *message) {
        sd_bus_error error = SD_BUS_ERROR_NULL;

        (void) sd_bus_error_setf(&error, BUS_ERROR(Busy),
                        "actord is busy: too many calls are waiting already (at most %u of each user, %u "
                        "in all). Try again in a moment.",
                        TURN_ITEMS_USER_MAX, room(turns));
        (void) sd_bus_reply_method_error(message, &error);
        sd_bus_error_free(&error);
        (void) sd_bus_message_unref(message);
}

static int on_turn(sd_event_source *source, void *userdata) {
        Turns *turns = userdata;
        sd_bus_message *message;
        uint32_t uid;
        int r;

        turns->n_read = 0;
        (void) sd_event_source_set_priority(source, SD_EVENT_PRIORITY_NORMAL + 1);
        if (turns->served)
                return 0;
        message = turn_queue_pop(turns->queue, &uid);
        if (!message) {
                turns->source = sd_event_source_disable_unref(turns->source);
                return 0;
        }
        /* The handler will look up the sender's user, and other senders may have displaced this one in the
         * table. */
        senders_add(turns->manager->access.senders, sd_bus_message_get_sender(message), uid);
        r = sd_bus_enqueue_for_read(turns->manager->context.bus, message);
        if (r < 0) {
                refuse(message, r);
                return 0;
        }
        turns->served = message;
        (void) sd_bus_message_unref(message);
        return 0;
}

/* Starts the source that serves waiting calls. It runs when the bus source has nothing left to read, so that
 * it sees the newest calls. When enough calls have been read, it runs before the bus source. */
static int arm(Turns *turns) {
        if (++turns->n_read >= CALLS_READ_MAX && turns->source)
                return sd_event_source_set_priority(turns->source, SD_EVENT_PRIORITY_NORMAL - 1);
        if (turns->source)
                return 0;
        return repeat_start(turns->manager->context.event, &turns->source, "turns",
                        SD_EVENT_PRIORITY_NORMAL + 1, on_turn, turns);
}

static void push(Turns *turns, uint32_t uid, const char *sender, sd_bus_message *message) {
        sd_bus_message *gone = turn_queue_push(turns->queue, uid, sender, message, room(turns));

        if (gone)
                refuse_busy(turns, gone);
}

static int on_user(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Question *question = userdata;
        Turns *turns = question->turns;
        g_autofree char *name = g_strdup(question->name);
        GQueue items = turn_queue_introduce(turns->queue, name);
        sd_bus_message *message;
        uint32_t uid;
        int r;

        (void) g_hash_table_remove(turns->questions, name);
        r = sd_bus_message_is_method_error(reply, NULL) ? -sd_bus_message_get_errno(reply)
                                                        : sd_bus_message_read(reply, "u", &uid);
        if (r >= 0)
                senders_add(turns->manager->access.senders, name, uid);
        while ((message = g_queue_pop_head(&items))) {
                if (r < 0)
                        refuse(message, r);
                else
                        push(turns, uid, name, message);
        }
        r = arm(turns);
        return r < 0 ? r : 1;
}

/* Asks the bus for the user of a connection. The daemon does not wait for the answer, which comes after all
 * messages that the bus already has for the daemon. */
static int ask(Turns *turns, const char *name) {
        Question *question;
        int r;

        if (!turn_queue_has_stranger(turns->queue, name) || g_hash_table_contains(turns->questions, name))
                return 0;
        question = g_new0(Question, 1);
        *question = (Question){ .turns = turns, .name = g_strdup(name) };
        r = sd_bus_call_method_async(turns->manager->context.bus, &question->slot, "org.freedesktop.DBus",
                        "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetConnectionUnixUser", on_user,
                        question, "s", name);
        if (r < 0) {
                question_free(question);
                return r;
        }
        (void) g_hash_table_insert(turns->questions, question->name, question);
        return 0;
}

static void take_stranger(Turns *turns, const char *sender, sd_bus_message *message) {
        sd_bus_message *gone = turn_queue_push_stranger(turns->queue, sender, message, room(turns));
        GQueue items;
        int r;

        if (gone)
                refuse_busy(turns, gone);
        r = ask(turns, sender);
        if (r >= 0)
                return;
        items = turn_queue_introduce(turns->queue, sender);
        while ((message = g_queue_pop_head(&items)))
                refuse(message, r);
}

int turns_take(Turns *turns, sd_bus_message *message) {
        const char *sender = sd_bus_message_get_sender(message);
        uint32_t uid;
        int r;

        assert(turns);
        assert(message);

        if (turns->served == message) {
                turns->served = NULL;
                return 0;
        }
        /* A private daemon has one caller, so no call need wait. */
        if (turns->manager->context.mode == DAEMON_RUN || !sender)
                return 0;
        (void) sd_bus_message_ref(message);
        if (senders_find(turns->manager->access.senders, sender, &uid))
                push(turns, uid, sender, message);
        else
                take_stranger(turns, sender, message);
        r = arm(turns);
        return r < 0 ? r : 1;
}
