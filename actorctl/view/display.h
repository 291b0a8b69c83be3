/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shows progress on standard error or standard output: a live line or block on a terminal, otherwise a plain
 * line from time to time. */
#pragma once

#include <stdio.h>

#include "actorctl/job-status.h"

typedef struct Display Display;

/* Makes a display, which asks the daemon by connection and path; both must outlive it. curve: on a terminal
 * it shows a block with a curve of the return. */
Display *display_new(FILE *to, bool curve, Connection *connection, const char *path);
/* Whether the display is drawn on a terminal. */
bool display_is_live(const Display *display);
/* For a scheduler's training of at least n runs: shows how many runs are done, and the time left. n 0: the
 * job is not such a training. */
void display_count_runs(Display *display, uint64_t n);
/* Sets the job's name for people: "run r7"; by default "job 7". */
void display_call(Display *display, const char *called);
/* Shows which keys the user may press. A block shows them in its last line until the job has ended. A
 * display of one live line prints them once, before that line. */
void display_tell_keys(Display *display, const char *words);
Display *display_free(Display *display);
/* Call this whenever the status may have changed; extra calls do no harm. */
void display_update(Display *display, const JobStatus *status);
/* Ends the live line or block, so that the next output begins on a new line. */
void display_end(Display *display, const JobStatus *status);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Display, display_free)

/* A curve of n points as text of rows * columns characters, in braille or ASCII, g_free(). Points have
 * ascending x; those with a y that is not finite are left out. */
char *curve_draw(const double *x, const double *y, size_t n, unsigned columns, unsigned rows, bool utf8);
/* Draws a bar of `width` characters between brackets, such as [████████        ]; g_free(). */
char *bar_draw(double fraction, unsigned width, bool utf8);
