/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests how calls wait for their turn, and how the daemon finds out which user sent them. */
#include "daemon/turns.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include "daemon/line.h"
#include "daemon/senders.h"

/* The table keeps SENDERS_USER_MAX names of each user. A new name displaces the oldest name of the same
 * user. */
static void test_senders(void) {
        Senders *senders = senders_new();
        uint32_t uid = 77;

        senders_add(senders, ":0.1", 1);
        for (unsigned i = 0; i < 2 * SENDERS_USER_MAX; i++) {
                g_autofree char *name = g_strdup_printf(":2.%u", i);

                senders_add(senders, name, 2);
        }
        g_assert_true(senders_find(senders, ":0.1", &uid));
        g_assert_cmpuint(uid, ==, 1);
        g_assert_false(senders_find(senders, ":2.255", &uid));
        g_assert_true(senders_find(senders, ":2.256", &uid));
        g_assert_cmpuint(uid, ==, 2);
        for (unsigned i = 0; i < SENDERS_MAX; i++) {
                g_autofree char *name = g_strdup_printf(":3.%u", i);

                senders_add(senders, name, 1000 + i);
        }
        g_assert_false(senders_find(senders, ":0.1", &uid));
        g_assert_true(senders_find(senders, ":3.0", &uid));
        senders_free(senders);
}

typedef struct Pair {
        sd_event *event;
        sd_bus *ours, *theirs;
        Manager manager;
        sd_bus_message *call;
        unsigned n_served, n_refused;
} Pair;

static void pair_open(Pair *pair) {
        sd_id128_t id = SD_ID128_MAKE(5d, 3a, 1b, 7c, 62, 05, 4f, 19, 9e, 2c, 0d, a8, 41, f6, 73, 10);
        int fds[2];

        g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), ==, 0);
        g_assert_cmpint(sd_event_new(&pair->event), >=, 0);
        g_assert_cmpint(sd_bus_new(&pair->ours), >=, 0);
        g_assert_cmpint(sd_bus_set_fd(pair->ours, fds[0], fds[0]), >=, 0);
        g_assert_cmpint(sd_bus_set_server(pair->ours, true, id), >=, 0);
        g_assert_cmpint(sd_bus_set_anonymous(pair->ours, true), >=, 0);
        g_assert_cmpint(sd_bus_new(&pair->theirs), >=, 0);
        g_assert_cmpint(sd_bus_set_fd(pair->theirs, fds[1], fds[1]), >=, 0);
        g_assert_cmpint(sd_bus_start(pair->ours), >=, 0);
        g_assert_cmpint(sd_bus_start(pair->theirs), >=, 0);
        g_assert_cmpint(sd_bus_attach_event(pair->ours, pair->event, SD_EVENT_PRIORITY_NORMAL), >=, 0);
        g_assert_cmpint(sd_bus_attach_event(pair->theirs, pair->event, SD_EVENT_PRIORITY_NORMAL), >=, 0);
        pair->manager = (Manager){
                .context = { .mode = DAEMON_USER, .event = pair->event, .bus = pair->ours },
                .access = { .senders = senders_new() },
        };
        pair->manager.turns = turns_new(&pair->manager);
}

static void pair_close(Pair *pair) {
        (void) turns_free(pair->manager.turns);
        (void) sd_bus_message_unref(pair->call);
        (void) senders_free(pair->manager.access.senders);
        (void) sd_bus_close_unref(pair->theirs);
        (void) sd_bus_close_unref(pair->ours);
        (void) sd_event_unref(pair->event);
}

static int on_call(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Pair *pair = userdata;
        int r;

        if (sd_bus_message_is_method_call(m, NULL, NULL) <= 0)
                return 0;
        pair->call = pair->call ?: sd_bus_message_ref(m);
        r = turns_take(pair->manager.turns, m);
        if (r != 0)
                return r;
        pair->n_served++;
        return sd_bus_reply_method_return(m, NULL);
}

static int on_answer(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Pair *pair = userdata;
        const sd_bus_error *e = sd_bus_message_get_error(m);

        pair->n_refused += e && strstr(e->message, "could not take up this call") != NULL;
        return sd_event_exit(pair->event, 0);
}

/* Raises this process's limit of descriptors as far as it goes. Returns whether more than n calls may then
 * wait. */
static bool has_room(unsigned n) {
        struct rlimit files;

        g_assert_cmpint(getrlimit(RLIMIT_NOFILE, &files), ==, 0);
        files.rlim_cur = files.rlim_max;
        g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &files), ==, 0);
        return calls_max(CALLS_MAX) > n;
}

/* When a call's turn comes and sd-bus has no room to queue the call again, the caller gets an error. */
static void test_answered(void) {
        sd_bus_message *m = NULL, *filler = NULL;
        Pair pair = {};

        if (!has_room(CALLS_READ_MAX)) {
                g_test_skip("this process may have too few descriptors (RLIMIT_NOFILE) for so many calls");
                return;
        }
        pair_open(&pair);
        g_assert_cmpint(sd_bus_add_filter(pair.ours, NULL, on_call, &pair), >=, 0);
        g_assert_cmpint(sd_bus_message_new_method_call(pair.theirs, &m, NULL, "/x", "x.y", "Z"), >=, 0);
        g_assert_cmpint(sd_bus_message_set_sender(m, ":1.5"), >=, 0);
        senders_add(pair.manager.access.senders, ":1.5", 1000);
        g_assert_cmpint(sd_bus_call_async(pair.theirs, NULL, m, on_answer, &pair, 10000000), >=, 0);
        while (!pair.call)
                g_assert_cmpint(sd_event_run(pair.event, 1000000), >=, 0);
        /* After CALLS_READ_MAX calls a waiting call is served, even if the bus holds more messages. */
        for (unsigned i = 0; i < CALLS_READ_MAX; i++)
                g_assert_cmpint(turns_take(pair.manager.turns, pair.call), ==, 1);
        g_assert_cmpint(sd_bus_message_new_signal(pair.ours, &filler, "/x", "x.y", "S"), >=, 0);
        g_assert_cmpint(sd_bus_message_seal(filler, 1, 0), >=, 0);
        while (sd_bus_enqueue_for_read(pair.ours, filler) >= 0)
                ;
        g_assert_cmpint(sd_event_loop(pair.event), ==, 0);
        g_assert_cmpuint(pair.n_refused, ==, 1);
        g_assert_cmpuint(pair.n_served, ==, 0);
        (void) sd_bus_message_unref(filler);
        (void) sd_bus_message_unref(m);
        pair_close(&pair);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/turns/senders", test_senders);
        g_test_add_func("/turns/answered", test_answered);
        return g_test_run();
}
