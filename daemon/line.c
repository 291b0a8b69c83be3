/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* In each iteration of the event loop, at most one waiting call of each line gets its turn. So messages from
 * the bus are served in between. */
#include "daemon/line.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include "daemon/ended.h"
#include "daemon/gate.h"
#include "daemon/sources.h"
#include "include/bus.h"
#include "lib/boottime.h"

typedef struct LineCall {
        sd_bus_message *message;
        sd_bus_message_handler_t handler;
        LineEntry entry;
        uint64_t bytes, since_usec;
} LineCall;

typedef struct Line {
        Lines *lines;
        LineName name;
        unsigned n_max, n_key_max;
        GQueue calls; /* LineCalls in the order of their arrival */
        GHashTable *by_message;
        sd_event_source *turn, *timer;
} Line;

struct Lines {
        Manager *manager;
        Line all[_LINE_MAX];
        GHashTable *served; /* uid → the number of the turn that its user had last */
        uint64_t n_turns;
        sd_bus_slot *gone_slot;
};

static unsigned count_of(GHashTable *counts, uint64_t key) {
        return GPOINTER_TO_UINT(g_hash_table_lookup(counts, &key));
}

static void count_one(GHashTable *counts, const uint64_t *key) {
        (void) g_hash_table_insert(counts, (gpointer) key, GUINT_TO_POINTER(count_of(counts, *key) + 1));
}

static bool goes_before(unsigned own, uint64_t served, unsigned best_own, uint64_t best_served) {
        return own < best_own || (own == best_own && served < best_served);
}

ssize_t line_pick(const LineEntry *entries, size_t n, unsigned n_max, unsigned n_key_max) {
        g_autoptr(GHashTable) of_key = g_hash_table_new(g_int64_hash, g_int64_equal);
        g_autoptr(GHashTable) of_user = g_hash_table_new(g_direct_hash, g_direct_equal);
        unsigned n_active = 0, fewest = 0;
        ssize_t best = -1;

        assert(entries || n == 0);

        for (size_t i = 0; i < n; i++) {
                gpointer uid = GUINT_TO_POINTER(entries[i].uid);

                if (!entries[i].active)
                        continue;
                n_active++;
                count_one(of_key, &entries[i].key);
                (void) g_hash_table_insert(of_user, uid,
                                GUINT_TO_POINTER(GPOINTER_TO_UINT(g_hash_table_lookup(of_user, uid)) + 1));
        }
        if (n_active >= n_max)
                return -1;

        for (size_t i = 0; i < n; i++) {
                const LineEntry *e = &entries[i];
                unsigned own = GPOINTER_TO_UINT(g_hash_table_lookup(of_user, GUINT_TO_POINTER(e->uid)));

                if (e->active || count_of(of_key, e->key) >= n_key_max)
                        continue;
                if (best < 0 || goes_before(own, e->served, fewest, entries[best].served)) {
                        best = (ssize_t) i;
                        fewest = own;
                }
        }
        return best;
}

/* Finds the object on which the method was called; NULL if it no longer exists. */
static void *object_of(Manager *manager, sd_bus_message *message) {
        const char *path = sd_bus_message_get_path(message);
        uint64_t id;

        if (g_strcmp0(path, BUS_PATH) == 0)
                return manager;
        if (path && sscanf(path, BUS_PATH_JOB_PREFIX "/%" SCNu64, &id) == 1)
                return ended_find(manager, id);
        return NULL;
}

static void drop(Lines *lines, sd_bus_message *message);

void call_again(Lines *lines, sd_bus_message *message, sd_bus_message_handler_t handler) {
        sd_bus_message *kept = sd_bus_message_ref(message);
        sd_bus_error error = SD_BUS_ERROR_NULL;
        void *object;
        int r;

        assert(lines);
        assert(handler);

        object = object_of(lines->manager, kept);
        if (object) {
                r = sd_bus_message_rewind(kept, true);
                if (r >= 0)
                        r = handler(kept, object, &error);
        } else
                r = sd_bus_error_set(&error, BUS_ERROR(NoSuchJob), "This job is not known any more.");
        if (r < 0) {
                (void) sd_bus_reply_method_errno(kept, r, &error);
                /* When a handler gives up, its call leaves all lines. */
                drop(lines, kept);
        }
        sd_bus_error_free(&error);
        (void) sd_bus_message_unref(kept);
}

static void call_free(void *p) {
        LineCall *call = p;

        (void) sd_bus_message_unref(call->message);
        g_free(call);
}

