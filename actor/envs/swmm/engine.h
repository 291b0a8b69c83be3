/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Several simulations share the library of EPA SWMM, and take turns. The library has room for one simulation
 * only: its state is in the library's variables and in memory that it allocates. Here these allocations come
 * from one memory region. While another simulation has its turn, an image keeps a copy of the variables and
 * the region. The library reads its input from memory, and its output is thrown away. Each simulation begins
 * with the library's state after loading, so earlier simulations do not influence it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Enough for the variables and for the 0.4 MiB that these simulations allocate. */
#define ENGINE_IMAGE_MAX (UINT64_C(4) << 20)
#define ENGINE_NAMES_MAX 12

/* ENGINE_IMAGE_MAX bytes follow. All zeros: there is no simulation. */
typedef struct EngineImage {
        bool live;
        int nodes[ENGINE_NAMES_MAX], links[ENGINE_NAMES_MAX]; /* the engine's indexes for the task's names */
        /* how much of the memory region was in use when another image was chosen */
        uint64_t allocated;
} EngineImage;

/* The parts of the network that a task reads; each list ends with NULL. */
typedef struct EngineNames {
        const char *nodes[ENGINE_NAMES_MAX], *links[ENGINE_NAMES_MAX];
} EngineNames;

/* Sets the directory of Python=: its name in the job, and its descriptor (-1: the job names none). The name
 * is not copied. */
void engine_packages(const char *python, int fd);

/* Reads a file of a package in that directory, and appends a 0. `task` and `package` are for messages.
 * Returns the number of bytes, or -ENOENT, -EFBIG or another error after a sentence on stderr. */
int engine_read(const char *task, const char *package, const char *file, char *ret, size_t n);

/* Begins a simulation of the text, which is read only in this call, and gives the image the turn. 0;
 * -ENOENT, -ENOEXEC, -EFBIG or -EIO after a sentence on stderr; -ENOMEM; or -ENXIO: the text lacks a
 * name. */
int engine_begin(EngineImage *image, const char *text, size_t n_text, const EngineNames *names);

/* Makes this image the one that the library works on. The image must have a simulation. */
void engine_turn(EngineImage *image);

/* Makes one routing step of the image that has the turn. SWMM chooses the step's length. *ret_msec: the time
 * since the beginning; 0: the last step is over, at the END_DATE of the text. 0, or -EIO after a sentence on
 * stderr. */
int engine_advance(int64_t *ret_msec);

/* Numbers of the image that has the turn, in the units of its text. */
double engine_depth(int node);
double engine_overflow(int node);
double engine_flow(int link);
void engine_set_opening(int link, double opening);

/* Call this before the image's memory is freed. */
void engine_forget(EngineImage *image);
