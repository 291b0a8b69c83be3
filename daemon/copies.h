/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A separate process copies the files of a caller: such a file may be large, on a slow disk, or on a file
 * system whose server never answers. Meanwhile the daemon goes on. When the copy is there, the method's
 * handler runs again, as after a question to polkit. */
#pragma once

#include "daemon/manager.h"
#include "lib/directory.h"

void copies_init(Manager *manager);

/* Whether this call was seen before: it waits for its turn, its files are being copied, or the copy is
 * ready. */
bool copies_has(const Manager *manager, sd_bus_message *message);

/* The files that may come with a job. */
typedef enum CopyFile {
        COPY_ENVIRONMENT,
        COPY_CHECKPOINT,
        COPY_DATASET,
        COPY_DIRECTORY, /* the first directory kind (lib/directory.h): only checked, not copied */
        _COPY_FILE_MAX = COPY_DIRECTORY + _DIRECTORY_KIND_MAX,
} CopyFile;

typedef struct CopyRequest {
        int tokens[_COPY_FILE_MAX]; /* as in daemon/gate.h; negative: the call has no such file */
} CopyRequest;

/* Copies the files into a new directory of the state directory. 1: done: *ret_name is the directory's name,
 * which the caller commits or discards, and *ret_directories are the caller's directories (free them with
 * directories_drop()). 0: under way, and the handler will be called again. -EXDEV: the caller's directory of
 * the kind *ret_hidden is hidden from the system's daemon, and no error is set. Other negative values: an
 * error is set. */
int copies_fetch(Manager *manager, sd_bus_message *message, sd_bus_message_handler_t handler, uint32_t uid,
                const CopyRequest *request, char **ret_name, Directories *ret_directories,
                DirectoryKind *ret_hidden, sd_bus_error *error);
