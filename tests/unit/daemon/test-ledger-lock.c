/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The lock of a ledger ends with the daemon that has it, whatever its children do. It is not the lock of a
 * program that writes to the file. */
#include <glib.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/ledger/private.h"
#include "tests/unit/ledger-fixture.h"

static char *directory;

/* A forked child has the descriptor of the lock until it has closed it. The next daemon need not wait for
 * that. */
static void test_child_of_closed_ledger(void) {
        g_autofree char *path = g_build_filename(directory, "ledger.sqlite", NULL);
        Ledger *ledger = NULL;
        pid_t child;

        assert_ok(ledger_open(path, &ledger));
        child = fork();
        if (child == 0) {
                (void) prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
                (void) pause();
                _exit(EXIT_SUCCESS);
        }
        g_assert_cmpint(child, >, 0);
        ledger_close(ledger);
        assert_ok(ledger_open(path, &ledger));
        ledger_close(ledger);
        g_assert_cmpint(kill(child, SIGKILL), ==, 0);
        g_assert_cmpint(waitpid(child, NULL, 0), ==, child);
}

/* A program that writes to the ledger is not another daemon: the next try may succeed. */
static void test_other_writer(void) {
        g_autofree char *path = g_build_filename(directory, "written.sqlite", NULL);
        Ledger *ledger = NULL;
        sqlite3 *writer = NULL;

        assert_ok(ledger_open(path, &ledger));
        ledger = ledger_close(ledger);
        g_assert_cmpint(sqlite3_open(path, &writer), ==, SQLITE_OK);
        g_assert_cmpint(sqlite3_exec(writer, "BEGIN IMMEDIATE", NULL, NULL, NULL), ==, SQLITE_OK);
        g_assert_cmpint(ledger_open(path, &ledger), ==, -ETXTBSY);
        g_assert_null(ledger);
        sqlite3_close(writer);
        assert_ok(ledger_open(path, &ledger));
        ledger_close(ledger);
}

int main(int argc, char **argv) {
        g_autofree char *command = NULL;
        int r;

        g_test_init(&argc, &argv, NULL);
        directory = g_dir_make_tmp("test-ledger-lock-XXXXXX", NULL);
        g_test_add_func("/ledger-lock/child-of-closed-ledger", test_child_of_closed_ledger);
        g_test_add_func("/ledger-lock/other-writer", test_other_writer);
        r = g_test_run();
        command = g_strdup_printf("rm -rf '%s'", directory);
        g_spawn_command_line_sync(command, NULL, NULL, NULL, NULL);
        return r;
}
