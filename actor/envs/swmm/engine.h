/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* EPA SWMM, shared by several simulations in turns. The library has one simulation, in its variables and in
 * memory that it allocates, and reads and writes files. Here its allocations come from one region, and its
 * files are texts in memory. A simulation whose turn it is not keeps a copy of variables and region, an
 * image. A simulation always begins with the library's state after loading, so earlier ones do not influence
 * it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Enough for the variables and the 0.4 MiB that our simulations allocate. */
#define ENGINE_IMAGE_MAX (UINT64_C(4) << 20)
#define ENGINE_NAMES_MAX 12

/* ENGINE_IMAGE_MAX bytes follow. All zeros: there is no simulation. */
typedef struct EngineImage {
        bool live;
        int nodes[ENGINE_NAMES_MAX], links[ENGINE_NAMES_MAX]; /* the engine's indexes for the task's names */
        /* the used part of the region, at the end of its last turn */
        uint64_t allocated;
} EngineImage;

/* The parts of the network that a task reads; each list ends with NULL. */
typedef struct EngineNames {
        const char *nodes[ENGINE_NAMES_MAX], *links[ENGINE_NAMES_MAX];
} EngineNames;

/* The directory of Python=: its name in the job, and its descriptor; -1: the job names none. The name is not
 * copied. */
void engine_packages(const char *python, int fd);

/* Reads a file of a package in that directory, and ends it with a 0. `task` and `package` are for messages.
 * The number of bytes, or -ENOENT, -EFBIG, or another error after a sentence on stderr. */
int engine_read(const char *task, const char *package, const char *file, char *ret, size_t n);

/* Begins a simulation of the text, which is read only in this call. 0, or -ENOENT, -ENOEXEC, -EIO after a
 * sentence on stderr. */
int engine_begin(EngineImage *image, const char *text, size_t n_text, const EngineNames *names);

/* Makes it the image's turn. The image must have a simulation. */
void engine_turn(EngineImage *image);

/* Makes one routing step of the image whose turn it is. SWMM chooses the step's length. *ret_msec: the time
 * since the beginning; 0 after the last step up to the END_DATE of its text. 0, or -EIO after a sentence on
 * stderr. */
int engine_advance(int64_t *ret_msec);

/* Numbers of the image whose turn it is, in the units of its text. */
double engine_depth(int node);
double engine_overflow(int node);
double engine_flow(int link);
void engine_set_opening(int link, double opening);

/* Call this before the image's memory is freed. */
void engine_forget(EngineImage *image);
