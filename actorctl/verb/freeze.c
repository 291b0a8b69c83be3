/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* freeze holds jobs in the queue, and thaw lets them go on. */
#include "actorctl/bus.h"
#include "actorctl/job-open.h"
#include "include/bus.h"

static ExitStatus each(const Options *options, char **numbers, size_t n, const char *method) {
        g_autoptr(Connection) connection = NULL;
        g_auto(GStrv) paths = g_new0(char *, n + 1);
        ExitStatus status = STATUS_OK;

        for (size_t i = 0; i < n; i++)
                if (job_path(numbers[i], NULL, &paths[i]) < 0)
                        return STATUS_USAGE;
        if (connection_open(options, &connection) < 0)
                return STATUS_FAILED;
        for (size_t i = 0; i < n; i++) {
                ExitStatus one = job_check(connection, numbers[i]);
                int r = 0;

                if (one == STATUS_OK)
                        r = connection_call(connection, paths[i], BUS_INTERFACE_JOB, method, NULL, NULL);
                if (r < 0)
                        one = status_of_error(r);
                status = MAX(status, one);
        }
        return status;
}

ExitStatus verb_freeze(const Options *options, char **arguments, size_t n) {
        return each(options, arguments, n, "Freeze");
}

ExitStatus verb_thaw(const Options *options, char **arguments, size_t n) {
        return each(options, arguments, n, "Thaw");
}
