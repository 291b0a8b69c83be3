/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The text of a task's network for SWMM, with a storm in it. A network is a text of ours, to which the storm
 * is appended, or comes in a file of a Python package with a rain of its own, whose entries are scaled hour
 * by hour. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "actor/envs/swmm/storm.h"

enum { DRAINAGE_MAX = 128 * 1024 };

typedef struct Drainage {
        const char *text, *text_end; /* ours; NULL: it is in the package */
        uint32_t first_hour;         /* of rain; of ours, like the next */
        uint32_t tide_hours;         /* 0: there is no tide */
        const char *package, *version, *file;
        uint32_t n_entries; /* of its rain */
} Drainage;

/* The text with the storm's rain. Its number of bytes, or an error after a sentence on stderr; `task` is for
 * messages. A package's file is read once. */
int drainage_write(const Drainage *drainage, const char *task, const StormFamily *family, const Storm *storm,
                char ret[DRAINAGE_MAX]);

/* The same of a package's file that was read. -EINVAL: its rain is not the family's profile, or the text
 * does not fit. */
int drainage_scale(const Drainage *drainage, const char *file, const StormFamily *family, const Storm *storm,
                char ret[DRAINAGE_MAX]);