Lines *lines_new(Manager *manager) {
        static const struct {
                unsigned n_max, n_key_max;
        } limits[_LINE_MAX] = {
#define X(name, n_max, n_key_max) [LINE_##name] = { n_max, n_key_max },
                LINES(X)
#undef X
        };
        Lines *lines = g_new0(Lines, 1);

        assert(manager);

        lines->manager = manager;
        lines->served = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
        for (LineName i = 0; i < _LINE_MAX; i++) {
                lines->all[i] = (Line){
                        .lines = lines,
                        .name = i,
                        .n_max = limits[i].n_max,
                        .n_key_max = limits[i].n_key_max,
                        .by_message = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, call_free),
                };
                g_queue_init(&lines->all[i].calls);
        }
        return lines;
}

Lines *lines_free(Lines *lines) {
        if (!lines)
                return NULL;

        (void) sd_bus_slot_unref(lines->gone_slot);
        for (LineName i = 0; i < _LINE_MAX; i++) {
                Line *line = &lines->all[i];

                (void) sd_event_source_disable_unref(line->turn);
                (void) sd_event_source_disable_unref(line->timer);
                g_queue_clear(&line->calls);
                g_hash_table_unref(line->by_message);
        }
        g_hash_table_unref(lines->served);
        g_free(lines);
        return NULL;
}

unsigned lines_waiting(const Lines *lines) {
        unsigned n = 0;

        for (unsigned i = 0; lines && i < _LINE_MAX; i++)
                n += lines->all[i].calls.length;
        return n;
}

bool lines_are_empty(const Lines *lines) {
        assert(lines);

        for (LineName i = 0; i < _LINE_MAX; i++)
                if (lines->all[i].calls.length > 0)
                        return false;
        return true;
}

static uint64_t served_of(const Lines *lines, uint32_t uid) {
        const uint64_t *served = g_hash_table_lookup(lines->served, GUINT_TO_POINTER(uid));

        return served ? *served : 0;
}

static LineCall *pick(Line *line) {
        g_autoptr(GArray) entries = g_array_sized_new(FALSE, FALSE, sizeof(LineEntry), line->calls.length);
        ssize_t i;

        for (GList *l = line->calls.head; l; l = l->next) {
                LineEntry entry = ((const LineCall *) l->data)->entry;

                entry.served = served_of(line->lines, entry.uid);
                g_array_append_val(entries, entry);
        }
        i = line_pick((const LineEntry *) (void *) entries->data, entries->len, line->n_max,
                        line->n_key_max);
        return i < 0 ? NULL : g_queue_peek_nth(&line->calls, (guint) i);
}

static void activate(Line *line, LineCall *call) {
        Lines *lines = line->lines;
        uint64_t *served = g_new(uint64_t, 1);

        *served = ++lines->n_turns;
        (void) g_hash_table_insert(lines->served, GUINT_TO_POINTER(call->entry.uid), served);
        call->entry.active = true;
}

static int on_turn(sd_event_source *source, void *userdata) {
        Line *line = userdata;
        LineCall *call = pick(line);

        if (!call) {
                line->turn = sd_event_source_disable_unref(line->turn);
                return 0;
        }
        activate(line, call);
        call_again(line->lines, call->message, call->handler);
        return 0;
}

static void advance(Line *line) {
        if (line->turn || line->calls.length == 0)
                return;
        (void) repeat_start(line->lines->manager->context.event, &line->turn, "line-turn",
                        SD_EVENT_PRIORITY_NORMAL, on_turn, line);
}

static void forget_users(Lines *lines) {
        if (lines_are_empty(lines))
                g_hash_table_remove_all(lines->served);
}

static void remove_call(Line *line, LineCall *call) {
        (void) g_queue_remove(&line->calls, call);
        (void) g_hash_table_remove(line->by_message, call->message);
        forget_users(line->lines);
        advance(line);
}

bool line_has(const Lines *lines, LineName name, sd_bus_message *message) {
        assert(lines);

        return g_hash_table_contains(lines->all[name].by_message, message);
}

void line_leave(Lines *lines, LineName name, sd_bus_message *message) {
        Line *line = &lines->all[name];
        LineCall *call = g_hash_table_lookup(line->by_message, message);

        if (call)
                remove_call(line, call);
}

static void message_unref(void *message) {
        (void) sd_bus_message_unref(message);
}

