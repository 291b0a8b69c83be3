/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A daemon can be reached in four ways: on the system's bus, on that of another host through ssh, on the
 * user's bus, or as a child of this program on a socket. Its interface is always the same, so callers of
 * this file need not know the way. */
#include "actorctl/bus.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "actorctl/private.h"
#include "actorctl/reach.h"
#include "include/bus.h"
#include "lib/cleanup.h"

/* SubmitJob may take long: it may have to wait for its turn, for a person who types a password, and for
 * copies of files. */
#define SEND_TIMEOUT_USEC (240ull * 1000 * 1000)

#define BUSY_WAIT_FIRST_USEC   (100ull * 1000)
#define BUSY_WAIT_LONGEST_USEC (2000ull * 1000)
#define BUSY_QUIET_USEC        (1000ull * 1000)
#define BUSY_LONGEST_USEC      (600ull * 1000 * 1000)

#define ERROR_ROW(name, number) { BUS_ERROR(name), number },
static const sd_bus_error_map error_map[] = { BUS_ERRORS(ERROR_ROW) SD_BUS_ERROR_MAP_END };
#undef ERROR_ROW

static bool name_is_reachable(sd_bus *bus) {
        g_auto(GStrv) acquired = NULL, activatable = NULL;

        /* sd-bus allocates with malloc(), and g_free() accepts such memory. */
        if (sd_bus_list_names(bus, &acquired, &activatable) < 0)
                return false;
        return (acquired && g_strv_contains((const char *const *) acquired, BUS_NAME)) ||
               (activatable && g_strv_contains((const char *const *) activatable, BUS_NAME));
}

static Connection *connection_new(sd_bus *bus) {
        Connection *connection = g_new0(Connection, 1);

        connection->bus = bus;
        connection->lock_fd = -EBADF;
        (void) sd_bus_error_add_map(error_map);
        return connection;
}

static int try_bus(int (*open_bus)(sd_bus **), bool must, Connection **ret) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        int r;

        r = open_bus(&bus);
        if (r < 0)
                return r;
        if (!must && !name_is_reachable(bus))
                return -ENOENT;
        *ret = connection_new(TAKE_PTR(bus));
        (*ret)->destination = BUS_NAME;
        return 0;
}

static int open_named(bool system, Connection **ret) {
        int r;

        r = try_bus(system ? sd_bus_open_system : sd_bus_open_user, true, ret);
        if (r == -ENOMEDIUM)
                complain("the user bus cannot be found: DBUS_SESSION_BUS_ADDRESS= and XDG_RUNTIME_DIR= are "
                         "not set, as a login sets them");
        else if (r < 0)
                complain("the %s bus cannot be reached: %s", system ? "system" : "user's", g_strerror(-r));
        return r;
}

/* Connects to the system's daemon if the system's bus knows one, otherwise to the user's own. */
static int open_first(bool *ret_system, Connection **ret) {
        *ret_system = try_bus(sd_bus_open_system, false, ret) >= 0;
        if (*ret_system || try_bus(sd_bus_open_user, false, ret) >= 0)
                return 0;
        complain("no actord can be reached: start one with `systemctl start actord`, or use `actorctl "
                 "run FILE`, which needs no daemon");
        return -ENOENT;
}

/* Connects to the system's daemon of another host. If ssh fails, it prints the reason itself. */
static int open_remote(const char *host, Connection **ret) {
        g_autoptr(Connection) connection = connection_new(NULL);
        const char *name;
        int r;

        connection->destination = BUS_NAME;
        connection->remote = true;
        r = sd_bus_open_system_remote(&connection->bus, host);
        /* Waits for the bus's Hello, since the bridge may lose an earlier call. */
        if (r >= 0)
                r = sd_bus_get_unique_name(connection->bus, &name);
        if (r < 0) {
                complain("the daemon on %s cannot be reached: `ssh %s systemd-stdio-bridge` must connect "
                         "to the system bus there",
                                host, host);
                return r;
        }
        r = daemon_reach(connection->bus, true, host);
        if (r < 0)
                return r;
        *ret = g_steal_pointer(&connection);
        return 0;
}

int connection_open(const Options *options, Connection **ret) {
        g_autoptr(Connection) connection = NULL;
        bool system = options->system;
        int r;

        if (options->host)
                return open_remote(options->host, ret);
        r = options->system || options->user ? open_named(system, &connection)
                                             : open_first(&system, &connection);
        if (r < 0)
                return r;
        r = daemon_reach(connection->bus, system, NULL);
        if (r < 0)
                return r;
        *ret = g_steal_pointer(&connection);
        return 0;
}

