/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* EPA SWMM, on which several simulations take turns. The library holds one simulation, in its variables and
 * in memory that it allocates, and reads and writes files. Here its allocations come from one region, its
 * files are texts in memory, and a simulation that does not have the turn keeps a copy of variables and
 * region: an image. A simulation always begins with the library's state after loading, so it does not
 * depend on those before. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* For the variables and the 0.4 MiB that a simulation of ours allocates. */
#define ENGINE_IMAGE_MAX (UINT64_C(4) << 20)
#define ENGINE_NAMES_MAX 4

/* Followed by ENGINE_IMAGE_MAX bytes. All zero: no simulation. */
typedef struct EngineImage {
        bool live;
        int nodes[ENGINE_NAMES_MAX], links[ENGINE_NAMES_MAX]; /* the engine's indexes of the task's */
        uint64_t allocated;                                   /* of the region, when it last had the turn */
} EngineImage;

/* The parts of the network that a task reads, each list ended by NULL. */
typedef struct EngineNames {
        const char *nodes[ENGINE_NAMES_MAX], *links[ENGINE_NAMES_MAX];
} EngineNames;

/* The directory of Python=, by its name in the job and as a descriptor; -1: the job names none. The name is
 * not copied. */
void engine_packages(const char *python, int fd);

/* A new simulation of the text, which is read only in this call. 0, or -ENOENT, -ENOEXEC, -EIO after a
 * sentence on stderr. */
int engine_begin(EngineImage *image, const char *text, size_t n_text, const EngineNames *names);

/* Gives the image the turn. It must be live. */
void engine_turn(EngineImage *image);

/* One routing step of the image that has the turn; SWMM chooses its length. *ret_msec: since the beginning.
 * 0, or -EIO after a sentence on stderr. */
int engine_advance(int64_t *ret_msec);

/* Numbers of the image that has the turn, in the units of its text. */
double engine_depth(int node);
double engine_overflow(int node);
double engine_flow(int link);
void engine_set_opening(int link, double opening);

/* To be called before the image's memory is freed. */
void engine_forget(EngineImage *image);
