/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Hyper-parameters in the format of RL Zoo (DLR-RM/rl-baselines3-zoo, hyperparams/ALGORITHM.yml) as a job
 * file. Where an entry is silent, the job has the defaults of Stable-Baselines3, since an entry means
 * nothing without them. What a job file cannot say becomes a comment in it. */
#pragma once

#include <stddef.h>

#define ZOO_BYTES_MAX (1u << 20)

typedef struct ZooRequest {
        const char *text;      /* YAML */
        size_t n;              /* its bytes */
        const char *file;      /* its name, for messages and for the comment at the head */
        const char *algorithm; /* as of Algorithm= */
        const char *entry;     /* the environment's name in the file; NULL: its only entry */
} ZooRequest;

/* The job file, g_free(). NULL: *ret_reason is a sentence that begins with the file's name, g_free(). */
char *zoo_to_job(const ZooRequest *request, char **ret_reason);
