/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests when a day ends, also where clocks go forward or back at midnight. */
#include <glib.h>
#include <stdlib.h>
#include <time.h>

#include "daemon/day.h"

#define HOUR (3600ull * 1000000)

/* Sets TZ to `zone`, which needs no file, and returns this local time of 2026 in microseconds since 1970. */
static uint64_t at(const char *zone, int month, int day, int hour, int minute) {
        struct tm tm = { .tm_year = 126,
                .tm_mon = month - 1,
                .tm_mday = day,
                .tm_hour = hour,
                .tm_min = minute,
                .tm_isdst = -1 };

        g_setenv("TZ", zone, TRUE);
        tzset();
        return (uint64_t) mktime(&tm) * 1000000;
}

static void assert_day(uint64_t usec, const char *expected) {
        char day[DAY_MAX];

        g_assert_cmpstr(day_of(usec, day), ==, expected);
}

static void assert_end(uint64_t from, uint64_t left, const char *expected) {
        uint64_t end = day_end(from);
        char words[DAY_WORDS_MAX];

        g_assert_cmpuint(end - from, ==, left);
        g_assert_cmpstr(day_words(end, words), ==, expected);
        /* One second before the end, it is still the same day. */
        g_assert_cmpuint(day_end(end - 1000000), ==, end);
        g_assert_cmpuint(day_end(end), >, end);
}

static void test_plain(void) {
        uint64_t noon = at("XST-1", 6, 30, 12, 0);

        assert_day(noon, "2026-06-30");
        assert_end(noon, 12 * HOUR, "2026-07-01 00:00 XST");
        assert_day(noon + 12 * HOUR - 1, "2026-06-30");
        assert_day(noon + 12 * HOUR, "2026-07-01");
        assert_end(noon + 1, 12 * HOUR - 1, "2026-07-01 00:00 XST");
        /* In another time zone the same moment is on another day. */
        g_setenv("TZ", "YST-13:30", TRUE);
        assert_day(noon, "2026-07-01");
}

/* Days of 23 and of 25 hours, as in Berlin, end at the next midnight. */
static void test_summer_time(void) {
        static const char zone[] = "CET-1CEST,M3.5.0,M10.5.0/3";

        assert_end(at(zone, 3, 29, 0, 0), 23 * HOUR, "2026-03-30 00:00 CEST");
        assert_end(at(zone, 3, 29, 1, 59), 21 * HOUR + HOUR / 60, "2026-03-30 00:00 CEST");
        assert_end(at(zone, 10, 25, 0, 0), 25 * HOUR, "2026-10-26 00:00 CET");
}

/* Clocks that change at midnight, as in São Paulo until 2019. When they go forward, a day begins at 1:00.
 * When they go back, the last hour of a day comes twice. */
static void test_midnight(void) {
        static const char zone[] = "BRT3BRST,M11.1.0/0,M2.3.0/0";

        assert_end(at(zone, 10, 31, 12, 0), 12 * HOUR, "2026-11-01 01:00 BRST");
        assert_end(at(zone, 11, 1, 1, 0), 23 * HOUR, "2026-11-02 00:00 BRST");
        assert_end(at(zone, 2, 14, 22, 30), 5 * HOUR / 2, "2026-02-15 00:00 BRT");
        assert_end(at(zone, 2, 14, 22, 30) + HOUR, 3 * HOUR / 2, "2026-02-15 00:00 BRT");
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/day/plain", test_plain);
        g_test_add_func("/day/summer-time", test_summer_time);
        g_test_add_func("/day/midnight", test_midnight);
        return g_test_run();
}
