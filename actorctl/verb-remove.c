/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* remove: the files of ended jobs. What is written down of them stays. */
#include "actorctl/bus.h"
#include "include/bus.h"

ExitStatus verb_remove(const Options *options, char **arguments, size_t n) {
        g_autoptr(Connection) connection = NULL;
        ExitStatus status = STATUS_OK;

        if (connection_open(options, &connection) < 0)
                return STATUS_FAILED;
        for (size_t i = 0; i < n; i++) {
                g_autofree char *path = NULL;
                uint64_t id;

                if (job_path(arguments[i], &id, &path) < 0)
                        return STATUS_USAGE;
                if (connection_call(connection, BUS_PATH, BUS_INTERFACE_MANAGER, "RemoveJobFiles", NULL, "t",
                                    id) < 0)
                        status = STATUS_FAILED;
        }
        return status;
}