void line_again(Lines *lines, LineName name) {
        g_autoptr(GPtrArray) messages = g_ptr_array_new_with_free_func(message_unref);
        const Line *line = &lines->all[name];

        assert(lines);

        for (GList *l = line->calls.head; l; l = l->next) {
                const LineCall *call = l->data;

                if (call->entry.active)
                        g_ptr_array_add(messages, sd_bus_message_ref(call->message));
        }
        for (guint i = 0; i < messages->len; i++) {
                const LineCall *call = g_hash_table_lookup(line->by_message, messages->pdata[i]);

                if (call)
                        call_again(lines, messages->pdata[i], call->handler);
        }
}

/* Ends all work for a call that was answered or whose caller has left. */
static void drop(Lines *lines, sd_bus_message *message) {
        Manager *manager = lines->manager;
        sd_bus_message *kept = sd_bus_message_ref(message);

        (void) g_hash_table_remove(manager->access.queries, kept);
        (void) g_hash_table_remove(manager->copies, kept);
        for (LineName i = 0; i < _LINE_MAX; i++)
                line_leave(lines, i, kept);
        (void) sd_bus_message_unref(kept);
        jobs_schedule(&manager->context.jobs);
}

static int busy(sd_bus_error *error, const char *what) {
        return sd_bus_error_setf(error, BUS_ERROR(Busy), "actord is busy: %s. Try again in a moment.", what);
}

/* The first call that has waited too long; NULL: none. *ret_usec: when the next call will be overdue. */
static LineCall *overdue(Line *line, uint64_t now, uint64_t *ret_usec) {
        *ret_usec = UINT64_MAX;
        for (GList *l = line->calls.head; l; l = l->next) {
                LineCall *call = l->data;

                if (call->entry.active)
                        continue;
                if (call->since_usec + LINE_TIMEOUT_USEC <= now)
                        return call;
                *ret_usec = MIN(*ret_usec, call->since_usec + LINE_TIMEOUT_USEC);
        }
        return NULL;
}

static void watch_deadline(Line *line);

static int on_deadline(sd_event_source *source, uint64_t usec, void *userdata) {
        Line *line = userdata;
        LineCall *call;
        uint64_t next;

        line->timer = sd_event_source_disable_unref(line->timer);
        while ((call = overdue(line, clock_boottime() / 1000, &next))) {
                sd_bus_error error = SD_BUS_ERROR_NULL;

                (void) busy(&error, "your call has waited for 20 s behind other calls");
                (void) sd_bus_reply_method_error(call->message, &error);
                sd_bus_error_free(&error);
                drop(line->lines, call->message);
        }
        watch_deadline(line);
        return 0;
}

static void watch_deadline(Line *line) {
        uint64_t next;

        if (line->timer || overdue(line, 0, &next) || next == UINT64_MAX)
                return;
        if (sd_event_add_time(line->lines->manager->context.event, &line->timer, CLOCK_BOOTTIME, next, 0,
                            on_deadline, line) >= 0)
                (void) sd_event_source_set_description(line->timer, "line-deadline");
}

static bool is_of(sd_bus_message *message, const char *sender) {
        return sd_bus_message_get_expect_reply(message) > 0 &&
               g_strcmp0(sd_bus_message_get_sender(message), sender) == 0;
}

/* Drops the waiting calls of a sender that has left the bus, if they want an answer. A call that wants no
 * answer is kept: its sender may leave right after sending it. */
static void forget_sender(Lines *lines, const char *sender) {
        g_autoptr(GPtrArray) messages = g_ptr_array_new();

        for (LineName i = 0; i < _LINE_MAX; i++)
                for (GList *l = lines->all[i].calls.head; l; l = l->next) {
                        sd_bus_message *message = ((const LineCall *) l->data)->message;

                        if (is_of(message, sender) && !g_ptr_array_find(messages, message, NULL))
                                g_ptr_array_add(messages, message);
                }
        for (guint i = 0; i < messages->len; i++)
                drop(lines, messages->pdata[i]);
}

static int on_gone(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        const char *name, *old, *new;

        if (sd_bus_message_read(m, "sss", &name, &old, &new) >= 0 && *new == '\0')
                forget_sender(userdata, name);
        return 0;
}

/* Subscribes to the names that leave the bus. This is done when the first call enters a line, not earlier:
 * connections of a bus end often. */
