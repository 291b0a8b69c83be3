/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The keys that --sort= takes: a row for each, in a table of the verb. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct SortKey {
        const char *word;
        GCompareFunc compare; /* of two rows */
} SortKey;

/* The number of the key with this word; without a word, of the first. false, with a message: there is no
 * such key. */
bool sort_key_find(const SortKey *keys, size_t n, const char *word, size_t *ret);
