/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The keys of --sort=: each verb has a table with a row for each key. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct SortKey {
        const char *word;
        GCompareFunc compare; /* compares two rows */
        const char *older;    /* a word that is still accepted, but not listed; NULL: there is none */
} SortKey;

/* Finds the key with this word, and returns its index in *ret. Without a word it is the first key. False,
 * with a message: there is no such key. */
bool sort_key_find(const SortKey *keys, size_t n, const char *word, size_t *ret);