static void watch_callers(Lines *lines) {
        Manager *manager = lines->manager;

        if (lines->gone_slot || manager->context.mode == DAEMON_RUN)
                return;
        (void) sd_bus_add_match_async(manager->context.bus, &lines->gone_slot,
                        "type='signal',sender='org.freedesktop.DBus',path='/org/freedesktop/DBus',"
                        "interface='org.freedesktop.DBus',member='NameOwnerChanged',arg2=''",
                        on_gone, NULL, lines);
}

/* The memory of a message's arrays and strings; its other parts are small. */
static uint64_t bytes_of(sd_bus_message *m) {
        const char *contents;
        uint64_t bytes = 0;
        char type;

        while (sd_bus_message_peek_type(m, &type, &contents) > 0) {
                const void *data = NULL;
                const char *text = NULL;
                size_t n = 0;

                if (type == SD_BUS_TYPE_ARRAY && g_str_equal(contents, "y")) {
                        if (sd_bus_message_read_array(m, 'y', &data, &n) < 0)
                                break;
                } else if (type == SD_BUS_TYPE_STRING) {
                        if (sd_bus_message_read_basic(m, type, &text) < 0)
                                break;
                        n = strlen(text);
                } else if (strchr("aver", type)) {
                        if (sd_bus_message_enter_container(m, type, contents) < 0)
                                break;
                        n = bytes_of(m);
                        if (sd_bus_message_exit_container(m) < 0)
                                break;
                } else if (sd_bus_message_skip(m, NULL) < 0)
                        break;
                bytes += n + 8;
        }
        return bytes;
}

unsigned calls_max(unsigned most) {
        struct rlimit files;

        if (getrlimit(RLIMIT_NOFILE, &files) < 0)
                return most;
        return (unsigned) CLAMP(files.rlim_cur / (2 * GATE_DESCRIPTORS_MAX), 1, most);
}

static int check_room(const Line *line, uint32_t uid, uint64_t bytes, sd_bus_error *error) {
        uint64_t all = bytes, own = bytes;
        unsigned n_own = 0, n_max = calls_max(LINE_CALLS_MAX);

        for (GList *l = line->calls.head; l; l = l->next) {
                const LineCall *call = l->data;

                all += call->bytes;
                own += call->entry.uid == uid ? call->bytes : 0;
                n_own += call->entry.uid == uid;
        }
        if (n_own >= MIN(LINE_CALLS_USER_MAX, n_max) || own > LINE_BYTES_USER_MAX)
                return busy(error, "too many of your calls are waiting already");
        if (line->calls.length >= n_max || all > LINE_BYTES_MAX)
                return busy(error, "too many calls of all users are waiting already");
        return 0;
}

/* The key of a call (daemon/line.h). A private connection has a single caller without a name, and each of
 * its calls has a key of its own. */
static uint64_t key_of(LineName name, sd_bus_message *message, uint32_t uid) {
        const char *sender = sd_bus_message_get_sender(message);

        if (name != LINE_SUBMISSIONS)
                return uid;
        return sender ? (uint64_t) uid << 32 | g_str_hash(sender) : (uint64_t) (uintptr_t) message;
}

static uint64_t arrival_of(const Lines *lines, sd_bus_message *message) {
        const LineCall *call = g_hash_table_lookup(lines->all[LINE_SUBMISSIONS].by_message, message);

        return call ? call->since_usec : clock_boottime() / 1000;
}

int line_enter(Lines *lines, LineName name, sd_bus_message *message, uint32_t uid,
                sd_bus_message_handler_t handler, sd_bus_error *error) {
        Line *line = &lines->all[name];
        LineCall *call = g_hash_table_lookup(line->by_message, message);
        uint64_t bytes;
        int r;

        if (call)
                return call->entry.active;
        bytes = bytes_of(message);
        r = sd_bus_message_rewind(message, true);
        if (r < 0)
                return r;
        r = check_room(line, uid, bytes, error);
        if (r < 0)
                return r;

        call = g_new0(LineCall, 1);
        *call = (LineCall){
                .message = sd_bus_message_ref(message),
                .handler = handler,
                .entry = { .key = key_of(name, message, uid), .uid = uid },
                .bytes = bytes,
                .since_usec = arrival_of(lines, message),
        };
        g_queue_push_tail(&line->calls, call);
        (void) g_hash_table_insert(line->by_message, message, call);
        watch_callers(lines);

        if (pick(line) == call) {
                activate(line, call);
                return 1;
        }
        advance(line);
        watch_deadline(line);
        return 0;
}
