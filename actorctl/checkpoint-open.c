/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Opens a checkpoint. If it is a file, this program opens the file, since the daemon opens no path of a
 * user. If it is the newest checkpoint of a job, the daemon passes a descriptor. */
#include "actorctl/checkpoint-open.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "actorctl/checkpoint.h"
#include "actorctl/file.h"
#include "actorctl/job-open.h"
#include "actorctl/private.h"
#include "include/bus.h"
#include "include/launch.h"
#include "lib/cleanup.h"

ExitStatus job_checkpoint_receive(Connection *connection, const char *path, const char *name, int *ret_fd) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int fd;

        if (connection_call(connection, path, BUS_INTERFACE_JOB, "OpenCheckpoint", &reply, NULL) < 0)
                return STATUS_FAILED;
        if (sd_bus_message_read(reply, "h", &fd) < 0 || (fd = fcntl(fd, F_DUPFD_CLOEXEC, 3)) < 0) {
                complain("the %s cannot be received", name);
                return STATUS_FAILED;
        }
        *ret_fd = fd;
        return STATUS_OK;
}

char *run_checkpoint_path(const Connection *connection, const JobStatus *status) {
        return g_strdup_printf("%s/jobs/%" PRIu64 "/state/" CHECKPOINT_NAME, connection->state_directory,
                        status->id, status->round);
}

static ExitStatus open_of_job(NamedCheckpoint *checkpoint, const Options *options, const char *word) {
        g_autofree char *path = NULL, *called = job_called(word);
        ExitStatus status;

        status = job_open(options, word, &checkpoint->connection, &path);
        if (status != STATUS_OK)
                return status;
        checkpoint->name = g_strdup_printf("checkpoint of %s", called);
        status = job_checkpoint_receive(checkpoint->connection, path, checkpoint->name, &checkpoint->fd);
        /* The connection to a run's daemon is not kept, since that daemon accepts no jobs. */
        if (word_names_run(word))
                g_clear_pointer(&checkpoint->connection, connection_close);
        return status;
}

static ExitStatus open_file(NamedCheckpoint *checkpoint, const char *file) {
        checkpoint->name = g_strdup(file);
        checkpoint->fd = file_open(file);
        if (checkpoint->fd >= 0)
                return STATUS_OK;
        complain("%s cannot be opened: %s", file, file_reason(checkpoint->fd));
        return STATUS_USAGE;
}

ExitStatus named_checkpoint_open(NamedCheckpoint *checkpoint, const Options *options, const char *what) {
        bool job = (what[0] && strspn(what, "0123456789") == strlen(what)) || word_names_run(what);
        g_autofree char *message = NULL;
        ExitStatus status;

        *checkpoint = NAMED_CHECKPOINT_NONE;
        status = job ? open_of_job(checkpoint, options, what) : open_file(checkpoint, what);
        if (status != STATUS_OK)
                return status;
        if (checkpoint_load(checkpoint->fd, checkpoint->name, &checkpoint->checkpoint, &message) < 0 ||
                        checkpoint_job_text(&checkpoint->checkpoint, checkpoint->name, &checkpoint->text,
                                        &message) < 0) {
                complain("%s", message);
                return job ? STATUS_FAILED : STATUS_USAGE;
        }
        if (checkpoint->checkpoint.parameters) {
                complain("%s holds only the weights of a policy, as `actorctl export --weights-only` writes "
                         "them: name the checkpoint that they came from",
                                checkpoint->name);
                return STATUS_USAGE;
        }
        return STATUS_OK;
}

void named_checkpoint_done(NamedCheckpoint *checkpoint) {
        g_clear_pointer(&checkpoint->name, g_free);
        g_clear_pointer(&checkpoint->text, g_free);
        checkpoint_close(&checkpoint->checkpoint);
        checkpoint->fd = close_fd(checkpoint->fd);
        g_clear_pointer(&checkpoint->connection, connection_close);
}
