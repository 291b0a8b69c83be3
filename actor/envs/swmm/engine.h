/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* EPA SWMM as a thing that several simulations take turns on. The library holds one simulation, in
 * variables of its own and in memory that it allocates, and reads and writes files. Here its allocations
 * come from one region, its files are texts in memory, and an image that does not have the turn keeps a
 * copy of both: an image. A simulation always begins on what the library was when it was loaded, so that
 * it makes no difference what ran before it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ENGINE_IMAGE_MAX \
        (UINT64_C(4) << 20) /* variables, and what a simulation of ours allocates: 0.4 MiB */
#define ENGINE_NAMES_MAX 4

/* What an instance keeps, followed by ENGINE_IMAGE_MAX bytes. All zero: no simulation. */
typedef struct EngineImage {
        bool live;
        int nodes[ENGINE_NAMES_MAX], links[ENGINE_NAMES_MAX]; /* where the engine has the task's */
        uint64_t allocated;                                   /* of the region, when it last had the turn */
} EngineImage;

/* Which of the network's parts a task reads, NULL at the end of each. */
typedef struct EngineNames {
        const char *nodes[ENGINE_NAMES_MAX], *links[ENGINE_NAMES_MAX];
} EngineNames;

/* The directory of Python=, as the job calls it and as a descriptor; -1: the job names none. The name is
 * not copied. */
void engine_packages(const char *python, int fd);

/* A new simulation of the text, which is only read now. 0, or -ENOENT, -ENOEXEC, -EIO after a sentence on
 * stderr. */
int engine_begin(EngineImage *image, const char *text, size_t n_text, const EngineNames *names);

/* Gives the image the turn. It must be live. */
void engine_turn(EngineImage *image);

/* One routing step of the image that has the turn, as long as SWMM finds good; *ret_msec: since the
 * beginning. 0, or -EIO after a sentence on stderr. */
int engine_advance(int64_t *ret_msec);

/* Its numbers, in the units of its text. */
double engine_depth(int node);
double engine_overflow(int node);
double engine_flow(int link);
void engine_set_opening(int link, double opening);

/* The image's memory is about to go. */
void engine_forget(EngineImage *image);
