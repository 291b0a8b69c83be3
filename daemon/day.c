/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/day.h"

#include <assert.h>
#include <string.h>
#include <time.h>

#define SECOND        1000000ull
#define DAY_LONGEST_S (26ull * 3600) /* the longest day has 25 hours; one more to be safe */

static void print(uint64_t seconds, const char *format, char *ret, size_t size) {
        time_t t = (time_t) seconds;
        struct tm tm = {};

        (void) localtime_r(&t, &tm);
        if (strftime(ret, size, format, &tm) == 0)
                ret[0] = '\0';
}

const char *day_of(uint64_t usec, char ret[DAY_MAX]) {
        assert(ret);

        /* The administrator may have chosen another time zone since the last call. */
        tzset();
        print(usec / SECOND, "%Y-%m-%d", ret, DAY_MAX);
        return ret;
}

/* Searches for the first second with another date. mktime() cannot be used: in some places clocks go forward
 * at midnight, and that day has no midnight. A binary search works, since a date never returns: clocks that
 * go back at midnight do so before the next day has begun. */
uint64_t day_end(uint64_t usec) {
        uint64_t low = usec / SECOND, high = low + DAY_LONGEST_S;
        char today[DAY_MAX], other[DAY_MAX];

        (void) day_of(usec, today);
        while (high - low > 1) {
                uint64_t middle = low + (high - low) / 2;

                print(middle, "%Y-%m-%d", other, sizeof(other));
                if (strcmp(other, today) == 0)
                        low = middle;
                else
                        high = middle;
        }
        return high * SECOND;
}

const char *day_words(uint64_t usec, char ret[DAY_WORDS_MAX]) {
        assert(ret);

        print(usec / SECOND, "%Y-%m-%d %H:%M %Z", ret, DAY_WORDS_MAX);
        return ret;
}
