/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Progress on standard error or standard output: one live line or block on a terminal, else a plain line now and then. */
#pragma once

#include <stdio.h>

#include "actorctl/job-status.h"

typedef struct Display Display;

/* curve: a block with a curve of the return, for watching; it asks the daemon for rounds, by connection and path. */
Display *display_new(FILE *to, bool curve, Connection *connection, const char *path);
/* A scheduler's training, of n runs at least: shows those that are done, and the time left. 0: it is none. */
void display_count_runs(Display *display, uint64_t n);
Display *display_free(Display *display);
/* Called whenever something may have changed, as often as one likes. */
void display_update(Display *display, const JobStatus *status);
/* Whatever is live is finished; what is printed next begins on a line of its own. */
void display_end(Display *display, const JobStatus *status);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Display, display_free)

/* A curve of n points as text: rows * columns cells of braille (or ASCII) letters, g_free(). Points are (x ascending, y); those with a
 * y that is not finite are left out. */
char *curve_draw(const double *x, const double *y, size_t n, unsigned columns, unsigned rows, bool utf8);
/* [████████        ] of `width` cells. */
char *bar_draw(double fraction, unsigned width, bool utf8);
