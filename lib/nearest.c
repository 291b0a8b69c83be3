/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* "Did you mean …": the edit distance of Damerau and Levenshtein (optimal string alignment), without regard
 * to case. Words are so short that three rows of the matrix fit on the stack. */
#include <glib.h>
#include <string.h>

#include "lib/settings/settings.h"

#define WORD_MAX 64u

static unsigned distance(const char *a, const char *b) {
        unsigned rows[3][WORD_MAX + 1], *before = rows[0], *above = rows[1], *row = rows[2];
        size_t n = strlen(a), m = strlen(b);

        for (size_t j = 0; j <= m; j++)
                above[j] = (unsigned) j;
        for (size_t i = 1; i <= n; i++) {
                unsigned *oldest = before;

                row[0] = (unsigned) i;
                for (size_t j = 1; j <= m; j++) {
                        char x = g_ascii_tolower(a[i - 1]), y = g_ascii_tolower(b[j - 1]);

                        row[j] = MIN(MIN(above[j] + 1, row[j - 1] + 1), above[j - 1] + (x != y));
                        /* Two neighbours in the wrong order count as one mistake. */
                        if (i > 1 && j > 1 && x == g_ascii_tolower(b[j - 2]) &&
                                        y == g_ascii_tolower(a[i - 2]))
                                row[j] = MIN(row[j], before[j - 2] + 1);
                }
                before = above;
                above = row;
                row = oldest;
        }
        return above[m];
}

const char *nearest_word(const char *word, const char *const *words) {
        const char *nearest = NULL;
        size_t n;
        unsigned least = UINT_MAX;

        g_assert(word);
        g_assert(words);

        n = strlen(word);
        if (n == 0 || n > WORD_MAX)
                return NULL;
        /* A third of the characters may be wrong, and at least one, unless there is only one. One more may
         * be wrong if the first character is right; so "bogus" is not near "logs". A mistake counts 2, and a
         * word that is only the beginning of another ("hopper" of Hopper-v4) counts 3 at most. Among words
         * at the same distance the last in the list wins, since it is the newest version. */
        for (; *words; words++) {
                bool begins = n >= 3 && g_ascii_strncasecmp(word, *words, n) == 0;
                bool alike = g_ascii_tolower(word[0]) == g_ascii_tolower((*words)[0]);
                unsigned d, most = n > 1 ? 2 * MAX((unsigned) (n / 3 + alike), 1u) : 0;

                if (strlen(*words) > WORD_MAX)
                        continue;
                d = 2 * distance(word, *words);
                if (begins)
                        d = MIN(d, 3);
                if (d <= least && (begins || d <= most)) {
                        least = d;
                        nearest = *words;
                }
        }
        return nearest;
}
