/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The row of a job says `ended` from the transaction on that has its last record. What is left to do
 * after it, acknowledging that record, removing what the life had and saying so, is made up for if the
 * daemon was killed in between: the file of the launch is removed last. */
#include "daemon/ends.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include "daemon/job.h"
#include "lib/cleanup.h"

#define LAUNCH_SUFFIX ".launch"

static void take_up(Manager *manager, uint64_t id) {
        LedgerJob row = {};
        Job *job;

        if (manager_job(manager, id) || ledger_job_get(manager->ledger, id, &row) < 0)
                return;
        if (g_strcmp0(row.state, "ended") == 0 && job_new(manager, &row, &job) >= 0) {
                job_take_up_end(job);
                (void) manager_add(manager, job);
        }
        ledger_job_done(&row);
}

void ends_take_up(Manager *manager) {
        _cleanup_close_ int fd = openat(manager->sockets_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _cleanup_closedir_ DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
        struct dirent *entry;

        if (!directory)
                return;
        (void) TAKE_FD(fd);
        while ((entry = readdir(directory))) {
                char *rest;
                guint64 id = g_ascii_strtoull(entry->d_name, &rest, 10);

                if (id > 0 && strcmp(rest, LAUNCH_SUFFIX) == 0)
                        take_up(manager, id);
        }
}
