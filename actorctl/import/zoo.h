/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Turns hyper-parameters in the format of RL Zoo (DLR-RM/rl-baselines3-zoo, hyperparams/ALGORITHM.yml) into
 * a job file. If an entry lacks a key, the job gets the default of Stable-Baselines3, since the entry relies
 * on it. Settings that a job file cannot express are listed in a comment. */
#pragma once

#include <stddef.h>

typedef struct ZooRequest {
        const char *text;      /* YAML */
        size_t n;              /* the number of the text's bytes */
        const char *file;      /* the file's name, for messages and for the first comment */
        const char *algorithm; /* a word of Algorithm= */
        const char *entry;     /* the environment's name in the file; NULL: the only entry */
} ZooRequest;

/* Returns the job file, g_free(). NULL: *ret_reason is a sentence that begins with the file's name,
 * g_free(). */
char *zoo_to_job(const ZooRequest *request, char **ret_reason);
