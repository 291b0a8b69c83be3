/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* recover: completes the ledger of a run that was left, or killed, before all of its records were in. The
 * private daemon does the work; this verb names the directory. */
#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "actorctl/actorctl.h"
#include "actorctl/private.h"

/* A number names a run of `actorctl run`. */
static char *directory_of(const char *word) {
        guint64 n;

        if (!g_ascii_string_to_unsigned(word, 10, 1, G_MAXUINT64, &n, NULL))
                return g_canonicalize_filename(word, NULL);
        return g_build_filename(g_get_user_state_dir(), "actord", "runs", word, NULL);
}

static bool is_run(const char *directory) {
        g_autofree char *ledger = g_build_filename(directory, "ledger.sqlite", NULL);

        return access(ledger, F_OK) == 0;
}

static void complain_no_run(const char *word, const char *directory) {
        g_autofree char *runs = g_path_get_dirname(directory), *called = run_directory_word(directory);

        if (g_str_equal(called, word) && !g_str_equal(called, directory))
                complain("There is no run %s in %s.", word, runs);
        else
                complain("There is no run in %s: it has no ledger.sqlite.", directory);
}

ExitStatus verb_recover(const Options *options, char **arguments, size_t n) {
        g_autofree char *directory = directory_of(arguments[0]), *program = private_program_path("actord"),
                        *state = g_strconcat("--state=", directory, NULL);
        char *argv[] = { program, (char *) "--recover", state, NULL };
        g_autoptr(GError) error = NULL;
        int status;

        if (!is_run(directory)) {
                complain_no_run(arguments[0], directory);
                return STATUS_FAILED;
        }
        if (!g_spawn_sync(NULL, argv, NULL, G_SPAWN_CHILD_INHERITS_STDIN, NULL, NULL, NULL, NULL, &status,
                            &error)) {
                complain("%s cannot be started: %s", program, error->message);
                return STATUS_FAILED;
        }
        return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? STATUS_OK : STATUS_FAILED;
}
