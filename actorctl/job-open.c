/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A run of `actorctl run` has its own ledger, and its daemon ends with the run. To show the run's
 * records, actorctl starts another private daemon. It begins no job, and ends with the connection. */
#include "actorctl/job-open.h"

#include <errno.h>
#include <string.h>

#include "actorctl/private.h"
#include "include/bus.h"
#include "lib/cleanup.h"

/* the only job in a run's ledger */
#define RUN_JOB "1"

char *job_called(const char *word) {
        return g_strdup_printf("%s %s", word_names_run(word) ? "run" : "job", word);
}

/* Checks that the run's job has ended: the private daemon that shows runs has no other jobs, and answers
 * NoSuchJob. */
static ExitStatus check_ended(const Connection *connection, const char *word) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        g_autofree char *called = NULL;
        int r;

        r = sd_bus_call_method(connection->bus, connection->destination, BUS_PATH, BUS_INTERFACE_MANAGER,
                        "GetJob", &error, NULL, "t", g_ascii_strtoull(RUN_JOB, NULL, 10));
        if (r >= 0)
                return STATUS_OK;
        relay_flush(connection->relay);
        called = run_directory_word(connection->state_directory);
        if (sd_bus_error_has_name(&error, BUS_ERROR(NoSuchJob)))
                complain("run %s was left before its job had ended: `actorctl recover %s` ends it with "
                         "the records of its ledger",
                                word, called);
        else if (connection_lost(r)) {
                g_autofree char *fate = private_daemon_fate(connection->pid);

                complain("the records of run %s cannot be read: the private daemon %s", word, fate);
        } else
                complain("the records of run %s cannot be read: %s", word,
                                error.message ? error.message : g_strerror(-r));
        return STATUS_FAILED;
}

ExitStatus job_needs_no_daemon(const Options *options, const char *word, const char *what) {
        if (!options->system && !options->user && !options->host)
                return STATUS_OK;
        complain("%s is %s, and no daemon has it: leave out --system, --user and --host", word, what);
        return STATUS_USAGE;
}

static ExitStatus open_run(const Options *options, const char *word, Connection **ret) {
        g_autoptr(Connection) connection = NULL;
        g_autofree char *directory = run_directory_of(word);
        ExitStatus status;

        status = job_needs_no_daemon(options, word, "a run of `actorctl run`");
        if (status == STATUS_OK)
                status = run_directory_check(directory, word);
        if (status != STATUS_OK)
                return status;
        if (connection_open_run(directory, &connection) < 0)
                return STATUS_FAILED;
        status = check_ended(connection, word);
        if (status == STATUS_OK)
                *ret = g_steal_pointer(&connection);
        return status;
}

/* Says that there is a run of this number. After `actorctl run`, users often type a number and mean the
 * run. */
static void say_run(const char *number) {
        g_autofree char *directory = run_directory_of(number);

        if (g_file_test(directory, G_FILE_TEST_IS_DIR))
                complain("a number alone names a job of the daemon; for the run in %s write r%s", directory,
                                number);
}

ExitStatus job_check(Connection *connection, const char *number) {
        int r;

        r = connection_call(connection, BUS_PATH, BUS_INTERFACE_MANAGER, "GetJob", NULL, "t",
                        g_ascii_strtoull(number, NULL, 10));
        if (r == -ENXIO)
                say_run(number);
        return r < 0 ? status_of_error(r) : STATUS_OK;
}

static ExitStatus open_daemon(const Options *options, const char *number, Connection **ret) {
        g_autoptr(Connection) connection = NULL;
        ExitStatus status;

        if (connection_open(options, &connection) < 0) {
                say_run(number);
                return STATUS_FAILED;
        }
        status = job_check(connection, number);
        if (status == STATUS_OK)
                *ret = g_steal_pointer(&connection);
        return status;
}

static bool is_number(const char *word) {
        return word[0] && strspn(word, "0123456789") == strlen(word);
}

static ExitStatus refuse_word(const char *word) {
        if (word_is_closed(word)) {
                g_autofree char *directory = run_directory_of(word);

                return run_directory_check(directory, word);
        }
        complain("%s is neither the number of a job (`actorctl list` shows them) nor a run (`actorctl "
                 "runs`): write r7, or a run's directory",
                        word);
        return STATUS_USAGE;
}

ExitStatus job_open(const Options *options, const char *word, Connection **ret, char **ret_path) {
        bool run = word_names_run(word);
        g_autofree char *path = NULL;
        ExitStatus status;

        if (!run && !is_number(word))
                return refuse_word(word);
        if (run)
                path = g_strdup(BUS_PATH_JOB_PREFIX "/" RUN_JOB);
        else if (job_path(word, NULL, &path) < 0)
                return STATUS_USAGE;
        status = run ? open_run(options, word, ret) : open_daemon(options, word, ret);
        if (status == STATUS_OK)
                *ret_path = g_steal_pointer(&path);
        return status;
}