static int connect_private(int fd, sd_bus **ret) {
        _cleanup_(sd_bus_unrefp) sd_bus *bus = NULL;
        int r;

        r = sd_bus_new(&bus);
        if (r < 0) {
                (void) close_fd(fd);
                return r;
        }
        r = sd_bus_set_fd(bus, fd, fd);
        if (r < 0) {
                (void) close_fd(fd);
                return r;
        }
        (void) sd_bus_negotiate_fds(bus, true);
        r = sd_bus_start(bus);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(bus);
        return 0;
}

static int start_private(Connection *connection, const char *option) {
        int fd, r;

        connection->relay = relay_new();
        if (!connection->relay)
                return -EMFILE;
        fd = private_daemon_start(
                        connection->state_directory, option, relay_fd(connection->relay), &connection->pid);
        if (fd < 0)
                return fd;
        r = connect_private(fd, &connection->bus);
        if (r < 0)
                complain("the private daemon cannot be reached: %s", g_strerror(-r));
        return r;
}

int connection_open_private(bool keep, Connection **ret) {
        g_autoptr(Connection) connection = connection_new(NULL);
        int r;

        r = run_directory_make(
                        keep, &connection->state_directory, &connection->lock_fd, &connection->temporary);
        if (r < 0)
                return r;
        connection->numbered = connection->lock_fd >= 0;
        r = start_private(connection, connection->temporary ? "--temporary" : NULL);
        if (r < 0)
                return r;
        *ret = g_steal_pointer(&connection);
        return 0;
}

int connection_open_private_at(const char *directory, Connection **ret) {
        g_autoptr(Connection) connection = connection_new(NULL);
        int r;

        if (!run_directory_is_state(directory)) {
                complain("%s would be removed, and it is not the state of an experiment that was left: move "
                         "it away, or name another directory with --output",
                                directory);
                return -EEXIST;
        }
        run_directory_remove(directory);
        if (mkdir(directory, 0700) < 0) {
                r = -errno;
                complain("%s cannot be made for the private daemon: %s", directory, g_strerror(-r));
                return r;
        }
        connection->state_directory = g_canonicalize_filename(directory, NULL);
        connection->temporary = true;
        r = start_private(connection, "--temporary");
        if (r < 0)
                return r;
        *ret = g_steal_pointer(&connection);
        return 0;
}

int connection_open_run(const char *directory, Connection **ret) {
        g_autoptr(Connection) connection = connection_new(NULL);
        int r;

        connection->state_directory = g_strdup(directory);
        connection->lock_fd = run_directory_lock_shared(directory);
        if (connection->lock_fd < 0) {
                r = connection->lock_fd;
                if (r == -EWOULDBLOCK)
                        complain("the run in %s is still in progress; its records can be shown when it "
                                 "has ended",
                                        directory);
                else
                        complain("%s cannot be read: %s", directory, g_strerror(-r));
                return r;
        }
        r = start_private(connection, "--inspect");
        if (r < 0)
                return r;
        *ret = g_steal_pointer(&connection);
        return 0;
}

int connection_open_any(const Options *options, Connection **ret) {
        return options->system || options->user ? connection_open(options, ret)
                                                : connection_open_private(false, ret);
}

Connection *connection_close(Connection *connection) {
        if (!connection)
                return NULL;
        /* On a bus, queued messages are sent first. For a private daemon, the closed socket is a request to
         * end. */
        if (connection->pid > 0)
                sd_bus_close_unref(connection->bus);
        else
                sd_bus_flush_close_unref(connection->bus);
        if (connection->pid > 0)
                (void) private_daemon_wait(connection->pid);
        (void) relay_free(connection->relay);
        if (connection->temporary)
                run_directory_remove(connection->state_directory);
        else if (connection->numbered)
                run_directories_prune(connection->state_directory);
        (void) close_fd(connection->lock_fd);
        g_free(connection->state_directory);
        g_free(connection);
        return NULL;
}

static uint64_t now_usec(void) {
        return (uint64_t) g_get_monotonic_time();
}

bool connection_lost(int r) {
        return r == -ECONNRESET || r == -ENOTCONN || r == -EPIPE || r == -ESHUTDOWN;
}

static void complain_error(
                const Connection *connection, const char *path, const sd_bus_error *error, int r) {
        relay_flush(connection->relay);
        /* The bus only says that there is no such object. For the user the object is a job. */
        if (sd_bus_error_has_name(error, SD_BUS_ERROR_UNKNOWN_OBJECT) &&
                        g_str_has_prefix(path, BUS_PATH_JOB_PREFIX "/"))
                complain("There is no job %s.", path + strlen(BUS_PATH_JOB_PREFIX "/"));
        else if (sd_bus_error_has_name(error, BUS_ERROR(BadJobFile)))
                /* a message of BadJobFile begins with the file's name */
                complain_bare(error->message);
        else if (connection_lost(r) && connection->pid > 0) {
                g_autofree char *fate = private_daemon_fate(connection->pid);

                complain("the private daemon %s", fate);
        } else if (error->message)
                complain("%s", error->message);
        else
                complain("the daemon did not answer: %s", g_strerror(-r));
}

