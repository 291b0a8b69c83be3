/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cat: prints the job file, byte for byte unless standard output is a terminal. */
#include <stdio.h>
#include <unistd.h>

#include "actorctl/bus.h"
#include "actorctl/job-open.h"
#include "actorctl/view/pager.h"
#include "actorctl/view/streams.h"
#include "include/bus.h"
#include "lib/cleanup.h"

ExitStatus verb_cat(const Options *options, char **arguments, size_t n) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        g_autoptr(Connection) connection = NULL;
        g_autofree char *path = NULL, *called = job_called(arguments[0]);
        const char *text;
        ExitStatus status;

        status = job_open(options, arguments[0], &connection, &path);
        if (status != STATUS_OK)
                return status;
        if (connection_call(connection, path, BUS_INTERFACE_JOB, "GetText", &reply, NULL) < 0)
                return STATUS_FAILED;
        if (sd_bus_message_read(reply, "s", &text) < 0) {
                complain("the daemon's answer about %s cannot be read", called);
                return STATUS_FAILED;
        }
        if (!isatty(STDOUT_FILENO)) {
                stream_write_raw(stdout, text);
                return STATUS_OK;
        }
        pager_open(options);
        fputs(text, stdout);
        pager_close();
        return STATUS_OK;
}
