/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* recover: completes the ledger of a run that was given up or killed before the ledger had all records.
 * `actord --recover` does the work; this verb names the directory. */
#include <stdlib.h>
#include <sys/wait.h>

#include "actorctl/actorctl.h"
#include "actorctl/private.h"
#include "actorctl/run-note.h"
#include "lib/cleanup.h"

/* Renews the run's note from the ledger: the old note says how far the run was when it was given up. */
static void renew_note(const char *directory) {
        RunNote note = RUN_NOTE_EMPTY;

        if (run_note_read(directory, &note))
                run_note_renew(directory, &note);
        run_note_done(&note);
}

ExitStatus verb_recover(const Options *options, char **arguments, size_t n) {
        g_autofree char *directory = run_directory_of(arguments[0]),
                        *program = private_program_path("actord"),
                        *state = g_strconcat("--state=", directory, NULL);
        char *argv[] = { program, (char *) "--recover", state, NULL };
        g_autoptr(GError) error = NULL;
        ExitStatus found;
        int status;

        found = run_directory_check(directory, arguments[0]);
        if (found != STATUS_OK)
                return found;
        if (!g_spawn_sync(NULL, argv, NULL, G_SPAWN_CHILD_INHERITS_STDIN, NULL, NULL, NULL, NULL, &status,
                            &error)) {
                complain("%s cannot be started: %s", program, error->message);
                return STATUS_FAILED;
        }
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
                return STATUS_FAILED;
        renew_note(directory);
        return STATUS_OK;
}
