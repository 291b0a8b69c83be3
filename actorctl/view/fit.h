/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which columns of a table a narrow screen shows, and how wide. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct FitColumn {
        unsigned width, least; /* of its widest cell; of what may be left of a text */
        unsigned spare; /* columns with 1 are left out first, then those with 2, …; 0: after all those */
        bool shown;
} FitColumn;

/* Fits the shown columns, with one blank between two, into `screen`. Texts are shortened first, the widest
 * one before the others. Where their least is still too much, columns are left out: the spare ones in their
 * order, then the last one, but never the first. */
void columns_fit(FitColumn *columns, size_t n, unsigned screen);
