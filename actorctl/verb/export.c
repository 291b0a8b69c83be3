/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* export: copies the newest checkpoint of a job, which the daemon keeps, into a file. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "actorctl/bus.h"
#include "actorctl/job-open.h"
#include "actorctl/checkpoint-open.h"
#include "actorctl/checkpoint.h"
#include "actorctl/file.h"
#include "actorctl/private.h"
#include "lib/cleanup.h"
#include "lib/fd.h"

static int copy(int from, int to) {
        g_autofree char *buffer = g_malloc(1 << 16);
        off_t at = 0;
        ssize_t n;

        /* pread(): the position of the descriptor is shared with the daemon. */
        while ((n = pread(from, buffer, 1 << 16, at)) != 0) {
                int r = n < 0 ? -errno : write_full(to, buffer, (size_t) n);

                if (r == -EINTR)
                        continue;
                if (r < 0)
                        return r;
                at += n;
        }
        return 0;
}

/* The file gets its name when it is whole. */
static int copy_to_file(int from, const char *path) {
        _cleanup_(aside_done) Aside aside = ASIDE_EMPTY;
        int r;

        r = aside_open(path, 0666, &aside);
        if (r < 0)
                return r;
        r = copy(from, aside.fd);
        return r < 0 ? r : aside_commit(&aside, path);
}

/* Refuses a damaged checkpoint: its copy would be taken for a policy. */
static ExitStatus check_whole(const char *name, int fd) {
        _cleanup_(checkpoint_close) Checkpoint checkpoint = {};
        g_autofree char *message = NULL;

        if (checkpoint_load(fd, name, &checkpoint, &message) >= 0)
                return STATUS_OK;
        complain("%s", message);
        return STATUS_FAILED;
}

/* "job-7.safetensors", "run-7.safetensors". */
static char *file_name_of(const char *word) {
        g_autofree char *directory = word_names_run(word) ? run_directory_of(word) : NULL,
                        *run = directory ? g_path_get_basename(directory) : NULL;

        return run ? g_strdup_printf("run-%s.safetensors", run)
                   : g_strdup_printf("job-%s.safetensors", word);
}

static ExitStatus write_out(const Options *options, const char *word, int fd) {
        g_autofree char *path = options->output ? g_strdup(options->output) : file_name_of(word);
        int r;

        if (strcmp(path, "-") == 0) {
                if (isatty(STDOUT_FILENO)) {
                        complain("a checkpoint is not for terminals; give -o FILE");
                        return STATUS_USAGE;
                }
                r = copy(fd, STDOUT_FILENO);
        } else {
                if (!may_replace(path))
                        return STATUS_USAGE;
                r = copy_to_file(fd, path);
        }
        if (r < 0) {
                complain("the checkpoint cannot be written to %s: %s", path, g_strerror(-r));
                return STATUS_FAILED;
        }
        if (!options->quiet && strcmp(path, "-") != 0)
                fprintf(stderr, "%s\n", path);
        return STATUS_OK;
}

ExitStatus verb_export(const Options *options, char **arguments, size_t n) {
        g_autofree char *path = NULL, *called = job_called(arguments[0]),
                        *name = g_strconcat("checkpoint of ", called, NULL);
        g_autoptr(Connection) connection = NULL;
        _cleanup_close_ int fd = -EBADF;
        ExitStatus status;

        if (options->format && strcmp(options->format, "safetensors") != 0) {
                complain("--format=%s: it must be safetensors", options->format);
                return STATUS_USAGE;
        }
        status = job_open(options, arguments[0], &connection, &path);
        if (status != STATUS_OK)
                return status;
        status = job_checkpoint_receive(connection, path, name, &fd);
        if (status == STATUS_OK)
                status = check_whole(name, fd);
        return status == STATUS_OK ? write_out(options, arguments[0], fd) : status;
}
