/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The text of a task's network for SWMM, with a storm in it. There are two kinds of networks. One is a text
 * of this project, and the storm is appended to it. The other is a file of a Python package, which has rain
 * of its own; the entries of this rain are scaled hour by hour. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "actor/envs/swmm/storm.h"

enum { DRAINAGE_MAX = 128 * 1024 };

typedef struct Drainage {
        const char *text, *text_end; /* the network, if actord contains it; NULL: a package has it */
        uint32_t first_hour;         /* the hour in which rain begins; unused if a package has the text */
        uint32_t tide_hours;         /* 0: there is no tide */
        const char *package, *version, *file;
        uint32_t n_entries; /* how many entries of rain the package's file has */
} Drainage;

/* Writes the network's text with the storm's rain into `ret`. Returns the number of bytes, or a negative
 * errno after a sentence on stderr, which names `task`. A package's file is read only once. */
int drainage_write(const Drainage *drainage, const char *task, const StormFamily *family, const Storm *storm,
                char ret[DRAINAGE_MAX]);

/* Like drainage_write(), but takes the content of the network's file from the Python package. -EINVAL: the
 * file's rain differs from the profile of the storm family, or the text does not fit into `ret`. */
int drainage_scale(const Drainage *drainage, const char *file, const StormFamily *family, const Storm *storm,
                char ret[DRAINAGE_MAX]);
