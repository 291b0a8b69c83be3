/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* recover: the books of a run that was left, or killed, before they were written. The daemon's program
 * knows how; this one says to which directory. */
#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "actorctl/actorctl.h"
#include "actorctl/private.h"

/* A number is a run's of `actorctl run`. */
static char *directory_of(const char *word) {
        guint64 n;

        if (!g_ascii_string_to_unsigned(word, 10, 1, G_MAXUINT64, &n, NULL))
                return g_canonicalize_filename(word, NULL);
        return g_build_filename(g_get_user_state_dir(), "actord", "runs", word, NULL);
}

ExitStatus verb_recover(const Options *options, char **arguments, size_t n) {
        g_autofree char *directory = directory_of(arguments[0]), *program = private_daemon_path(),
                        *state = g_strconcat("--state=", directory, NULL);
        char *argv[] = { program, (char *) "--recover", state, NULL };
        g_autoptr(GError) error = NULL;
        int status;

        if (!g_spawn_sync(NULL, argv, NULL, G_SPAWN_CHILD_INHERITS_STDIN, NULL, NULL, NULL, NULL, &status,
                            &error)) {
                complain("%s cannot be started: %s", program, error->message);
                return STATUS_FAILED;
        }
        return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? STATUS_OK : STATUS_FAILED;
}
