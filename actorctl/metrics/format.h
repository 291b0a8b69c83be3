/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The formats of metrics. A format turns rounds into bytes; it neither opens nor writes a file. */
#pragma once

#include "actorctl/job-rounds.h"
#include "actorctl/job-status.h"

/* The job's steps and episodes at the end of an earlier round than the row's: the newest one in which an
 * episode ended. */
typedef struct RoundBefore {
        double env_steps, episodes;
} RoundBefore;

typedef struct MetricsFormat {
        const char *name;
        bool directory; /* the user names a directory, and the format names the file */
        /* The first bytes of each file, at most 32. Metrics= of a job file replaces an old file only if it
         * begins with them or is empty; NULL: only if it is empty. */
        const char *head;
        /* Appends the beginning of a file. rounds: the first rounds that are written; they determine the
         * columns. */
        void (*begin)(GByteArray *bytes, const JobStatus *job, const JobRounds *rounds);
        void (*add)(GByteArray *bytes, const JobStatus *job, const JobRounds *rounds, size_t row,
                        const RoundBefore *before);
} MetricsFormat;

extern const MetricsFormat metrics_csv, metrics_jsonl, metrics_scalars, metrics_tensorboard, metrics_monitor;

/* The masked CRC-32C of TFRecord files. */
uint32_t tensorboard_checksum(const void *data, size_t n);
