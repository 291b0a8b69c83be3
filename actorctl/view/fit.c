/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "actorctl/view/fit.h"

#include <limits.h>

/* With the blanks between columns. */
static unsigned width_of(const FitColumn *columns, size_t n, bool least) {
        unsigned sum = 0, n_shown = 0;

        for (size_t i = 0; i < n; i++) {
                if (!columns[i].shown)
                        continue;
                sum += least ? columns[i].least : columns[i].width;
                n_shown++;
        }
        return n_shown > 0 ? sum + n_shown - 1 : 0;
}

/* The lower, the earlier the column is left out. */
static size_t order_of(const FitColumn *columns, size_t n, size_t i) {
        return columns[i].spare > 0 ? columns[i].spare : UINT_MAX + n - i;
}

/* The column that is left out next; NULL: only the first one is left. */
static FitColumn *next_spare(FitColumn *columns, size_t n) {
        size_t first = 0, found;

        while (first < n && !columns[first].shown)
                first++;
        found = n;
        for (size_t i = first + 1; i < n; i++)
                if (columns[i].shown &&
                                (found == n || order_of(columns, n, i) < order_of(columns, n, found)))
                        found = i;
        return found < n ? &columns[found] : NULL;
}

static FitColumn *widest_text(FitColumn *columns, size_t n) {
        FitColumn *found = NULL;

        for (size_t i = 0; i < n; i++)
                if (columns[i].shown && columns[i].width > columns[i].least &&
                                (!found || columns[i].width >= found->width))
                        found = &columns[i];
        return found;
}

void columns_fit(FitColumn *columns, size_t n, unsigned screen) {
        FitColumn *column;

        while (width_of(columns, n, true) > screen && (column = next_spare(columns, n)))
                column->shown = false;
        while (width_of(columns, n, false) > screen && (column = widest_text(columns, n)))
                column->width--;
}
