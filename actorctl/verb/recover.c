/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* recover: completes the ledger of a run that was left, or killed, before all of its records were in. The
 * private daemon does the work; this verb names the directory. */
#include <stdlib.h>
#include <sys/wait.h>

#include "actorctl/actorctl.h"
#include "actorctl/private.h"

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
        return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? STATUS_OK : STATUS_FAILED;
}