static void say_busy(bool *said, uint64_t since) {
        if (*said || now_usec() - since < BUSY_QUIET_USEC || !isatty(STDERR_FILENO))
                return;
        *said = true;
        fprintf(stderr, "actord is busy with other callers; waiting for a turn (Ctrl-C gives up)\n");
}

/* Calls a method, and repeats the call while the daemon is busy: a busy daemon answers with a special error
 * and has done nothing for the call. */
static int call_patiently(sd_bus *bus, sd_bus_message *message, uint64_t timeout_usec, sd_bus_error *error,
                sd_bus_message **ret_reply) {
        uint64_t since = now_usec(), wait = BUSY_WAIT_FIRST_USEC;
        bool said = false;

        for (;;) {
                int r = sd_bus_call(bus, message, timeout_usec, error, ret_reply);

                if (r >= 0 || !sd_bus_error_has_name(error, BUS_ERROR(Busy)) ||
                                now_usec() - since > BUSY_LONGEST_USEC)
                        return r;
                say_busy(&said, since);
                /* The wait has a random part, so that callers that were refused at the same time do not all
                 * retry at the same time. */
                g_usleep(wait / 2 + (gulong) g_random_int_range(0, (gint32) wait));
                wait = MIN(2 * wait, BUSY_WAIT_LONGEST_USEC);
                sd_bus_error_free(error);
        }
}

static int send_for(Connection *connection, sd_bus_message *message, uint64_t timeout_usec,
                sd_bus_message **ret_reply) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        int r;

        r = call_patiently(connection->bus, message, timeout_usec, &error, ret_reply);
        if (r < 0)
                complain_error(connection, sd_bus_message_get_path(message), &error, r);
        return MIN(r, 0);
}

int connection_send(Connection *connection, sd_bus_message *message, sd_bus_message **ret_reply) {
        return send_for(connection, message, SEND_TIMEOUT_USEC, ret_reply);
}

int connection_call(Connection *connection, const char *path, const char *interface, const char *member,
                sd_bus_message **ret_reply, const char *types, ...) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        va_list arguments;
        int r;

        r = sd_bus_message_new_method_call(
                        connection->bus, &message, connection->destination, path, interface, member);
        if (r < 0) {
                complain("%s cannot be called: %s", member, g_strerror(-r));
                return r;
        }
        if (types && types[0]) {
                va_start(arguments, types);
                r = sd_bus_message_appendv(message, types, arguments);
                va_end(arguments);
                g_assert(r >= 0);
        }
        return send_for(connection, message, 0, ret_reply);
}

int job_path(const char *number, uint64_t *ret_id, char **ret_path) {
        uint64_t id;

        if (word_names_run(number)) {
                complain("%s is a run of `actorctl run`; this verb takes the number of a job of actord, "
                         "which `actorctl list` shows",
                                number);
                return -EINVAL;
        }
        if (!g_ascii_string_to_unsigned(number, 10, 1, UINT64_MAX, &id, NULL)) {
                complain("%s is not the number of a job; `actorctl list` shows them", number);
                return -EINVAL;
        }
        *ret_path = g_strdup_printf("%s/%" G_GUINT64_FORMAT, BUS_PATH_JOB_PREFIX, id);
        if (ret_id)
                *ret_id = id;
        return 0;
}

ExitStatus jobs_call(const Options *options, char **numbers, size_t n, const char *method) {
        g_autoptr(Connection) connection = NULL;
        g_autofree uint64_t *ids = g_new0(uint64_t, n);
        ExitStatus status = STATUS_OK;

        for (size_t i = 0; i < n; i++) {
                g_autofree char *path = NULL;

                if (job_path(numbers[i], &ids[i], &path) < 0)
                        return STATUS_USAGE;
        }
        if (connection_open(options, &connection) < 0)
                return STATUS_FAILED;
        for (size_t i = 0; i < n; i++) {
                int r = connection_call(
                                connection, BUS_PATH, BUS_INTERFACE_MANAGER, method, NULL, "t", ids[i]);

                if (r < 0)
                        status = MAX(status, status_of_error(r));
        }
        return status;
}

ExitStatus status_of_error(int r) {
        return r == -EINVAL || r == -EBADMSG || r == -ENOENT || r == -ENXIO ? STATUS_USAGE : STATUS_FAILED;
}

int bus_column(char *const *names, const char *name) {
        for (int i = 0; names[i]; i++)
                if (strcmp(names[i], name) == 0)
                        return i;
        return -EBADMSG;
}
