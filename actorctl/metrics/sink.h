/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A file of metrics. It is opened early, so that a wrong path is refused before anything begins, but what
 * it had before goes only when there is something to write; a file that was made and never written to goes
 * again. */
#pragma once

#include <sys/types.h>

#include "actorctl/metrics/format.h"

typedef struct Sink {
        const MetricsFormat *format;
        char *path;
        int fd;             /* negative: given up */
        uint64_t n_written; /* whole rounds, in bytes */
        bool begun, made;   /* made: there was no such file before */
        mode_t type;        /* S_IFREG and the like */
        dev_t device;
        ino_t inode;
} Sink;

/* path: what the user named, of a tensorboard the directory. careful: the path comes from a job file, which
 * a stranger may have written, so that only files of the same format are replaced. 0; or a negative errno,
 * with *ret_reason, which is static. *ret must be cleared in both cases. */
int sink_open(Sink *ret, const MetricsFormat *format, const char *path, bool careful,
                const char **ret_reason);
/* Whether both are one file, or one pipe. */
bool sink_equal(const Sink *a, const Sink *b);
/* The first bytes replace what the file had. 0; or a negative errno, -ETIMEDOUT: a pipe whose reader makes
 * too little room. */
int sink_write(Sink *sink, const GByteArray *bytes);
/* Takes away again what was written of the last round, so that the file ends with a whole one. */
void sink_give_up(Sink *sink);
void sink_clear(Sink *sink);
