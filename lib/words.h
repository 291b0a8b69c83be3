/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

/* Makes words from another host fit for a message or a record: one line of printable ASCII, cut to the size
 * and terminated. Each other character becomes a question mark. */
static inline void words_clean(char *words, size_t size) {
        words[size - 1] = 0;
        for (char *p = words; *p; p++)
                if (*p < ' ' || *p > '~')
                        *p = '?';
}
