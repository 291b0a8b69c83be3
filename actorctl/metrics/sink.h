/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A file of metrics. It is opened early, so that a wrong path is refused before the job begins. Its old
 * content is replaced by the first write. A file that was created but never written to is removed again. */
#pragma once

#include <sys/types.h>

#include "actorctl/metrics/format.h"

typedef struct Sink {
        const MetricsFormat *format;
        char *path;
        int fd;             /* negative: the sink was given up */
        uint64_t n_written; /* bytes of whole rounds */
        bool begun, made;   /* made: the file did not exist before */
        mode_t type;        /* S_IFREG and the like */
        dev_t device;
        ino_t inode;
} Sink;

/* Opens a file. path: as the user gave it; for tensorboard it is the directory. careful: the path comes from
 * a job file, and its author may be hostile, so only files of the same format are replaced. 0; or a negative
 * errno, with *ret_reason, a static string. *ret must be cleared in both cases. */
int sink_open(Sink *ret, const MetricsFormat *format, const char *path, bool careful,
                const char **ret_reason);
/* Whether both are the same file or pipe. */
bool sink_equal(const Sink *a, const Sink *b);
/* The first bytes replace the file's old content. 0; or a negative errno; -ETIMEDOUT: the reader of a pipe
 * made too little room. */
int sink_write(Sink *sink, const GByteArray *bytes);
/* Removes the incomplete last round, so that the file ends with a whole one, and closes the file. */
void sink_give_up(Sink *sink);
void sink_clear(Sink *sink);
