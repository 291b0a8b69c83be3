/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests how actorctl reads the answers of a daemon whose jobs come and go, or of another user's daemon. A
 * thread plays the daemon. */
#include <errno.h>
#include <glib.h>
#include <string.h>
#include <sys/socket.h>

#include "actorctl/job-rounds.h"
#include "actorctl/metrics/openmetrics.h"
#include "include/bus.h"
#include "lib/cleanup.h"

#define JOB_7 BUS_PATH_JOB_PREFIX "/7"

static const char *first_name; /* of the columns */

/* The list has a job that is removed before the caller asks for it. */
static int on_list(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        return sd_bus_reply_method_return(m, "a(tusssso)", 1, (uint64_t) 7, 0u, "ended", "finished",
                        "CartPole-v1", "", BUS_PATH_JOB_PREFIX "/8");
}

static int on_series(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        return sd_bus_reply_method_return(m, "asaad", 2, first_name, "actors", 1, 2, 1.0, 4.0);
}

static const sd_bus_vtable manager[] = { SD_BUS_VTABLE_START(0),
        SD_BUS_METHOD("ListJobs", "", "a(tusssso)", on_list, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_VTABLE_END };
static const sd_bus_vtable job[] = { SD_BUS_VTABLE_START(0),
        SD_BUS_METHOD("GetSeries", "tu", "asaad", on_series, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_VTABLE_END };

static gpointer serve(gpointer fd) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        sd_id128_t id;
        int r;

        g_assert_cmpint(sd_bus_new(&bus), >=, 0);
        g_assert_cmpint(sd_id128_randomize(&id), >=, 0);
        g_assert_cmpint(sd_bus_set_fd(bus, GPOINTER_TO_INT(fd), GPOINTER_TO_INT(fd)), >=, 0);
        g_assert_cmpint(sd_bus_set_server(bus, true, id), >=, 0);
        g_assert_cmpint(sd_bus_set_anonymous(bus, true), >=, 0);
        g_assert_cmpint(sd_bus_add_object_vtable(bus, NULL, BUS_PATH, BUS_INTERFACE_MANAGER, manager, NULL),
                        >=, 0);
        g_assert_cmpint(sd_bus_add_object_vtable(bus, NULL, JOB_7, BUS_INTERFACE_JOB, job, NULL), >=, 0);
        g_assert_cmpint(sd_bus_start(bus), >=, 0);
        while ((r = sd_bus_process(bus, NULL)) >= 0)
                if (r == 0 && sd_bus_wait(bus, UINT64_MAX) < 0)
                        break;
        return NULL;
}

typedef struct Fixture {
        GThread *thread;
        Connection connection;
} Fixture;

static void set_up(Fixture *f, const void *userdata) {
        int pair[2];

        g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), ==, 0);
        f->thread = g_thread_new("daemon", serve, GINT_TO_POINTER(pair[1]));
        g_assert_cmpint(sd_bus_new(&f->connection.bus), >=, 0);
        g_assert_cmpint(sd_bus_set_fd(f->connection.bus, pair[0], pair[0]), >=, 0);
        g_assert_cmpint(sd_bus_set_anonymous(f->connection.bus, true), >=, 0);
        g_assert_cmpint(sd_bus_start(f->connection.bus), >=, 0);
}

static void tear_down(Fixture *f, const void *userdata) {
        f->connection.bus = sd_bus_flush_close_unref(f->connection.bus);
        (void) g_thread_join(f->thread);
}

static void test_removed(Fixture *f, const void *userdata) {
        g_autoptr(GString) text = g_string_new(NULL);

        g_assert_cmpint(openmetrics_append(&f->connection, NULL, text), ==, 0);
        g_assert_true(g_str_has_suffix(text->str, "# EOF\n"));
        g_assert_null(strstr(text->str, "job=\""));
        /* The caller asked for this job by its path, so it is an error that the job is gone. */
        g_assert_cmpint(openmetrics_append(&f->connection, BUS_PATH_JOB_PREFIX "/8", text), <, 0);
}

/* Column names go into files of three formats, so a name with other characters than letters, digits and "_"
 * is refused. */
static void test_names(Fixture *f, const void *userdata) {
        static const struct {
                const char *name;
                int r;
        } rows[] = { { "round", 0 }, { "return_mean_2", 0 }, { "", -EBADMSG }, { "round,x", -EBADMSG },
                { "a\":1,\"b", -EBADMSG }, { "a\nb", -EBADMSG }, { "\033[2J", -EBADMSG } };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                _cleanup_(job_rounds_done) JobRounds rounds = {};

                first_name = rows[i].name;
                g_assert_cmpint(job_rounds_ask(&f->connection, JOB_7, 0, 10, &rounds), ==, rows[i].r);
                g_assert_cmpuint(rounds.n, ==, rows[i].r == 0);
        }
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add("/metrics/removed", Fixture, NULL, set_up, test_removed, tear_down);
        g_test_add("/metrics/names", Fixture, NULL, set_up, test_names, tear_down);
        return g_test_run();
}
