/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* stop: asks for the end; the round in flight is finished, the checkpoint written. remove: the files of ended jobs; what is written down of
 * them stays. Each is a call of the manager for each job. */
#include "actorctl/bus.h"
#include "include/bus.h"

static ExitStatus call_for_each(const Options *options, char **arguments, size_t n, const char *method) {
        g_autoptr(Connection) connection = NULL;
        ExitStatus status = STATUS_OK;

        if (connection_open(options, &connection) < 0)
                return STATUS_FAILED;
        for (size_t i = 0; i < n; i++) {
                g_autofree char *path = NULL;
                uint64_t id;

                if (job_path(arguments[i], &id, &path) < 0)
                        return STATUS_USAGE;
                if (connection_call(connection, BUS_PATH, BUS_INTERFACE_MANAGER, method, NULL, "t", id) < 0)
                        status = STATUS_FAILED;
        }
        return status;
}

ExitStatus verb_stop(const Options *options, char **arguments, size_t n) {
        return call_for_each(options, arguments, n, "StopJob");
}

ExitStatus verb_remove(const Options *options, char **arguments, size_t n) {
        return call_for_each(options, arguments, n, "RemoveJobFiles");
}
